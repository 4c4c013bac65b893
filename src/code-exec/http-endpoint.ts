// Streamable HTTP for `execute`: POST, GET and DELETE at /mcp, and /health for whoever watches over it. A session for each
// client of 2025, since a call is cancelled by another request; one that is silent for long is ended. A call whose connection
// is lost is cancelled: its answer is kept for nobody. Relies on the SDK for the protocol; what may speak at all is decided
// before it.

import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { lstatSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { dirname, resolve } from 'node:path';
import {
  type NodeIncomingMessageLike,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import { createMcpHandler, PROTOCOL_VERSION_META_KEY, type Transport } from '@modelcontextprotocol/server';
import { BridgeError, messageOf } from '../base/errors.js';
import { findExchangeable, whatIsOpen } from '../base/files/only-ours.js';
import { isLoopback } from '../base/text/loopback.js';
import { repeatedHeader } from '../base/text/repeated-header.js';
import { MB_BYTES } from '../base/text/sizes.js';
import { BodyRefused, errorAnswer, PARSE_ERROR, parseBody } from '../wire/request-body.js';
import { executeServer } from './exec-server.js';
import type { ExecSettings } from './exec-settings.js';
import type { Execute } from './execute.js';

/** Silent for so long, a session is taken for forgotten; its client is greeted anew. */
const SESSION_IDLE_MS = 3_600_000;
const MAX_SESSIONS = 1_000;
/** Proxies and clients take a stream for dead after a minute without a byte. A comment is no message to anybody. */
const KEEP_ALIVE_MS = 15_000;
/** Longer than what clients and proxies keep connections for, or they would send a request into one that is being closed. */
const CONNECTION_IDLE_MS = 75_000;
const KEEP_ALIVE = ': still here\n\n';
/** Most connections: a session may have a stream, and calls besides; strangers connect too, before their token is checked. */
const MAX_CONNECTIONS = 4 * MAX_SESSIONS;
/** Limit for the headers, which say who asks: a client that sends nothing holds a connection no longer. */
const HEADERS_MS = 10_000;

/** Largest request. The bridge carries 40 MB, and escapes make that longer. */
const MAX_BYTES = 64 * MB_BYTES;
/** Limit for the bodies of all requests under way. A body costs several times its size while it is parsed. */
const MAX_HELD_BYTES = 4 * MAX_BYTES;
/** One of the codes that JSON-RPC leaves to servers: another time the same request may be taken. */
const BUSY = -32_000;

type ClientSession = { readonly transport: NodeStreamableHTTPServerTransport; lastAt: number; busy: number };

export class HttpEndpoint implements AsyncDisposable {
  readonly #execute: Execute;
  readonly #settings: ExecSettings;
  readonly #server = http.createServer(
    {
      keepAliveTimeout: CONNECTION_IDLE_MS,
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: HEADERS_MS / 10,
    },
    (request, response) => void this.#answer(request, response),
  );
  readonly #sessions = new Map<string, ClientSession>();
  /** Bytes that the bodies of all requests under way have together. */
  #heldBytes = 0;
  readonly #modern: ModernRequests;
  readonly #sweeping = setInterval(() => this.#sweep(), SESSION_IDLE_MS / 10).unref();

  private constructor(execute: Execute, settings: ExecSettings, connections: number) {
    this.#execute = execute;
    this.#modern = new ModernRequests(execute, KEEP_ALIVE_MS);
    this.#settings = settings;
    this.#server.maxConnections = connections;
    // Connections that only wait for a next request make room.
    this.#server.on('drop', () => this.#server.closeIdleConnections());
  }

  /** Resolves when it listens. Throws E_SETTINGS where it cannot. */
  static async open(
    execute: Execute,
    settings: ExecSettings,
    connections: number = MAX_CONNECTIONS,
  ): Promise<HttpEndpoint> {
    const endpoint = new HttpEndpoint(execute, settings, connections);
    await endpoint.#listen();
    return endpoint;
  }

  /** Where the endpoint listens, as a client's configuration would say it. */
  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') return `unix:${address ?? ''}`;
    const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    return `http://${host}:${address.port}/mcp`;
  }

  /** Ends every session, and with it what its calls run. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeping);
    this.#server.close();
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
    await this.#modern.close();
    this.#server.closeAllConnections();
  }

  async #listen(): Promise<void> {
    const { listen } = this.#settings;
    if (listen.at === 'socket') refuseOpenFolder(dirname(listen.path));
    await new Promise<void>((resolve, reject) => {
      const onError = (thrown: Error) =>
        reject(
          new BridgeError('E_SETTINGS', `MCP_EXEC_LISTEN: ${messageOf(thrown)}`, {
            fault: 'operator',
            remedy: 'Choose another address, or stop the program that listens there.',
          }),
        );
      this.#server.once('error', onError);
      this.#server.once('listening', () => {
        this.#server.off('error', onError);
        resolve();
      });
      if (listen.at === 'socket') {
        removeSocket(listen.path);
        // The socket is made before listen() returns, for nobody else from its first moment on.
        const others = process.umask(0o177);
        this.#server.listen(listen.path);
        process.umask(others);
      } else if (listen.at === 'tcp') this.#server.listen(listen.port, listen.host);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0];
    if (path === '/health') return say(response, 200, { status: 'ok' });
    const repeated = repeatedHeader(request);
    if (repeated !== undefined) return say(response, 400, { error: repeated });
    const objection = problemWith(request.headers, this.#settings);
    if (objection !== undefined) return say(response, objection.status, { error: objection.message });
    if (path !== '/mcp')
      return say(response, 404, { error: 'Nothing is here. MCP clients use /mcp; monitoring uses /health.' });
    try {
      const answered = new Promise<void>((resolve) => response.once('close', resolve));
      const body = request.method === 'POST' ? await this.#bodyOf(request, answered) : undefined;
      if (this.#modern.claims(request, body)) return await this.#modern.answer(request, response, body);
      const session = await this.#sessionOf(request, response, body);
      if (session === undefined) return;
      session.busy++;
      using _awake = keepAlive(response);
      void answered.then(() => {
        session.busy--;
        session.lastAt = Date.now();
        if (!response.writableFinished) cancelCalls(session, body);
      });
      await session.transport.handleRequest(request, response, body);
      await answered;
    } catch (thrown) {
      if (response.headersSent) response.destroy();
      else if (thrown instanceof BodyRefused) say(response, thrown.answer.status, thrown.answer.body);
      else say(response, 500, { error: messageOf(thrown) });
    }
  }

  /** The body as JSON. Holds its size against the others until `answered`. Throws BodyRefused. */
  async #bodyOf(request: IncomingMessage, answered: Promise<void>): Promise<unknown> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    void answered.then(() => {
      this.#heldBytes -= bytes;
    });
    // Said at once, while the caller still listens.
    if (Number(request.headers['content-length']) > MAX_BYTES) throw tooLarge();
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      this.#heldBytes += chunk.length;
      if (bytes > MAX_BYTES) throw tooLarge();
      if (this.#heldBytes > MAX_HELD_BYTES) throw tooMuch();
      chunks.push(chunk);
    }
    return parseBody(Buffer.concat(chunks).toString());
  }

  /** Undefined where the request has been answered, since it has none. */
  async #sessionOf(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
  ): Promise<ClientSession | undefined> {
    const id = request.headers['mcp-session-id'];
    if (typeof id === 'string') {
      const known = this.#sessions.get(id);
      if (known === undefined)
        say(response, 404, { error: 'This session has ended: send initialize again.' });
      return known;
    }
    if (!isInitialize(body)) {
      say(response, 400, { error: 'There is no mcp-session-id header: send initialize first.' });
      return undefined;
    }
    if (this.#sessions.size >= MAX_SESSIONS) this.#endOldest();
    if (this.#sessions.size >= MAX_SESSIONS) {
      say(response, 503, { error: `${MAX_SESSIONS} sessions are busy: try again later.` });
      return undefined;
    }
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (sessionId) => {
        this.#sessions.set(sessionId, session);
      },
      onsessionclosed: (sessionId) => {
        this.#sessions.delete(sessionId);
      },
    });
    const session: ClientSession = { transport, lastAt: Date.now(), busy: 0 };
    await executeServer(this.#execute).connect(transport as Transport);
    return session;
  }

  #sweep(): void {
    const oldest = Date.now() - SESSION_IDLE_MS;
    for (const [id, { busy, lastAt }] of this.#sessions) if (busy === 0 && lastAt < oldest) this.#end(id);
  }

  #endOldest(): void {
    const idle = [...this.#sessions].filter(([, { busy }]) => busy === 0);
    const [oldest] = idle.sort(([, one], [, other]) => one.lastAt - other.lastAt);
    if (oldest !== undefined) this.#end(oldest[0]);
  }

  #end(id: string): void {
    void this.#sessions.get(id)?.transport.close();
    this.#sessions.delete(id);
  }
}

