// Text that a stranger wrote, made fit to show: capped by bytes with its head and tail kept, well-formed, and
// without control characters that a terminal would obey. Knows nothing of frames or MCP.

import { isUtf8 } from 'node:buffer';
import { makeVisible, withoutUnseenEnd } from './unseen.js';

const ELLIPSIS = '…';
/** Length of a URL that browsers and proxies take. */
const MAX_URL_CHARS = 8_000;
const ESCAPE = '\u001b';

/** Cuts `text` to at most `maxChars` characters; an ellipsis shows that some were cut. */
export function clip(text: string, maxChars: number): string {
  return text.length <= maxChars
    ? text
    : `${withoutUnseenEnd(text.slice(0, Math.max(0, maxChars - 1))).toWellFormed()}${ELLIPSIS}`;
}

// CSI and OSC sequences as a whole: colour codes carry nothing for a model, a title change or hyperlink is an attack.
const ANSI =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  /\u001b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()][0-9A-Za-z]|[=>78cDEHMNOZ])/g;

/** `text` without what a terminal obeys and shows nothing of, also where one character begins it (C1). */
export const withoutSequences = (text: string): string =>
  text.replace(C1_BEGINNINGS, (begins) => (begins === '\u009b' ? '\u001b[' : '\u001b]')).replace(ANSI, '');
const C1_BEGINNINGS = /[\u009b\u009d]/g;

/**
 * Text that is safe to print and to parse: lone surrogates become U+FFFD, ANSI sequences go, a carriage return
 * keeps only what a terminal would still show of its line, and what does not show becomes a visible escape (unseen.ts).
 */
export function makeHarmless(text: string): string {
  const lines = text.includes('\r') ? text.split('\n').map(applyCarriageReturns).join('\n') : text;
  return makeVisible((lines.includes(ESCAPE) ? lines.replace(ANSI, '') : lines).toWellFormed());
}

/** Cuts a stranger's text to at most `maxChars` characters, made harmless before they are counted. */
export const clipHarmless = (text: string, maxChars: number): string => clip(makeHarmless(text), maxChars);

/** Clips harmless text to one line, for what is named in a sentence. */
export const clipHarmlessLine = (text: string, maxChars: number): string =>
  clip(inOneLine(makeHarmless(text)), maxChars);

