// Whether a process of this machine stands still: stopped by a signal, or held by the freezer of its control group.

import { join } from 'node:path';
import { readText } from '../../src/base/files/read-text.js';

/** Where the hierarchy of version 2 begins; undefined where there is none. */
const mount = (): string | undefined =>
  /^\S+ \S+ \S+ \/ (\S+) .* - cgroup2 /m.exec(readText('/proc/self/mountinfo') ?? '')?.[1];

/** Of a process that is there. */
export function isHeld(pid: number): boolean {
  if (/\) T /.test(readText(`/proc/${pid}/stat`) ?? '')) return true;
  const path = /^0::(.*)$/m.exec(readText(`/proc/${pid}/cgroup`) ?? '')?.[1];
  const events = readText(join(mount() ?? '/nowhere', path ?? '', 'cgroup.events')) ?? '';
  return /^frozen 1$/m.test(events);
}
