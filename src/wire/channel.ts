// The host's end of one sandbox: two streams of frames in (the guest's and the supervisor's), one out. Every line is
// hostile until parsed; a stream that breaks the rules ends the conversation with one named reason. Knows frames and
// byte streams, and nothing of containers, tools or Python.

import type { Readable, Writable } from 'node:stream';
import { BridgeError } from '../base/errors.js';
import { inPieces, parseJson } from '../base/json/json-text.js';
import { waitForDrain } from '../base/process/streams.js';
import { MB_BYTES } from '../base/text/sizes.js';
import { clip } from '../base/text/text.js';
import {
  type GuestFrame,
  guestFrame,
  type HostFrame,
  MAX_DEPTH,
  MAX_FRAME_BYTES,
  MAX_RUN_BYTES,
  MAX_UNREAD_BYTES,
  MAX_VALUES,
  type SupervisorFrame,
  supervisorFrame,
} from './frames.js';
import { type Line, LineSplitter } from './lines.js';

/** Room above MAX_UNREAD_BYTES for frames that only tell of a refusal; who does not read those either is not answered. */
const REFUSALS_UNREAD_BYTES = 8 * MB_BYTES;
/** A piece of a frame that is so long is written by itself. */
const LONG_CHARS = 65_536;
const FRAME_LIMITS = { maxDepth: MAX_DEPTH, maxValues: MAX_VALUES };
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII, controls included
const ASCII = /^[\x00-\x7f]*$/;

export class Channel {
  readonly #stdin: Writable;
  readonly #handlers;
  #closed = false;
  #guestBytes = 0;

  constructor(
    streams: {
      readonly stdin: Writable;
      readonly stdout: Readable;
      readonly stderr: Readable;
    },
    handlers: {
      /** `text` is the frame's own line, for values that are relayed verbatim. */
      readonly onGuest: (frame: GuestFrame, text: string) => void;
      readonly onSupervisor: (frame: SupervisorFrame) => void;
      /** A line on the supervisor's stream that is no frame: the engine's own words. */
      readonly onNoise: (line: string) => void;
      /** The rules were broken; nothing is handed on after this. `text` is the line that did it, where it was read. */
      readonly onViolation: (error: BridgeError, text?: string) => void;
    },
  ) {
    this.#stdin = streams.stdin;
    this.#handlers = handlers;
    // The far side may vanish at any time; its exit tells why, so a broken pipe is no news.
    this.#stdin.on('error', () => {});
    streams.stdout.on('data', (chunk: Buffer) => this.#countGuest(chunk.length));
    this.#read(streams.stdout, 'guest', (line) => this.#onGuestLine(line));
    this.#read(streams.stderr, 'supervisor', (line) => this.#onSupervisorLine(line));
  }

  /** False when the far side is gone or reads too little, and the frame was dropped. */
  send(frame: HostFrame): boolean {
    const limit = MAX_UNREAD_BYTES + (frame.type === 'reply' ? 0 : REFUSALS_UNREAD_BYTES);
    if (this.#closed || !this.#stdin.writable || this.#stdin.writableLength > limit) return false;
    let short = '';
    for (const piece of inPieces(frame)) {
      if (piece.length < LONG_CHARS) short += piece;
      else {
        // Copied into one text with the others, a file of megabytes would have everybody wait.
        this.#stdin.write(short);
        this.#stdin.write(piece);
        short = '';
      }
    }
    this.#stdin.write(`${short}\n`);
    return true;
  }

  /** Counts anew what the guest's stream carries: another call of a session begins. */
  countAnew(): void {
    this.#guestBytes = 0;
  }

  /** Sends each when the far side has read the one before, which holds one of them in memory; stops where it is gone. */
  async sendInTurn(frames: Iterable<HostFrame>): Promise<void> {
    for (const frame of frames) {
      if (!this.send(frame)) return;
      await waitForDrain(this.#stdin);
    }
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

  #read(stream: Readable, who: string, onLine: (line: Line) => void): void {
    const splitter = new LineSplitter(MAX_FRAME_BYTES);
    stream.on('data', (chunk: Buffer) => {
      for (const line of this.#closed ? [] : splitter.push(chunk)) if (!this.#closed) onLine(line);
      // The end of a line that is too long may never come.
      if (splitter.unfinishedBytes > MAX_FRAME_BYTES) this.#tooLong(who);
    });
    stream.on('error', () => {});
  }

  #countGuest(bytes: number): void {
    this.#guestBytes += bytes;
    if (this.#guestBytes <= MAX_RUN_BYTES) return;
    this.#violate(
      new BridgeError(
        'E_TOO_MUCH_DATA',
        `the code sent more than ${MAX_RUN_BYTES} bytes of calls in one run`,
        {
          fault: 'guest',
          remedy: 'Split the work into several runs.',
        },
      ),
    );
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
    this.#tooLong(who);
    return undefined;
  }

  #tooLong(who: string): void {
    this.#violate(
      new BridgeError('E_FRAME_TOO_LARGE', `a ${who} frame exceeds the limit of ${MAX_FRAME_BYTES} bytes`, {
        fault: 'guest',
        remedy: 'Pass less data in one call, or process it in pieces.',
      }),
    );
  }

  #parse<T>(
    text: string,
    schema: { safeParse(value: unknown): { success: true; data: T } | { success: false } },
  ): T | undefined {
    try {
      // The harness escapes everything else, so this is no harness; and bytes that are no UTF-8 cannot pass for U+FFFD.
      if (!ASCII.test(text))
        throw new BridgeError('E_PROTOCOL', 'the sandbox sent a frame that is not ASCII', { fault: 'guest' });
      const parsed = schema.safeParse(parseJson(text, FRAME_LIMITS));
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
        text,
      );
      return undefined;
    }
  }

  #violate(error: BridgeError, text?: string): void {
    if (this.#closed) return;
    this.close();
    this.#handlers.onViolation(error, text);
  }
}