// Erase to the end of the line, or all of it. Whatever stands before one in its line is gone, or was written over.
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const ERASE = /\u001b\[[02]?K/;
const ERASE_ALL = '\u001b[2K';

/** The text left of a line that a program has written over itself, as progress bars do: later text covers earlier text. */
function applyCarriageReturns(line: string): string {
  const first = line.indexOf('\r');
  if (first === -1) return line;
  // Most often it is half of the line's end.
  if (first === line.length - 1) return line.slice(0, -1);
  const hasEscapes = line.includes(ESCAPE);
  let shown = '';
  // From the last writing back: of an earlier one only what is longer still shows.
  for (const writing of line.split('\r').reverse()) {
    const text = hasEscapes
      ? writing.slice(Math.max(0, writing.lastIndexOf(ERASE_ALL))).replace(ANSI, '')
      : writing;
    if (text.length > shown.length) shown += text.slice(shown.length);
    if (hasEscapes && ERASE.test(writing)) break;
  }
  return shown;
}

/**
 * Data that is shown in a place of its own, such as a value in JSON: nothing is taken away, but what does not show is made
 * visible, a carriage return too where it ends no line.
 */
export function shownExactly(text: string): string {
  return text.includes('\r\n')
    ? text.split('\r\n').map(shownExactly).join('\r\n')
    : makeVisible(text.toWellFormed());
}

/** Whether `text` may be shown exactly as it is: whether `shownExactly` would change nothing. */
export const isHarmless = (text: string): boolean => shownExactly(text) === text;

/**
 * An address of the web as the URL parser writes it, so that a host in look-alike letters shows; undefined for anything else,
 * and where a name and password in it would hide the host.
 */
export function webAddress(raw: unknown): string | undefined {
  if (typeof raw !== 'string' || raw.length > MAX_URL_CHARS || !URL.canParse(raw)) return undefined;
  const { protocol, username, password, href } = new URL(raw);
  const isWeb = protocol === 'https:' || protocol === 'http:';
  return isWeb && username === '' && password === '' ? href : undefined;
}

/** `bytes` as text; undefined where they are not UTF-8. A byte order mark stays. */
export function decodedText(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

/** The first `maxBytes` of UTF-8, or a little less, so that no character is cut. */
export function wholeCharacters(bytes: Buffer, maxBytes: number): Buffer {
  let end = maxBytes;
  // Continuation bytes are 10xxxxxx.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.length <= maxBytes ? bytes : bytes.subarray(0, end);
}

/** A text as one line: every run of white space is a space, none at its ends. */
export function inOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Lines of `text`; a final newline does not make an empty last line. */
export function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** A sentence as a part of another one. */
export const withoutFullStop = (sentence: string): string => sentence.replace(/\.$/, '');

/** The line that stands for what is missing from the middle of a text. */
export const gapLine = (droppedChars: number, droppedBytes: number, where: string): string =>
  `[… ${droppedChars} characters dropped (${droppedBytes} bytes)${where} …]`;

/**
 * Collects text up to a cap and keeps its head and its tail: what a program says first (what it is doing) and last
 * (how it ended) matter more than the middle. Memory stays below twice the cap however much is added.
 */
export class HeadTail {
  readonly #headMax: number;
  readonly #tailMax: number;
  #head = '';
  #tail: string[] = [];
  #tailChars = 0;
  #dropped = 0;
  #bytes = 0;

  /** `maxChars` in UTF-16 units, half for the head and half for the tail. */
  constructor(maxChars: number) {
    this.#headMax = Math.ceil(maxChars / 2);
    this.#tailMax = Math.floor(maxChars / 2);
  }

  add(text: string): void {
    this.#bytes += Buffer.byteLength(text);
    const room = this.#headMax - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    const rest = room > 0 ? text.slice(room) : text;
    if (rest === '') return;
    this.#tail.push(rest);
    this.#tailChars += rest.length;
    while (this.#tailChars - (this.#tail[0]?.length ?? 0) >= this.#tailMax && this.#tail.length > 1) {
      const gone = this.#tail.shift() ?? '';
      this.#tailChars -= gone.length;
      this.#dropped += gone.length;
    }
  }

  /** Characters that `toString` leaves out. */
  get dropped(): number {
    return this.#dropped + Math.max(0, this.#tailChars - this.#tailMax);
  }

  /** UTF-8 bytes that `toString` leaves out. */
  get droppedBytes(): number {
    if (this.dropped === 0) return 0;
    return this.#bytes - Buffer.byteLength(this.#head) - Buffer.byteLength(this.#keptTail());
  }

  /** Head, a line that says how much is missing (when something is) and `where` it is, and tail. */
  toString(where = ''): string {
    const { head, tail } = this;
    if (this.dropped === 0) return head + tail;
    return `${head}\n${gapLine(this.dropped, this.droppedBytes, where)}\n${tail}`;
  }

  get head(): string {
    return this.#head;
  }

  /** The text that was added last, without the head. */
  get tail(): string {
    return this.dropped === 0 ? this.#tail.join('') : this.#keptTail();
  }

  #keptTail(): string {
    return this.#tailMax === 0 ? '' : this.#tail.join('').slice(-this.#tailMax);
  }
}

/** Characters of all texts in `value`, each counted once. Numbers and names of fields count for nothing. */
export function charsIn(value: unknown): number {
  const seen = new Set<object>();
  const rest = [value];
  let chars = 0;
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === 'string') chars += next.length;
    if (typeof next !== 'object' || next === null || seen.has(next)) continue;
    seen.add(next);
    // One by one: an array may be longer than a call has arguments.
    for (const each of Object.values(next)) rest.push(each);
  }
  return chars;
}

const MAX_NAMES = 30;
const MAX_NAMES_CHARS = 600;

/** The first of the names, cut with a count, for a reader who has room for a line and not for all. */
export function nameList(names: readonly string[]): string {
  const shown: string[] = [];
  let chars = 0;
  for (const name of names) {
    chars += name.length + 2;
    if (shown.length >= MAX_NAMES || chars > MAX_NAMES_CHARS) break;
    shown.push(name);
  }
  const more = names.length - shown.length;
  if (names.length === 0) return 'none';
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** `1 call`, `2 calls`. */
export const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
