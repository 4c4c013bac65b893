// Parts that the HTTP front is given: who is asking, what serves them, and what that may cost. The front knows HTTP and MCP's
// transports, and nothing of runs, tokens or sandboxes.

import type { IncomingHttpHeaders } from 'node:http';
import type { Server } from '@modelcontextprotocol/server';
import type { BridgeError } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import type { Principal } from '../../base/principal.js';
import type { WatchTasks } from '../../mcp/calls/tasks.js';
import type { AuthExtra } from '../../mcp/requests/agent-request.js';
import type { Settings } from '../../settings/environment/settings.js';

/** A complete answer that needs no server of MCP. `body` is sent as JSON; undefined sends none. */
export type HttpAnswer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
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
  /** It came by a unix socket that only this user can open, and not through a trusted proxy. */
  readonly isPrivateSocket: boolean;
  /** It has a header with which proxies say that somebody else stands behind them. */
  readonly isForwarded: boolean;
  /** It came by TLS, to us or to a trusted proxy. */
  readonly isSecure: boolean;
  /** Host and port as the client has written them; a trusted proxy's X-Forwarded-Host. */
  readonly host: string;
};

/** `callerToken` is handed on to whatever serves the request, and is no concern of the front's. */
export type Authenticated =
  | { readonly principal: Principal; readonly callerToken?: unknown }
  | { readonly refusal: HttpAnswer };

/** Which request a server object is made for. */
export type ServingContext = {
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
  readonly onListChanged: ((list: 'tools' | 'resources') => void) | undefined;
};

export type HttpFrontParts = {
  /**
   * Resolves when the turn of a request of `owner` has come, also when `signal` ends the wait, and is disposed of when the request is
   * answered; or with why it has none. Without it every request is begun at once.
   */
  readonly turn?: (
    owner: string,
    signal: AbortSignal,
  ) => Promise<Disposable | { readonly refused: BridgeError }>;
  /** A new Server of the SDK for one request or one session of `principal`, not yet connected. */
  readonly serverFor: (principal: Principal, context: ServingContext) => Server | Promise<Server>;
  /** Who asks, or the answer for somebody who may not. Also called again and again for streams that stay open. */
  readonly authenticate: (facts: RequestFacts) => Promise<Authenticated>;
  /** The answer to a message for which the principal lacks a scope; undefined where it may. `message` may be anything. */
  readonly stepUp?: (principal: Principal, message: unknown) => HttpAnswer | undefined;
  /** Tells of the principal's tasks; without it there are none. */
  readonly watchTasks?: (principal: Principal) => WatchTasks;
  /** Whether a call over TCP must show a credential, so that an address of the network may be listened on. */
  readonly hasCredentials: boolean;
  /** Documents below /.well-known/ that anybody may read; undefined where there is none. */
  readonly wellKnown?: (facts: RequestFacts) => HttpAnswer | undefined;
  /** Engine and configuration can be used. */
  readonly readiness: () => boolean | Promise<boolean>;
  /** Runs under way whose request has ended already: they wait for a person, or are tasks. */
  readonly runsBesideRequests?: () => number;
  /** Reads again what SIGHUP asks for; TLS files are read by the front itself. */
  readonly reload?: () => void | Promise<void>;
  readonly observer: Observer;
  readonly settings: Settings['http'];
};
