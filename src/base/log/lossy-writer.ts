// Writes lines to stderr without ever waiting for whoever reads them: what a reader is behind with waits in memory up to
// a limit, and what exceeds it is dropped and counted. A write that waited would stop the whole bridge, signals included.
//
// Pipes and sockets are written by Node's own stream, which the event loop empties. It makes the descriptor
// non-blocking, as it does for every program that looks at `process.stderr`, and Node takes that back at exit. Writes
// in Node's thread pool would leave the descriptor alone, but `process.exit` waits for them, for ever if need be.

import { fstatSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';

/** Some thousand lines: enough for a reader that is busy for a moment. */
const MAX_WAITING_CHARS = 1024 * 1024;
const STDERR = 2;

/** The target of the lines: a stream, or a file. */
export type LineTarget = {
  /** Characters that were written and have not left yet. */
  readonly waitingChars: number;
  /** `done` is called when the line has left, or could not be written. */
  write(line: string, done: (isWritten: boolean) => void): void;
};

export class LossyWriter {
  /** Called when lines can be written again after some were dropped; it may write. */
  onRecovered: (dropped: number) => void = () => {};
  readonly #target: LineTarget;
  readonly #maxWaitingChars: number;
  #dropped = 0;
  /** True from the first line that had no room until half of the room is free again. */
  #isBehind = false;

  constructor(target: LineTarget, maxWaitingChars = MAX_WAITING_CHARS) {
    this.#target = target;
    this.#maxWaitingChars = maxWaitingChars;
  }

  /** Returns at once; never throws. */
  write(line: string): void {
    if (this.#isBehind || this.#target.waitingChars + line.length > this.#maxWaitingChars) {
      // Where nothing is on its way, as with one line that is too long, nothing will tell that there is room again.
      this.#isBehind = this.#target.waitingChars > 0;
      this.#dropped++;
      return;
    }
    this.#target.write(line, (isWritten) => this.#onLeft(isWritten));
  }

  /** Resolves when everything has left, or `withinMs` later. */
  async flush(withinMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      const done = () => {
        if (this.#target.waitingChars > 0) return this.#target.write('', done);
        clearTimeout(timer);
        resolve();
      };
      this.#target.write('', done);
    });
  }

  #onLeft(isWritten: boolean): void {
    if (!isWritten) this.#dropped++;
    else if (this.#dropped > 0 && this.#target.waitingChars <= this.#maxWaitingChars / 2) {
      const dropped = this.#dropped;
      this.#dropped = 0;
      this.#isBehind = false;
      this.onRecovered(dropped);
    }
  }
}

/** Our own stderr, whatever it is. */
export function stderrWriter(): LossyWriter {
  return new LossyWriter(isPlainFile() ? fileTarget(STDERR) : streamTarget(process.stderr));
}

/** A stream for whoever wants one, such as `Console`: what is written to it goes to `writer`. */
export const streamInto = (writer: Pick<LossyWriter, 'write'>): Writable =>
  new Writable({
    decodeStrings: false,
    write: (chunk: string | Buffer, _encoding, done) => {
      writer.write(chunk.toString());
      done();
    },
  });

/**
 * Node lets a terminal block, and on Windows a pipe; from now on ours do not. libuv has opened the terminal anew, so that
 * this changes nobody else's. For servers only: a command that calls `process.exit` would lose its last lines. Node has no
 * public way: its `net.Socket` takes no terminal, and makes a pipe to stderr block as well.
 */
export function neverBlock(stream: NodeJS.WriteStream): void {
  (stream as { _handle?: { setBlocking?: (isBlocking: boolean) => void } })._handle?.setBlocking?.(false);
}

function streamTarget(stream: NodeJS.WriteStream): LineTarget {
  // The reader has gone: there is nobody to tell, and the bridge learns it from stdin.
  stream.on('error', () => {});
  return {
    get waitingChars() {
      return stream.destroyed ? 0 : stream.writableLength;
    },
    write: (line, done) => void stream.write(line, (error) => done(error === null || error === undefined)),
  };
}

/** A file has no reader to wait for. Where the disk is full, a later line begins anew instead of joining a torn one. */
export function fileTarget(fd: number): LineTarget {
  let isTorn = false;
  return {
    waitingChars: 0,
    write: (line, done) => {
      try {
        let rest = Buffer.from(isTorn ? `\n${line}` : line);
        while (rest.length > 0) {
          rest = rest.subarray(writeSync(fd, rest));
          isTorn = true;
        }
        isTorn = false;
        done(true);
      } catch {
        done(false);
      }
    },
  };
}

function isPlainFile(): boolean {
  try {
    return fstatSync(STDERR).isFile();
  } catch {
    return false;
  }
}
