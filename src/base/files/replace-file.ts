// A file that is there whole or not at all, whoever reads it meanwhile and whoever else writes it. Private to its owner.

import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { randomUUID } from '../crypto.js';

/** Where somebody else has the file open, such as a scanner for viruses, Windows refuses for some moments. */
const REFUSED_ON_WINDOWS = ['EPERM', 'EACCES', 'EBUSY'];
const TRIES_ON_WINDOWS = 6;
const FIRST_REST_MS = 5;

/** Calls to the system; a test gives its own. */
const RENAME_CALLS = {
  platform: process.platform,
  rename: (from: string, to: string) => renameSync(from, to),
  /** Stops the thread: whoever replaces a file must know when it is there. */
  rest: (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
};

/**
 * Makes the folder where need be; a link of this name is replaced, not followed. Throws what the file system says. On
 * Windows the modes say nothing: there a file is as private as the folder of the user in which it lies.
 */
export function replaceFile(
  path: string,
  content: string | Buffer,
  { mode = 0o600, calls = RENAME_CALLS } = {},
): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceBy(path, (fresh) => writeFileSync(fresh, content, { mode, flag: 'wx' }), calls);
}

/** Replaces `path` by a new file that `write` makes beside it. Throws what `write` throws; then nothing has changed. */
export function replaceBy(path: string, write: (fresh: string) => void, calls = RENAME_CALLS): void {
  const fresh = `${path}.${randomUUID()}`;
  try {
    write(fresh);
    renamePatiently(fresh, path, calls);
  } catch (thrown) {
    rmSync(fresh, { force: true });
    throw thrown;
  }
}

/** Renames a file; on Windows waits a moment for a program that has the file open. */
function renamePatiently(from: string, to: string, { platform, rename, rest }: typeof RENAME_CALLS): void {
  for (let tried = 1; ; tried++) {
    try {
      rename(from, to);
      return;
    } catch (thrown) {
      const mayPass = platform === 'win32' && REFUSED_ON_WINDOWS.includes(Object(thrown).code);
      if (!mayPass || tried === TRIES_ON_WINDOWS) throw thrown;
      rest(FIRST_REST_MS * 2 ** tried);
    }
  }
}
