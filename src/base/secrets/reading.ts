// A text as bytes of UTF-8, each of which remembers the characters it was read from. Secrets are looked for in bytes,
// and hidden in the text. Reads plain text, and JSON with its escapes undone. One pass each, whatever the text is.

/** Stands between what does not belong together, such as two strings of JSON. No UTF-8 has this byte. */
export const BARRIER = 0xff;
/** Numbers and words of JSON that are longer are passed over: a secret is no number of a thousand digits. */
const MAX_LITERAL_CHARS = 1_000;
/** Shorter ones are no secrets either. */
const MIN_LITERAL_CHARS = 8;
/** Mark in a table: this byte is left out, and those around it belong together. */
export const SKIPPED = -1;
const QUOTE = 34;
const BACKSLASH = 92;
const SMALL_U = 117;
/** Characters that JSON writes as a letter after a backslash. */
const JSON_LETTERS: ReadonlyMap<number, number> = new Map([
  [98, 8],
  [102, 12],
  [110, 10],
  [114, 13],
  [116, 9],
]);

export const code = (char: string): number => char.charCodeAt(0);

/** The byte that each byte is taken for; `other` says it of bytes that are neither among `skipped` nor `renamed`. */
export function byteTable(
  other: (byte: number) => number,
  skipped: string,
  renamed: Readonly<Record<string, string>>,
): Int16Array {
  const table = Int16Array.from({ length: 256 }, (_, byte) => other(byte));
  for (const char of skipped) table[code(char)] = SKIPPED;
  for (const [from, to] of Object.entries(renamed)) table[code(from)] = code(to);
  return table;
}

export class Reading {
  bytes = new Uint8Array(256);
  length = 0;
  #starts = new Int32Array(256);
  #ends = new Int32Array(256);

  /** Index in the text of the first character of byte `at`. */
  startOf(at: number): number {
    return this.#starts[at] ?? 0;
  }

  /** Index in the text just past the last character of byte `at`. */
  endOf(at: number): number {
    return this.#ends[at] ?? 0;
  }

  /** Empties it and makes room; memory that it has is used again. */
  clear(expectedBytes = 0): this {
    this.length = 0;
    if (expectedBytes > this.bytes.length) this.#resize(expectedBytes);
    return this;
  }

  /** Appends a byte that was read from the characters from `start` to just before `end`. */
  push(byte: number, start: number, end: number): void {
    if (this.length === this.bytes.length) this.#resize(this.length * 2);
    this.bytes[this.length] = byte;
    this.#starts[this.length] = start;
    this.#ends[this.length] = end;
    this.length++;
  }

  /** A barrier, unless there is one already. */
  pushBarrier(at: number): void {
    if (this.length > 0 && this.bytes[this.length - 1] === BARRIER) return;
    this.push(BARRIER, at, at + 1);
  }

  /** Appends a UTF-16 unit. A surrogate is kept as three bytes of its own until its other half comes. */
  pushUnit(unit: number, start: number, end: number): void {
    if (unit < 0x80) return this.push(unit, start, end);
    if (unit < 0x800) {
      this.push(0xc0 | (unit >> 6), start, end);
      return this.push(0x80 | (unit & 0x3f), start, end);
    }
    const high = unit >= 0xdc00 && unit <= 0xdfff ? this.#highBefore() : undefined;
    if (high !== undefined) {
      const pairStart = this.startOf(this.length - 3);
      this.length -= 3;
      return this.#pushFour(0x10000 + ((high & 0x3ff) << 10) + (unit & 0x3ff), pairStart, end);
    }
    this.push(0xe0 | (unit >> 12), start, end);
    this.push(0x80 | ((unit >> 6) & 0x3f), start, end);
    this.push(0x80 | (unit & 0x3f), start, end);
  }

  /** Appends a character by its number in Unicode. */
  pushPoint(point: number, start: number, end: number): void {
    if (point < 0x10000) this.pushUnit(point, start, end);
    else this.#pushFour(point, start, end);
  }

