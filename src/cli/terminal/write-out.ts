// A file that came out of a sandbox, into the folder that the user has named: never outside of it, never over what is
// there unless that is asked for, never where a program would read it unasked. Its name was chosen by hostile code.

import { lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../base/errors.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { nameProblem, RESULTS_FOLDER } from '../../run/artifacts/file-names.js';

/** Separators and drives of another system; a name that has them was made for that. */
const FOREIGN = /[\\:]/;
/** Mode of a file as a program of the user's would write it. */
const MODE = 0o644;

/**
 * `name` begins with the folder for results, which is left out. `replaces` lets it take the place of a file or link of that
 * name, which is not followed. What went wrong, as a sentence; undefined when it is there.
 */
export function writeOut(
  folder: string,
  name: string,
  content: Buffer,
  { replaces = false }: { readonly replaces?: boolean } = {},
): string | undefined {
  const path = name.startsWith(`${RESULTS_FOLDER}/`) ? name.slice(RESULTS_FOLDER.length + 1) : name;
  const problem = nameProblem(path) ?? surprise(path);
  if (problem !== undefined) return `${name} was not written: its name ${problem}`;
  try {
    mkdirSync(folder, { recursive: true });
    const parents = path.split('/').slice(0, -1);
    for (const [index] of parents.entries()) makeFolder(join(folder, ...parents.slice(0, index + 1)));
    if (replaces) replaceFile(join(folder, path), content, { mode: MODE });
    else writeFileSync(join(folder, path), content, { mode: MODE, flag: 'wx' });
    return undefined;
  } catch (thrown) {
    return `${name} was not written: ${messageOf(thrown)}`;
  }
}

/** In a folder of the user's, such a file would take effect: `.git/hooks`, `.bashrc`, `.mcp.json`. */
function surprise(path: string): string | undefined {
  if (path.split('/').some((part) => part.startsWith('.'))) return 'has a part that begins with a dot';
  return FOREIGN.test(path) ? 'holds a backslash or a colon' : undefined;
}

/** A link in its place would lead elsewhere. */
function makeFolder(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) mkdirSync(path);
  else if (!found.isDirectory()) throw new Error(`${path} is no folder`);
}
