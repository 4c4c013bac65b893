// Whether a file or folder is safe from other users of the machine, by its owner and its mode.

import { lstatSync } from 'node:fs';

/** What others could do with it. */
const OTHERS = 0o077;

/** Whether it belongs to this user and lets nobody else in; a link never does. */
export function isOnlyOurs(path: string, uid: number | undefined = process.getuid?.()): boolean {
  try {
    const { uid: owner, mode } = lstatSync(path);
    const isLink = (mode & 0o170000) === 0o120000;
    return !isLink && owner === uid && (mode & OTHERS) === 0;
  } catch {
    return false;
  }
}
