// Escapes undone, whichever notation they are in and however deeply they are nested: %2B, \x2b, \u002B, \u{2b}, &amp; &#43;
// &#x2b;. Seen through NORMAL, which leaves out what quoting adds, a value and every quoted form of it are alike. That is not
// what any one program would read; it is for comparing only.
//
// One pass. Bytes are put on a pile; when the top of it is a whole escape, what it stands for takes its place, and may complete
// another one. Each such step takes bytes away and looks at no more than the last ten, so time is linear.

import { BARRIER, byteTable, code, type Reading } from './reading.js';

/** Where there is no byte. */
const NOTHING = BARRIER;
const BACKSLASH = code('\\');
const PERCENT = code('%');
const AMPERSAND = code('&');
const NUMBER_SIGN = code('#');
const SEMICOLON = code(';');
const ZERO = code('0');
const SMALL_X = code('x');
const SMALL_U = code('u');
const LARGE_U = code('U');
const OPEN = code('{');
const CLOSE = code('}');

/** Characters by the letters of their names, four at most, as one number. */
const ENTITIES: ReadonlyMap<number, number> = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }).map(([name, char]) => [
    Buffer.from(name).readUIntBE(0, name.length),
    code(char),
  ]),
);
/** The longest that is looked for: `&#x0001F600;`. */
const MAX_ENTITY_BYTES = 12;
/** `\u{01F600}`. */
const MAX_BRACED_BYTES = 10;
const MAX_POINT = 0x10ffff;
/** Letters that break lines and columns after a backslash. */
const BREAKS: ReadonlyMap<number, number> = new Map([
  [code('n'), code('\n')],
  [code('r'), code('\r')],
  [code('t'), code('\t')],
]);

/** The value of each byte as a hexadecimal digit; -1 for those that are none. */
const DIGITS = Int8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? -1 : value;
});

const tableOfBytes = (chars: string) =>
  Uint8Array.from({ length: 256 }, (_, byte) => Number(chars.includes(String.fromCharCode(byte))));
/** Characters that an escape may end with, and characters that show that something may be quoted at all. */
const MAY_END = tableOfBytes('0123456789abcdefABCDEF;}nrt');
const OF_QUOTING = tableOfBytes('\\%&+\'"');

/**
 * Without quotes and backslashes, which shells, JSON and Python add in their own ways. A control character is the letter
 * that stands for it after a backslash, and a space the plus sign that forms write.
 */
export const NORMAL = byteTable((byte) => byte, '\\\'"', {
  '\u0007': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  ' ': '+',
});

/** Whether a value could be in it, unescaped and through NORMAL, that is not in it as it is. */
export function maybeQuoted({ bytes, length }: Reading): boolean {
  for (let index = 0; index < length; index++) if (OF_QUOTING[bytes[index] ?? 0] === 1) return true;
  return false;
}

/** Puts into `pile` what is in `reading`, with escapes replaced by what they stand for. */
export function unescapeReading(reading: Reading, pile: Reading): Reading {
  const { bytes, length } = reading;
  pile.clear(length);
  for (let index = 0; index < length; index++) {
    const byte = bytes[index] ?? NOTHING;
    pile.push(byte, reading.startOf(index), reading.endOf(index));
    if (MAY_END[byte] === 1) while (replaceEscape(pile));
  }
  return pile;
}

/** Replaces the escape that ends with the last byte; false where none does. */
function replaceEscape(pile: Reading): boolean {
  const last = at(pile, 1);
  if ((DIGITS[last] ?? -1) >= 0) return replaceNumbered(pile);
  if (last === SEMICOLON) return replaceEntity(pile);
  if (last === CLOSE) return replaceBraced(pile);
  const whiteSpace = at(pile, 2) === BACKSLASH ? BREAKS.get(last) : undefined;
  return whiteSpace !== undefined && replace(pile, 2, whiteSpace, true);
}

/** %2B, \x2b, \u002B, \U0000002B. Of the first two, 80 and above are bytes of their own. */
function replaceNumbered(pile: Reading): boolean {
  if (at(pile, 3) === PERCENT) return replaceHex(pile, 3, 2);
  if (at(pile, 4) === BACKSLASH && at(pile, 3) === SMALL_X) return replaceHex(pile, 4, 2);
  if (at(pile, 6) === BACKSLASH && at(pile, 5) === SMALL_U) return replaceHex(pile, 6, 4);
  return at(pile, 10) === BACKSLASH && at(pile, 9) === LARGE_U && replaceHex(pile, 10, 8);
}

function replaceHex(pile: Reading, size: number, digits: number): boolean {
  const value = hexBefore(pile, pile.length, digits);
  return value !== undefined && replace(pile, size, value, digits === 2);
}

function replaceEntity(pile: Reading): boolean {
  for (let size = 4; size <= Math.min(MAX_ENTITY_BYTES, pile.length); size++) {
    if (at(pile, size) !== AMPERSAND) continue;
    const point = at(pile, size - 1) === NUMBER_SIGN ? numberOf(pile, size) : namedBy(pile, size);
    return point !== undefined && replace(pile, size, point, false);
  }
  return false;
}

/**
 * The code in a character reference such as `&#43;` or `&#x2b;` at the end of `pile`, whose length is `size` bytes;
 * undefined when it holds anything but digits.
 */
function numberOf(pile: Reading, size: number): number | undefined {
  if ((at(pile, size - 2) | 32) === SMALL_X)
    return size > 4 ? hexBefore(pile, pile.length - 1, size - 4) : undefined;
  let value = 0;
  for (let back = size - 2; back > 1; back--) {
    const digit = at(pile, back) - ZERO;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return value;
}

function namedBy(pile: Reading, size: number): number | undefined {
  let name = 0;
  for (let back = size - 1; back > 1; back--) name = name * 256 + at(pile, back);
  return ENTITIES.get(name);
}

/** \u{2b} */
function replaceBraced(pile: Reading): boolean {
  for (let size = 5; size <= Math.min(MAX_BRACED_BYTES, pile.length); size++) {
    if (at(pile, size) !== BACKSLASH) continue;
    if (at(pile, size - 1) !== SMALL_U || at(pile, size - 2) !== OPEN) return false;
    const value = hexBefore(pile, pile.length - 1, size - 4);
    return value !== undefined && replace(pile, size, value, false);
  }
  return false;
}

/** The byte that is `back` from the end, 1 being the last. */
function at({ bytes, length }: Reading, back: number): number {
  return length < back ? NOTHING : (bytes[length - back] ?? NOTHING);
}

function hexBefore({ bytes }: Reading, end: number, digits: number): number | undefined {
  let value = 0;
  for (let index = end - digits; index < end; index++) {
    const digit = DIGITS[bytes[index] ?? NOTHING] ?? -1;
    if (digit < 0) return undefined;
    value = value * 16 + digit;
  }
  return value;
}

/** Puts one byte or one character in place of the last `size` bytes; false for a number that is no character's. */
function replace(pile: Reading, size: number, value: number, isByte: boolean): boolean {
  if (value > MAX_POINT) return false;
  const start = pile.startOf(pile.length - size);
  const end = pile.endOf(pile.length - 1);
  pile.length -= size;
  if (isByte) pile.push(value, start, end);
  else pile.pushPoint(value, start, end);
  return true;
}
