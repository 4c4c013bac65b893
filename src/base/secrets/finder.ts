// Finds known values in a text, in whatever notation they are written there. A text is seen in four ways: as it is, in
// the normal form of `unescaped.ts`, as letters of base64, and as hexadecimal digits; each time it is compared with all
// values at once. Time depends on the text's length alone, whatever is in it.

import { BARRIER, byteTable, type JsonPlace, Reading, readJson, readText, SKIPPED } from './reading.js';
import { Trie } from './trie.js';
import { maybeQuoted, NORMAL, unescapeReading } from './unescaped.js';

/** Shorter patterns would be found everywhere. */
const MIN_BYTES = 8;
/** A long text is read in pieces of this many characters: what is kept of one is ten times as large. */
const PIECE_CHARS = 65_536;
/** How many characters a quoted byte of a value may take, such as `\\\\u002b` or `&#x0002b;`. */
const MAX_QUOTED_CHARS = 12;

/** A piece of a text that has to go; `label` is that of the value which stands there. */
export type Span = { readonly start: number; readonly end: number; readonly label: number };

const keepOnly = (kept: string) => (byte: number) =>
  kept.includes(String.fromCharCode(byte)) ? byte : BARRIER;
const AS_IT_IS = byteTable((byte) => byte, '', {});
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
/** Both alphabets of base64 as one; its lines may be broken anywhere, and its slashes escaped. */
const BASE64_LETTERS = byteTable(keepOnly(`${UPPER}${UPPER.toLowerCase()}0123456789+/`), ' \t\r\n\\', {
  '-': '+',
  _: '/',
});
/** Digits in small letters, with nothing between them or with what dumps put there. */
const HEX_DIGITS = byteTable(keepOnly('0123456789abcdef'), ' \t\r\n\\:-,', {
  A: 'a',
  B: 'b',
  C: 'c',
  D: 'd',
  E: 'e',
  F: 'f',
});

export class Finder {
  readonly #plain = new Trie();
  /** Values in the normal form of `unescaped.ts`. */
  readonly #normal = new Trie();
  readonly #base64 = new Trie();
  readonly #hex = new Trie();
  #overlapChars = 0;
  // Made once: most texts are short, and making these takes longer than reading them.
  readonly #read = new Reading();
  readonly #bare = new Reading();

  /** Learns a value; `label` is what its finds are told with. */
  add(value: string, label: number): void {
    const plain = readText(value, new Reading());
    if (plain.length < MIN_BYTES) return;
    this.#plain.add(plain, label);
    const [normal, latin1] = [plain, readLatin1(value)].map((form) => seenThrough(NORMAL, form));
    for (const form of [normal, latin1]) if (form !== undefined) this.#normal.add(form, label);
    // There is little in it but quotes: what JSON and URLs make of them.
    if (normal === undefined)
      for (const form of [JSON.stringify(value).slice(1, -1), encodeURIComponent(value.toWellFormed())])
        this.#plain.add(readText(form, new Reading()), label);
    const bytes = Buffer.from(plain.bytes.subarray(0, plain.length));
    for (const offset of [0, 1, 2])
      this.#base64.add(readText(base64Core(bytes, offset), new Reading()), label);
    this.#hex.add(readText(bytes.toString('hex'), new Reading()), label);
    this.#overlapChars = Math.max(this.#overlapChars, plain.length * MAX_QUOTED_CHARS);
  }

