// One session with a remote server over one kind of transport. A session that is over is not mended: the link makes a
// new wire.

import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { waitAtMost } from '../../base/waiting/unless-aborted.js';
import { failure, MAX_MESSAGE_BYTES, readMessages, readOversized, tooLarge } from '../connection/inbound.js';
import { EventReader, type ServerEvent } from './event-reader.js';
import { discard, mediaTypeOf, readBody } from './http-client.js';
import type { RemoteEndpoint } from './remote-endpoint.js';
import {
  brokenConnection,
  isSessionOver,
  oddAnswer,
  RefusedStatus,
  RemoteFailure,
  saysSessionIsOver,
  sessionOver,
} from './remote-failure.js';

export type Outgoing = {
  readonly text: string;
  /** Id of a request; undefined for a message that gets no answer. */
  readonly id: RequestId | undefined;
  /** Taken twice it does what it does once. */
  readonly mayRepeat: boolean;
  /** Headers of a message of the modern era, which knows no sessions: they show what the message is. */
  readonly modern?: Readonly<Record<string, string>> | undefined;
};

type WireEvents = {
  readonly onMessage: Take;
  /** After each piece of a stream; where it gives a promise, no more is read until that resolves, which it always does. */
  readonly onRead: (reader: EventReader) => Promise<void> | undefined;
  /** The session is over, and the requests that it has taken will not be answered. */
  readonly onBroken: (failure: RemoteFailure) => void;
};

/** `bytes` is about how long the message was. */
type Take = (message: JSONRPCMessage, bytes: number) => void;

/** Hands on what of a body is messages. */
function takeAll(text: string, take: Take): void {
  const messages = readMessages(text);
  for (const message of messages) take(message, text.length / messages.length);
}

/**
 * Hands on the messages of a stream of events until it ends; `onOther` gets events that are no messages. Rejects as the
 * stream does.
 */
async function readStream(
  answer: IncomingMessage,
  reader: EventReader,
  {
    take,
    onRead,
    onOther = () => {},
  }: Pick<WireEvents, 'onRead'> & {
    readonly take: Take;
    readonly onOther?: (event: ServerEvent) => void;
  },
): Promise<void> {
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    for (const event of reader.push(chunk)) {
      if ('oversized' in event) {
        const message = readOversized(event.oversized, event.envelope);
        if (message !== undefined) take(message, event.oversized);
      } else if (event.type === 'message') takeAll(event.data, take);
      else onOther(event);
    }
    await onRead(reader);
  }
}

export interface Wire {
  /** Makes ready for the first message. Throws RemoteFailure. */
  open(signal: AbortSignal): Promise<void>;
  /**
   * Resolves when the server has taken the message. Throws RemoteFailure when it has not, or when a request will have no
   * answer; `untaken` says that it was certainly not acted upon.
   */
  send(message: Outgoing, signal: AbortSignal): Promise<void>;
  /** After the greeting: hears what the server says by itself, as long as the session lasts. */
  listen(): void;
  /** Stops hearing; with `isLast` it also tells the server that the session is over. Never rejects. */
  end(isLast: boolean): Promise<void>;
}

// The transport of MCP before 2025-03-26: one stream of events from the server for as long as the session lasts, whose
// first event names the address that takes messages. When the stream ends, so does the session.

export class SseWire implements Wire {
  readonly #door: RemoteEndpoint;
  readonly #events: WireEvents;
  readonly #ending = new AbortController();
  #endpoint: URL | undefined;
  #isBroken = false;

