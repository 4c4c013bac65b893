// A program's output on its way to our own: exactly as it comes into a file or a pipe, line by line and harmless onto a
// terminal, which would obey what hostile code prints. A reader that is slow is waited for with a bounded memory.

import { MB_BYTES } from '../base/sizes.js';
import { harmless } from '../base/text.js';

/** What may wait for a slow reader; the rest of a flood is counted. */
const MAX_PENDING_BYTES = 128 * MB_BYTES;
/** An unfinished line waits for its end, until it is so long. */
const MAX_OPEN_CHARS = 2_000;

export class PassOn {
  readonly #to: NodeJS.WriteStream;
  #open = '';
  #missingBytes = 0;

  constructor(to: NodeJS.WriteStream) {
    this.#to = to;
  }

  /** Bytes that were not passed on. */
  get missingBytes(): number {
    return this.#missingBytes;
  }

  add(text: string): void {
    if (this.#to.writableLength > MAX_PENDING_BYTES) this.#missingBytes += Buffer.byteLength(text);
    else if (this.#to.isTTY) this.#addLines(text);
    else this.#to.write(text);
  }

  /** The last line may have no end. */
  end(): void {
    if (this.#open !== '') this.#to.write(harmless(this.#open));
    this.#open = '';
  }

  #addLines(text: string): void {
    this.#open += text;
    const end = this.#open.length > MAX_OPEN_CHARS ? this.#open.length : this.#open.lastIndexOf('\n') + 1;
    if (end === 0) return;
    this.#to.write(harmless(this.#open.slice(0, end)));
    this.#open = this.#open.slice(end);
  }
}
