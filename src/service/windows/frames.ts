// Frames between a relay and the shared bridge, in both directions: pieces of two streams and messages, each behind a head of
// five bytes. The relay and the bridge may be of different versions, so the format never changes without RELAY_PROTOCOL.

import type { Socket } from 'node:net';

/** Version of frames, greeting and messages together. Another version has a socket of its own, so that the two never meet. */
export const RELAY_PROTOCOL = 1;

/** `talk` is MCP, whole lines of it; `log` is for the window's stderr; `message` is JSON between relay and bridge. */
const FRAME_TYPES = ['talk', 'log', 'message'] as const;
export type SharedFrame = { readonly type: (typeof FRAME_TYPES)[number]; readonly payload: Buffer };

const HEAD_BYTES = 5;
/** A greeting has the environment of a window in it, which kernels hold to some megabytes. */
const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024;
/** Longer pieces are cut, so that neither side waits for one as a whole. */
const MAX_PIECE_BYTES = 256 * 1024;

/** The frames of a piece of a stream, in order; a message is one frame, whatever its length. */
export function framesOf(type: SharedFrame['type'], payload: Buffer): Buffer[] {
  if (type === 'message' || payload.length <= MAX_PIECE_BYTES) return [headOf(type, payload.length), payload];
  const frames: Buffer[] = [];
  for (let at = 0; at < payload.length; at += MAX_PIECE_BYTES)
    frames.push(...framesOf(type, payload.subarray(at, at + MAX_PIECE_BYTES)));
  return frames;
}

export const messageFrame = (message: object): Buffer =>
  Buffer.concat(framesOf('message', Buffer.from(JSON.stringify(message))));

function headOf(type: SharedFrame['type'], length: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(FRAME_TYPES.indexOf(type), 0);
  head.writeUInt32BE(length, 1);
  return head;
}

/** Bytes to frames, in linear time. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** The frames that `chunk` completes, in order. Throws where it is no frame: the other side is none of ours. */
  *push(chunk: Buffer): Generator<SharedFrame, void, void> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (let head = this.#head(); head !== undefined; head = this.#head()) {
      if (this.#bytes < HEAD_BYTES + head.length) return;
      const whole = this.#take(HEAD_BYTES + head.length);
      yield { type: head.type, payload: whole.subarray(HEAD_BYTES) };
    }
  }

  #head(): { readonly type: SharedFrame['type']; readonly length: number } | undefined {
    if (this.#bytes < HEAD_BYTES) return undefined;
    let [first] = this.#chunks;
    if (first === undefined || first.length < HEAD_BYTES) {
      first = Buffer.concat(this.#chunks);
      this.#chunks = [first];
    }
    const type = FRAME_TYPES[first.readUInt8(0)];
    const length = first.readUInt32BE(1);
    if (type === undefined || length > MAX_PAYLOAD_BYTES) throw new Error('No frame of a shared bridge.');
    return { type, length };
  }

  #take(length: number): Buffer {
    const [only] = this.#chunks;
    const all = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    this.#chunks = all.length > length ? [all.subarray(length)] : [];
    this.#bytes = all.length - length;
    return all.subarray(0, length);
  }
}

/** The object that a message's payload is; undefined where it is none. */
export function messageIn(payload: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const message: unknown = JSON.parse(payload.toString());
    return typeof message === 'object' && message !== null && !Array.isArray(message)
      ? (message as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}

// How a connection between a window and a shared bridge begins, seen from either end: one message, and then frames.

/** A connection on which the other side has said its first message. It is paused. */
export type FirstMessage = {
  readonly message: Readonly<Record<string, unknown>>;
  readonly reader: FrameReader;
  /** Frames that came behind the message, in the same piece. */
  readonly rest: readonly SharedFrame[];
};

/** The first message; undefined where none comes within `withinMs`, or what comes is none: the socket is destroyed then. */
export function firstMessage(socket: Socket, withinMs: number): Promise<FirstMessage | undefined> {
  const reader = new FrameReader();
  return new Promise((resolve) => {
    const end = (opened: FirstMessage | undefined) => {
      clearTimeout(timer);
      for (const event of ['error', 'close'] as const) socket.off(event, fail);
      socket.off('data', onData);
      // A reader that goes on hears of the end by `close`.
      socket.on('error', () => {});
      if (opened === undefined) socket.destroy();
      else socket.pause();
      resolve(opened);
    };
    const fail = () => end(undefined);
    const timer = setTimeout(fail, withinMs);
    const onData = (chunk: Buffer) => {
      let frames: SharedFrame[];
      try {
        frames = [...reader.push(chunk)];
      } catch {
        return fail();
      }
      const [first, ...rest] = frames;
      if (first === undefined) return;
      const message = first.type === 'message' ? messageIn(first.payload) : undefined;
      end(message && { message, reader, rest });
    };
    socket.on('data', onData);
    for (const event of ['error', 'close'] as const) socket.once(event, fail);
  });
}

/** Hands every further frame to `take`; a connection on which something else comes is ended. */
export function readFrames(
  socket: Socket,
  { reader, rest }: Pick<FirstMessage, 'reader' | 'rest'>,
  take: (frame: SharedFrame) => void,
): void {
  for (const frame of rest) take(frame);
  socket.on('data', (chunk: Buffer) => {
    try {
      for (const frame of reader.push(chunk)) take(frame);
    } catch {
      socket.destroy();
    }
  });
}
