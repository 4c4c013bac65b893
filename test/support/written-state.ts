// Files that a bridge has written into its state directory, but for its own compiled code, which it keeps a second and a half
// after its start, and its socket for the page, which is there a moment after its tools were listed: a test of the files that
// takes longer than that finds them there, and one that is quicker does not.

import { existsSync, readdirSync } from 'node:fs';

const COMES_LATER = /^(?:cache(?:\/code(?:\/|$)|$)|watch(?:\/|$))/;

/** Paths below `stateDir`; none where it is not there. */
export function writtenState(stateDir: string): readonly string[] {
  const written = existsSync(stateDir) ? readdirSync(stateDir, { recursive: true, encoding: 'utf8' }) : [];
  return written.filter((name) => !COMES_LATER.test(name));
}
