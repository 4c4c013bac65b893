// Text that fits the terminal: how wide it is, how wide a text is there, and a text in lines of a width. In a pipe there
// is no width, and lines stay whole for whoever parses them.

import { stripVTControlCharacters } from 'node:util';
import { coloursFor } from './output.js';

/** A terminal that says nothing of its width, or something that cannot be, is taken for one of these. */
export const USUAL_COLUMNS = 80;
const LEAST_COLUMNS = 40;

/** Columns of a line on `stream`: what COLUMNS says, or the terminal. Undefined in a pipe. */
export function widthOf(stream: NodeJS.WriteStream): number | undefined {
  const wished = Number(process.env['COLUMNS']);
  if (Number.isInteger(wished) && wished > 0) return Math.max(LEAST_COLUMNS, wished);
  if (stream.isTTY !== true) return undefined;
  return Math.max(LEAST_COLUMNS, stream.columns || USUAL_COLUMNS);
}

// East Asian wide and fullwidth forms, and emoji; marks that stand on the character before them take no column.
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const MARK = /\p{M}/u;

/** Columns that a text in one line takes on a terminal; what only colours it takes none. */
export function shownWidth(text: string): number {
  const plain = stripVTControlCharacters(text);
  // The common case, and the quick one.
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const character of plain) width += WIDE.test(character) ? 2 : MARK.test(character) ? 0 : 1;
  return width;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escapes are what colours are made of
