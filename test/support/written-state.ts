// Files that a bridge has written into its state directory, but for its own compiled code, which it keeps a second and a half
// after its start: a test of the files that takes longer than that finds it there, and one that is quicker does not.

import { existsSync, readdirSync } from 'node:fs';

const COMPILED_CODE = /^cache(?:\/code(?:\/|$)|$)/;

/** Paths below `stateDir`; none where it is not there. */
export function writtenState(stateDir: string): readonly string[] {
  const written = existsSync(stateDir) ? readdirSync(stateDir, { recursive: true, encoding: 'utf8' }) : [];
  return written.filter((name) => !COMPILED_CODE.test(name));
}
