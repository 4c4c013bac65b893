// One holder at a time among the processes of a machine, by a file that only one of them can make. Its holder may die,
// so a lock that has grown old is broken: hold it for seconds, and let what it guards survive a second holder.

import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readText } from './read-text.js';

/** A process that holds a lock for longer has died, or must expect a second holder. */
export const LOCK_HELD_AT_MOST_MS = 20_000;
const LOOK_AGAIN_MS = 40;

/** Waits for the lock; disposing gives it back. Throws what the file system says, and the reason of `signal`. */
export async function lockFile(path: string, signal: AbortSignal): Promise<Disposable> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const mark = randomUUID();
  while (!taken(path, mark)) {
    breakIfOld(path);
    // Not all at the same moment.
    await sleep(LOOK_AGAIN_MS * (1 + Math.random()), undefined, { signal });
  }
  return {
    [Symbol.dispose]: () => {
      // After a break it is somebody else's.
      if (readText(path) === mark) rmSync(path, { force: true });
    },
  };
}

function taken(path: string, mark: string): boolean {
  try {
    writeFileSync(path, mark, { mode: 0o600, flag: 'wx' });
    return true;
  } catch (thrown) {
    if (Object(thrown).code === 'EEXIST') return false;
    throw thrown;
  }
}

/** A time that lies ahead was written before the clock was set back: nobody can tell how long ago. */
const isOld = (path: string): boolean => Math.abs(Date.now() - statSync(path).mtimeMs) > LOCK_HELD_AT_MOST_MS;

function breakIfOld(path: string): void {
  const aside = `${path}.${randomUUID()}`;
  try {
    if (!isOld(path)) return;
    renameSync(path, aside);
    // Another one broke it first, and this is the new holder's: back to its place.
    if (!isOld(aside)) linkSync(aside, path);
  } catch {
    // The lock was given back meanwhile.
  } finally {
    rmSync(aside, { force: true });
  }
}
