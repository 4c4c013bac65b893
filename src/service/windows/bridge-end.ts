// The bridge's end of the connection to one window: the two streams of its agent as Node's own, its log, and what relay and
// bridge say to each other.

import type { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import type { LineTarget } from '../../base/log/lossy-writer.js';
import { type FirstMessage, framesOf, messageFrame, messageIn, readFrames } from './frames.js';
import type { BridgeMessage } from './greeting.js';

export class BridgeEnd {
  /** Lines from the agent; the stream ends when the agent's relay has gone. */
  readonly input: Readable;
  /** Answers to the agent. */
  readonly output: Writable;
  /** Lines for the window's stderr. */
  readonly log: LineTarget;
  /** Resolves when the relay has gone. */
  readonly closed: Promise<void>;
  /** Called when the relay holds back what is new, as it was asked to. */
  onHeld: () => void = () => {};
  readonly #socket: Socket;

  constructor(socket: Socket, opened: FirstMessage) {
    this.#socket = socket;
    const input = new Readable({ read: () => void socket.resume() });
    this.input = input;
    this.output = new Writable({
      highWaterMark: socket.writableHighWaterMark,
      write: (chunk: Buffer, _encoding, done) => {
        let isTaken = true;
        for (const piece of framesOf('talk', chunk)) isTaken = socket.write(piece);
        if (isTaken || socket.destroyed) return done();
        // A window that has gone takes nothing any more, and nobody waits for it.
        const go = () => {
          for (const event of ['drain', 'close'] as const) socket.off(event, go);
          done();
        };
        for (const event of ['drain', 'close'] as const) socket.on(event, go);
      },
    });
    this.log = {
      get waitingChars() {
        return socket.destroyed ? 0 : socket.writableLength;
      },
      write: (line, done) => {
        const frames = Buffer.concat(framesOf('log', Buffer.from(line)));
        socket.write(frames, (error) => done(error === null || error === undefined));
      },
    };
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        input.push(null);
        resolve();
      });
    });
    readFrames(socket, opened, ({ type, payload }) => {
      if (type === 'talk' && !input.push(payload)) socket.pause();
      else if (type === 'message' && messageIn(payload)?.['is'] === 'held') this.onHeld();
    });
    // The agent has gone: what is under way for it ends.
    socket.once('end', () => socket.end());
    socket.resume();
  }

  say(message: BridgeMessage): void {
    this.#socket.write(messageFrame(message));
  }

  /** Ends it when all that was written has left. */
  end(): void {
    this.#socket.end();
  }
}