  constructor(door: RemoteEndpoint, events: WireEvents) {
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
          endpoint === undefined ? reject(strayFailure()) : resolve(),
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
    if (id !== undefined && this.#isBroken) throw brokenConnection();
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
        this.#endpoint = this.#endpointWithin(data);
        onEndpoint(this.#endpoint);
      };
      await readStream(answer, reader, { take, onRead, onOther });
    } catch (thrown) {
      cause = thrown;
    }
    this.#isBroken = true;
    if (!this.#ending.signal.aborted) this.#events.onBroken(brokenConnection(cause));
  }

  /** Elsewhere its headers are not sent. */
  #endpointWithin(reference: string): URL | undefined {
    if (!URL.canParse(reference, this.#door.url.href)) return undefined;
    const endpoint = new URL(reference, this.#door.url);
    return endpoint.origin === this.#door.url.origin ? endpoint : undefined;
  }
}

function strayFailure(): RemoteFailure {
  return oddAnswer('it wants messages sent to another address than its own');
}

// Streamable HTTP (MCP 2025-03-26 and later): a POST for each message, answered by JSON or by a stream of events, and a
// GET for what the server says by itself. The SDK's transport is not used: it encodes arguments anew, waits for ever
// for the rest of half an answer, reads error pages of any length, and holds the stream of a cancelled call open.

/** How long the request that ends the session may take. A host kills the bridge soon after it has asked it to stop. */
const FAREWELL_MS = 100;
/** Between two attempts to hear the server again, whatever pause it asks for; doubles from the first to the second. */
const LISTEN_AGAIN_MS = { first: 1_000, most: 30_000 };
/** Before an answer is asked for where it goes on; servers that name no pause mean a second. */
const RESUME_MS = { least: 100, usual: 1_000, most: 30_000 };
/** Servers end the stream of an answer with it; one that goes on is ended after so long, or no socket would be left. */
const LINGER_MS = 1_000;
/** Servers may end the stream of a long call over and over; but not so often without a word in between. */
const MAX_RESUMPTIONS = 5;
/** Failures in a row of a session that has worked, after which the server is greeted anew. */
const MAX_FAILURES = 2;
const MAX_LOST_CHARS = 10_000;
const ACCEPT = 'application/json, text/event-stream';

export class StreamableWire implements Wire {
  readonly #door: RemoteEndpoint;
  readonly #events: WireEvents;
  readonly #ending = new AbortController();
  #sessionId: string | undefined;
  #version: string | undefined;
  /** A request after the greeting was answered, and how many have failed one after the other since then. */
  #hasWorked = false;
  #failures = 0;

  constructor(door: RemoteEndpoint, events: WireEvents) {
    this.#door = door;
    this.#events = events;
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  async send(message: Outgoing, signal: AbortSignal): Promise<void> {
    const { id } = message;
    // Nothing is sent: it has a session, has worked in it, and only fails.
    if (this.#sessionId !== undefined && this.#failures >= MAX_FAILURES) throw sessionOver();
    const isGreeting = this.#sessionId === undefined;
    try {
      await this.#send(message, signal);
      if (id === undefined || isGreeting) return;
      this.#hasWorked = true;
      this.#failures = 0;
    } catch (thrown) {
      if (this.#hasWorked && !signal.aborted && isOfServer(thrown)) this.#failures++;
      throw thrown;
    }
  }

  async #send(message: Outgoing, signal: AbortSignal): Promise<void> {
    const { id } = message;
    const answer = await this.#post(message, signal);
    const sessionId = answer.headers['mcp-session-id'];
    if (typeof sessionId === 'string') this.#sessionId = sessionId;
    if (id === undefined) discard(answer);
    else await this.#answerTo(id, answer, message.modern !== undefined, signal);
  }

  listen(): void {
    void this.#listen(this.#ending.signal).catch(() => {});
  }

  async end(isLast: boolean): Promise<void> {
    this.#ending.abort();
    if (!isLast || this.#sessionId === undefined) return;
    const controller = new AbortController();
    const headers = this.#headers();
    const request = { method: 'DELETE', url: this.#door.url, headers, mayRepeat: true } as const;
    await waitAtMost(
      FAREWELL_MS,
      this.#door.tell(request, controller.signal).catch(() => {}),
    );
    controller.abort();
  }

  async #post({ text, mayRepeat, modern }: Outgoing, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = { ...(modern ?? this.#headers()), accept: ACCEPT, 'content-type': 'application/json' };
    try {
      const request = { method: 'POST', url: this.#door.url, headers, body: text, mayRepeat } as const;
      return await this.#door.request(request, signal);
    } catch (thrown) {
      throw this.#sessionId !== undefined && isSessionOver(thrown) ? sessionOver(thrown) : thrown;
    }
  }

  #headers(): Record<string, string> {
    return {
      ...(this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }),
      ...(this.#version === undefined ? {} : { 'mcp-protocol-version': this.#version }),
    };
  }

  async #answerTo(
    id: RequestId,
    answer: IncomingMessage,
    isModern: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    let isAnswered = false;
    const take: Take = (message, bytes) => {
      if (this.#sessionId !== undefined && isLost(message, id)) throw sessionOver();
      if (!('method' in message) && message.id === id) {
        isAnswered = true;
        this.#noteVersion(message);
      }
      this.#events.onMessage(message, bytes);
    };
    const type = mediaTypeOf(answer);
    try {
      if (type === 'text/event-stream') {
        // Waiting for what a server may say one day keeps no process alive.
        if (isSubscription(id)) answer.socket.unref();
        await this.#readEvents(answer, take, { isAnswered: () => isAnswered, mayResume: !isModern }, signal);
      } else {
        // Whatever it is called, it may be an answer.
        const body = await readBody(answer, MAX_MESSAGE_BYTES);
        if ('text' in body && this.#sessionId !== undefined && saysLost(body.text)) throw sessionOver();
        if ('text' in body) takeAll(body.text, take);
        else take(failure(id, tooLarge(body.oversized)), body.oversized);
        if (!isAnswered) throw oddAnswer(`it answered with ${nameOfType(type, answer)} instead of MCP`);
      }
    } catch (thrown) {
      if (isAnswered) return;
      throw thrown instanceof RemoteFailure || signal.aborted ? thrown : brokenConnection(thrown);
    }
  }

  /** Reads until the answer was there; from where the server left off, when it can go on from there, as sessions can. */
  async #readEvents(
    first: IncomingMessage,
    take: Take,
    { isAnswered, mayResume }: { readonly isAnswered: () => boolean; readonly mayResume: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    let answer = first;
    let lastId: string | undefined;
    for (let silent = 0; ; silent++) {
      const reader = new EventReader(MAX_MESSAGE_BYTES);
      let linger: NodeJS.Timeout | undefined;
      const takeAndLinger: Take = (message, bytes) => {
        take(message, bytes);
        if (isAnswered()) linger ??= setTimeout(() => answer.destroy(), LINGER_MS).unref();
      };
      const { onRead } = this.#events;
      const cause = await readStream(answer, reader, { take: takeAndLinger, onRead }).catch(
        (thrown: unknown) => thrown,
      );
      clearTimeout(linger);
      if (cause instanceof RemoteFailure) throw cause;
      if (isAnswered()) return;
      if (reader.lastId !== undefined && reader.lastId !== lastId) silent = 0;
      lastId = reader.lastId ?? lastId;
      const isLost = !mayResume || lastId === undefined || silent === MAX_RESUMPTIONS;
      if (signal.aborted || isLost) throw brokenConnection(cause);
      const pauseMs = clamp(RESUME_MS.least, reader.retryMs ?? RESUME_MS.usual, RESUME_MS.most);
      await sleep(pauseMs, undefined, { signal });
      answer = await this.#get(lastId, signal).catch((thrown: unknown) => {
        throw brokenConnection(thrown);
      });
    }
  }

  async #get(lastId: string | undefined, signal: AbortSignal): Promise<IncomingMessage> {
    const from = lastId === undefined ? {} : { 'last-event-id': lastId };
    const headers = { ...this.#headers(), accept: 'text/event-stream', ...from };
    const request = { method: 'GET', url: this.#door.url, headers, mayRepeat: true } as const;
    const answer = await this.#door.request(request, signal);
    if (mediaTypeOf(answer) === 'text/event-stream') return answer;
    answer.destroy();
    throw oddAnswer('it has no stream of events');
  }

  /** Until the wire ends or the server refuses; one that cannot be reached is tried again, ever more seldom. */
  async #listen(signal: AbortSignal): Promise<void> {
    let pauseMs = LISTEN_AGAIN_MS.first;
    let lastId: string | undefined;
    while (!signal.aborted) {
      try {
        const answer = await this.#get(lastId, signal);
        // Waiting for what a server may say one day keeps no process alive.
        answer.socket.unref();
        const reader = new EventReader(MAX_MESSAGE_BYTES);
        const startedAt = performance.now();
        const { onMessage: take, onRead } = this.#events;
        await readStream(answer, reader, { take, onRead }).catch(() => {});
        lastId = reader.lastId ?? lastId;
        const hasLasted = performance.now() - startedAt > LISTEN_AGAIN_MS.most;
        pauseMs = reader.retryMs ?? (hasLasted ? LISTEN_AGAIN_MS.first : pauseMs);
      } catch (thrown) {
        if (!mayPass(thrown)) return;
      }
      pauseMs = clamp(LISTEN_AGAIN_MS.first, pauseMs, LISTEN_AGAIN_MS.most);
      await sleep(pauseMs, undefined, { signal, ref: false });
      pauseMs *= 2;
    }
  }

  #noteVersion(message: JSONRPCMessage): void {
    if (this.#version !== undefined || !('result' in message)) return;
    const { protocolVersion } = message.result as { protocolVersion?: unknown };
    if (typeof protocolVersion === 'string' && /^[\w.-]{1,32}$/.test(protocolVersion)) {
      this.#version = protocolVersion;
    }
  }
}

/** The server is there, and refuses or answers what is none: its session may be the reason, but no login or limit is. */
const isOfServer = (thrown: unknown): boolean =>
  thrown instanceof RefusedStatus
    ? ![401, 403, 429].includes(thrown.status)
    : thrown instanceof RemoteFailure && thrown.untaken === undefined;

const isLost = (message: JSONRPCMessage, id: RequestId): boolean =>
  'error' in message && message.id === id && saysSessionIsOver(message.error.message);

/** An error without an id, which answers nothing that can be known by it. */
function saysLost(text: string): boolean {
  if (text.length > MAX_LOST_CHARS) return false;
  try {
    const { id, error } = Object(JSON.parse(text)) as { id?: unknown; error?: { message?: unknown } };
    const said = typeof error === 'string' ? error : error?.message;
    return (id === undefined || id === null) && typeof said === 'string' && saysSessionIsOver(said);
  } catch {
    return false;
  }
}

/** Only these have ids of text. */
const isSubscription = (id: RequestId): boolean => typeof id === 'string' && id.startsWith('listen:');

const clamp = (least: number, ms: number, most: number): number => Math.max(least, Math.min(ms, most));

/**
 * Whether the failure may pass: the server is away or overloaded, or (409) has not noticed yet that the earlier stream is
 * no more. Any other refusal is meant, or is for the next request to repair.
 */
function mayPass(thrown: unknown): boolean {
  if (thrown instanceof RefusedStatus) return [409, 429, 500, 502, 503, 504].includes(thrown.status);
  return thrown instanceof RemoteFailure && thrown.untaken === 'unreachable';
}

function nameOfType(type: string, { statusCode = 0 }: IncomingMessage): string {
  if (type === 'text/html') return 'a web page';
  if (type === 'application/json') return 'JSON that answers something else';
  return type || `status ${statusCode} and nothing`;
}