const PAINTED = /^((?:\u001b\[[\d;]*m)*)([^\u001b]*)((?:\u001b\[[\d;]*m)*)$/;

/**
 * The words of `text` in lines of at most `width` columns; the first one has `used` columns less. A word that is wider than a
 * line is broken, unless it stands between backticks. A text that has one colour keeps it on each line; one with several stays
 * as it is.
 */
export function wrapText(text: string, width: number, used = 0): readonly string[] {
  if (shownWidth(text) + used <= width) return [text];
  const painted = PAINTED.exec(text);
  if (painted === null) return [text];
  const [, colour = '', words = '', plain = ''] = painted;
  return linesOf(words, Math.max(1, width), used).map((line) => (line === '' ? '' : colour + line + plain));
}

/** Behind spaces, but not between two backticks. */
const WORD_ENDS = /(?<= )(?=[^`]*(?:`[^`]*`[^`]*)*$)/;

function linesOf(text: string, width: number, used: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  let room = width - used;
  const end = () => {
    lines.push(line.trimEnd());
    line = '';
    room = width;
  };
  for (const word of text.split(WORD_ENDS)) {
    const bare = shownWidth(word.trimEnd());
    // A command stays whole, so that it can be copied.
    const isWhole = word.startsWith('`');
    if (bare > room && (line !== '' || room < width) && (bare <= width || isWhole)) end();
    for (const piece of bare > room && !isWhole ? breakWord(word, room, width) : [word]) {
      if (shownWidth(piece.trimEnd()) > room && line !== '') end();
      line += piece;
      room -= shownWidth(piece);
    }
  }
  if (line !== '') end();
  return lines;
}

/** A word that is wider than a line: as much as fits here, then whole lines. */
function breakWord(word: string, first: number, width: number): readonly string[] {
  const pieces: string[] = [];
  let piece = '';
  let room = Math.max(1, first);
  for (const character of word) {
    const wide = shownWidth(character);
    if (wide > room && character !== ' ') {
      pieces.push(piece);
      piece = '';
      room = width;
    }
    piece += character;
    room -= wide;
  }
  return [...pieces, piece];
}

/** Columns that remain for a text beside what stands ahead of it, however narrow the terminal. */
const MIN_TEXT_COLUMNS = 26;

/**
 * `text` in lines that end at `width`, each but the first below `indent` spaces. Ahead of the first stand as many columns
 * already, and `more`.
 */
export function hangText(text: string, indent: number, width: number | undefined, more = 0): string {
  if (width === undefined) return text;
  const lines = wrapText(text, Math.max(MIN_TEXT_COLUMNS, width - indent), more);
  return lines.map((line) => line.trimEnd()).join(`\n${' '.repeat(indent)}`);
}

/** A remedy as a paragraph that ends with a newline. */
export function remedyText(name: string, remedy: string): string {
  const { bold } = coloursFor(process.stdout);
  return `${bold(name)}: ${hangText(remedy, REMEDY_INDENT, widthOf(process.stdout), shownWidth(name) + 2 - REMEDY_INDENT)}\n`;
}

const REMEDY_INDENT = 2;

/** A text in lines that fit standard output; ends with a newline. */
export const paragraph = (text: string): string => `${hangText(text, 0, widthOf(process.stdout))}\n`;

/** Between the example of a help text and what it does. */
const GAP = /(?<=\S) {2,}(?=\S)/;
const EXAMPLE_INDENT = '      ';

/**
 * Puts what stands below the options of a help text, examples and paragraphs, into lines that fit standard output, when it is
 * shown. A command is broken only where it is too long itself.
 */
export const helpText = (text: string) => (): string => {
  const width = widthOf(process.stdout);
  if (width === undefined || text.split('\n').every((line) => shownWidth(line) <= width)) return text;
  return paragraphs(text)
    .map((line) => foldLine(line, width))
    .join('\n');
};

/** Lines of one paragraph are one text; what is indented is a line of its own. */
function paragraphs(text: string): readonly string[] {
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    const last = lines.at(-1);
    if (last !== undefined && /^\S/.test(last) && /^\S/.test(line))
      lines[lines.length - 1] = `${last} ${line}`;
    else lines.push(line);
  }
  return lines;
}

function foldLine(line: string, width: number): string {
  const words = line.trimStart();
  if (!words.startsWith('$ ')) {
    // A row of a table of names and what they are goes on below its second column.
    const [start = ''] = /^ *\S+ {2,}|^ */.exec(line) ?? [];
    const more = wrapText(line.slice(start.length), width - start.length);
    return start + more.map((part) => part.trimEnd()).join(`\n${' '.repeat(start.length)}`);
  }
  const gap = GAP.exec(words);
  const command = words.slice(0, gap?.index);
  const says = gap === null ? undefined : words.slice(gap.index + gap[0].length);
  const shown = wrapText(command, width - EXAMPLE_INDENT.length, 2 - EXAMPLE_INDENT.length);
  return `  ${[...shown.map((part) => part.trimEnd()), ...(says === undefined ? [] : wrapText(says, width - EXAMPLE_INDENT.length))].join(`\n${EXAMPLE_INDENT}`)}`;
}

// Sentences and commands laid out in columns that do not change with the width of a wide terminal: for texts that are
// read from top to bottom, where `wrapText` is for tables.

/** Longer lines are hard to read, however wide the terminal is. */
const MOST_COLUMNS = 120;

/** How many columns text on `stream` may take; in a pipe as many as a terminal usually has. */
export const columnsOf = (stream: NodeJS.WriteStream): number =>
  Math.min(MOST_COLUMNS, widthOf(stream) ?? USUAL_COLUMNS);

/** A number keeps its unit. */
const BETWEEN_WORDS = / +(?!(?:s|ms|MB|%)(?!\w))/;

/** `text` in lines of at most `width` columns, broken at spaces only: a longer word has a line of its own. */
export function layOut(
  text: string,
  {
    width,
    first = '',
    further = first,
    continued = '',
  }: {
    readonly width: number;
    /** Text before the first line; every character of this text counts as a column, so it has no colour. */
    readonly first?: string;
    /** Text before every further line. */
    readonly further?: string;
    /** Text at the end of each line that goes on, such as the backslash of a shell. */
    readonly continued?: string;
  },
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
  layOut(command, { width, first: indent, further: `${indent}  `, continued: ' \\' });
