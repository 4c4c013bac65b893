// Which processes there are, by the kernel's own folder of them. Linux only: elsewhere there is none to read.

import { readdirSync } from 'node:fs';

/** Numbers of all processes that can be seen from here; none where the kernel does not say. */
export function processIds(): readonly number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}
