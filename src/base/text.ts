// Text that a stranger wrote, made fit to show: capped by bytes with its head and tail kept, well-formed, and
// without control characters that a terminal would obey. Knows nothing of frames or MCP.

import { isUtf8 } from 'node:buffer';

const ELLIPSIS = '…';

/** At most `maxChars` characters; what was cut is shown by an ellipsis. */
export function clip(text: string, maxChars: number): string {
  return text.length <= maxChars
    ? text
    : `${text.slice(0, Math.max(0, maxChars - 1)).toWellFormed()}${ELLIPSIS}`;
}

// C0 and C1 controls except tab and newline, DEL, and the bidirectional overrides that can make a line read as
// something else (Unicode TR36, "Trojan Source").
const HARMFUL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: naming control characters is this pattern's purpose
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
// CSI and OSC sequences as a whole: colour codes carry nothing for a model, a title change or hyperlink is an attack.
const ANSI =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  /\u001b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()][0-9A-Za-z]|[=>78cDEHMNOZ])/g;

/**
 * Text that is safe to print and to parse: lone surrogates become U+FFFD, ANSI sequences go, a carriage return
 * keeps only what a terminal would still show of its line, and other control characters become visible escapes.
 */
export function harmless(text: string): string {
  const lines = text.includes('\r') ? text.split('\n').map(overwritten).join('\n') : text;
  return lines.replace(ANSI, '').toWellFormed().replace(HARMFUL, visible);
}

// Erase to the end of the line, or all of it. Whatever stands before one in its line is gone, or was written over.
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const ERASE = /\u001b\[[02]?K/;
const ERASE_ALL = '\u001b[2K';

/** What is left of a line that a program has written over itself, as progress bars do: later text covers earlier text. */
function overwritten(line: string): string {
  if (!line.includes('\r')) return line;
  let shown = '';
  // From the last writing back: of an earlier one only what is longer still shows.
  for (const writing of line.split('\r').reverse()) {
    const text = writing.slice(Math.max(0, writing.lastIndexOf(ERASE_ALL))).replace(ANSI, '');
    if (text.length > shown.length) shown += text.slice(shown.length);
    if (ERASE.test(writing)) break;
  }
  return shown;
}

/** Whether `harmless` would have nothing to do but to mend line ends: text that may be shown exactly as it is. */
export function isHarmless(text: string): boolean {
  return text.isWellFormed() && text.replaceAll('\r\n', '\n').search(HARMFUL) === -1;
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

function visible(char: string): string {
  const hex = char.charCodeAt(0).toString(16);
  return hex.length <= 2 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`;
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

  /** What `dropped` comes to in UTF-8. */
  get droppedBytes(): number {
    if (this.dropped === 0) return 0;
    return this.#bytes - Buffer.byteLength(this.#head) - Buffer.byteLength(this.#keptTail());
  }

  /** Head, a line that says how much is missing (when something is) and `where` it is, and tail. */
  toString(where = ''): string {
    if (this.dropped === 0) return this.#head + this.#tail.join('');
    const missing = `${this.dropped} characters dropped (${this.droppedBytes} bytes)`;
    return `${this.#head}\n[… ${missing}${where} …]\n${this.#keptTail()}`;
  }

  #keptTail(): string {
    return this.#tailMax === 0 ? '' : this.#tail.join('').slice(-this.#tailMax);
  }
}
