// The kind and the id of a JSON-RPC message, read from text that cannot be parsed: too long to keep, too deep, or not quite
// JSON. Looks at the members of the outermost object only, wherever they stand. Works on pieces as they arrive, in one pass and
// in constant memory, and never throws: whoever waits for this message is to hear that it has failed.

import { jsonIn } from '../base/json/records.js';

/** Facts that could be read of a message; of a repeated member the last counts, as in JSON.parse. */
export type Envelope = {
  /** The id's own JSON text, of a string or a number; undefined where there is none, or a longer one. */
  readonly id: string | undefined;
  /** Whether the message has a `method`: a request, or a notification where it has no id. */
  readonly hasMethod: boolean;
  /** Whether the message has a `result` or an `error`. */
  readonly isAnswer: boolean;
};

/** Bytes of a key or an id; a client that counts or draws UUIDs needs a tenth. */
const MAX_KEPT_BYTES = 1024;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;

/** Members that tell what a message is. */
const KEYS: readonly string[] = ['method', 'result', 'error'];

/** The envelope of a text that is there as a whole. */
export function envelopeOf(text: string): Envelope {
  const reader = new EnvelopeReader();
  reader.push(Buffer.from(text));
  return reader.take();
}

/** Reads one envelope after the other: `push` each piece of a message, then `take` what it is. */
export class EnvelopeReader {
  #state: 'start' | 'member' | 'key' | 'colon' | 'value' | 'over' = 'start';
  /** How many brackets are open in the value that is being read. */
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** Bytes of the current key, or of the id's value. One byte over the limit is kept, to show that it is too long. */
  #kept: number[] = [];
  #isKept = false;
  #key = '';
  #id: string | undefined;
  readonly #keys = new Set<string>();

  push(piece: Buffer): void {
    let at = 0;
    while (at < piece.length && this.#state !== 'over') {
      if (this.#state === 'value' && !this.#isKept) at = this.#skip(piece, at);
      if (at < piece.length) this.#step(piece[at++] ?? 0);
    }
  }

  /** Goes over a value that is not wanted, which may be nearly all of the message. Gives where it ends in `piece`. */
  #skip(piece: Buffer, start: number): number {
    let depth = this.#depth;
    let inString = this.#inString;
    let isEscaped = this.#isEscaped;
    let hasValue = false;
    let at = start;
    for (; at < piece.length; at++) {
      const byte = piece[at] ?? 0;
      if (inString) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) inString = false;
      } else if (byte > 32) {
        const closes = byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
        if (depth === 0 && (closes || byte === COMMA)) break;
        hasValue = true;
        if (byte === QUOTE) inString = true;
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
        else if (closes) depth--;
      }
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#isEscaped = isEscaped;
    // Count a member that has begun: it may be without an end.
    if (hasValue && KEYS.includes(this.#key)) this.#keys.add(this.#key);
    return at;
  }

  /** The envelope of the message that was read; the next piece begins another message. */
  take(): Envelope {
    const keys = this.#keys;
    const envelope = {
      id: this.#id,
      hasMethod: keys.has('method'),
      isAnswer: keys.has('result') || keys.has('error'),
    };
    this.#state = 'start';
    this.#depth = 0;
    this.#inString = false;
    this.#isEscaped = false;
    this.#id = undefined;
    keys.clear();
    return envelope;
  }

  #step(byte: number): void {
    if (this.#inString) return this.#inText(byte);
    if (byte <= 32) return;
    if (this.#state === 'value') return this.#inValue(byte);
    if (this.#state === 'start') this.#state = byte === OPEN_BRACE ? 'member' : 'over';
    else if (this.#state === 'colon') {
      this.#state = byte === COLON ? 'value' : 'over';
      this.#keep(this.#key === 'id');
    } else if (byte === QUOTE) {
      this.#state = 'key';
      this.#inString = true;
      this.#keep(true);
    } else if (byte !== COMMA) this.#state = 'over';
  }

  #inText(byte: number): void {
    const ends = byte === QUOTE && !this.#isEscaped;
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
    if (ends) this.#inString = false;
    if (ends && this.#state === 'key') {
      const key = jsonIn(`"${this.#text()}"`);
      this.#key = typeof key === 'string' ? key : '';
      this.#state = 'colon';
    } else this.#add(byte);
  }

  #inValue(byte: number): void {
    const closes = byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
    if (this.#depth === 0 && (closes || byte === COMMA)) {
      this.#state = closes ? 'over' : 'member';
      return this.#endValue();
    }
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++;
    else if (closes) this.#depth--;
    this.#add(byte);
  }

  #endValue(): void {
    if (this.#key !== 'id') return;
    const text = this.#text();
    const id = jsonIn(text);
    this.#id = typeof id === 'string' || typeof id === 'number' ? text : undefined;
  }

  #keep(isKept: boolean): void {
    this.#isKept = isKept;
    this.#kept = [];
  }

  #add(byte: number): void {
    if (!this.#isKept) return;
    this.#kept.push(byte);
    this.#isKept = this.#kept.length <= MAX_KEPT_BYTES;
  }

  /** Empty where it was too long. */
  #text(): string {
    return this.#kept.length > MAX_KEPT_BYTES ? '' : Buffer.from(this.#kept).toString();
  }
}

/** An error of JSON-RPC 2.0 (section 5.1), as a peer sends it or gets it. */
export type RpcError = { readonly code: number; readonly message: string; readonly data?: unknown };

/** JSON-RPC 2.0, section 5.1. */
const INVALID_PARAMS = -32_602;

/**
 * Thrown by a handler of requests: the SDK answers with its code and message. The SDK's own error writes its code ahead of the
 * message, and a client made with the SDK does so again.
 */
export class WrongParams extends Error {
  readonly code = INVALID_PARAMS;
}
