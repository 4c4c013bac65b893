// The SDK's client for one server: its greeting, requests and notifications. The one place of this floor that knows the
// SDK's classes; they are loaded with the first server, since a bridge that only lists its tools needs none of them.

import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { PACKAGE_NAME, VERSION } from '../base/version.js';
import { ErrorAnswer, METHOD_NOT_FOUND } from './error-answer.js';
import type { JsonObject } from './json-object.js';
import type { Link } from './link.js';
import { anyResult, SdkTransport } from './sdk-transport.js';

/** How far a call says it is; numbers as the server gives them. */
export type CallProgress = {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
};

export type RequestOptions = {
  readonly signal: AbortSignal;
  readonly onprogress?: (progress: CallProgress) => void;
};

/** What the server tells and asks of its own accord. */
export type ClientHandlers = {
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

type Sdk = typeof import('@modelcontextprotocol/client');

/** The client of a server that has been greeted. */
export class McpClient {
  readonly #sdk: Sdk;
  readonly #client: InstanceType<Sdk['Client']>;

  private constructor(sdk: Sdk, client: InstanceType<Sdk['Client']>) {
    this.#sdk = sdk;
    this.#client = client;
  }

  /** Greets over a link that has been started. Throws ErrorAnswer, or what the SDK or the link throws. */
  static async greet(link: Link, handlers: ClientHandlers, signal: AbortSignal): Promise<McpClient> {
    const sdk = await import('@modelcontextprotocol/client');
    const { capabilities, onNotification, onRequest } = handlers;
    const client = new sdk.Client({ name: PACKAGE_NAME, version: VERSION }, { capabilities });
    // Raw requests: the SDK's own handlers refuse a form that a newer protocol may allow.
    client.fallbackRequestHandler = async ({ method, params }, { mcpReq }) => {
      const answer = onRequest(method, params, mcpReq.signal);
      if (answer !== undefined) return answer;
      throw new sdk.ProtocolError(METHOD_NOT_FOUND, 'Method not found');
    };
    client.fallbackNotificationHandler = async ({ method, params }) => onNotification(method, params ?? {});
    const greeted = new McpClient(sdk, client);
    try {
      await client.connect(new SdkTransport(link), { timeout: NO_TIMEOUT_MS, signal });
      return greeted;
    } catch (thrown) {
      throw greeted.#told(thrown);
    }
  }

  /** In the server's own words. */
  get serverVersion(): string | undefined {
    return this.#client.getServerVersion()?.version;
  }

  get instructions(): string | undefined {
    return this.#client.getInstructions();
  }

  /** Whether the server said in its greeting that it has such a thing. */
  has(capability: string): boolean {
    return Object(this.#client.getServerCapabilities())[capability] !== undefined;
  }

  set onclose(told: () => void) {
    this.#client.onclose = told;
  }

  /** The result, which leads to its own text by `rawResultOf`. Throws ErrorAnswer, or what the SDK throws. */
  async request(method: string, params: JsonObject, options: RequestOptions): Promise<object> {
    try {
      const sent = await this.#client.request({ method, params }, anyResult, {
        timeout: NO_TIMEOUT_MS,
        ...options,
      });
      return sent as object;
    } catch (thrown) {
      throw this.#told(thrown);
    }
  }

  /** Rejects where it cannot be sent. */
  notify(method: string): Promise<void> {
    return this.#client.notification({ method });
  }

  #told(thrown: unknown): unknown {
    if (!(thrown instanceof this.#sdk.ProtocolError)) return thrown;
    return new ErrorAnswer(thrown.message, thrown.code, thrown.data);
  }
}
