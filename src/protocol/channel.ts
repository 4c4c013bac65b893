// The host's end of one sandbox: two streams of frames in (the guest's and the supervisor's), one out. Every line is
// hostile until parsed; a stream that breaks the rules ends the conversation with one named reason. Knows frames and
// byte streams, and nothing of containers, tools or Python.

import type { Readable, Writable } from 'node:stream';
import { BridgeError } from '../base/errors.js';
import { clip } from '../base/text.js';
import {
  type GuestFrame,
  guestFrame,
  type HostFrame,
  MAX_DEPTH,
  MAX_FRAME_BYTES,
  type SupervisorFrame,
  supervisorFrame,
} from './frames.js';
import { parseJson, stringify } from './json-text.js';
import { type Line, LineSplitter } from './lines.js';

// Replies that the guest does not read pile up here; beyond this it is refused further ones, and its deadline ends it.
const MAX_UNREAD_BYTES = 2 * MAX_FRAME_BYTES;

export type ChannelStreams = {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

export type ChannelHandlers = {
  /** `text` is the frame's own line, for values that are relayed verbatim. */
  readonly onGuest: (frame: GuestFrame, text: string) => void;
  readonly onSupervisor: (frame: SupervisorFrame) => void;
  /** A line on the supervisor's stream that is no frame: the engine's own words. */
  readonly onNoise: (line: string) => void;
  /** The rules were broken; nothing is handed on after this. */
  readonly onViolation: (error: BridgeError) => void;
};

export class Channel {
  readonly #stdin: Writable;
  readonly #handlers: ChannelHandlers;
  #closed = false;

  constructor(streams: ChannelStreams, handlers: ChannelHandlers) {
    this.#stdin = streams.stdin;
    this.#handlers = handlers;
    // The far side may vanish at any time; its exit tells why, so a broken pipe is no news.
    this.#stdin.on('error', () => {});
    this.#read(streams.stdout, (line) => this.#onGuestLine(line));
    this.#read(streams.stderr, (line) => this.#onSupervisorLine(line));
  }

  /** False when the far side has stopped reading and the frame was dropped. */
  send(frame: HostFrame): boolean {
    if (this.#closed || !this.#stdin.writable || this.#stdin.writableLength > MAX_UNREAD_BYTES) return false;
    this.#stdin.write(`${stringify(frame)}\n`);
    return true;
  }

  /** Nothing is sent from now on, which the far side sees; what it has said is still handed on. */
  hangUp(): void {
    this.#stdin.end();
  }

  /** Nothing is sent or handed on from now on; what still arrives is read and dropped, so that no pipe blocks. */
  close(): void {
    this.#closed = true;
    this.#stdin.end();
  }

  #read(stream: Readable, onLine: (line: Line) => void): void {
    const splitter = new LineSplitter(MAX_FRAME_BYTES);
    stream.on('data', (chunk: Buffer) => {
      for (const line of this.#closed ? [] : splitter.push(chunk)) if (!this.#closed) onLine(line);
    });
    stream.on('error', () => {});
  }

  #onGuestLine(line: Line): void {
    const text = this.#textOf(line, 'guest');
    if (text === undefined || text === '') return;
    const frame = this.#parse(text, guestFrame);
    if (frame !== undefined) this.#handlers.onGuest(frame, text);
  }

  #onSupervisorLine(line: Line): void {
    const text = this.#textOf(line, 'supervisor');
    if (text === undefined) return;
    // The engine's client writes its own warnings to the same stream; a frame always starts like this.
    if (!text.startsWith('{"type":')) {
      if (text !== '') this.#handlers.onNoise(clip(text, 2000));
      return;
    }
    const frame = this.#parse(text, supervisorFrame);
    if (frame !== undefined) this.#handlers.onSupervisor(frame);
  }

  #textOf(line: Line, who: string): string | undefined {
    if ('text' in line) return line.text;
    this.#violate(
      new BridgeError(
        'E_FRAME_TOO_LARGE',
        `a ${who} frame of ${line.oversized} bytes exceeds the limit of ${MAX_FRAME_BYTES}`,
        {
          fault: 'guest',
          remedy: 'Pass less data in one call, or process it in pieces.',
        },
      ),
    );
    return undefined;
  }

  #parse<T>(
    text: string,
    schema: { safeParse(value: unknown): { success: true; data: T } | { success: false } },
  ): T | undefined {
    try {
      const parsed = schema.safeParse(parseJson(text, MAX_DEPTH));
      if (parsed.success) return parsed.data;
      throw new BridgeError('E_PROTOCOL', 'the sandbox sent a frame of an unknown shape', { fault: 'guest' });
    } catch (thrown) {
      this.#violate(
        thrown instanceof BridgeError
          ? thrown
          : new BridgeError('E_PROTOCOL', 'the sandbox sent a frame that cannot be read', {
              fault: 'guest',
              cause: thrown,
            }),
      );
      return undefined;
    }
  }

  #violate(error: BridgeError): void {
    if (this.#closed) return;
    this.close();
    this.#handlers.onViolation(error);
  }
}
