// POST, GET and DELETE at /mcp, after admission. Requests of 2026-07-28, and those of the 2025 revisions without a session,
// get a server object for one request; those with a session go to the one of their session. Which revision a request is of
// is the SDK's decision.

import {
  type AuthInfo,
  createMcpHandler,
  InMemoryServerEventBus,
  isJsonContentType,
  isLegacyRequest,
  type McpHttpHandler,
  type McpRequestContext,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { messageOf } from '../../base/errors.js';
import { stringify } from '../../base/json/json-text.js';
import type { Principal } from '../../base/principal.js';
import {
  ACKNOWLEDGED,
  notificationOf,
  SUBSCRIPTION_ID,
  TASK_CHANGED,
  tasksAskedFor,
  type WatchTasks,
} from '../../mcp/calls/tasks.js';
import type { AuthExtra } from '../../mcp/requests/agent-request.js';
import type { RequestId } from '../../wire/request-body.js';
import { type HttpAnswer, type HttpFrontParts, type HttpLimits, rpcError } from '../http/parts.js';
import { cancelRequests, type McpSession, McpSessions } from './sessions.js';

/** One admitted request. */
export type Exchange = {
  readonly extra: AuthExtra;
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Without a body; its signal aborts when the client has gone. */
  readonly request: Request;
  /** The body as JSON; undefined where there is none. */
  readonly body: unknown;
  /** Resolves when the answer is out, or the client has gone. */
  readonly ended: Promise<unknown>;
};

type PrincipalHandlers = {
  /** Answers in one piece where nothing comes before the result. */
  readonly plain: McpHttpHandler;
  /** Answers in a stream, which is kept alive while a call takes long. */
  readonly streaming: McpHttpHandler;
  readonly bus: ServerEventBus;
  /** Streams of clients that listen for tasks. */
  readonly listening: Set<TaskStream>;
  busy: number;
  lastAt: number;
};

const MAX_IDLE_PRINCIPALS = 1_000;

export class McpEndpoint implements AsyncDisposable {
  readonly sessions: McpSessions;
  readonly #parts: HttpFrontParts;
  readonly #limits: HttpLimits;
  readonly #handlers = new Map<string, PrincipalHandlers>();

  constructor(parts: HttpFrontParts, limits: HttpLimits) {
    this.#parts = parts;
    this.#limits = limits;
    const { sessions, sessionIdleSeconds } = parts.settings;
    const idleMs = sessionIdleSeconds * 1000;
    this.sessions = new McpSessions(
      { sessions, idleMs, keepAliveMs: limits.streamKeepAliveMs },
      parts.observer,
    );
  }

  /** The answer to one request; a stream goes on until its body ends. */
  async answer(exchange: Exchange): Promise<Response | HttpAnswer> {
    const { request, method, body } = exchange;
    if (method === 'POST' && !isJsonContentType(request.headers.get('content-type')))
      return rpcError(415, 'The body must be JSON: send it with Content-Type: application/json.');
    const sessionId = request.headers.get('mcp-session-id');
    // Without a body to look at there is only the header: the revision of 2026 has POST alone.
    const isLegacy = method !== 'POST' || (await isLegacyRequest(request, body));
    if (!isLegacy) return await this.#serveModern(exchange);
    if (sessionId !== null) {
      const found = this.sessions.find(sessionId, exchange.extra.principal);
      return 'transport' in found ? await this.#inSession(found, exchange) : found;
    }
    if (method !== 'POST')
      return rpcError(405, 'Without a session, /mcp takes POST only. A session begins with initialize.', {
        headers: { allow: 'POST' },
      });
    const opens = isInitialize(body) && this.#parts.settings.sessions > 0;
    return opens ? await this.#initialize(exchange) : await this.#serveStateless(exchange);
  }

  /** Ends every session, stream and call. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.sessions[Symbol.asyncDispose]();
    for (const handlers of this.#handlers.values()) await close(handlers);
    this.#handlers.clear();
  }

  async #initialize(exchange: Exchange): Promise<Response | HttpAnswer> {
    const opened = await this.sessions.open(exchange.extra.principal, () =>
      this.#parts.serverFor(exchange.extra.principal, {
        era: 'legacy',
        isSession: true,
        extra: exchange.extra,
        clientProtocol: undefined,
        onListChanged: undefined,
      }),
    );
    if (!('transport' in opened)) return opened;
    const response = await this.#inSession(opened, exchange);
    if (opened.transport.sessionId === undefined) await this.sessions.discard(opened);
    return response;
  }

  /** The SDK's answer, but for a client that listens for its tasks. */
  async #serveModern(exchange: Exchange): Promise<Response | HttpAnswer> {
    const { body, extra } = exchange;
    const asked = tasksAskedFor(body);
    const watchTasks = this.#parts.watchTasks?.(extra.principal);
    if (asked === undefined || watchTasks === undefined) return await this.#serveStateless(exchange);
    // The SDK looks at its headers and its envelope, as it does with every request; a stream means that they are right.
    // Its members have been looked at already.
    const request = body as {
      readonly id: string | number;
      readonly params: { readonly notifications: Readonly<Record<string, unknown>> };
    };
    const { id, params } = request;
    const { taskIds: _, ...lists } = params.notifications;
    const looked = await this.#serveStateless({
      ...exchange,
      body: { ...request, params: { ...params, notifications: {} } },
    });
    if (looked.headers.get('content-type') !== 'text/event-stream') return looked;
    await looked.body?.cancel();
    if ('error' in asked) return { status: 400, body: { jsonrpc: '2.0', id, error: asked.error } };
    const { bus, listening } = this.#handlersOf(extra.principal);
    if (listening.size >= this.#limits.subscriptions)
      return rpcError(429, `You have ${listening.size} streams open already. Close one of them first.`, {
        id,
      });
    const listener = { id, taskIds: asked.taskIds, asked: lists, watchTasks, bus };
    const { streamKeepAliveMs: keepAliveMs } = this.#limits;
    return taskStream({ ...listener, keepAliveMs }, listening).response;
  }

  async #inSession(session: McpSession, exchange: Exchange): Promise<Response | HttpAnswer> {
    const ids = requestIds(exchange.body);
    const names = ids.map((id) => JSON.stringify(id));
    const taken = names.find((name, index) => session.underWay.has(name) || names.indexOf(name) < index);
    if (taken !== undefined)
      // The transport would send both answers to whoever asked last.
      return rpcError(400, `A request with the id ${taken} is under way in this session. Use another id.`, {
        id: ids.length === 1 ? (ids[0] ?? null) : null,
      });
    for (const name of names) session.underWay.add(name);
    session.busy++;
    const { signal } = exchange.request;
    void exchange.ended.then(() => {
      for (const name of names) session.underWay.delete(name);
      session.busy--;
      session.lastAt = performance.now();
      if (signal.aborted) cancelRequests(session, ids);
    });
    return await session.transport.handleRequest(exchange.request, {
      parsedBody: exchange.body,
      authInfo: authInfoOf(exchange),
    });
  }

  async #serveStateless(exchange: Exchange): Promise<Response> {
    const handlers = this.#handlersOf(exchange.extra.principal);
    handlers.busy++;
    void exchange.ended.then(() => {
      handlers.busy--;
      handlers.lastAt = performance.now();
    });
    const isCall = methodsOf(exchange.body).includes('tools/call');
    return await (isCall ? handlers.streaming : handlers.plain).fetch(exchange.request, {
      parsedBody: exchange.body,
      authInfo: authInfoOf(exchange),
    });
  }

  /** Each principal has its own: what is published on one's streams is nobody else's. */
  #handlersOf(principal: Principal): PrincipalHandlers {
    const known = this.#handlers.get(principal.id);
    if (known !== undefined) return known;
    this.#forgetIdle();
    const { observer } = this.#parts;
    const bus = new InMemoryServerEventBus();
    const options = {
      bus,
      maxSubscriptions: this.#limits.subscriptions,
      keepAliveMs: this.#limits.streamKeepAliveMs,
      onerror: (error: Error) =>
        observer({ type: 'http.trouble', principal: principal.id, message: messageOf(error) }),
    };
    const onListChanged = (list: 'tools' | 'resources') => bus.publish({ kind: `${list}_list_changed` });
    const factory = ({ era, authInfo, requestInfo }: McpRequestContext) => {
      const fallback = { principal, callerToken: undefined, requestId: '' };
      const extra = (authInfo?.extra as AuthExtra | undefined) ?? fallback;
      return this.#parts.serverFor(extra.principal, {
        era,
        isSession: false,
        extra,
        clientProtocol: requestInfo?.headers.get('mcp-protocol-version') ?? undefined,
        onListChanged,
      });
    };
    const plain = createMcpHandler(factory, options);
    const handlers: PrincipalHandlers = {
      plain,
      streaming: createMcpHandler(factory, { ...options, responseMode: 'sse' }),
      bus,
      listening: new Set(),
      busy: 0,
      lastAt: performance.now(),
    };
    this.#handlers.set(principal.id, handlers);
    return handlers;
  }

  #forgetIdle(): void {
    if (this.#handlers.size < MAX_IDLE_PRINCIPALS) return;
    const idle = [...this.#handlers].filter(([, { busy }]) => busy === 0);
    const [oldest] = idle.sort(([, one], [, other]) => one.lastAt - other.lastAt);
    if (oldest === undefined) return;
    this.#handlers.delete(oldest[0]);
    void close(oldest[1]);
  }
}

