// Parts that the HTTP front is given: who is asking, what serves them, and what that may cost. The front knows HTTP and MCP's
// transports, and nothing of runs, tokens or sandboxes.

import { AsyncLocalStorage } from 'node:async_hooks';
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Server } from '@modelcontextprotocol/server';
import type { BridgeError } from '../../base/errors.js';
import type { BridgeEvent, Observer } from '../../base/log/events.js';
import type { Principal } from '../../base/principal.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import type { WatchTasks } from '../../mcp/calls/tasks.js';
import type { ChangedList } from '../../mcp/connection/server.js';
import type { AuthExtra } from '../../mcp/requests/agent-request.js';
import type { Settings } from '../../settings/environment/settings.js';
import { errorAnswer, type HttpErrorAnswer, type RequestId } from '../../wire/request-body.js';

/** A complete answer that needs no server of MCP. `body` is sent as JSON, `text` as it is; without both, none is sent. */
export type HttpAnswer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly text?: string;
};

/** Facts that a decision about a request can rest on. Headers of proxies are already believed or dropped. */
export type RequestFacts = {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** As it was sent: path and query. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Every Authorization header; `headers` hides all but the first. */
  readonly authorization: readonly string[] | undefined;
  /** Address of the client: the connection's other end, or what a trusted proxy says of it. Undefined on a unix socket. */
  readonly remoteAddress: string | undefined;
  /** Whether the request came by a unix socket that only this user can open, and not through a trusted proxy. */
  readonly isPrivateSocket: boolean;
  /** Whether the request has a header with which proxies say that somebody else stands behind them. */
  readonly isForwarded: boolean;
  /** Whether the request came by TLS, to us or to a trusted proxy. */
  readonly isSecure: boolean;
  /** Host and port as the client has written them; a trusted proxy's X-Forwarded-Host. */
  readonly host: string;
};

/** `callerToken` is handed on to whatever serves the request, and is no concern of the front's. */
export type Authenticated =
  | { readonly principal: Principal; readonly callerToken?: unknown }
  /** `principalId` is whose credential it was, where that is known. */
  | { readonly refusal: HttpAnswer; readonly principalId?: string | undefined };

/** A request, as far as it matters which replica serves it. */
export type Routed = {
  /** Id of the principal. */
  readonly principal: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly facts: RequestFacts;
  /** The body as it came. */
  readonly text: string | undefined;
  /** Whether it begins something that is not there yet. */
  readonly beginsWork: boolean;
  /** Whether it goes on with something: a session, a run, a task, a question. */
  readonly goesOn: boolean;
  /** Whether that is here. */
  readonly isHere: boolean;
  /** Whether this replica is about to end. */
  readonly isDraining: boolean;
};

/** Replicas that serve the same address as this process. */
type OtherReplicas = {
  /** Whether one of them has passed this request on. */
  readonly isFromReplica: (request: IncomingMessage) => boolean;
  /** The answer to one that asks whether this is a replica; undefined for every other request. */
  readonly proofFor: (facts: RequestFacts) => HttpAnswer | undefined;
  /** Resolves with 'here' where this replica is to serve it, 'answered' where another one has; else with what to answer. */
  readonly route: (routed: Routed) => Promise<'here' | 'answered' | HttpAnswer>;
};

export type HttpFrontParts = {
  /**
   * Resolves when the turn of a request of `owner` has come, also when `signal` ends the wait; the turn is disposed of when
   * the request is answered. Or resolves with why there is no turn. Without `turn` every request is begun at once.
   */
  readonly turn?: (
    owner: string,
    signal: AbortSignal,
  ) => Promise<Disposable | { readonly refused: BridgeError }>;
  /**
   * Why a call of this principal would be refused that comes behind `coming` others, before anybody has read it; undefined where
   * it may be taken. Without it, every body is read.
   */
  readonly refusalAhead?: (principal: Principal, coming: number) => BridgeError | undefined;
  /** A new Server of the SDK for one request or one session of `principal`, not yet connected. */
  readonly serverFor: (
    principal: Principal /** Which request a server object is made for. */,
    context: {
      /** `modern` is 2026-07-28. */
      readonly era: 'legacy' | 'modern';
      /** Serves many requests, one after the other; false for a server of one request. */
      readonly isSession: boolean;
      /** Facts of the request that the server is made for; those of each request are in `ctx.http.authInfo.extra` (AuthExtra). */
      readonly extra: AuthExtra;
      /** The header MCP-Protocol-Version, which is all that a 2025 client without a session says of its version. */
      readonly clientProtocol: string | undefined;
      /**
       * Has a change of the principal's lists told on its `subscriptions/listen` streams; undefined for a session, whose client
       * is told by its own server object.
       */
      readonly onListChanged: ((list: ChangedList) => void) | undefined;
    },
  ) => Server | Promise<Server>;
  /** Who asks, or the answer for somebody who may not. Also called again and again for streams that stay open. */
  readonly authenticate: (facts: RequestFacts) => Promise<Authenticated>;
  /** The answer to a message for which the principal lacks a scope; undefined where it may. `message` may be anything. */
  readonly stepUp?: (principal: Principal, message: unknown) => HttpAnswer | undefined;
  /** Tells of the principal's tasks; without it there are none. */
  readonly watchTasks?: (principal: Principal) => WatchTasks;
  /** Whether what the principal's client names is here: the handle of a run, the state of a question, the id of a task. */
  readonly knowsJob?: (principal: Principal, name: string) => boolean;
  /** The other replicas behind the same address; undefined where there are none. */
  readonly replicas?: OtherReplicas | undefined;
  /** Whether a call over TCP must show a credential, so that an address of the network may be listened on. */
  readonly hasCredentials: boolean;
  /** Documents below /.well-known/ that anybody may read; undefined where there is none. */
  readonly wellKnown?: (facts: RequestFacts) => HttpAnswer | undefined;
  /**
   * The page of figures, for whoever has shown the credential that is for the page alone, or why they are not given it; without
   * it there is none.
   */
  readonly figures?: (facts: RequestFacts) => Promise<HttpAnswer>;
  /**
   * Answers everything below `/ui`, the page for people, which has an authentication of its own; without it there is none. The
   * Host of the request is one of the bridge's names.
   */
  readonly ui?: (request: IncomingMessage, response: ServerResponse, facts: RequestFacts) => Promise<void>;
  /** Engine and configuration can be used. */
  readonly readiness: () => boolean | Promise<boolean>;
  /** Runs under way whose request has ended already: they wait for a person, or are tasks. */
  readonly runsBesideRequests?: () => number;
  /** Reads again what SIGHUP asks for; TLS files are read by the front itself. */
  readonly reload?: () => void | Promise<void>;
  readonly observer: Observer;
  readonly settings: Settings['http'];
};

