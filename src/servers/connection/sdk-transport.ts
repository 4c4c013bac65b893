// Between the SDK's client and a link of ours. The SDK checks answers more strictly than anybody needs: one odd tool
// would cost the whole list, and of an answer it hands on a copy, which does not lead to the server's own characters. So
// it is shown an answer that is always right, and what the server sent travels past its checks under a symbol.

import type {
  JSONRPCMessage,
  RequestId,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/client';
import { BridgeError } from '../../base/errors.js';
import { isObject } from '../../base/json/json-object.js';
import { clipHarmless, withoutFullStop } from '../../base/text/text.js';
import { asId, failure } from './inbound.js';
import type { Link } from './link.js';

/** Requests of the server whose ids are remembered: it may still cancel one that was just answered. */
const MAX_ASKED = 1_000;
const MAX_REASON_CHARS = 1_000;

/** The member that holds what the server sent. Copies of an object keep what stands under a symbol. */
const SENT = Symbol('sent');

/** Members that the schemas of all results ask for, in both eras of the protocol. */
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
  /** Our requests that want an answer. */
  readonly #waiting = new Set<RequestId>();
  /** Ids of what the server has asked, which may be the numbers of ours. */
  readonly #asked = new Set<RequestId>();

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
    if ('method' in message && 'id' in message) {
      if (message.method === 'initialize') this.#greeting = message.id;
      this.#waiting.add(message.id);
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      this.#waiting.delete(message.params?.['requestId'] as RequestId);
    }
    return this.#link.send(message, options?.headers);
  }

  /** The SDK closes what it could not greet by; the link may still be of use, and whoever made it ends it. */
  close(): Promise<void> {
    this.onclose?.();
    return Promise.resolve();
  }

  #receive(message: JSONRPCMessage): void {
    if ('method' in message) {
      if ('id' in message) this.#remember(message.id);
      const cancelled = cancelledBy(message);
      if (cancelled === undefined || this.#asked.has(cancelled.id) || !this.#waiting.has(cancelled.id))
        return this.onmessage?.(message);
      this.#link.abandon(cancelled.id);
      return this.#receive(failure(cancelled.id, cancelledByServer(cancelled.reason)));
    }
    if (message.id !== undefined) this.#waiting.delete(message.id);
    const isShown = 'error' in message || message.id === this.#greeting;
    const shown = isShown
      ? message
      : { jsonrpc: '2.0' as const, id: message.id, result: { ...FLAWLESS, [SENT]: message.result } };
    // The SDK looks at a notification only a turn later: the last progress of a call, which came right before its
    // answer, would find nobody any more.
    queueMicrotask(() => this.onmessage?.(shown));
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
