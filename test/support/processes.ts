// State of a process of this machine, for tests that have seen its pid: whether it is alive, and whether it stands still.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../../src/base/files/read-text.js';

/** Where the hierarchy of version 2 begins; undefined where there is none. */
const mount = (): string | undefined =>
  /^\S+ \S+ \S+ \/ (\S+) .* - cgroup2 /m.exec(readText('/proc/self/mountinfo') ?? '')?.[1];

/**
 * Whether `pid` runs. A zombie is dead: who should reap it is not the test. Where there is no /proc a zombie counts as alive.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync('/proc/self') || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Whether `pid`, which must be there, is stopped by a signal or held by the freezer of its control group. */
export function isHeld(pid: number): boolean {
  if (/\) T /.test(readText(`/proc/${pid}/stat`) ?? '')) return true;
  const path = /^0::(.*)$/m.exec(readText(`/proc/${pid}/cgroup`) ?? '')?.[1];
  const events = readText(join(mount() ?? '/nowhere', path ?? '', 'cgroup.events')) ?? '';
  return /^frozen 1$/m.test(events);
}