const tooLarge = (): BodyRefused =>
  new BodyRefused(errorAnswer(413, PARSE_ERROR, `A request may have at most ${MAX_BYTES} bytes.`));

const tooMuch = (): BodyRefused =>
  new BodyRefused(
    errorAnswer(503, BUSY, `Requests under way have ${MAX_HELD_BYTES} bytes together: try again.`),
  );

/** Throws E_SETTINGS where somebody else could put a socket in the place of ours, and hear what clients say. */
function refuseOpenFolder(folder: string): void {
  const open = findExchangeable(resolve(folder));
  if (open === undefined) return;
  throw new BridgeError(
    'E_SETTINGS',
    `MCP_EXEC_LISTEN: other users could put a socket there, since ${whatIsOpen(open)}.`,
    {
      fault: 'operator',
      remedy: 'Choose a folder that, with all above it, only this user and root can write.',
    },
  );
}

/** Removes an earlier server's socket; a living one's clients would be cut off, which they notice. Any other file stays. */
function removeSocket(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) rmSync(path);
}

const isInitialize = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'method' in body && body.method === 'initialize';

/**
 * While `response` streams events: nothing else that the SDK sends is open for long. What died without a word is noticed by
 * the writing.
 */
function keepAlive(response: ServerResponse): Disposable {
  const timer = setInterval(() => {
    if (response.headersSent && !response.writableEnded) response.write(KEEP_ALIVE);
  }, KEEP_ALIVE_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function cancelCalls({ transport }: ClientSession, body: unknown): void {
  for (const message of Array.isArray(body) ? body : [body]) {
    const { id: requestId, method } = message ?? {};
    if (method !== 'tools/call' || requestId === undefined) continue;
    const params = { requestId, reason: 'The connection was lost.' };
    transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
  }
}

function say(response: ServerResponse, status: number, body: Readonly<Record<string, unknown>>): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  });
  response.end(`${JSON.stringify(body)}\n`);
}