// Answers that the front gives itself: JSON-RPC errors at /mcp, problem documents (RFC 9457) elsewhere, each with one
// sentence that says what to do.

// JSON-RPC 2.0, section 5.1; -32000 to -32099 are for servers to define.
const INVALID_REQUEST = -32_600;
const REFUSED = -32_000;
const SESSION_NOT_FOUND = -32_001;

/** An error of JSON-RPC under an HTTP status; `id` is that of the request, null where it is not known. */
export const rpcError = (
  status: number,
  message: string,
  { id = null, headers = {} }: { id?: RequestId; headers?: Readonly<Record<string, string>> } = {},
): HttpErrorAnswer => errorAnswer(status, codeFor(status), message, { id, headers });

function codeFor(status: number): number {
  if (status === 404) return SESSION_NOT_FOUND;
  return status === 400 ? INVALID_REQUEST : REFUSED;
}

/** A problem document. */
export const problem = (
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  body: { title: STATUS_CODES[status], status, detail },
});

/** Sends `answer`, unless the response has begun or its reader has gone. */
export function sendAnswer(
  response: ServerResponse,
  { status, headers = {}, body, text: ready }: HttpAnswer,
): void {
  if (response.headersSent || response.destroyed) return;
  const text = ready ?? (body === undefined ? '' : `${JSON.stringify(body)}\n`);
  response.writeHead(status, {
    ...(text === '' ? {} : { 'content-type': 'application/json' }),
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  // An answer to a HEAD has the headers alone; Node leaves the text out.
  response.end(text);
}

// The limits of the HTTP front that nobody sets: how long it waits, and how much it holds. Tests shorten them.

export const HTTP_LIMITS = {
  /** Milliseconds for all headers of a request, from the connection's or the last answer's end on. */
  headersMs: 10_000,
  /** Milliseconds for a whole request, its body included. */
  requestMs: 300_000,
  /** Between two pieces of a body. */
  bodyIdleMs: 20_000,
  /** Milliseconds for the handshake of TLS. */
  handshakeMs: 10_000,
  /** Longer than what proxies keep connections for, or they would send a request into one that is being closed. */
  keepAliveMs: 75_000,
  /** How long a reader may take nothing of what waits for it. */
  unreadMs: 30_000,
  /** Most that waits for one reader. An answer has 40 MB, and escapes make it longer. */
  unreadBytes: 96 * MB_BYTES,
  /** Most that waits for all readers together; the one with the most goes first. */
  unreadBytesInAll: 384 * MB_BYTES,
  /** Bytes of the headers of one request together. */
  headerBytes: 16_384,
  headers: 100,
  /** Requests that one connection may have under way: no client sends more before it has read an answer. */
  pipelined: 16,
  /** How often what stays open is looked at: credentials of streams, and certificates. */
  lookMs: 15_000,
  /** `subscriptions/listen` streams of one principal. */
  subscriptions: 256,
  /** A comment in a stream, so that proxies do not take it for dead, and that we notice who has gone. */
  streamKeepAliveMs: 15_000,
} as const;

export type HttpLimits = { readonly [Name in keyof typeof HTTP_LIMITS]: number };

// Which HTTP request something is done for, so that the log of a run names the request that began it.

type RequestScope = {
  /** Id of the request. */
  readonly id: string;
  /** Id of the first run that the request has begun, or that it was refused. */
  run?: string;
};

const scopes = new AsyncLocalStorage<RequestScope>();

/** Runs `work`, and all that it begins, as part of the request, in whose scope the id of its run is then. */
export const asPartOf = <T>(scope: RequestScope, work: () => T): T => scopes.run(scope, work);

/**
 * Tells `observer` with each event of a run, and of who asks, which request began it. Events of servers and sandboxes are
 * told as they are: what one request has started may serve another.
 */
export function withRequests(observer: Observer): Observer {
  return (event: BridgeEvent) => {
    const scope = /^(?:run|auth)\./.test(event.type) ? scopes.getStore() : undefined;
    if (scope === undefined) return observer(event);
    if ('run' in event && typeof event.run === 'string') scope.run ??= event.run;
    observer({ ...event, request: scope.id });
  };
}
