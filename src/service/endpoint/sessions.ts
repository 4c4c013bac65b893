// Sessions of clients of the 2025 revisions: one server object for each, bound to the principal that opened it. Another
// principal's use of its id is answered as an unknown id is. One that nobody uses ends by itself.

import { randomBytes } from 'node:crypto';
import { type Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { Observer } from '../../base/log/events.js';
import { type Principal, rightsOf } from '../../base/principal.js';
import type { RequestId } from '../../wire/request-body.js';
import { type HttpAnswer, rpcError } from '../http/parts.js';

/** 256 bits of chance: an id cannot be guessed. */
const ID_BYTES = 32;
/** One principal may have this part of all sessions. */
const PART_OF_ALL = 4;
const RETRY_SECONDS = '10';

export type McpSession = {
  readonly id: string;
  readonly principal: Principal;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Exchanges under way, open streams included. */
  busy: number;
  /** When the last exchange ended, by performance.now(). */
  lastAt: number;
  /** Ids of its requests that are not answered, as JSON. */
  readonly underWay: Set<string>;
};

export class McpSessions {
  readonly #limits;
  readonly #observer: Observer;
  readonly #sessions = new Map<string, McpSession>();
  readonly #sweeping: NodeJS.Timeout;

  constructor(
    limits: {
      /** Sessions at once; 0 for none at all. */
      readonly sessions: number;
      readonly idleMs: number;
      readonly keepAliveMs: number;
    },
    observer: Observer,
  ) {
    this.#limits = limits;
    this.#observer = observer;
    this.#sweeping = setInterval(() => this.#sweep(), Math.min(limits.idleMs / 4, 60_000)).unref();
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** Whether there is a session of this id, whoever has it. */
  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** The session `id` of `principal`, or what is answered where it has none of that id. */
  find(id: string, principal: Principal): McpSession | HttpAnswer {
    const session = this.#sessions.get(id);
    // The principal's rights may have changed since the session was opened, which would still have the old.
    if (session !== undefined && rightsOf(session.principal) === rightsOf(principal)) return session;
    return rpcError(404, 'There is no such session, or it has ended. Send initialize to open another.');
  }

  /** A session for an `initialize` that its transport is to be given now, or why there can be none. */
  async open(
    principal: Principal,
    serverFor: () => Server | Promise<Server>,
  ): Promise<McpSession | HttpAnswer> {
    const server = await serverFor();
    const objection = this.#refusalOf(principal);
    if (objection !== undefined) {
      await server.close();
      return objection;
    }
    const id = randomBytes(ID_BYTES).toString('base64url');
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      keepAliveMs: this.#limits.keepAliveMs,
      onsessionclosed: () => this.#end(id, 'closed by the client'),
    });
    const lastAt = performance.now();
    const session: McpSession = { id, principal, server, transport, busy: 0, lastAt, underWay: new Set() };
    this.#sessions.set(id, session);
    this.#observer({ type: 'http.session', principal: principal.id, is: 'opened', open: this.count });
    await server.connect(transport);
    return session;
  }

  /** Ends a session whose `initialize` was refused: nobody has learned its id. */
  async discard({ id }: McpSession): Promise<void> {
    await this.#end(id, 'not initialized');
  }

  /** Ends all of them, and with them what their calls run. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeping);
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id, 'shutdown')));
  }

  #refusalOf(principal: Principal): HttpAnswer | undefined {
    const { sessions } = this.#limits;
    const own = [...this.#sessions].filter(([, session]) => session.principal.id === principal.id);
    const allowed = Math.max(1, Math.floor(sessions / PART_OF_ALL));
    if (own.length < allowed && this.count < sessions) return undefined;
    // Only a session of the same principal makes room: nobody ends what is another's.
    const idle = own.filter(([, { busy }]) => busy === 0);
    const [oldest] = idle.sort(([, one], [, other]) => one.lastAt - other.lastAt);
    if (oldest !== undefined) {
      void this.#end(oldest[0], 'made room for a newer one');
      return undefined;
    }
    const headers = { 'retry-after': RETRY_SECONDS };
    return own.length >= allowed
      ? rpcError(429, `You have ${own.length} sessions, all in use. End one of them first.`, { headers })
      : rpcError(503, 'There are too many sessions. Try again later.', { headers });
  }

  #sweep(): void {
    const latest = performance.now() - this.#limits.idleMs;
    for (const [id, { busy, lastAt }] of this.#sessions)
      if (busy === 0 && lastAt < latest) void this.#end(id, 'not used');
  }

  async #end(id: string, why: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    this.#observer({
      type: 'http.session',
      principal: session.principal.id,
      is: 'ended',
      why,
      open: this.count,
    });
    await session.server.close().catch(() => {});
  }
}

/** Cancels what `session` still answers of these requests; nobody reads the answers any more. */
export function cancelRequests({ transport }: McpSession, ids: readonly RequestId[]): void {
  for (const requestId of ids)
    transport.onmessage?.({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: requestId ?? undefined, reason: 'The connection was lost.' },
    });
}
