// The SDK's server object for one agent, of either era of the protocol. The SDK finds out the era, counts and cancels requests,
// and speaks HTTP. Methods are answered by handlers of ours, which get what the client has sent, unchecked, and whose results
// leave as they are: the SDK would check both by schemas that speak in words of their own, and copy texts that are relayed
// verbatim. So all requests but `server/discover` reach the SDK's `fallbackRequestHandler`, around which it puts no checks.

import {
  type ClientCapabilities,
  type Implementation,
  type InitializeRequestParams,
  isJSONRPCRequest,
  type JSONRPCRequest,
  LATEST_PROTOCOL_VERSION,
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  type Result,
  Server,
  type ServerCapabilities,
  type ServerContext,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { messageOf } from '../../base/errors.js';
import { loadedOnce } from '../../base/replaced-part.js';
import { PACKAGE_NAME, VERSION } from '../../base/version.js';
import { NO_AGENT } from '../../servers/asking/agent-capabilities.js';
import { AgentRequest, type AuthExtra, type Era, type Peer } from './agent-request.js';
import { type AllowedParams, paramsBy } from './complaint.js';

const SERVER_INFO = { name: PACKAGE_NAME, title: 'MCP sandbox bridge', version: VERSION };
const anything = { params: z.unknown() };
/** Answered by the SDK, for agents of 2026-07-28. */
const DISCOVER = 'server/discover';

const notFound = () => new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found');

/** `params` is what the request has, undefined where it has none. What is returned is sent as it is. */
type Handler = (params: unknown, request: AgentRequest) => object | Promise<object>;

export class AgentServer extends Server {
  readonly era: Era;
  /** Set by whoever serves it; a server without a bridge has no calls. */
  peer: Peer = { agent: NO_AGENT, scope: '', logLevel: () => undefined };
  readonly #instructions: string;
  readonly #handlers = new Map<string, Handler>();
  readonly #closed = new AbortController();
  readonly #open = new Set<RequestId>();
  #clientProtocol: string | undefined;
  #greeting: InitializeRequestParams | undefined;

  constructor({
    era,
    capabilities,
    instructions,
    clientProtocol,
  }: {
    /** `modern` is 2026-07-28 and later; `legacy` is all that begins with `initialize`. */
    readonly era: Era;
    readonly capabilities: ServerCapabilities;
    readonly instructions: string;
    /** The version of MCP that the client speaks, where it is known before its first message. */
    readonly clientProtocol?: string | undefined;
  }) {
    super(SERVER_INFO, {
      capabilities,
      instructions,
      cacheHints: { [DISCOVER]: CACHED_FOR.discover },
    });
    this.era = era;
    this.#instructions = instructions;
    this.#clientProtocol = clientProtocol;
    this.onclose = () => this.#closed.abort();
    // The SDK's own answers build all schemas of an era first.
    for (const method of ['initialize', 'ping', 'logging/setLevel']) this.removeRequestHandler(method);
    this.setNotificationHandler('notifications/initialized', anything, () => {});
    this.fallbackRequestHandler = this.#answer;
    this.answer('initialize', (params) => this.#greet(params));
    this.answer('ping', () => ({}));
  }

  /** `handler` answers `method` from now on. Errors are answered with their `code`, `message` and `data`. */
  answer(method: string, handler: Handler): void {
    this.#handlers.set(method, handler);
    // The SDK lets names that only an earlier version had through where a handler is registered for them.
    if (method.startsWith('tasks/'))
      this.setRequestHandler(method, anything, (params, context) =>
        this.#answer({ params: Object(params) }, context),
      );
  }

  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport);
    const { onmessage } = transport;
    // The SDK takes whatever has a fallback for a method that there is; and over HTTP the status of one that there is not is
    // decided before any handler has its turn.
    transport.onmessage = (message, extra) => {
      const isKnown =
        'method' in message && (this.#handlers.has(message.method) || message.method === DISCOVER);
      if (isKnown || !isJSONRPCRequest(message)) return onmessage?.(message, extra);
      const { code, message: words } = notFound();
      const refusal = { jsonrpc: '2.0' as const, id: message.id, error: { code, message: words } };
      // A client that has gone hears nothing.
      transport.send(refusal).catch(() => {});
    };
  }

  /**
   * Answers several methods by the handlers that `register` brings when the first of the methods is asked for. Methods that
   * have another handler by then keep it.
   */
  answerLater(methods: readonly string[], register: () => Promise<void>): void {
    const waiting = new Map<string, Handler>();
    const brought = new Map<string, Handler>();
    const registered = loadedOnce(async () => {
      const before = new Map(this.#handlers);
      await register();
      for (const method of methods) {
        const [own, other] = [this.#handlers.get(method), before.get(method)];
        if (own !== undefined && own !== waiting.get(method)) brought.set(method, own);
        if (other !== undefined && other !== waiting.get(method)) this.#handlers.set(method, other);
      }
    });
    const isRegistered = () =>
      registered().catch((thrown: unknown) => {
        // The message of an error is all of it that the agent is sent.
        throw new Error(messageOf(thrown), { cause: thrown });
      });
    for (const method of methods) {
      const wait: Handler = async (params, request) => {
        await isRegistered();
        // Not whichever there is now: one that was put around this one would be asked again, without an end.
        const handler = brought.get(method);
        if (handler === undefined) throw new Error(`no handler was registered for ${method}`);
        return handler(params, request);
      };
      waiting.set(method, wait);
      this.answer(method, wait);
    }
  }

  /** The version of MCP that the client has asked for in its greeting; undefined before, and where each request says it. */
  get clientProtocol(): string | undefined {
    return this.#clientProtocol;
  }

  /** Id of the call that came last, of those that are being answered. */
  get newestCall(): RequestId | undefined {
    return [...this.#open].at(-1);
  }

  /** Aborted when the connection has ended. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  override getClientCapabilities(): ClientCapabilities | undefined {
    return this.#greeting?.capabilities;
  }

  override getClientVersion(): Implementation | undefined {
    return this.#greeting?.clientInfo;
  }

  readonly #answer = async (
    { params }: Pick<JSONRPCRequest, 'params'>,
    context: ServerContext,
  ): Promise<Result> => {
    const { id, method } = context.mcpReq;
    const handler = this.#handlers.get(method);
    if (handler === undefined) throw notFound();
    const request = new AgentRequest(this, context);
    request.checkVersion();
    if (method === 'tools/call') this.#open.add(id);
    try {
      const result = await handler(params, request);
      // Over HTTP the SDK writes the answer, and would write relayed texts anew.
      const extra = context.http?.authInfo?.extra as Partial<AuthExtra> | undefined;
      return (extra?.texts?.mark(result) ?? result) as Result;
    } finally {
      this.#open.delete(id);
    }
  };

  #greet(params: unknown): object {
    const { protocolVersion, capabilities, clientInfo } = paramsBy(
      AgentGreeting,
      params,
      ALLOWED,
    ) as InitializeRequestParams;
    this.#greeting = { protocolVersion, capabilities, clientInfo };
    this.#clientProtocol = protocolVersion;
    const agreed = SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersion)
      ? protocolVersion
      : LATEST_PROTOCOL_VERSION;
    this.transport?.setProtocolVersion?.(agreed);
    const instructions = this.#instructions;
    return {
      protocolVersion: agreed,
      capabilities: this.getCapabilities(),
      serverInfo: SERVER_INFO,
      ...(instructions === '' ? {} : { instructions }),
    };
  }
}

const AgentGreeting = z.object({
  protocolVersion: z.string(),
  capabilities: z.looseObject({}),
  clientInfo: z.looseObject({ name: z.string(), version: z.string() }),
});

const ALLOWED: AllowedParams = {
  fields: {
    protocolVersion: 'a version of MCP, such as "2025-11-25"',
    capabilities: 'an object, empty where the client offers nothing',
    clientInfo: 'an object with name and version',
  },
  whole: 'an object with protocolVersion, capabilities and clientInfo',
};

// How long an agent may take an answer of ours for current, which 2026-07-28 wants said with every list and every read.
// Always `private`: names of servers, files and descriptions are those of one user. Whoever needs to know at once listens
// for changes (subscriptions/listen).

const forMs = (ttlMs: number) => ({ ttlMs, cacheScope: 'private' }) as const;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export const CACHED_FOR = {
  /** Instructions in the answer name the configured servers, and a configuration may be changed at any time. */
  discover: forMs(MINUTE_MS),
  /** Nothing changes as long as this bridge lives, but what is said of the image, once, when it becomes known. */
  tools: forMs(5 * MINUTE_MS),
  templates: forMs(HOUR_MS),
  /** Servers that are started list theirs anew. */
  prompts: forMs(MINUTE_MS),
  /** Every run may leave something. */
  resources: forMs(0),
  /** The bridge's description of itself, which names servers as well. */
  capabilities: forMs(MINUTE_MS),
  /** Somebody may be writing one. */
  snippets: forMs(0),
} as const;

/** Cache time of what a run has left: it never changes under its address; `keepSeconds` is how long it can be read at most. */
export const keptFor = (keepSeconds: number) => forMs(Math.min(keepSeconds * 1_000, HOUR_MS));
