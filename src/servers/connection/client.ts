// The client of one server: its greeting, requests and notifications. The SDK's client greets, listens, and hears what the
// server says and asks; requests do not go through that client (sdk-transport.ts). This is the one place of this folder that
// knows the SDK's classes; they are loaded with the first server, since a bridge that only lists its tools needs none of them.

import type { Client, ClientCapabilities, JSONRPCMessage } from '@modelcontextprotocol/client';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { CLIENT_INFO, envelopeOf, LOG_LEVEL_KEY, MODERN_VERSION } from './envelope.js';
import { ErrorAnswer, type Link, METHOD_NOT_FOUND } from './link.js';
import { type RequestOptions, SdkTransport } from './sdk-transport.js';

export type { CallProgress } from './sdk-transport.js';

/** Handlers of what the server tells and asks of its own accord. */
export type ClientHandlers = {
  /** The client's own name; without it, that of the bridge. */
  readonly name?: string;
  readonly capabilities: ClientCapabilities;
  readonly onNotification: (method: string, params: JsonObject) => void;
  /** Undefined for a method that is not answered. */
  readonly onRequest: (
    method: string,
    params: unknown,
    signal: AbortSignal,
  ) => Promise<JsonObject> | undefined;
};

/** The SDK sets a timer for its greeting; the longest that exists leaves the decision to our own clocks. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** Until a server has said that it will tell of changes. */
const LISTEN_LIMIT_MS = 30_000;
/** The least level of a message that is worth a line of the operator's log. */
const LOG_LEVEL = 'info';

/**
 * The one fact about a server that is told to the SDK: the version that the server speaks. The server's own words are read
 * here, with tolerance.
 */
const MODERN = {
  resultType: 'complete',
  supportedVersions: [MODERN_VERSION] as string[],
  capabilities: {},
  ttlMs: 0,
  cacheScope: 'private',
} as const;

/** The client of a server that has been greeted. */
export class McpClient {
  readonly #sdk;
  readonly #client: Client;
  readonly #transport: SdkTransport;
  /** Facts that the server states about itself in its greeting. */
  #introduction: ReturnType<typeof introductionOf> = {
    capabilities: {},
    version: undefined,
    instructions: undefined,
  };

  private constructor(
    sdk: typeof import('@modelcontextprotocol/client'),
    client: Client,
    transport: SdkTransport,
  ) {
    this.#sdk = sdk;
    this.#client = client;
    this.#transport = transport;
  }

  /**
   * Greets over a link that has been started: with `initialize`, or where the server has `discovered` itself, not at
   * all. Messages that `aside` takes are not for the client. Throws ErrorAnswer, or what the SDK or the link throws.
   */
  static async greet(
    link: Link,
    handlers: ClientHandlers,
    signal: AbortSignal,
    discovered?: JsonObject,
    aside?: (message: JSONRPCMessage) => boolean,
  ): Promise<McpClient> {
    const sdk = await import('@modelcontextprotocol/client');
    const { name = CLIENT_INFO.name, capabilities, onNotification, onRequest } = handlers;
    const client = new sdk.Client({ ...CLIENT_INFO, name }, { capabilities });
    // Raw requests: the SDK's own handlers refuse a form that a newer protocol may allow.
    client.fallbackRequestHandler = async ({ method, params }, { mcpReq }) => {
      const answer = onRequest(method, params, mcpReq.signal);
      if (answer !== undefined) return answer;
      throw new sdk.ProtocolError(METHOD_NOT_FOUND, 'Method not found');
    };
    client.fallbackNotificationHandler = async ({ method, params }) => onNotification(method, params ?? {});
    const transport = new SdkTransport(link, aside);
    const greeted = new McpClient(sdk, client, transport);
    try {
      await client.connect(transport, {
        timeout: NO_TIMEOUT_MS,
        signal,
        prior: discovered === undefined ? { kind: 'legacy' } : { kind: 'modern', discover: MODERN },
      });
    } catch (thrown) {
      if (!(thrown instanceof sdk.ProtocolError)) throw thrown;
      throw new ErrorAnswer(thrown.message, thrown.code, thrown.data);
    }
    if (discovered !== undefined) transport.envelope = envelopeOf(capabilities);
    greeted.#introduction = discovered === undefined ? introductionFrom(client) : introductionOf(discovered);
    return greeted;
  }

  get isModern(): boolean {
    return this.#client.getProtocolEra() === 'modern';
  }

  /** In the server's own words. */
  get serverVersion(): string | undefined {
    return this.#introduction.version;
  }

  get instructions(): string | undefined {
    return this.#introduction.instructions;
  }

  /** Whether the server said in its greeting that it has such a thing. */
  has(capability: string): boolean {
    return this.#introduction.capabilities[capability] !== undefined;
  }

  set onclose(told: () => void) {
    this.#client.onclose = told;
  }

  /** The result, which leads to its own text by `rawResultOf`. Throws as `SdkTransport.request` does. */
  request(method: string, params: JsonObject, options: RequestOptions): Promise<object> {
    return this.#transport.request(method, this.#withLogLevel(params), options);
  }

  /** Whether the server said that it tells when its tools have changed. */
  get tellsToolChanges(): boolean {
    const { tools } = this.#introduction.capabilities;
    return isObject(tools) && tools['listChanged'] === true;
  }

  get isClosed(): boolean {
    return this.#client.transport === undefined;
  }

  /** Resolves when the server has promised to tell of such changes; `ended` when it does so no longer. */
  async listen(
    filter: { readonly toolsListChanged: true },
    signal: AbortSignal,
  ): Promise<{ readonly ended: Promise<unknown> }> {
    const { closed } = await this.#client.listen(filter, { signal, timeout: LISTEN_LIMIT_MS });
    return { ended: closed };
  }

  /** Whether it is the server's own answer that it does not know the method. */
  isRefused(thrown: unknown): boolean {
    return thrown instanceof this.#sdk.ProtocolError && thrown.code === METHOD_NOT_FOUND;
  }

  /** Rejects where it cannot be sent. */
  async notify(method: string): Promise<void> {
    await this.#client.notification({ method });
  }

  /** In the modern era a server says what it logs only to a request that asks for it. */
  #withLogLevel(params: JsonObject): JsonObject {
    if (!this.isModern || !this.has('logging')) return params;
    return { ...params, _meta: { ...Object(params['_meta']), [LOG_LEVEL_KEY]: LOG_LEVEL } };
  }
}

function introductionFrom(client: Client) {
  return {
    capabilities: { ...client.getServerCapabilities() },
    version: client.getServerVersion()?.version,
    instructions: client.getInstructions(),
  };
}

function introductionOf({ capabilities, instructions, _meta }: JsonObject) {
  const info = isObject(_meta) ? _meta['io.modelcontextprotocol/serverInfo'] : undefined;
  const version = isObject(info) ? info['version'] : undefined;
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    version: typeof version === 'string' ? version : undefined,
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}
