// JSON as text: what is only relayed is never re-encoded, because JavaScript's numbers would change it (integers
// above 2^53, 1.0 against 1, 1e400). `sliceAt` finds a value's own characters inside a document, `RawJson` carries
// them, `stringify` writes them back verbatim. One linear pass; no recursion, so depth cannot overflow the stack.

import { randomUUID } from '../crypto.js';
import { BridgeError } from '../errors.js';

/** Marks for a RawJson's place while the rest is written. A mark never leaves this process, so no data can contain it. */
const marks = (() => {
  let made: { readonly nonce: string; readonly placeholder: RegExp } | undefined;
  return () => {
    if (made === undefined) {
      const nonce = randomUUID();
      made = { nonce, placeholder: new RegExp(`"${nonce}:(\\d+)"`, 'g') };
    }
    return made;
  };
})();
/** Texts and JSON that the current call of `stringify` puts in at the end; undefined when none is under way. */
let collected: (RawJson | PlainText)[] | undefined;

/** JSON text that is known to be one well-formed value, relayed as it is. */
export class RawJson {
  constructor(readonly text: string) {}

  /**
   * A method that V8 looks for anyway; a replacer function would be called for every member and costs several times as much.
   */
  toJSON(): unknown {
    return collected === undefined ? JSON.parse(this.text) : `${marks().nonce}:${collected.push(this) - 1}`;
  }
}

/**
 * A string that is known to be printable ASCII without quotes and backslashes, such as base64. JSON.stringify would look at each
 * character of megabytes.
 */
export class PlainText {
  constructor(readonly text: string) {}

  toJSON(): string {
    return collected === undefined ? this.text : `${marks().nonce}:${collected.push(this) - 1}`;
  }
}

const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;

/**
 * The limit that `text` exceeds, as the end of a sentence about the text; undefined when it exceeds none. Counts before
 * anything is parsed, in one pass and without recursion: 64 MiB of `{},` are 20 s and 2 GB to JSON.parse.
 */
export function excessOf(
  text: string,
  { maxDepth, maxValues }: { readonly maxDepth: number; readonly maxValues: number },
): string | undefined {
  let depth = 0;
  // A little high (an empty array counts as two), never low.
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) at = endOfString(text, at) - 1;
    else if (char === COMMA) values++;
    else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      values++;
      if (++depth > maxDepth) return `is nested deeper than ${maxDepth} levels`;
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) depth--;
    if (values > maxValues) return `holds more than ${maxValues} values`;
  }
  return undefined;
}

/**
 * Whether an object in `text`, which is JSON, has two members of one name: readers differ in which of them counts. By the
 * number of members that are written, and that are left of them.
 */
export function hasRepeatedNames(text: string): boolean {
  let written = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) at = endOfString(text, at) - 1;
    else if (char === COLON) written++;
  }
  let left = 0;
  const rest: unknown[] = [JSON.parse(text)];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value !== 'object' || value === null) continue;
    const members = Object.values(value);
    if (!Array.isArray(value)) left += members.length;
    for (const member of members) rest.push(member);
  }
  return written !== left;
}

const NUMBER = /-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?/y;

/**
 * The first number in `text`, which is JSON, that a double does not keep: readers differ in how they round it. Of two texts
 * of one number the shorter counts, so that 0.1 is kept.
 */
export function inexactNumber(text: string): string | undefined {
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) at = endOfString(text, at) - 1;
    else if (char === MINUS || (char >= ZERO && char <= NINE)) {
      NUMBER.lastIndex = at;
      const written = NUMBER.exec(text)?.[0] ?? '';
      if (!isExact(written)) return written;
      at += written.length - 1;
    }
  }
  return undefined;
}

function isExact(written: string): boolean {
  const value = Number(written);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return false;
  const kept = String(value);
  return kept === written || plainDigits(kept) === plainDigits(written);
}

/** Digits that are equal for all ways to write one number, but for its sign: which readers agree on. */
function plainDigits(written: string): string {
  NUMBER.lastIndex = 0;
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(written) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  const significant = digits.slice(0, end);
  if (significant === '') return '0';
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

function skipSpace(text: string, at: number): number {
  let next = at;
  while (text.charCodeAt(next) <= 32) next++;
  return next;
}

/** Index just past the value that starts at `start`; the end of the text where the value has none. */
export function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfString(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) depth++;
    else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (char === COMMA || char <= 32)) return at;
  }
  return text.length;
}

/** The characters of each item of a list; undefined for what is no list, or one of more than `most`. */
export function itemsOf(text: string, most: number): string[] | undefined {
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== OPEN_BRACKET) return undefined;
  const items: string[] = [];
  for (at = skipSpace(text, at + 1); at < text.length; ) {
    const end = endOfValue(text, at);
    if (end === at) break;
    if (items.push(text.slice(at, end)) > most) return undefined;
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return items;
}

/**
 * The characters of the value at `path` (object keys only) in `text`, or undefined where there is none. Of a repeated
 * key the last counts, as in JSON.parse. In text that is no JSON it finds something or nothing, and never throws.
 */
export function sliceAt(text: string, path: readonly string[]): string | undefined {
  let at = skipSpace(text, 0);
  let end = text.length;
  for (const key of path) {
    const found = memberAt(text, at, end, key);
    if (found === undefined) return undefined;
    [at, end] = found;
  }
  return text.slice(at, end);
}