/** Versions are dates; before this one there are sessions. */
const MODERN_SINCE = '2026-07-28';

/**
 * Requests of 2026-07-28: each carries all that it needs, so there is no session, and the end of its connection ends its
 * command. The SDK checks headers and form, and streams every answer, since a silent connection would be taken for dead.
 */
class ModernRequests {
  readonly #handler: ReturnType<typeof createMcpHandler>;

  /** `keepAliveMs`: how long a stream may be silent. */
  constructor(execute: Execute, keepAliveMs: number) {
    const options = { legacy: 'reject', responseMode: 'sse', keepAliveMs } as const;
    this.#handler = createMcpHandler(() => executeServer(execute), options);
  }

  /** Whether header or body claim to be of this revision; what is wrong with the claim is answered here. */
  claims({ headers }: IncomingMessage, body: unknown): boolean {
    const version = headers['mcp-protocol-version'];
    if (typeof version === 'string' && version >= MODERN_SINCE) return true;
    const meta = memberOf(memberOf(body, 'params'), '_meta');
    return memberOf(meta, PROTOCOL_VERSION_META_KEY) !== undefined;
  }

  /** `body` is what was read of `request`. */
  async answer(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const handler = this.#handler;
    // The adapter writes a body that was read as text again; the handler wants it as it is, so the adapter gets an empty one.
    const answering = toNodeHandler({ fetch: (web) => handler.fetch(web, { parsedBody: body }) });
    await answering(request as NodeIncomingMessageLike, response, {});
  }

  close(): Promise<void> {
    return this.#handler.close();
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

/**
 * Why a request is refused before it is read; undefined where it is not. Checked are the name by which the request calls us (a
 * web page can make a browser resolve its own name to loopback), the origin, and the token. Pure.
 */
export function problemWith(
  headers: IncomingHttpHeaders,
  settings: Pick<ExecSettings, 'listen' | 'token' | 'hosts' | 'origins'>,
): { readonly status: 401 | 403; readonly message: string } | undefined {
  const { host = '', origin, authorization } = headers;
  if (!isOurName(host, settings)) {
    return {
      status: 403,
      message: `The Host '${host}' is not a name of this server. MCP_EXEC_HOSTS can add it.`,
    };
  }
  if (origin !== undefined && !settings.origins.includes(origin)) {
    return {
      status: 403,
      message: `Web pages of the Origin '${origin}' may not call this server. MCP_EXEC_ORIGINS can allow them.`,
    };
  }
  // The scheme's letters may be large or small (RFC 9110, 11.1).
  const shown = authorization?.replace(/^bearer +/i, 'Bearer ') ?? '';
  if (settings.token !== undefined && !isEqual(shown, `Bearer ${settings.token}`)) {
    return {
      status: 401,
      message: 'The Authorization header must have a bearer token: `Authorization: Bearer TOKEN`.',
    };
  }
  return undefined;
}

function isOurName(host: string, { listen, hosts }: Pick<ExecSettings, 'listen' | 'hosts'>): boolean {
  // No browser reaches a unix socket.
  if (listen.at !== 'tcp') return true;
  const name = host
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
  return isLoopback(name) || name === listen.host.toLowerCase() || hosts.includes(name);
}

/** Compares two texts in a time that tells nothing of how much is right. */
function isEqual(got: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(got), digest(wanted));
}
