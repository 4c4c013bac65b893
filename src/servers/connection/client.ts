// The SDK's client for one server: its greeting, requests and notifications. The one place of this floor that knows the
// SDK's classes; they are loaded with the first server, since a bridge that only lists its tools needs none of them.

import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { isObject, type JsonObject } from '../../base/json/json-object.js';
import { CLIENT_INFO, LOG_LEVEL_KEY, MODERN_VERSION } from './envelope.js';
import { ErrorAnswer, METHOD_NOT_FOUND } from './error-answer.js';
import type { Link } from './link.js';
import { type Aside, anyResult, SdkTransport } from './sdk-transport.js';

/** How far a call says it is; numbers as the server gives them. */
export type CallProgress = {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
};

type RequestOptions = {
  readonly signal: AbortSignal;
  readonly onprogress?: (progress: CallProgress) => void;
  /** Further headers of the request, over HTTP in the modern era. */
  readonly headers?: Readonly<Record<string, string>>;
};

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

/** The SDK sets a timer for every request; the longest that exists leaves the decision to our own clocks. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** Until a server has said that it will tell of changes. */
const LISTEN_LIMIT_MS = 30_000;
/** The least level of a message that is worth a line of the operator's log. */
const LOG_LEVEL = 'info';

type Sdk = typeof import('@modelcontextprotocol/client');

/** Facts that a server states about itself in its greeting. */
type Introduction = {
  readonly capabilities: JsonObject;
  readonly version: string | undefined;
  readonly instructions: string | undefined;
};

/** Stands for a server's own `server/discover`, which the SDK would refuse for anything odd in it. */
const FLAWLESS_DISCOVERY = {
  resultType: 'complete',
  supportedVersions: [MODERN_VERSION],
  capabilities: {},
  ttlMs: 0,
  cacheScope: 'private',
} as const;

/** The client of a server that has been greeted. */
export class McpClient {
  readonly #sdk: Sdk;
  readonly #client: InstanceType<Sdk['Client']>;
  #introduction: Introduction = { capabilities: {}, version: undefined, instructions: undefined };

  private constructor(sdk: Sdk, client: InstanceType<Sdk['Client']>) {
    this.#sdk = sdk;
    this.#client = client;
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
    aside?: Aside,
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
    const greeted = new McpClient(sdk, client);
    try {
      await client.connect(new SdkTransport(link, aside), {
        timeout: NO_TIMEOUT_MS,
        signal,
        prior:
          discovered === undefined
            ? { kind: 'legacy' }
            : { kind: 'modern', discover: { ...FLAWLESS_DISCOVERY, supportedVersions: [MODERN_VERSION] } },
      });
      greeted.#introduction = discovered === undefined ? initialized(client) : introductionOf(discovered);
      return greeted;
    } catch (thrown) {
      throw greeted.#told(thrown);
    }
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

  /** The result, which leads to its own text by `rawResultOf`. Throws ErrorAnswer, or what the SDK throws. */
  async request(method: string, params: JsonObject, options: RequestOptions): Promise<object> {
    try {
      const request = { method, params: this.#withLogLevel(params) };
      const sent = await this.#client.request(request, anyResult, {
        timeout: NO_TIMEOUT_MS,
        ...options,
      });
      return sent as object;
    } catch (thrown) {
      throw this.#told(thrown);
    }
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

  #told(thrown: unknown): unknown {
    if (!(thrown instanceof this.#sdk.ProtocolError)) return thrown;
    return new ErrorAnswer(thrown.message, thrown.code, thrown.data);
  }
}

function initialized(client: InstanceType<Sdk['Client']>): Introduction {
  return {
    capabilities: { ...client.getServerCapabilities() },
    version: client.getServerVersion()?.version,
    instructions: client.getInstructions(),
  };
}

function introductionOf({ capabilities, instructions, _meta }: JsonObject): Introduction {
  const info = isObject(_meta) ? _meta['io.modelcontextprotocol/serverInfo'] : undefined;
  const version = isObject(info) ? info['version'] : undefined;
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    version: typeof version === 'string' ? version : undefined,
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}