/** Never the credential itself, but for what the authenticator has handed on. */
function authInfoOf({ extra }: Exchange): AuthInfo {
  const { id, scopes } = extra.principal;
  return { token: '', clientId: id, scopes: [...scopes], extra };
}

async function close({ plain, streaming, listening }: PrincipalHandlers): Promise<void> {
  for (const stream of [...listening]) stream.end();
  await Promise.allSettled([plain.close(), streaming.close()]);
}

/** The messages of `body`: those of a batch, or the one that it is. */
export const messagesIn = (body: unknown): readonly unknown[] => (Array.isArray(body) ? body : [body]);

const asMessage = (
  message: unknown,
): { readonly method?: unknown; readonly id?: unknown; readonly params?: unknown } =>
  typeof message === 'object' && message !== null ? message : {};

/** How many messages `body` has. */
export const messageCount = (body: unknown): number => Math.max(1, messagesIn(body).length);

/** The methods of all requests and notifications in `body`. */
export const methodsOf = (body: unknown): readonly string[] =>
  messagesIn(body).flatMap((message) => {
    const { method } = asMessage(message);
    return typeof method === 'string' ? [method] : [];
  });

/** Ids of the requests in `body`, which want an answer. */
export const requestIds = (body: unknown): readonly RequestId[] =>
  messagesIn(body).flatMap((message) => {
    const { method, id } = asMessage(message);
    return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? [id] : [];
  });

