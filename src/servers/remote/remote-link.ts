// The link to a remote server. It outlives the sessions: when the server has forgotten one, or was restarted, it greets
// anew by itself and repeats what was certainly not acted upon, so that nobody above notices. Only `close` ends it.

import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../base/errors.js';
import { stringify } from '../../base/json/json-text.js';
import type { Redact } from '../../base/secrets/redact.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless } from '../../base/text/text.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { RemoteSpec } from '../../hosts/downstream-spec.js';
import { modernHeaders } from '../connection/envelope.js';
import { failure } from '../connection/inbound.js';
import {
  atItsEntry,
  CLOSED_BY_BRIDGE,
  ErrorAnswer,
  type Link,
  type Problem,
  withoutPrefix,
} from '../connection/link.js';
import { LeftOut, readingPurse, Unasked } from '../connection/unasked.js';
import { Credentials, type RemoteContext } from './credentials.js';
import type { EventReader } from './event-reader.js';
import { LoginNeeded, type ServerLogin } from './login-needed.js';
import { proxiesOf } from './proxies.js';
import { RemoteEndpoint } from './remote-endpoint.js';
import { brokenConnection, RefusedStatus, RemoteFailure } from './remote-failure.js';
import { type Outgoing, SseWire, StreamableWire, type Wire } from './wire.js';

/** A server that is being restarted is away for about so long; a request waits for it once. */
const RESTART_MS = 1_000;
/** A server that takes a notification says so at once. */
const NOTICE_LIMIT_MS = 10_000;
const MAX_REASON_CHARS = 1_000;
/** Setting a longer timer fires it at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Statuses with which a server without Streamable HTTP answers its first message. */
const NOT_STREAMABLE = new Set([400, 404, 405]);

export class RemoteLink implements Link {
  onclose: Link['onclose'];
  onmessage: Link['onmessage'];
  onflood: Link['onflood'];
  readonly lastWords = '';

  readonly #context: RemoteContext;
  readonly #limitMs: number;
  readonly #credentials: Credentials;
  readonly #door: RemoteEndpoint;
  readonly #closing = new AbortController();
  readonly #waiting = new WaitingRequests();
  /** Purse for everything that the server's streams bring besides answers, all together. */
  readonly #purse = readingPurse();
  readonly #leftOut = new LeftOut((count) => this.onflood?.(count));
  readonly #unasked = new Unasked(() => this.#leftOut.add(1));
  #kind: 'http' | 'sse' | undefined;
  #wire: Wire | undefined;
  /** The first message of this client, kept for the next session. */
  #greeting: Outgoing | undefined;
  #initialized: Outgoing | undefined;
  #renewing: Promise<void> | undefined;
  #ending: string | undefined;

  /** `limitMs` is for greeting anew. */
  constructor(spec: RemoteSpec, context: RemoteContext, limitMs: number, login: ServerLogin | undefined) {
    this.#context = context;
    this.#limitMs = limitMs;
    this.#kind = spec.transport === 'auto' ? undefined : spec.transport;
    const url = addressOf(spec);
    this.#credentials = new Credentials(spec, context, login);
    const redact = (text: string) => context.redactor.redact(text);
    this.#door = new RemoteEndpoint(url, this.#credentials, redact, proxiesOf(context.env));
  }

  get ending(): string | undefined {
    return this.#ending;
  }

  explain(thrown: unknown, timedOutMs: number | undefined): Promise<Problem> {
    const what = 'could not be reached';
    const failed = failureIn(thrown);
    if (failed !== undefined) {
      const { reason, remedy } = failed;
      return Promise.resolve({ what, reason, remedy, waitsForUser: failed instanceof LoginNeeded });
    }
    const said = clipHarmless(withoutPrefix(messageOf(thrown)), MAX_REASON_CHARS);
    const reason = timedOutMs === undefined ? said : `it was not ready within ${timedOutMs / 1000} s`;
    return Promise.resolve({ what, reason, remedy: atItsEntry('Check that it runs, and its `url`') });
  }

