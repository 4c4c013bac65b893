// Server-sent events out of bytes, in linear time. Written by hand because an event above the limit must fail the one
// request that it answers: a parser with a limit of its own gives the whole stream up, and with it all other requests.
// Lines end with LF, CR LF or CR, and a byte order mark may stand before the first, as the standard has it.

import { type Envelope, EnvelopeReader } from '../../wire/envelope.js';
import { type Line, LineSplitter } from '../../wire/lines.js';

export type ServerEvent = {
  /** `message` when the server names none. */
  readonly type: string;
  readonly data: string;
};
/** How much it was, and what could be read of its data on the way. */
type OversizedEvent = { readonly oversized: number; readonly envelope: Envelope };

const FIELD = /^(data|event|id|retry)(?:: ?|$)/;
/** How the line of a field begins that may be too long to keep. */
const DATA = 'data:';
const LF = 10;
const CR = 13;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

export class EventReader {
  readonly #lines: LineSplitter;
  readonly #maxBytes: number;
  #type = '';
  #data: string[] = [];
  /** Characters of the event's data so far, whether kept or not. */
  #chars = 0;
  /** Reads what is not kept of an event; undefined while all of it is. */
  #skipped: EnvelopeReader | undefined;
  /** The first characters of a line that is too long to keep, as far as they have come. */
  #skippedHead = '';
  /** As last named; it counts when its event is there as a whole. */
  #id: string | undefined;
  #lastId: string | undefined;
  /** How many bytes of a byte order mark the stream has begun with; all of them, where it has begun with something else. */
  #markBytes = 0;
  /** The last byte was a CR: a LF that comes now belongs to it. */
  #endedWithCr = false;
  #retryMs: number | undefined;
  #linesRead = 0;
  #bytesSkipped = 0;

  /** Events above `maxBytes` of data are counted, not kept. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#lines = new LineSplitter(maxBytes, (piece) => this.#skip(piece));
  }

  /** Where a new stream would go on from, in the server's words; undefined when it never said. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** How long the server asks to be left alone before a new stream. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** Gives how much was read since the last call: all lines, and the bytes of those that are too long to keep. */
  takeRead(): { readonly lines: number; readonly bytesSkipped: number } {
    const read = { lines: this.#linesRead, bytesSkipped: this.#bytesSkipped };
    this.#linesRead = 0;
    this.#bytesSkipped = 0;
    return read;
  }

  /** The events that `chunk` completes, in order; those without data are none. */
  push(chunk: Buffer): (ServerEvent | OversizedEvent)[] {
    const events: (ServerEvent | OversizedEvent)[] = [];
    for (const line of this.#lines.push(this.#withLineFeeds(this.#withoutMark(chunk)))) {
      const event = this.#take(line);
      if (event !== undefined) events.push(event);
    }
    return events;
  }

  #withoutMark(chunk: Buffer): Buffer {
    let at = 0;
    while (at < chunk.length && chunk[at] === BYTE_ORDER_MARK[this.#markBytes]) {
      this.#markBytes++;
      at++;
    }
    if (at < chunk.length) this.#markBytes = BYTE_ORDER_MARK.length;
    return chunk.subarray(at);
  }

  /** Each end of a line as a LF. A CR ends its line at once: a server may say nothing more for long. */
  #withLineFeeds(chunk: Buffer): Buffer {
    if (chunk.length === 0) return chunk;
    const rest = this.#endedWithCr && chunk[0] === LF ? chunk.subarray(1) : chunk;
    this.#endedWithCr = chunk.at(-1) === CR;
    if (!rest.includes(CR)) return rest;
    return Buffer.from(rest.toString('latin1').replace(/\r\n?/g, '\n'), 'latin1');
  }

  #take(line: Line): ServerEvent | OversizedEvent | undefined {
    this.#linesRead++;
    if ('oversized' in line) {
      if (this.#skippedHead === DATA) this.#chars += line.oversized;
      this.#skippedHead = '';
      return undefined;
    }
    const { text } = line;
    if (text === '') return this.#dispatch();
    const [prefix, field] = FIELD.exec(text) ?? [''];
    const value = text.slice(prefix.length);
    if (field === 'data') this.#add(value);
    else if (field === 'event') this.#type = value;
    else if (field === 'id') this.#id = value;
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) this.#retryMs = Number(value);
    return undefined;
  }

  #add(value: string): void {
    this.#chars += value.length + 1;
    if (this.#chars <= this.#maxBytes) this.#data.push(value);
    else this.#skipData(Buffer.from(`${value}\n`));
  }

  /** A piece of a line that is too long to keep. */
  #skip(piece: Buffer): void {
    this.#bytesSkipped += piece.length;
    const missing = DATA.length - this.#skippedHead.length;
    this.#skippedHead += piece.toString('latin1', 0, missing);
    if (this.#skippedHead === DATA) this.#skipData(piece.subarray(missing));
  }

  /** From here on nothing of the event is kept. */
  #skipData(piece: Buffer): void {
    if (this.#skipped === undefined) {
      this.#skipped = new EnvelopeReader();
      for (const line of this.#data.splice(0)) this.#skipped.push(Buffer.from(`${line}\n`));
    }
    this.#skipped.push(piece);
  }

  #dispatch(): ServerEvent | OversizedEvent | undefined {
    const type = this.#type || 'message';
    const data = this.#data;
    const skipped = this.#skipped;
    const chars = this.#chars;
    this.#lastId = this.#id;
    this.#type = '';
    this.#data = [];
    this.#chars = 0;
    this.#skipped = undefined;
    if (skipped !== undefined) return { oversized: chars, envelope: skipped.take() };
    return data.length === 0 ? undefined : { type, data: data.join('\n') };
  }
}
