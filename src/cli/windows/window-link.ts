// The command line's end of a window: a relay as a host's, whose agent is a client in this very process.

import { PassThrough } from 'node:stream';
import { messageOf } from '../../base/errors.js';
import { stringify } from '../../base/json/json-text.js';
import { MAX_MESSAGE_BYTES, readMessage } from '../../servers/connection/inbound.js';
import { CLOSED_BY_BRIDGE, type Link, type Problem } from '../../servers/connection/link.js';
import type { Joined, Meeting } from '../../service/windows/meet.js';
import { relay } from '../../service/windows/relay.js';
import { LineSplitter } from '../../wire/lines.js';

export class WindowLink implements Link {
  onclose: Link['onclose'];
  onmessage: Link['onmessage'];
  ending: string | undefined;
  readonly lastWords = '';
  readonly #said = new PassThrough();
  readonly #relayed: Promise<void>;

  constructor(joined: Joined, meetAgain: () => Promise<Meeting>) {
    const answered = new PassThrough();
    const lines = new LineSplitter(MAX_MESSAGE_BYTES, () => {});
    answered.on('data', (chunk: Buffer) => {
      for (const line of lines.push(chunk)) {
        const message = 'text' in line ? readMessage(line.text) : undefined;
        if (message !== undefined) this.onmessage?.(message);
      }
    });
    this.#relayed = relay({
      ...{ input: this.#said, output: answered, log: process.stderr, joined, meetAgain },
    });
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: object): Promise<void> {
    this.#said.write(`${stringify(message)}\n`);
    return Promise.resolve();
  }

  /** An answer that nobody waits for any more is read and dropped by the client. */
  abandon(): void {}

  explain(thrown: unknown): Promise<Problem> {
    return Promise.resolve({
      what: 'could not be reached',
      reason: messageOf(thrown),
      remedy: 'Try again.',
    });
  }

  async close(): Promise<void> {
    this.ending = CLOSED_BY_BRIDGE;
    this.#said.end();
    await this.#relayed;
    this.onclose?.();
  }
}
