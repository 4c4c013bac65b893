// Sentences and commands laid out in columns that do not change with the width of a wide terminal: for texts that are
// read from top to bottom, where `wrap.ts` is for tables.

import { USUAL_COLUMNS, widthOf } from './wrap.js';

/** Longer lines are hard to read, however wide the terminal is. */
const MOST_COLUMNS = 120;

/** How many columns text on `stream` may take; in a pipe as many as a terminal usually has. */
export const columnsOf = (stream: NodeJS.WriteStream): number =>
  Math.min(MOST_COLUMNS, widthOf(stream) ?? USUAL_COLUMNS);

type Layout = {
  readonly width: number;
  /** Text before the first line; every character of this text counts as a column, so it has no colour. */
  readonly first?: string;
  /** Text before every further line. */
  readonly further?: string;
  /** Text at the end of each line that goes on, such as the backslash of a shell. */
  readonly continued?: string;
};

/** A number keeps its unit. */
const BETWEEN_WORDS = / +(?!(?:s|ms|MB|%)(?!\w))/;

/** `text` in lines of at most `width` columns, broken at spaces only: a longer word has a line of its own. */
export function wrapped(
  text: string,
  { width, first = '', further = first, continued = '' }: Layout,
): readonly string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.split(BETWEEN_WORDS)) {
    const isFull = line.length + 1 + word.length + continued.length > width;
    if (!isEmpty && isFull) {
      lines.push(line + continued);
      line = further;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}

/** A shell command, so laid out that it can be pasted as it stands; no word of it is broken. */
export const wrappedCommand = (command: string, width: number, indent: string): readonly string[] =>
  wrapped(command, { width, first: indent, further: `${indent}  `, continued: ' \\' });
