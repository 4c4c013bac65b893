// How a connection between a window and a shared bridge begins, seen from either end: one message, and then frames.

import type { Socket } from 'node:net';
import { FrameReader, messageIn, type SharedFrame } from './frames.js';

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