function memberAt(text: string, start: number, end: number, key: string): [number, number] | undefined {
  if (text.charCodeAt(start) !== OPEN_BRACE) return undefined;
  let found: [number, number] | undefined;
  let at = skipSpace(text, start + 1);
  while (at < end && text.charCodeAt(at) === QUOTE) {
    const keyEnd = endOfString(text, at);
    const name = text.slice(at, keyEnd);
    const colon = skipSpace(text, keyEnd);
    if (text.charCodeAt(colon) !== COLON) return found;
    const valueStart = skipSpace(text, colon + 1);
    const valueEnd = endOfValue(text, valueStart);
    if (name === `"${key}"` || (name.includes('\\') && unescapeString(name) === key))
      found = [valueStart, valueEnd];
    at = skipSpace(text, valueEnd);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return found;
}

// Heads of lines that were too long or too deep to parse are looked into as well, so it may be no JSON at all.
function unescapeString(string: string): unknown {
  try {
    return JSON.parse(string);
  } catch {
    return undefined;
  }
}

// Every escape sequence, pairs of surrogates as one, so that "\\\\ud800" (a backslash and letters) is not mistaken.
const ESCAPES =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|[\s\S])/g;

/** JSON text without lone surrogates, escaped or not: they become U+FFFD, since Python and Go clients refuse them. */
export function wellFormedJson(text: string): string {
  const formed = text.toWellFormed();
  if (!/\\u[dD][89a-fA-F]/.test(formed)) return formed;
  return formed.replace(ESCAPES, (sequence) => (sequence.length === 6 ? '\\ufffd' : sequence));
}

/** The first lone surrogate in JSON text, as an escape; undefined where there is none. */
export function loneSurrogateIn(text: string): string | undefined {
  const [bare] = /\p{Surrogate}/u.exec(text) ?? [];
  if (bare !== undefined) return JSON.stringify(bare).slice(1, -1);
  if (!/\\u[dD][89a-fA-F]/.test(text)) return undefined;
  for (const [sequence] of text.matchAll(ESCAPES)) if (sequence.length === 6) return sequence;
  return undefined;
}

/** JSON text with `map` of what each string in it says, names of members too; everything else stays character by character. */
export function mapStrings(text: string, map: (said: string) => string): string {
  let mapped = '';
  let from = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const start = at;
    at = endOfString(text, start);
    const said = unescapeString(text.slice(start, at));
    const other = typeof said === 'string' ? map(said) : said;
    if (other === said) continue;
    mapped += text.slice(from, start) + JSON.stringify(other);
    from = at;
  }
  return mapped + text.slice(from);
}

/** JSON text in which each string, names of members too, is written anew by `write`; everything else stays as it is. */
export function mapStringTexts(text: string, write: (said: string) => string): string {
  let mapped = '';
  let from = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const start = at;
    at = endOfString(text, start);
    const said = unescapeString(text.slice(start, at));
    if (typeof said !== 'string') continue;
    mapped += text.slice(from, start) + write(said);
    from = at;
  }
  return mapped + text.slice(from);
}

/** Parses one JSON document; its limits are checked before. Throws a BridgeError E_PROTOCOL. */
export function parseJson(
  text: string,
  limits: { readonly maxDepth: number; readonly maxValues: number },
): unknown {
  const excess = excessOf(text, limits);
  if (excess !== undefined) {
    throw new BridgeError('E_PROTOCOL', `a JSON text ${excess}`, {
      fault: 'guest',
      remedy: 'Send less data, or data that is nested less deeply.',
    });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BridgeError('E_PROTOCOL', 'not one well-formed JSON value', { fault: 'guest', cause });
  }
}

/** JSON.stringify in which every RawJson stands for its own text. Always one line. */
export function stringify(value: unknown): string {
  const [text = '', ...more] = inPieces(value);
  return more.length === 0 ? text : [text, ...more].join('');
}

/** As `stringify`, in pieces, so that long texts are written and not copied before. */
export function inPieces(value: unknown): string[] {
  const texts: (RawJson | PlainText)[] = [];
  const outer = collected;
  collected = texts;
  let text: string;
  try {
    text = JSON.stringify(value);
  } finally {
    collected = outer;
  }
  const [first] = texts;
  if (first === undefined) return [text];
  if (texts.length === 1) {
    // A call that is relayed has one text, and looking for its mark is cheaper than splitting by a pattern.
    const mark = `"${marks().nonce}:0"`;
    const at = text.indexOf(mark);
    return [text.slice(0, at), ...writtenAs(first), text.slice(at + mark.length)];
  }
  // Every second piece is the number of a text.
  return text
    .split(marks().placeholder)
    .flatMap((piece, at) => (at % 2 === 0 ? piece : writtenAs(texts[Number(piece)])));
}

function writtenAs(found: RawJson | PlainText | undefined): readonly string[] {
  if (found instanceof PlainText) return ['"', found.text, '"'];
  return [found === undefined ? 'null' : withoutBreaks(found.text)];
}

/** Whitespace between tokens may hold line breaks; inside strings JSON has none. */
const withoutBreaks = (text: string): string =>
  text.includes('\n') || text.includes('\r') ? text.replace(/[\r\n]+/g, ' ') : text;

/** Index just past the string of JSON that opens at `start`; the text's length where it does not end. */
export function endOfString(text: string, start: number): number {
  let quote = start;
  for (;;) {
    quote = text.indexOf('"', quote + 1);
    if (quote === -1) return text.length;
    let slashes = 0;
    while (text[quote - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return quote + 1;
  }
}
