// Problems of a configuration file as a whole, and the words in which they are told. Reads nothing.

import { ownCommand } from '../../base/process/own-command.js';
import { clipHarmless } from '../../base/text/text.js';

/** Line and column in a file, both from 1. */
type LineAndColumn = { readonly line: number; readonly column: number };

export type FileTrouble = {
  /** For a person. Begins with `FILE:LINE:COLUMN: ` where there is a place, and does not name the file otherwise. */
  readonly message: string;
  /** Where the mistake stands; absent where it is in no single place. */
  readonly place?: LineAndColumn | undefined;
};

export type FileProblem = FileTrouble & { readonly file: string };

/** A path and a sentence. */
const MAX_TROUBLE_CHARS = 500;

/** The problem with the name of its file ahead, once. */
export function problemInWords({ file, message, place }: FileProblem): string {
  return place === undefined ? `${file}: ${message}` : message;
}

/** Remedy for a server that no file names; undefined where no file has a problem. */
export function remedyOfMissing([first, ...others]: readonly FileProblem[]): string | undefined {
  if (first === undefined) return undefined;
  const more =
    others.length === 0 ? '' : ` There are ${others.length} more; see \`${ownCommand('servers')}\`.`;
  return `It may stand in a file that has a problem: ${clipHarmless(problemInWords(first), MAX_TROUBLE_CHARS)}.${more}`;
}
