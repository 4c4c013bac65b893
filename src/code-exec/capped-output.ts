// Output of a command on both streams, up to one cap in bytes for the two together: a stream that needs less than half leaves
// the rest to the other. Memory stays below three times the cap for each stream.

import { isUtf8 } from 'node:buffer';
import type { OutputStream } from '../base/process/streams.js';

/** Where all of a stream can be read later; absent where nothing was kept. */
export type Whole = { readonly [S in OutputStream]?: string | undefined };

export class CappedOutput {
  readonly #maxBytes: number;
  readonly #streams: Readonly<Record<OutputStream, CappedBytes>>;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#streams = { stdout: new CappedBytes(maxBytes), stderr: new CappedBytes(maxBytes) };
  }

  add(stream: OutputStream, chunk: Buffer): void {
    this.#streams[stream].add(chunk);
  }

  /** Bytes that were written, kept or not. */
  bytes(stream: OutputStream): number {
    return this.#streams[stream].bytes;
  }

  /** The most that `result` gives back, in bytes. */
  get heldBytes(): number {
    return Math.min(this.#maxBytes, this.bytes('stdout') + this.bytes('stderr'));
  }

  /** Both streams, in `maxBytes` together. */
  result(maxBytes: number, whole: Whole): Readonly<Record<OutputStream, Capped>> {
    const { stdout, stderr } = this.#streams;
    const half = Math.floor(maxBytes / 2);
    return {
      stdout: stdout.result(maxBytes - Math.min(stderr.bytes, half), whole.stdout),
      stderr: stderr.result(maxBytes - Math.min(stdout.bytes, maxBytes - half), whole.stderr),
    };
  }
}

export type Capped = {
  /** Bytes that are no UTF-8 are U+FFFD. */
  readonly text: string;
  /** All that was written. */
  readonly bytes: number;
  /** How many of these bytes `text` leaves out. */
  readonly dropped: number;
  /** Where in `text` the line stands that says so, without its newlines; absent where nothing is left out. */
  readonly gap?: { readonly start: number; readonly end: number };
  /** All of it in base64 where it is no UTF-8 and nothing is left out. */
  readonly base64: string | undefined;
};

/**
 * Output of one stream, up to a cap in bytes, head and tail kept: memory stays below twice the cap however much the command
 * writes. Cuts between characters where the bytes are text.
 */
export class CappedBytes {
  readonly #headMax: number;
  readonly #tailMax: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #bytes = 0;

  /** Half for the head and half for the tail. */
  constructor(maxBytes: number) {
    this.#headMax = Math.ceil(maxBytes / 2);
    this.#tailMax = Math.floor(maxBytes / 2);
  }

  /** All that was added. */
  get bytes(): number {
    return this.#bytes;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const room = this.#headMax - this.#headBytes;
    if (room > 0) {
      const first = chunk.subarray(0, room);
      this.#head.push(first);
      this.#headBytes += first.length;
    }
    const rest = room > 0 ? chunk.subarray(room) : chunk;
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    // Joined now and then: a million writes of a byte are not a million buffers.
    if (this.#tailBytes >= 2 * this.#tailMax || this.#tail.length > 1_000) this.#shorten();
  }

  /**
   * Head, a line that says how much is missing (where something is) and where all of it can be read, and tail; in
   * `maxBytes` where that is less than what is kept.
   */
  result(maxBytes = Number.POSITIVE_INFINITY, whole?: string): Capped {
    this.#shorten();
    const [tail = Buffer.alloc(0)] = this.#tail;
    const kept = Buffer.concat([...this.#head, tail]);
    if (kept.length === this.#bytes && this.#bytes <= maxBytes) {
      const base64 = isUtf8(kept) ? undefined : kept.toString('base64');
      return { text: kept.toString(), bytes: this.#bytes, dropped: 0, base64 };
    }
    const headMax = Math.min(this.#headMax, Math.ceil(maxBytes / 2));
    const tailMax = Math.min(this.#tailMax, Math.floor(maxBytes / 2));
    const first = endingWhole(kept.subarray(0, headMax));
    const last = beginningWhole(kept.subarray(kept.length - tailMax));
    const dropped = this.#bytes - first.length - last.length;
    const before = first.toString();
    const where = whole === undefined ? '' : `; whole: ${whole}`;
    const line = `[… ${dropped} of ${this.#bytes} bytes left out${where} …]`;
    const gap = { start: before.length + 1, end: before.length + 1 + line.length };
    const text = `${before}\n${line}\n${last.toString()}`;
    return { text, bytes: this.#bytes, dropped, gap, base64: undefined };
  }

  #shorten(): void {
    const joined = Buffer.concat(this.#tail);
    // A copy: a part would keep all of what it was cut from.
    this.#tail = [Buffer.from(joined.subarray(Math.max(0, joined.length - this.#tailMax)))];
    this.#tailBytes = this.#tail[0]?.length ?? 0;
  }
}

/** Most bytes that one character takes in UTF-8. */
const CHARACTER_BYTES = 4;

/** Bytes without the beginning of a character whose rest is missing. */
function endingWhole(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(CHARACTER_BYTES, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Bytes without the rest of a character whose beginning is missing. */
function beginningWhole(bytes: Buffer): Buffer {
  let start = 0;
  while (start < CHARACTER_BYTES - 1 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.subarray(start);
}
