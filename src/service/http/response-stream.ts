// Sends the answers of the SDK's web-standard transports over Node's responses. A transport puts in what it has at once,
// whoever reads; what its reader has not taken is counted here, and a reader that takes nothing, or keeps too much waiting,
// loses its connection.

import type { ServerResponse } from 'node:http';
import type { HttpLimits } from './parts.js';

/** A large piece is written in parts, so that a slow reader is seen to read. */
const PART_BYTES = 65_536;

export class ResponseStreams {
  readonly #limits;
  readonly #open = new Set<Unread>();

  constructor(limits: Pick<HttpLimits, 'unreadMs' | 'unreadBytes' | 'unreadBytesInAll'>) {
    this.#limits = limits;
  }

  /** Bytes that wait for their readers. */
  get unreadBytes(): number {
    let bytes = 0;
    for (const unread of this.#open) bytes += unread.bytes;
    return bytes;
  }

  /**
   * Resolves when all of `body` has been written, or when its reader has gone or was given up. Never rejects. `map` is
   * what becomes of each piece before.
   */
  async send(
    body: ReadableStream<Uint8Array>,
    response: ServerResponse,
    map: (piece: Uint8Array) => Uint8Array = (piece) => piece,
  ): Promise<void> {
    const unread = new Unread(response, this.#limits.unreadMs);
    this.#open.add(unread);
    const reader = body.getReader();
    const hasGone = () => void reader.cancel().catch(() => {});
    response.once('close', hasGone);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || response.destroyed) break;
        unread.put(map(value));
        this.#giveUpGreedy(unread);
      }
      await unread.allWritten();
      // One that was given up has not been sent all: ended, it would count as whole.
      if (!response.destroyed) response.end();
    } catch {
      // The transport has broken off: its reader must not take what came for the whole.
      response.destroy();
    } finally {
      response.off('close', hasGone);
      this.#open.delete(unread);
    }
  }

  #giveUpGreedy(latest: Unread): void {
    const { unreadBytes, unreadBytesInAll } = this.#limits;
    if (latest.bytes > unreadBytes) latest.giveUp();
    else if (latest.bytes > PART_BYTES && this.unreadBytes > unreadBytesInAll)
      [...this.#open].reduce((one, other) => (other.bytes > one.bytes ? other : one)).giveUp();
  }
}

/** Bytes that one reader has not taken yet. */
class Unread {
  bytes = 0;
  readonly #parts: Uint8Array[] = [];
  readonly #response: ServerResponse;
  readonly #softTimeoutMs: number;
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;

  constructor(response: ServerResponse, softTimeoutMs: number) {
    this.#response = response;
    this.#softTimeoutMs = softTimeoutMs;
  }

  put(piece: Uint8Array): void {
    this.bytes += piece.byteLength;
    for (let at = 0; at < piece.byteLength; at += PART_BYTES)
      this.#parts.push(piece.subarray(at, at + PART_BYTES));
    if (!this.#isWriting) this.#writing = this.#writeAll();
  }

  async allWritten(): Promise<void> {
    await this.#writing;
  }

  giveUp(): void {
    this.#parts.length = 0;
    this.bytes = 0;
    this.#response.destroy();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    for (let part = this.#parts.shift(); part !== undefined; part = this.#parts.shift()) {
      if (this.#response.destroyed) return this.giveUp();
      const hasRoom = this.#response.write(part);
      if (!hasRoom && !(await this.#waitForDrain())) return this.giveUp();
      this.bytes -= part.byteLength;
    }
    this.#isWriting = false;
  }

  /** False where the reader has taken nothing for too long, or has gone. */
  #waitForDrain(): Promise<boolean> {
    return new Promise((resolve) => {
      const response = this.#response;
      const settle = (hasDrained: boolean) => {
        clearTimeout(timer);
        response.off('drain', onDrain).off('close', onClose);
        resolve(hasDrained);
      };
      const onDrain = () => settle(true);
      const onClose = () => settle(false);
      const timer = setTimeout(() => settle(false), this.#softTimeoutMs);
      response.on('drain', onDrain).on('close', onClose);
    });
  }
}
