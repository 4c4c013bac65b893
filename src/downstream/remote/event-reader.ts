// Server-sent events out of bytes, in linear time. Written by hand because an event above the limit must fail the one
// request that it answers: a parser with a limit of its own gives the whole stream up, and with it all other requests.
// Lines end with LF or CR LF; a bare CR, which the standard allows as well and no server writes, ends none.

import { type Line, LineSplitter } from '../../protocol/lines.js';

export type ServerEvent = {
  /** `message` when the server names none. */
  readonly type: string;
  readonly data: string;
};
/** How much it was, and its first and last characters. */
export type OversizedEvent = { readonly oversized: number; readonly head: string; readonly tail: string };

const FIELD = /^(data|event|id|retry)(?:: ?|$)/;
/** Of an oversized line its field's name is still at the head. */
const DATA = /^data: ?/;

export class EventReader {
  readonly #lines: LineSplitter;
  readonly #maxBytes: number;
  #type = '';
  #data: string[] = [];
  #chars = 0;
  #oversized: OversizedEvent | undefined;
  #lastId: string | undefined;
  #retryMs: number | undefined;

  /** Events above `maxBytes` of data are counted, not kept. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#lines = new LineSplitter(maxBytes);
  }

  /** Where a new stream would go on from, in the server's words; undefined when it never said. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** How long the server asks to be left alone before a new stream. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** The events that `chunk` completes, in order; those without data are none. */
  push(chunk: Buffer): (ServerEvent | OversizedEvent)[] {
    return this.#lines.push(chunk).flatMap((line) => this.#take(line) ?? []);
  }

  #take(line: Line): ServerEvent | OversizedEvent | undefined {
    if ('oversized' in line) {
      if (DATA.test(line.head)) this.#oversized = { ...line, head: line.head.replace(DATA, '') };
      return undefined;
    }
    const text = line.text.endsWith('\r') ? line.text.slice(0, -1) : line.text;
    if (text === '') return this.#dispatch();
    const [prefix, field] = FIELD.exec(text) ?? [''];
    const value = text.slice(prefix.length);
    if (field === 'data') this.#add(value);
    else if (field === 'event') this.#type = value;
    else if (field === 'id') this.#lastId = value;
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) this.#retryMs = Number(value);
    return undefined;
  }

  #add(value: string): void {
    this.#chars += value.length + 1;
    if (this.#chars <= this.#maxBytes) this.#data.push(value);
    else {
      const head = this.#oversized?.head ?? (this.#data[0] ?? value).slice(0, 4096);
      this.#oversized = { oversized: this.#chars, head, tail: value.slice(-128) };
      this.#data = [];
    }
  }

  #dispatch(): ServerEvent | OversizedEvent | undefined {
    const type = this.#type || 'message';
    const data = this.#data;
    const oversized = this.#oversized;
    this.#type = '';
    this.#data = [];
    this.#chars = 0;
    this.#oversized = undefined;
    if (oversized !== undefined) return oversized;
    return data.length === 0 ? undefined : { type, data: data.join('\n') };
  }
}