  /** Where values stand in `text`, in order and without overlaps. */
  inText(text: string): readonly Span[] {
    if (this.#plain.isEmpty) return [];
    const found = new FoundSecrets();
    const step = this.#pieceChars;
    for (let from = 0; from < text.length; from += step) {
      const end = Math.min(text.length, from + step + this.#overlapChars);
      this.#search(readText(text, this.#read, from, end), from + step, found);
    }
    return found.spans();
  }

  /** Finds values in JSON, whose escapes are never cut; tells `onLiteral` where each longer number begins. */
  inJson(json: string, onLiteral: (start: number) => void): readonly Span[] {
    if (this.#plain.isEmpty) return [];
    const found = new FoundSecrets();
    let place: JsonPlace = { at: 0, inString: false };
    while (place.at < json.length) {
      const mark = place.at + this.#pieceChars;
      const end = Math.min(json.length, mark + this.#overlapChars);
      place = readJson(json, this.#read, place, mark, end, onLiteral);
      this.#search(this.#read, place.at, found);
    }
    return found.spans();
  }

  get #pieceChars(): number {
    return Math.max(PIECE_CHARS, this.#overlapChars * 2);
  }

  /** Leaves values that begin at `limit` or later to the next piece. */
  #search(plain: Reading, limit: number, found: FoundSecrets): void {
    const look = (trie: Trie, table: Int16Array, reading: Reading, kind: number) =>
      trie.search(reading, table, (first, last, label) => {
        const start = reading.startOf(first);
        if (start < limit) found.add(kind, { start, end: reading.endOf(last), label });
      });
    look(this.#plain, AS_IT_IS, plain, 0);
    const isQuoted = maybeQuoted(plain);
    const bare = isQuoted ? unescapeReading(plain, this.#bare) : plain;
    if (isQuoted) look(this.#normal, NORMAL, bare, 1);
    look(this.#base64, BASE64_LETTERS, bare, 2);
    look(this.#hex, HEX_DIGITS, bare, 3);
  }
}

/** Spans by the reading that they were found in: of each they come in the order of their ends. */
class FoundSecrets {
  readonly #byKind: Span[][] = [[], [], [], []];

  add(kind: number, span: Span): void {
    addMerged(this.#byKind[kind] ?? [], span);
  }

  /** All of them in order; of those that overlap, one with the longest one's label. */
  spans(): readonly Span[] {
    return this.#byKind.reduce((left, right) => {
      if (right.length === 0) return left;
      const merged: Span[] = [];
      let at = 0;
      for (const span of right) {
        for (; at < left.length && (left[at]?.start ?? 0) <= span.start; at++)
          addMerged(merged, left[at] ?? span);
        addMerged(merged, span);
      }
      for (const span of left.slice(at)) addMerged(merged, span);
      return merged;
    });
  }
}

function addMerged(spans: Span[], added: Span): void {
  let span = added;
  for (let last = spans.at(-1); last !== undefined && last.end > span.start; last = spans.at(-1)) {
    spans.pop();
    const longer = last.end - last.start > span.end - span.start ? last : span;
    span = {
      start: Math.min(last.start, span.start),
      end: Math.max(last.end, span.end),
      label: longer.label,
    };
  }
  spans.push(span);
}

/** The bytes of a pattern for a search through `table`; undefined for one that is too short, or that nothing would find. */
function seenThrough(table: Int16Array, form: Reading): Reading | undefined {
  const bare = unescapeReading(form, new Reading());
  const seen = new Reading();
  for (let at = 0; at < bare.length; at++) {
    const byte = table[bare.bytes[at] ?? BARRIER] ?? BARRIER;
    if (byte === BARRIER) return undefined;
    if (byte !== SKIPPED) seen.push(byte, 0, 0);
  }
  return seen.length < MIN_BYTES ? undefined : seen;
}

/** Reads `value` with a byte each for the characters from U+0080 to U+00FF, as `\xfc` and `%FC` are read. */
function readLatin1(value: string): Reading {
  const reading = new Reading();
  for (let at = 0; at < value.length; at++) {
    const unit = value.charCodeAt(at);
    if (unit < 0x100) reading.push(unit, at, at + 1);
    else reading.pushUnit(unit, at, at + 1);
  }
  return reading;
}

/** The letters of base64 that depend on the value alone, whatever stands before and after it in the encoded text. */
function base64Core(value: Uint8Array, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), value]);
  const start = offset === 0 ? 0 : offset + 1;
  return bytes.toString('base64').slice(start, Math.floor((bytes.length * 8) / 6));
}