  /** Nothing is opened before the first message. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Resolves at once for a request, whose failure is an answer of its own; else when the server has taken it. */
  async send(message: JSONRPCMessage, headers?: Readonly<Record<string, string>>): Promise<void> {
    if (this.#ending !== undefined) throw new Error('The connection is closed.');
    const text = stringify(message);
    if ('method' in message && 'id' in message) {
      const { id, method } = message;
      // A tool's action is not ours to do twice; all other requests only read.
      const mayRepeat = method !== 'tools/call';
      const own = modernHeaders(message);
      const modern = own === undefined ? undefined : { ...headers, ...own };
      void this.#ask({ text, id, mayRepeat, modern }, method);
      return;
    }
    const method = 'method' in message ? message.method : undefined;
    const isReady = method === 'notifications/initialized';
    const notice = { text, id: undefined, mayRepeat: true };
    if (isReady) this.#initialized = notice;
    if (method === 'notifications/cancelled' && 'params' in message) {
      this.abandon(message.params?.['requestId'] as RequestId);
      // Before the greeting is over there is nothing that a server could cancel, and in the modern era the end of the
      // request's connection says so.
      if (this.#greeting === undefined) return;
    }
    await this.#notify(notice);
    if (isReady) this.#wire?.listen();
  }

  async close(): Promise<void> {
    if (this.#ending !== undefined) return;
    this.#ending = CLOSED_BY_BRIDGE;
    this.#closing.abort('shutdown');
    this.#waiting.abandonAll();
    this.#unasked.close();
    this.#leftOut.flush();
    this.onclose?.();
    await Promise.all([this.#wire?.end(true), this.#credentials.close()]);
    this.#door.close();
  }

  async #ask(request: Outgoing & { id: RequestId }, method: string): Promise<void> {
    const entry = this.#waiting.add(request.id, (message) => this.onmessage?.(message));
    try {
      if (method === 'initialize') await this.#greetFirst(request, entry);
      else if (method === 'server/discover') await this.#open('http', request, entry);
      else await this.#deliver(request, entry);
    } catch (thrown) {
      this.#waiting.fail(entry, thrown, request.modern !== undefined);
    }
  }

  abandon(id: RequestId): void {
    this.#waiting.abandon(id);
  }

  async #notify(notice: Outgoing): Promise<void> {
    const wire = this.#wire;
    if (wire === undefined) return;
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), NOTICE_LIMIT_MS).unref();
    try {
      await wire.send(notice, controller.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  #receive(message: JSONRPCMessage, bytes: number): void {
    if (this.#ending !== undefined) return;
    const isAwaited = !('method' in message) && message.id !== undefined && this.#waiting.has(message.id);
    if (!isAwaited) this.#purse.spend(0, bytes);
    if ('method' in message) return this.#unasked.hear(message, bytes, (heard) => this.onmessage?.(heard));
    if (message.id === undefined) return;
    this.#unasked.flushProgress(message.id);
    this.#waiting.answer(message.id, message);
  }

  /**
   * After more than it may say unasked, nothing more of the stream is read for a while. A piece in the middle of a long answer
   * does not wait for what other streams have brought.
   */
  #rest(reader: EventReader): Promise<void> | undefined {
    const { lines, bytesSkipped } = reader.takeRead();
    if (lines + bytesSkipped === 0) return undefined;
    this.#purse.spend(lines, bytesSkipped);
    const { restMs } = this.#purse;
    if (restMs === 0) return undefined;
    this.#leftOut.add(0);
    return sleep(restMs, undefined, { signal: this.#closing.signal }).catch(() => {});
  }

  async #greetFirst(greeting: Outgoing, entry: WaitingRequest): Promise<void> {
    try {
      await this.#open(this.#kind ?? 'http', greeting, entry);
      this.#kind ??= 'http';
    } catch (thrown) {
      const isOther = this.#kind === undefined && thrown instanceof RefusedStatus;
      if (!isOther || !NOT_STREAMABLE.has(thrown.status)) throw thrown;
      // The answer to the first attempt is the better explanation when both attempts fail.
      await this.#open('sse', greeting, entry).catch((second: unknown) => {
        throw second instanceof RefusedStatus ? thrown : second;
      });
      this.#kind = 'sse';
    }
    this.#greeting = greeting;
  }

  async #open(kind: 'http' | 'sse', greeting: Outgoing, entry: WaitingRequest): Promise<void> {
    const wire = this.#newWire(kind);
    await wire.open(entry.signal);
    this.#wire = wire;
    await wire.send(greeting, entry.signal);
    entry.takenBy = wire;
  }

  #newWire(kind: 'http' | 'sse'): Wire {
    const Kind = kind === 'http' ? StreamableWire : SseWire;
    const wire: Wire = new Kind(this.#door, {
      onMessage: (message, bytes) => this.#receive(message, bytes),
      onRead: (reader) => this.#rest(reader),
      onBroken: (reason) => this.#waiting.failAllOf(wire, reason),
    });
    return wire;
  }

  /** Once more after each of the two ways in which a message is certainly not acted upon. */
  async #deliver(request: Outgoing, entry: WaitingRequest): Promise<void> {
    const { signal } = entry;
    const tried = new Set<RemoteFailure['untaken']>();
    let over: Wire | undefined;
    for (;;) {
      try {
        if (over !== undefined && over === this.#wire) await this.#renew(over, signal);
        const wire = this.#wire;
        if (wire === undefined) throw new Error('no session');
        over = undefined;
        try {
          await wire.send(request, signal);
        } catch (thrown) {
          if (thrown instanceof RemoteFailure && thrown.untaken === 'session') over = wire;
          throw thrown;
        }
        entry.takenBy = wire;
        return;
      } catch (thrown) {
        const untaken = thrown instanceof RemoteFailure ? thrown.untaken : undefined;
        if (untaken === undefined || tried.has(untaken)) throw thrown;
        tried.add(untaken);
        if (untaken === 'unreachable') await sleep(RESTART_MS, undefined, { signal });
      }
    }
  }

  /** One for all requests that found the session over. */
  #renew(over: Wire, signal: AbortSignal): Promise<void> {
    this.#renewing ??= this.#startAnew(over).finally(() => {
      this.#renewing = undefined;
    });
    return unlessAborted(this.#renewing, signal);
  }

  async #startAnew(over: Wire): Promise<void> {
    const [greeting, initialized, kind] = [this.#greeting, this.#initialized, this.#kind];
    if (greeting === undefined || initialized === undefined || kind === undefined) {
      throw noNewSession('it ended the session before that was ready');
    }
    this.#credentials.forget();
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), Math.min(this.#limitMs, MAX_TIMER_MS));
    using either = new LinkedSignal(this.#closing.signal, limit.signal);
    const { signal } = either;
    const wire = this.#newWire(kind);
    const redact = (text: string) => this.#context.redactor.redact(text);
    try {
      await greetAnew(wire, { greeting, initialized }, { waiting: this.#waiting, redact }, signal);
    } catch (thrown) {
      void wire.end(true);
      throw limit.signal.aborted ? noNewSession('it does not answer to a new session', thrown) : thrown;
    } finally {
      clearTimeout(timer);
    }
    this.#wire = wire;
    this.#waiting.failAllOf(over, brokenConnection());
    void over.end(false);
    wire.listen();
    // The server behind the new session may be another version of itself.
    this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  }
}

function addressOf({ name, url }: RemoteSpec): URL {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return new URL(url);
  throw new BridgeError(
    'E_SERVER_UNAVAILABLE',
    `Server '${shownName(name)}' could not be reached: its \`url\` is no http or https address.`,
    { fault: 'operator', remedy: atItsEntry('Correct its `url`') },
  );
}

/** The failure that an answer of ours carries, see `failure` in inbound. */
function failureIn(thrown: unknown): RemoteFailure | undefined {
  if (thrown instanceof RemoteFailure) return thrown;
  const data = thrown instanceof ErrorAnswer ? thrown.data : undefined;
  return data instanceof BridgeError && data.cause instanceof RemoteFailure ? data.cause : undefined;
}

const MAX_SAID_CHARS = 300;

/**
 * Sends the greeting once more, on a new session and behind the SDK's back: its client has greeted once and knows no second
 * time. What the server says of itself now is not asked; its tools are listed anew by those above. Throws RemoteFailure when
 * the server does not want a new session, E_CANCELLED when `signal` ends the attempt.
 */
async function greetAnew(
  wire: Wire,
  { greeting, initialized }: { readonly greeting: Outgoing; readonly initialized: Outgoing },
  { waiting, redact }: { readonly waiting: WaitingRequests; readonly redact: Redact },
  signal: AbortSignal,
): Promise<void> {
  await wire.open(signal);
  // The number of the first greeting: no request of the client's has it any more.
  const { id } = greeting;
  if (id === undefined) throw new Error('a greeting that wants no answer');
  try {
    const answered = new Promise<JSONRPCMessage>((resolve, reject) => {
      const entry = waiting.add(id, resolve);
      wire.send(greeting, signal).then(() => {
        entry.takenBy = wire;
      }, reject);
    });
    const answer = await unlessAborted(answered, signal);
    if ('error' in answer) {
      const said = clipHarmless(redact(answer.error.message.slice(0, 4 * MAX_SAID_CHARS)), MAX_SAID_CHARS);
      throw noNewSession(`it refuses a new session: ${said}`);
    }
    await wire.send(initialized, signal);
    signal.throwIfAborted();
  } finally {
    waiting.abandon(id);
  }
}

function noNewSession(reason: string, cause?: unknown): RemoteFailure {
  const remedy = 'Try again later, or tell its operator.';
  return new RemoteFailure(reason, { fault: 'downstream', remedy, cause });
}

type WaitingRequest = {
  readonly id: RequestId;
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
  /** The session that has taken the request; undefined while none has. */
  takenBy: Wire | undefined;
};

/**
 * The requests that want an answer. Each ends once: by its answer, by a failure, or because nobody wants it any more. Later
 * answers are nobody's, and would only make the SDK print them whole.
 */
class WaitingRequests {
  readonly #entries = new Map<
    RequestId,
    { entry: WaitingRequest; controller: AbortController; settle: (message: JSONRPCMessage) => void }
  >();

  /** `settle` gets the answer, or the failure as one. */
  add(id: RequestId, settle: (message: JSONRPCMessage) => void): WaitingRequest {
    const controller = new AbortController();
    const entry: WaitingRequest = { id, signal: controller.signal, takenBy: undefined };
    this.#entries.set(id, { entry, controller, settle });
    return entry;
  }

  has(id: RequestId): boolean {
    return this.#entries.has(id);
  }

  /** An answer to nobody's request is dropped. */
  answer(id: RequestId, message: JSONRPCMessage): void {
    const found = this.#entries.get(id);
    this.#entries.delete(id);
    found?.settle(message);
  }

  /** In the modern era a status may only repeat what the answer in its body says. */
  fail(entry: WaitingRequest, thrown: unknown, isModern = false): void {
    if (this.#entries.get(entry.id)?.entry !== entry) return;
    if (isModern && thrown instanceof RefusedStatus && thrown.rpcError !== undefined) {
      return this.answer(entry.id, { jsonrpc: '2.0', id: entry.id, error: thrown.rpcError });
    }
    const told = thrown instanceof RemoteFailure ? thrown.toBridgeError() : thrown;
    const error =
      told instanceof BridgeError
        ? told
        : new BridgeError('E_INTERNAL', messageOf(told), { fault: 'bridge' });
    this.answer(entry.id, failure(entry.id, error));
  }

  /** The requests that this session has taken and will not answer. */
  failAllOf(wire: Wire, reason: RemoteFailure): void {
    for (const { entry } of [...this.#entries.values()]) if (entry.takenBy === wire) this.fail(entry, reason);
  }

  abandon(id: RequestId): void {
    this.#entries.get(id)?.controller.abort();
    this.#entries.delete(id);
  }

  abandonAll(): void {
    for (const id of [...this.#entries.keys()]) this.abandon(id);
  }
}