  #pushFour(point: number, start: number, end: number): void {
    this.push(0xf0 | (point >> 18), start, end);
    this.push(0x80 | ((point >> 12) & 0x3f), start, end);
    this.push(0x80 | ((point >> 6) & 0x3f), start, end);
    this.push(0x80 | (point & 0x3f), start, end);
  }

  /** The high surrogate that stands at the end, if one does. */
  #highBefore(): number | undefined {
    const { bytes, length } = this;
    const [second, third] = [bytes[length - 2] ?? 0, bytes[length - 1] ?? 0];
    if (length < 3 || bytes[length - 3] !== 0xed || second < 0xa0 || second > 0xaf) return undefined;
    return 0xd000 | ((second & 0x3f) << 6) | (third & 0x3f);
  }

  #resize(room: number): void {
    const larger = <T extends Uint8Array | Int32Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.bytes = larger(this.bytes, new Uint8Array(room));
    this.#starts = larger(this.#starts, new Int32Array(room));
    this.#ends = larger(this.#ends, new Int32Array(room));
  }
}

/** Where a reader of JSON has stopped: between two characters of a string, or outside of any. */
export type JsonPlace = { readonly at: number; readonly inString: boolean };

/** Reads `text` from `from` to just before `end` into `reading`. */
export function readText(text: string, reading: Reading, from = 0, end = text.length): Reading {
  reading.clear(end - from);
  for (let at = from; at < end; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) reading.push(unit, at, at + 1);
    else reading.pushUnit(unit, at, at + 1);
  }
  return reading;
}

/**
 * Reads JSON into `reading`, from `from` to `end` or a little further: strings without their escapes, numbers as one piece
 * each, barriers for all else. Returns the first place at or after `mark`, and tells `onLiteral` where each longer number
 * begins.
 */
export function readJson(
  json: string,
  reading: Reading,
  from: JsonPlace,
  mark: number,
  end: number,
  onLiteral: (start: number) => void,
): JsonPlace {
  reading.clear(end - from.at);
  let { at, inString } = from;
  let next: JsonPlace | undefined;
  while (at < end) {
    if (next === undefined && at >= mark) next = { at, inString };
    const unit = json.charCodeAt(at);
    if (unit === QUOTE) {
      reading.pushBarrier(at);
      inString = !inString;
      at++;
    } else if (!inString) {
      const literalEnd = endOfLiteral(json, at);
      const isReadable = literalEnd > at && literalEnd - at <= MAX_LITERAL_CHARS;
      if (literalEnd - at >= MIN_LITERAL_CHARS) onLiteral(at);
      for (let each = at; isReadable && each < literalEnd; each++)
        reading.push(json.charCodeAt(each), at, literalEnd);
      if (!isReadable) reading.pushBarrier(at);
      at = Math.max(literalEnd, at + 1);
    } else if (unit === BACKSLASH) {
      const isNumbered = json.charCodeAt(at + 1) === SMALL_U;
      const length = isNumbered ? 6 : 2;
      const code = isNumbered ? Number.parseInt(json.slice(at + 2, at + 6), 16) : json.charCodeAt(at + 1);
      reading.pushUnit((isNumbered ? code : (JSON_LETTERS.get(code) ?? code)) || 0, at, at + length);
      at += length;
    } else {
      reading.pushUnit(unit, at, at + 1);
      at++;
      // Most of it: letters of which none is special.
      for (let plain = json.charCodeAt(at); isPlain(plain) && at < end; plain = json.charCodeAt(at)) {
        if (at === mark) break;
        reading.push(plain, at, at + 1);
        at++;
      }
    }
  }
  return next ?? { at, inString };
}

const isPlain = (unit: number): boolean => unit < 0x80 && unit !== QUOTE && unit !== BACKSLASH;

/** Just past the number or word that begins at `start`; `start` itself where none does. */
function endOfLiteral(json: string, start: number): number {
  let at = start;
  for (; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    const isDigit = unit >= 48 && unit <= 57;
    const isLetter = (unit | 32) >= 97 && (unit | 32) <= 122;
    // Plus, minus and the point.
    if (!isDigit && !isLetter && unit !== 43 && unit !== 45 && unit !== 46) break;
  }
  return at;
}
