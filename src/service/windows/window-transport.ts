// Stands between a window's transport and the SDK. It knows which requests wait for an answer, so that a bridge that ends can
// tell when a window has none; and it gives what the bridge asks an agent ids that no other bridge gives, since the agent of a
// window may still answer what one asked that has died.

import { randomBytes } from 'node:crypto';
import {
  CLIENT_INFO_META_KEY,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';
import { isObject } from '../../base/json/json-object.js';

/** Requests that stay open as long as the agent is there. */
const STANDING: ReadonlySet<string> = new Set(['subscriptions/listen']);

export class WindowTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Name that the agent gives itself; undefined before the agent has. */
  client: string | undefined;
  /** Called when no request waits any more. */
  onQuiet: () => void = () => {};
  readonly #inner: Transport;
  readonly #prefix = `${randomBytes(6).toString('hex')}:`;
  readonly #open = new Set<RequestId>();

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  /** Whether some request waits for its answer. */
  get isBusy(): boolean {
    return this.#open.size > 0;
  }

  start(): Promise<void> {
    this.#inner.onmessage = (message) => this.#receive(message);
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => {
      this.#open.clear();
      this.onclose?.();
    };
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#inner.send(this.#marked(message));
    if (!('method' in message) && message.id !== undefined) this.#ended(message.id);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #marked(message: JSONRPCMessage): JSONRPCMessage {
    if (!('method' in message)) return message;
    if ('id' in message) return { ...message, id: `${this.#prefix}${message.id}` };
    if (message.method !== 'notifications/cancelled') return message;
    const { params } = message;
    return { ...message, params: { ...params, requestId: `${this.#prefix}${params?.['requestId']}` } };
  }

  #receive(message: JSONRPCMessage): void {
    if (!('method' in message)) {
      const id = this.#ownId(message.id);
      // It answers what a bridge asked that is gone.
      if (id !== undefined) this.onmessage?.({ ...message, id });
      return;
    }
    const { method, params } = message;
    if ('id' in message && !STANDING.has(method)) this.#open.add(message.id);
    this.client ??= nameIn(params);
    this.onmessage?.(message);
    // A call that was cancelled may never be answered.
    if (method === 'notifications/cancelled') this.#ended(params?.['requestId'] as RequestId);
  }

  #ended(id: RequestId): void {
    if (this.#open.delete(id) && !this.isBusy) this.onQuiet();
  }

  /** As the SDK knows it: it counts from 0. */
  #ownId(id: RequestId | undefined): RequestId | undefined {
    if (typeof id !== 'string' || !id.startsWith(this.#prefix)) return undefined;
    return Number(id.slice(this.#prefix.length));
  }
}

/** Name in a greeting of 2025, or in any request of 2026. */
function nameIn(params: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const meta = params?.['_meta'];
  const info = params?.['clientInfo'] ?? (isObject(meta) ? meta[CLIENT_INFO_META_KEY] : undefined);
  const name = isObject(info) ? info['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}
