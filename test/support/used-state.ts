// A state directory in which a bridge finds what its user's first one has found out, since whoever uses it starts it there
// time and again. What costs a first start its second is copied from the directory of the first bridge of a test run, which
// the global set-up names: where containers are tested it is the one that bridges share.
// Tests of a first start, of what it finds out and of what it writes, take an empty directory instead.

import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Files that are copied, by folder: the choice of an engine, what its image holds, the harness and our own code as compiled,
 * and the installed files. A probe's findings, what Python is called in which image, and what was learned of servers stay
 * where they are: tests are about them.
 */
const KEPT: Readonly<Record<string, RegExp>> = {
  cache: /^(?:engine-[0-9a-f]+\.json|harness\.json|image-facts\.json|code)$/,
  ipc: /^[0-9a-f]+$/,
  seccomp: /^[0-9a-f]+$/,
};

/**
 * Makes `stateDir`, where it is not there, and copies into it what bridges of this test run have kept so far: nothing, where
 * this is the first. Returns `stateDir`.
 */
export function makeUsed(stateDir: string): string {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const first = process.env['TEST_FIRST_STATE_DIR'];
  if (first === undefined) return stateDir;
  for (const [folder, kept] of Object.entries(KEPT)) {
    const names = entriesOf(join(first, folder)).filter((name) => kept.test(name));
    if (names.length > 0) mkdirSync(join(stateDir, folder), { recursive: true, mode: 0o700 });
    for (const name of names) copy(join(first, folder, name), join(stateDir, folder, name));
  }
  return stateDir;
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // No bridge has kept anything yet.
    return [];
  }
}

function copy(from: string, to: string): void {
  try {
    cpSync(from, to, { recursive: true });
  } catch {
    // A bridge is just writing it. The one that starts here finds that out again, as it does with half of a file.
  }
}
