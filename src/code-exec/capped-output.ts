// Output of a command on both streams, up to one cap in bytes for the two together: a stream that needs less than half leaves
// the rest to the other. Memory stays below three times the cap for each stream.

import type { OutputStream } from '../base/process/streams.js';
import { type Capped, CappedBytes } from './capped-bytes.js';

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
