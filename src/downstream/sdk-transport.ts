// Between the SDK's client and a link of ours. The SDK checks answers more strictly than anybody needs: one odd tool
// would cost the whole list, and of an answer it hands on a copy, which does not lead to the server's own characters. So
// it is shown an answer that is always right, and what the server sent travels past its checks under a symbol.

import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client';
import type { Link } from './link.js';

/** The member that holds what the server sent. Copies of an object keep what stands under a symbol. */
const SENT = Symbol('sent');

/** What the schemas of all results ask for, in both eras of the protocol. */
const FLAWLESS = {
  resultType: 'complete',
  ttlMs: 0,
  cacheScope: 'private',
  content: [],
  tools: [],
  resources: [],
  resourceTemplates: [],
  contents: [],
  prompts: [],
  messages: [],
};

/** For `client.request`: gives the very result that the link read. */
export const anyResult = {
  '~standard': {
    version: 1,
    vendor: 'mcp-sandbox-bridge',
    validate: (value: unknown) => ({ value: Reflect.get(Object(value), SENT) as object }),
  },
} as const;

/** Whether it has taken the message, which is then not for the client. */
export type Aside = (message: JSONRPCMessage) => boolean;

export class SdkTransport implements Transport {
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onmessage: Transport['onmessage'];
  readonly #link: Link;
  /** The SDK reads the answer to its greeting itself. */
  #greeting: unknown;

  constructor(link: Link, aside: Aside = () => false) {
    this.#link = link;
    link.onmessage = (message) => {
      if (!aside(message)) this.#receive(message);
    };
    link.onclose = () => this.onclose?.();
  }

  /** The link has been started by whoever made it. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('method' in message && message.method === 'initialize' && 'id' in message)
      this.#greeting = message.id;
    return this.#link.send(message, options?.headers);
  }

  /** The SDK closes what it could not greet by; the link may still be of use, and whoever made it ends it. */
  close(): Promise<void> {
    this.onclose?.();
    return Promise.resolve();
  }

  #receive(message: JSONRPCMessage): void {
    if ('method' in message) return this.onmessage?.(message);
    const isShown = 'error' in message || message.id === this.#greeting;
    const shown = isShown
      ? message
      : { jsonrpc: '2.0' as const, id: message.id, result: { ...FLAWLESS, [SENT]: message.result } };
    // The SDK looks at a notification only a turn later: the last progress of a call, which came right before its
    // answer, would find nobody any more.
    queueMicrotask(() => this.onmessage?.(shown));
  }
}
