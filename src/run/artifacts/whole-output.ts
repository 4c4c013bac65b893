// One output stream as it was printed, for reading later: nothing is on the disk before the answer has to leave
// something out, and no more than a client takes in one message. What a flood has beyond that is counted.

import { wholeCharacters } from '../../base/text/text.js';
import { MAX_FILE_BYTES } from '../../wire/frames.js';
import type { Kept, KeptRun, KeptStream } from './kept-run.js';

/** The last line, where something is missing. */
const NOTE_BYTES = 200;

export class WholeOutput {
  readonly #open: () => KeptStream;
  readonly #answerChars: number;
  #early: string[] | undefined = [];
  #earlyChars = 0;
  #bytes = 0;
  #stream: KeptStream | undefined;
  #roomBytes: number;
  #missingBytes = 0;

  /** `answerChars` is what the answer shows without leaving anything out. */
  constructor(run: KeptRun, name: string, answerChars: number, quotaBytes: number) {
    const maxBytes = Math.min(MAX_FILE_BYTES, quotaBytes);
    this.#open = () => run.stream(name, 'text/plain', maxBytes);
    this.#answerChars = answerChars;
    this.#roomBytes = Math.max(0, maxBytes - NOTE_BYTES);
  }

  add(text: string): void {
    this.#bytes += Buffer.byteLength(text);
    if (this.#early === undefined) return this.#write(text);
    this.#early.push(text);
    this.#earlyChars += text.length;
    if (this.#earlyChars > this.#answerChars) this.#keep(this.#early);
  }

  /** All that was added, kept or not. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Undefined where the answer holds all of it, unless `isCut` says that it does not. Throws what kept it from being kept. */
  async end(isCut: boolean): Promise<Kept | undefined> {
    if (isCut && this.#early !== undefined) this.#keep(this.#early);
    if (this.#missingBytes > 0)
      this.#stream?.write(Buffer.from(`\n[… ${this.#missingBytes} further bytes were not kept …]\n`));
    return await this.#stream?.end();
  }

  /** Never throws. */
  async close(): Promise<void> {
    await this.#stream?.close();
  }

  #keep(early: readonly string[]): void {
    this.#early = undefined;
    this.#stream = this.#open();
    this.#write(early.join(''));
  }

  #write(text: string): void {
    if (this.#roomBytes === 0) {
      this.#missingBytes += Buffer.byteLength(text);
      return;
    }
    const bytes = Buffer.from(text);
    const kept = wholeCharacters(bytes, this.#roomBytes);
    this.#stream?.write(kept);
    this.#missingBytes += bytes.length - kept.length;
    this.#roomBytes = kept.length === bytes.length ? this.#roomBytes - kept.length : 0;
  }
}
