// One holder at a time among the processes of a machine, by a file that only one of them can make. Its holder may die,
// so a lock that has grown old is broken: hold it for seconds, and let what it guards survive a second holder.

import { linkSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from '../crypto.js';
import { ifThere, readText } from './read-text.js';

/** A process that holds a lock for longer has died, or must expect a second holder. */
export const LOCK_HELD_AT_MOST_MS = 20_000;
const LOOK_AGAIN_MS = 40;

/** Waits for the lock; disposing gives it back. Throws what the file system says, and the reason of `signal`. */
export async function lockFile(path: string, signal: AbortSignal): Promise<Disposable> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  for (;;) {
    const lock = takenLock(path);
    if (lock !== undefined) return lock;
    breakWhere(isOld, path);
    // Not all at the same moment.
    await sleep(LOOK_AGAIN_MS * (1 + Math.random()), undefined, { signal });
  }
}

/**
 * Takes the lock where it is free, or its holder has ended; undefined where another process has it. Only for folders of this
 * machine: elsewhere the number of a process does not say whether the process lives.
 */
export function tryLock(path: string): Disposable | undefined {
  const lock = takenLock(path);
  if (lock !== undefined) return lock;
  breakWhere(isLeft, path);
  return takenLock(path);
}

/**
 * Removes locks whose names end in `ending` and whose holders have ended, and what such processes have put aside. Only for
 * folders of this machine, and nothing where the folder has gone.
 */
export function removeLeftLocks(folder: string, ending: string): void {
  for (const name of ifThere(() => readdirSync(folder)) ?? []) {
    const path = join(folder, name);
    if (name.endsWith(ending)) breakWhere(isLeft, path);
    const [, aside = ''] = name.split(`${ending}.`);
    const pid = /^\d+(?=\.|$)/.exec(aside)?.[0];
    if (pid !== undefined && !isProcess(Number(pid))) rmSync(path, { force: true });
  }
}

/** Whether a process of this number runs, whoever's it is. */
export function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return Object(thrown).code === 'EPERM';
  }
}

/** Gives it back when disposed of; undefined where it is taken. */
function takenLock(path: string): Disposable | undefined {
  const mark = `${process.pid} ${randomUUID()}`;
  try {
    writeFileSync(path, mark, { mode: 0o600, flag: 'wx' });
  } catch (thrown) {
    if (Object(thrown).code === 'EEXIST') return undefined;
    throw thrown;
  }
  return {
    [Symbol.dispose]: () => {
      // After a break it is somebody else's.
      if (readText(path) === mark) rmSync(path, { force: true });
    },
  };
}

/** A time that lies ahead was written before the clock was set back: nobody can tell how long ago. */
const isOld = (path: string): boolean => Math.abs(Date.now() - statSync(path).mtimeMs) > LOCK_HELD_AT_MOST_MS;

/** One without a number has been made this moment, or by hand. */
function isLeft(path: string): boolean {
  const pid = Number.parseInt(readText(path) ?? '', 10);
  return isOld(path) || (!Number.isNaN(pid) && !isProcess(pid));
}

function breakWhere(isBroken: (path: string) => boolean, path: string): void {
  const aside = `${path}.${process.pid}.${randomUUID()}`;
  try {
    if (!isBroken(path)) return;
    renameSync(path, aside);
    // Another one broke it first, and this is the new holder's: back to its place.
    if (!isBroken(aside)) linkSync(aside, path);
  } catch {
    // The lock was given back meanwhile.
  } finally {
    rmSync(aside, { force: true });
  }
}
