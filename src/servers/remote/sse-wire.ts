// The transport of MCP before 2025-03-26: one stream of events from the server for as long as the session lasts, whose
// first event names the address that takes messages. When the stream ends, so does the session.

import type { IncomingMessage } from 'node:http';
import { MAX_MESSAGE_BYTES } from '../connection/inbound.js';
import { discard, mediaTypeOf } from './body.js';
import type { Door } from './door.js';
import { EventReader, type ServerEvent } from './event-reader.js';
import { broken, isSessionOver, oddAnswer, type RemoteFailure, sessionOver } from './remote-failure.js';
import { type Outgoing, readStream, type Wire, type WireEvents } from './wire.js';

export class SseWire implements Wire {
  readonly #door: Door;
  readonly #events: WireEvents;
  readonly #ending = new AbortController();
  #endpoint: URL | undefined;
  #isBroken = false;

  constructor(door: Door, events: WireEvents) {
    this.#door = door;
    this.#events = events;
  }

  async open(signal: AbortSignal): Promise<void> {
    const end = () => this.#ending.abort();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    try {
      const headers = { accept: 'text/event-stream' };
      const request = { method: 'GET', url: this.#door.url, headers, mayRepeat: true } as const;
      const answer = await this.#door.request(request, this.#ending.signal);
      if (mediaTypeOf(answer) !== 'text/event-stream') {
        answer.destroy();
        throw oddAnswer(`it answered with ${mediaTypeOf(answer) || 'nothing'} instead of a stream of events`);
      }
      answer.socket.unref();
      await new Promise<void>((resolve, reject) => {
        void this.#read(answer, (endpoint) =>
          endpoint === undefined ? reject(strayed()) : resolve(),
        ).finally(() => reject(oddAnswer('its stream of events ended before it named an endpoint')));
      });
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  async send({ text, id, mayRepeat }: Outgoing, signal: AbortSignal): Promise<void> {
    const url = this.#endpoint;
    if (this.#isBroken || url === undefined) throw sessionOver();
    const headers = { 'content-type': 'application/json' };
    try {
      const request = { method: 'POST', url, headers, body: text, mayRepeat } as const;
      discard(await this.#door.request(request, signal));
    } catch (thrown) {
      throw isSessionOver(thrown) ? sessionOver(thrown) : thrown;
    }
    if (id !== undefined && this.#isBroken) throw broken();
  }

  /** The one stream carries that as well. */
  listen(): void {}

  end(): Promise<void> {
    this.#ending.abort();
    return Promise.resolve();
  }

  /** Never rejects. */
  async #read(answer: IncomingMessage, onEndpoint: (endpoint: URL | undefined) => void): Promise<void> {
    const reader = new EventReader(MAX_MESSAGE_BYTES);
    let cause: unknown;
    try {
      const { onMessage: take, onRead } = this.#events;
      const onOther = ({ type, data }: ServerEvent) => {
        if (type !== 'endpoint' || this.#endpoint !== undefined) return;
        this.#endpoint = this.#within(data);
        onEndpoint(this.#endpoint);
      };
      await readStream(answer, reader, { take, onRead, onOther });
    } catch (thrown) {
      cause = thrown;
    }
    this.#isBroken = true;
    if (!this.#ending.signal.aborted) this.#events.onBroken(broken(cause));
  }

  /** Elsewhere its headers are not sent. */
  #within(reference: string): URL | undefined {
    if (!URL.canParse(reference, this.#door.url.href)) return undefined;
    const endpoint = new URL(reference, this.#door.url);
    return endpoint.origin === this.#door.url.origin ? endpoint : undefined;
  }
}

function strayed(): RemoteFailure {
  return oddAnswer('it wants messages sent to another address than its own');
}
