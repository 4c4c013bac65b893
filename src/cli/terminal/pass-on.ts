// A program's output on its way to our own: exactly as it comes into a file or a pipe, line by line and harmless onto a
// terminal, which would obey what hostile code prints. A reader that is slow is waited for with a bounded memory.

import type { OutputStream } from '../../base/process/streams.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { makeHarmless } from '../../base/text/text.js';
import { sayDim } from './output.js';

/** Most bytes that may wait for a slow reader; the rest of a flood is counted. */
const MAX_PENDING_BYTES = 128 * MB_BYTES;
/** An unfinished line waits for its end, until it is so long. */
const MAX_OPEN_CHARS = 2_000;

/** Where what a program prints goes. */
export type ProgramOutput = {
  /** `base64`: the bytes where `text` is not all that they say. */
  readonly add: (stream: OutputStream, text: string, base64: string | null) => void;
};

/** Both streams of a program on their way to our own. */
export class PassedOn implements ProgramOutput {
  readonly stdout: PassOn;
  readonly stderr: PassOn;

  constructor(to: Readonly<Record<OutputStream, NodeJS.WriteStream>> = process) {
    this.stdout = new PassOn(to.stdout);
    this.stderr = new PassOn(to.stderr);
  }

  readonly add = (stream: OutputStream, text: string, base64: string | null): void =>
    this[stream].add(text, base64);

  /** Says what is missing; false where something is. */
  end(): boolean {
    let isWhole = true;
    for (const name of ['stdout', 'stderr'] as const) {
      const { missingBytes } = this[name];
      this[name].end();
      if (missingBytes === 0) continue;
      isWhole = false;
      sayDim(`${missingBytes} bytes of ${name} were not passed on: they were not read fast enough`);
    }
    return isWhole;
  }
}

export class PassOn {
  readonly #to: NodeJS.WriteStream;
  #open = '';
  #missingBytes = 0;
  #isLineOpen = false;

  constructor(to: NodeJS.WriteStream) {
    this.#to = to;
  }

  /** Bytes that were not passed on. */
  get missingBytes(): number {
    return this.#missingBytes;
  }

  /** Whether what was printed last was no whole line. */
  get isLineOpen(): boolean {
    return this.#isLineOpen;
  }

  /** `base64`: the bytes where they are no text; a file gets them as they are. */
  add(text: string, base64: string | null = null): void {
    if (text !== '') this.#isLineOpen = !text.endsWith('\n');
    const exact = base64 === null ? text : Buffer.from(base64, 'base64');
    if (this.#to.writableLength > MAX_PENDING_BYTES) this.#missingBytes += Buffer.byteLength(exact);
    else if (this.#to.isTTY) this.#addLines(text);
    else this.#to.write(exact);
  }

  /** The last line may have no end. */
  end(): void {
    if (this.#open !== '') this.#to.write(makeHarmless(this.#open));
    this.#open = '';
  }

  #addLines(text: string): void {
    this.#open += text;
    const end = this.#open.length > MAX_OPEN_CHARS ? this.#open.length : this.#open.lastIndexOf('\n') + 1;
    if (end === 0) return;
    this.#to.write(makeHarmless(this.#open.slice(0, end)));
    this.#open = this.#open.slice(end);
  }
}