const isInitialize = (body: unknown): boolean =>
  !Array.isArray(body) && asMessage(body).method === 'initialize';

/** Whether `body` begins something that is not there yet: a session, or a run. What goes on with a run does not. */
export const beginsWork = (body: unknown): boolean =>
  messagesIn(body).some((message) => {
    const { method, params } = asMessage(message);
    if (method === 'initialize') return true;
    return method === 'tools/call' && jobsNamedIn(params).length === 0;
  });

/** Names of jobs with which the requests in `body` go on: handles of runs, states of questions, ids of tasks. */
export const jobsIn = (body: unknown): readonly string[] =>
  messagesIn(body).flatMap((message) => jobsNamedIn(asMessage(message).params));

function jobsNamedIn(params: unknown): readonly string[] {
  const { requestState, taskId, arguments: args, notifications } = Object(params);
  const { wait, stop } = Object(args);
  const { taskIds } = Object(notifications);
  const named: readonly unknown[] = [
    requestState,
    taskId,
    wait,
    stop,
    ...(Array.isArray(taskIds) ? taskIds : []),
  ];
  return named.filter((name) => typeof name === 'string');
}

// The stream of a client that listens for its tasks, and perhaps for changed lists as well. The SDK's own streams know of
// lists only, and end at once where nobody listens for one.

/** Which lists the bridge tells of, by the field that asks for it. */
const LISTS = {
  toolsListChanged: { kind: 'tools_list_changed', method: 'notifications/tools/list_changed' },
  resourcesListChanged: { kind: 'resources_list_changed', method: 'notifications/resources/list_changed' },
} as const;

type TaskStream = {
  readonly response: Response;
  /** Ends the stream and tells the client that this was all. */
  end(): void;
};

/** The stream is in `open` for as long as it is. */
function taskStream(
  listener: {
    readonly id: string | number;
    readonly taskIds: readonly string[];
    /** The whole filter that the client has sent. */
    readonly asked: Readonly<Record<string, unknown>>;
    readonly watchTasks: WatchTasks;
    /** On which changes of lists are published. */
    readonly bus: ServerEventBus;
    readonly keepAliveMs: number;
  },
  open: Set<TaskStream>,
): TaskStream {
  const { id, taskIds, asked, watchTasks, bus, keepAliveMs } = listener;
  const encoder = new TextEncoder();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const write = (text: string) => controller.enqueue(encoder.encode(text));
  const send = (message: object) => write(`event: message\ndata: ${stringify(message)}\n\n`);
  const watch = watchTasks(taskIds, (task) => send(notificationOf(id, TASK_CHANGED, task)));
  const lists = Object.entries(LISTS).filter(([field]) => asked[field] === true);
  let unsubscribe = () => {};
  let keepAlive: NodeJS.Timeout | undefined;
  let isOver = false;
  let stream: TaskStream | undefined;
  const stop = () => {
    if (isOver) return false;
    isOver = true;
    clearInterval(keepAlive);
    unsubscribe();
    watch.stop();
    if (stream !== undefined) open.delete(stream);
    return true;
  };
  const end = () => {
    if (!stop()) return;
    send({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: { [SUBSCRIPTION_ID]: id } } });
    controller.close();
  };
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
      const notifications = {
        ...Object.fromEntries(lists.map(([field]) => [field, true])),
        ...(watch.taskIds.length === 0 ? {} : { taskIds: watch.taskIds }),
      };
      send(notificationOf(id, ACKNOWLEDGED, { notifications }));
      // As the SDK does with whoever has nothing to hear.
      if (Object.keys(notifications).length === 0) return end();
      unsubscribe = bus.subscribe(({ kind }) => {
        for (const [, list] of lists) if (list.kind === kind) send(notificationOf(id, list.method, {}));
      });
      keepAlive = setInterval(() => write(': keepalive\n\n'), keepAliveMs).unref();
      watch.start();
    },
    cancel: () => void stop(),
  });
  const headers = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  };
  stream = { response: new Response(body, { headers }), end };
  if (!isOver) open.add(stream);
  return stream;
}
