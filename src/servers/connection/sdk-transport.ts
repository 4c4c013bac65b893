// Requests to one server, on the same link as the SDK's client and beside that client. The SDK checks answers more strictly
// than anybody needs: one odd tool would cost the whole list, and a copy of an answer does not lead to the server's own
// characters. So the SDK greets, listens, and has all that the server says and asks of its own accord; a request of ours is
// numbered, answered, told of and cancelled here, and the SDK never sees it. This is the one place where messages pass the
// SDK by.

import type {
  JSONRPCMessage,
  RequestId,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/client';
import { BridgeError } from '../../base/errors.js';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { clipHarmless, withoutFullStop } from '../../base/text/text.js';
import { asId, failure } from './inbound.js';
import { ErrorAnswer, type Link } from './link.js';

/** The SDK's client counts from 0, and has nothing to ask but its greeting. */
const FIRST_ID = 1_000;
/** Requests of the server whose ids are remembered: it may still cancel one that was just answered. */
const MAX_ASKED = 1_000;
const MAX_REASON_CHARS = 1_000;

/** How far a call says it is; numbers as the server gives them. */
export type CallProgress = {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
};

export type RequestOptions = {
  readonly signal: AbortSignal;
  readonly onprogress?: (progress: CallProgress) => void;
  /** Further headers of the request, over HTTP in the modern era. */
  readonly headers?: Readonly<Record<string, string>>;
};

export class SdkTransport implements Transport {
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onmessage: Transport['onmessage'];
  /** Members that go with each message of ours in its `_meta`, in the modern era. */
  envelope: JsonObject = {};
  readonly #link: Link;
  #nextId = FIRST_ID;
  readonly #waiting = new Map<
    RequestId,
    {
      readonly onprogress: RequestOptions['onprogress'];
      readonly resolve: (result: object) => void;
      readonly reject: (error: Error) => void;
    }
  >();
  /** Requests of the SDK's own that want an answer: its greeting, and what it listens by. */
  readonly #ofSdk = new Set<RequestId>();
  /** Ids of what the server has asked, which may be the numbers of ours. */
  readonly #asked = new Set<RequestId>();

  /** `aside` says whether it has taken the message, which is then not for the client. */
  constructor(link: Link, aside: (message: JSONRPCMessage) => boolean = () => false) {
    this.#link = link;
    link.onmessage = (message) => {
      if (!aside(message) && !this.#take(message)) this.onmessage?.(message);
    };
    link.onclose = () => void this.close();
  }

  /** The link has been started by whoever made it. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('method' in message && 'id' in message) this.#ofSdk.add(message.id);
    return this.#link.send(message, options?.headers);
  }

  /** The SDK closes what it could not greet by; the link may still be of use, and whoever made it ends it. */
  close(): Promise<void> {
    this.onclose?.();
    for (const { reject } of this.#waiting.values()) reject(new Error('Connection closed'));
    this.#waiting.clear();
    return Promise.resolve();
  }

  /** The very result that the link has read. Throws ErrorAnswer, the reason of `signal` as an error, or as the link does. */
  async request(
    method: string,
    params: JsonObject,
    { signal, onprogress, headers }: RequestOptions,
  ): Promise<object> {
    const cancelled = () => new Error(String(signal.reason));
    if (signal.aborted) throw cancelled();
    const id = this.#nextId++;
    const meta = {
      ...this.envelope,
      ...Object(params['_meta']),
      ...(onprogress === undefined ? {} : { progressToken: id }),
    };
    const isPlain = Object.keys(meta).length === 0;
    const all = isPlain ? params : { ...params, _meta: meta };
    let onAbort = () => {};
    try {
      return await new Promise<object>((resolve, reject) => {
        this.#waiting.set(id, { onprogress, resolve, reject });
        onAbort = () => {
          if (!this.#waiting.delete(id)) return;
          reject(cancelled());
          this.#cancel(id, String(signal.reason));
        };
        signal.addEventListener('abort', onAbort, { once: true });
        this.#link.send({ jsonrpc: '2.0', id, method, params: all }, headers).catch(reject);
      });
    } finally {
      this.#waiting.delete(id);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #cancel(requestId: RequestId, reason: string): void {
    const isModern = Object.keys(this.envelope).length > 0;
    const params = { ...(isModern ? { _meta: this.envelope } : {}), requestId, reason };
    // A server that has gone needs no telling.
    this.#link.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => {});
  }

  /** Whether the message is about a request of ours, and so nothing for the SDK. */
  #take(message: JSONRPCMessage): boolean {
    if ('method' in message) {
      if ('id' in message) this.#remember(message.id);
      else if (message.method === 'notifications/progress') return this.#tell(message.params);
      const cancelled = cancelledBy(message);
      if (cancelled === undefined || this.#asked.has(cancelled.id)) return false;
      if (!this.#waiting.has(cancelled.id) && !this.#ofSdk.has(cancelled.id)) return false;
      this.#link.abandon(cancelled.id);
      const failed = failure(cancelled.id, cancelledByServer(cancelled.reason));
      if (!this.#take(failed)) this.onmessage?.(failed);
      return true;
    }
    if (message.id !== undefined) this.#ofSdk.delete(message.id);
    const pending = message.id === undefined ? undefined : this.#waiting.get(message.id);
    if (message.id === undefined || pending === undefined) return false;
    this.#waiting.delete(message.id);
    if ('result' in message) pending.resolve(message.result);
    else {
      const { message: words, code, data } = message.error;
      pending.reject(new ErrorAnswer(words, code, data));
    }
    return true;
  }

  #tell(params: unknown): boolean {
    const { progressToken, progress, total, message } = isObject(params) ? params : {};
    const id = asId(progressToken);
    const pending = id === undefined ? undefined : this.#waiting.get(id);
    if (pending === undefined) return false;
    if (typeof progress === 'number')
      pending.onprogress?.({
        progress,
        ...(typeof total === 'number' ? { total } : {}),
        ...(typeof message === 'string' ? { message } : {}),
      });
    return true;
  }

  #remember(id: RequestId): void {
    this.#asked.add(id);
    const [oldest] = this.#asked;
    if (this.#asked.size > MAX_ASKED && oldest !== undefined) this.#asked.delete(oldest);
  }
}

function cancelledBy(
  message: JSONRPCMessage,
): { readonly id: RequestId; readonly reason: unknown } | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined;
  const { requestId, reason } = isObject(message.params) ? message.params : {};
  const id = asId(requestId);
  return id === undefined ? undefined : { id, reason };
}

/** MCP has a server cancel only what it has asked itself; one that cancels our request will not answer it. */
function cancelledByServer(reason: unknown): BridgeError {
  const said =
    typeof reason === 'string' ? clipHarmless(reason.slice(0, 4 * MAX_REASON_CHARS), MAX_REASON_CHARS) : '';
  const why = said === '' ? ', and does not say why' : `: ${withoutFullStop(said)}`;
  return new BridgeError('E_TOOL_FAILED', `The server has cancelled it${why}.`, {
    fault: 'downstream',
    remedy: 'Look at what it has done before you repeat it.',
  });
}
