// One request of an agent: who makes it, what it can be asked and told, and in which version of the protocol. An agent of 2025
// has said so in its greeting, a later one says it with every request.

import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type ServerContext,
  type ServerNotification,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/server';
import { isObject } from '../../base/json/records.js';
import type { Principal } from '../../base/principal.js';
import { traceIn } from '../../base/trace.js';
import type { CallContext, OutputEvent } from '../../run/calls/call-context.js';
import { OUTPUT_METHOD } from '../../run/outcome/outcome.js';
import { LOG_LEVELS, type LogParams, type McpLogLevel } from './log-notifications.js';
import type { ProgressParams } from './progress.js';
import type { RelayedTexts } from './relayed-texts.js';

/** The SDK's words: `modern` is 2026-07-28 and later. */
export type Era = 'legacy' | 'modern';

/** The versions in which each request speaks for itself. */
export const MODERN_VERSIONS: readonly string[] = ['2026-07-28'];

/** Whom calls of an agent can ask, within which scope it names sessions, and what it has said that it wants to be told. */
export type Peer = Pick<CallContext['caller'], 'agent' | 'scope'> & {
  readonly logLevel: () => McpLogLevel | undefined;
};

/** Facts about an HTTP request, which a handler finds in `ctx.http.authInfo.extra`. */
export type AuthExtra = {
  readonly principal: Principal;
  readonly callerToken: unknown;
  /** The answer has it as X-Request-Id, and log lines too. */
  readonly requestId: string;
  /** Takes what is to leave as it is; undefined for what is no request of a client. */
  readonly texts?: RelayedTexts;
  /** Counts the body as its principal's for work that goes on with the body, until the returned function is called. */
  readonly keepBody?: (() => () => void) | undefined;
};

/** Event of a call for its agent, as MCP has it. Pieces of output are for our own command line, which wants all of them. */
type AgentEvent =
  | { readonly type: 'said'; readonly params: ProgressParams }
  | { readonly type: 'logged'; readonly params: LogParams }
  | OutputEvent;

export class AgentRequest implements CallContext<AgentEvent> {
  readonly #greeted;
  /** The SDK's; `mcpReq` has inputResponses and requestState where the request goes on with an earlier one. */
  readonly context: ServerContext;

  constructor(
    /** Facts about an agent before it asks anything; none of them counts for an agent that says them with every request. */ greeted: {
      readonly era: Era;
      /** The version that the client has asked for. */
      readonly clientProtocol: string | undefined;
      /** Peer that the agent's calls are given; the log level in it is that of an agent of 2025. */
      readonly peer: Peer;
      getClientVersion(): Implementation | undefined;
      getClientCapabilities(): ClientCapabilities | undefined;
    },
    context: ServerContext,
  ) {
    this.#greeted = greeted;
    this.context = context;
  }

  get era(): Era {
    return this.#greeted.era;
  }

  /** Object that all requests of one connection share. Over HTTP, a request of a later era is a connection of its own. */
  get connection(): object {
    return this.#greeted;
  }

  get signal(): AbortSignal {
    return this.context.mcpReq.signal;
  }

  get caller(): CallContext['caller'] {
    const { agent, scope } = this.#greeted.peer;
    const { name = 'unknown', version = '' } = this.#client ?? {};
    const trace = traceIn(this.context.mcpReq._meta);
    return { client: `${name} ${version}`.trim(), agent, scope, ...(trace && { trace }) };
  }

  /** Whether the agent wants to be told how far the call is. */
  get wantsProgress(): boolean {
    return this.#progressToken !== undefined;
  }

  /** Name of the client, empty where it has not said it. */
  get clientName(): string {
    return this.#client?.name ?? '';
  }

  /** The version of MCP that the client speaks; undefined where it has not said it. */
  get protocol(): string | undefined {
    return this.era === 'legacy'
      ? this.#greeted.clientProtocol
      : this.#envelopeValue(PROTOCOL_VERSION_META_KEY);
  }

  get capabilities(): ClientCapabilities {
    const said =
      this.era === 'legacy'
        ? this.#greeted.getClientCapabilities()
        : this.#envelopeValue<ClientCapabilities>(CLIENT_CAPABILITIES_META_KEY);
    return said ?? {};
  }

  /** Offers that an answer can take up; an agent of 2025 is asked by requests of its connection. */
  get offers(): ClientOffers {
    return offersOf(this.era === 'legacy' ? undefined : this.capabilities);
  }

  /** Log level of the agent while the request is answered: a request of a later era says its own level. */
  get logLevel(): McpLogLevel | undefined {
    if (this.era === 'legacy') return this.#greeted.peer.logLevel();
    const said = this.#envelopeValue(LOG_LEVEL_META_KEY);
    return LOG_LEVELS.find((known) => known === said);
  }

  /** Holds the arguments of the request, also after its answer, until the returned function is called. */
  keepBody(): () => void {
    const extra = this.context.http?.authInfo?.extra as Partial<AuthExtra> | undefined;
    return extra?.keepBody?.() ?? (() => {});
  }

  /** Tells the agent, as far as it wants to be told. */
  tell(event: AgentEvent): void {
    const progressToken = this.#progressToken;
    if (event.type === 'logged') this.notify({ method: 'notifications/message', params: event.params });
    else if (event.type === 'output') {
      const { type: _, ...params } = event;
      this.notify({ method: OUTPUT_METHOD, params } as never);
    } else if (progressToken !== undefined)
      this.notify({ method: 'notifications/progress', params: { progressToken, ...event.params } });
  }

  /** Sends a notification as part of the answer to this request; never after the request was cancelled. */
  notify(notification: ServerNotification): void {
    // A client that has gone hears nothing, which is its own doing.
    if (!this.signal.aborted) this.context.mcpReq.notify(notification).catch(() => {});
  }

  /** Throws -32022 with the versions that there are: the SDK looks at the version of the first request only. */
  checkVersion(): void {
    if (this.era === 'legacy') return;
    const requested = this.protocol ?? 'unknown';
    if (!MODERN_VERSIONS.includes(requested))
      throw new UnsupportedProtocolVersionError({ supported: [...MODERN_VERSIONS], requested });
  }

  get #progressToken(): string | number | undefined {
    return this.context.mcpReq._meta?.progressToken;
  }

  get #client(): Implementation | undefined {
    return this.era === 'legacy'
      ? this.#greeted.getClientVersion()
      : this.#envelopeValue(CLIENT_INFO_META_KEY);
  }

  #envelopeValue<T = string>(key: string): T | undefined {
    const envelope = this.context.mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
    return envelope?.[key] as T | undefined;
  }
}

// Offers that a client declares with one request: from revision 2026-07-28 on each request says them anew, and nothing that an
// earlier request said counts.

/** The identifier of the extension that answers a call with a task. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

export type ClientOffers = {
  /** Modes in which it asks its user. */
  readonly form: boolean;
  readonly url: boolean;
  readonly roots: boolean;
  readonly tasks: boolean;
};

/** Reads MCP's ClientCapabilities; anything else offers nothing. */
export function offersOf(capabilities: unknown): ClientOffers {
  const { elicitation, roots, extensions } = isObject(capabilities) ? capabilities : {};
  const asks = isObject(elicitation);
  return {
    // An empty object means forms, as it did before there were modes.
    form: asks && (isObject(elicitation['form']) || elicitation['url'] === undefined),
    url: asks && isObject(elicitation['url']),
    roots: isObject(roots),
    tasks: isObject(extensions) && isObject(extensions[TASKS_EXTENSION]),
  };
}
