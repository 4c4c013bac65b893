// One agent on a connection of its own, in either era: what it says first decides. A client that probes (server/discover) and
// then greets as in 2025 gets a second server object, so making one must start nothing.

import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { isObject } from '../../base/json/records.js';
import {
  ACKNOWLEDGED,
  notificationOf,
  SUBSCRIPTION_ID,
  TASK_CHANGED,
  tasksAskedFor,
  type WatchTasks,
} from '../calls/tasks.js';
import type { Era } from '../requests/agent-request.js';
import type { AgentServer } from '../requests/agent-server.js';

/** Subscriptions of one agent; each costs a notification whenever a list has changed. */
const MAX_SUBSCRIPTIONS = 100;

/**
 * Resolves when `given` has started. `onClosed` is called when the connection has ended, whoever has ended it. `watchTasks`
 * tells of tasks to an agent that listens for them; without it there are none.
 */
export async function serveConnection(
  given: Transport,
  serverFor: (era: Era) => AgentServer,
  onClosed: () => void = () => {},
  watchTasks?: WatchTasks,
): Promise<{
  /** Ends the connection, and what its requests have begun. */
  close(): Promise<void>;
}> {
  const transport = watchTasks === undefined ? given : new TaskListening(given, watchTasks);
  const served = serveStdio(({ era }) => serverFor(era), { transport, maxSubscriptions: MAX_SUBSCRIPTIONS });
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    onClosed();
  };
  return served;
}

// A client on a connection of its own that listens for its tasks. It stands between the transport and the SDK, which answers
// every `subscriptions/listen` but knows of lists only: the tasks are added to what it acknowledges.

class TaskListening implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #inner: Transport;
  readonly #watchTasks: WatchTasks;
  /** Tasks of requests that the SDK has not acknowledged yet, and those that are being told of. */
  readonly #asked = new Map<RequestId, readonly string[]>();
  readonly #watched = new Map<RequestId, ReturnType<WatchTasks>>();

  constructor(inner: Transport, watchTasks: WatchTasks) {
    this.#inner = inner;
    this.#watchTasks = watchTasks;
  }

  start(): Promise<void> {
    this.#inner.onmessage = (message) => this.#receive(message);
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => {
      for (const id of [...this.#watched.keys()]) this.#forget(id);
      this.onclose?.();
    };
    return this.#inner.start();
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (!('method' in message)) {
      // The request was refused, or has ended.
      if (message.id !== undefined) this.#forget(message.id);
      return this.#inner.send(message);
    }
    const { method, params } = message;
    const id = method === ACKNOWLEDGED && isObject(params) ? idIn(params['_meta']) : undefined;
    const taskIds = id === undefined ? undefined : this.#asked.get(id);
    if (id === undefined || taskIds === undefined) return this.#inner.send(message);
    return this.#acknowledge(id, taskIds, params ?? {});
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #receive(message: JSONRPCMessage): void {
    const isRequest = 'method' in message && 'id' in message;
    const asked = isRequest ? tasksAskedFor(message) : undefined;
    if (isRequest && asked !== undefined) {
      const { id } = message;
      this.#forget(id);
      if ('error' in asked) return void this.#inner.send({ jsonrpc: '2.0', id, error: asked.error });
      this.#asked.set(id, asked.taskIds);
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      this.#forget(message.params?.['requestId'] as RequestId);
    }
    this.onmessage?.(message);
  }

  #acknowledge(
    id: RequestId,
    taskIds: readonly string[],
    params: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    this.#forget(id);
    const watch = this.#watchTasks(taskIds, (task) => {
      // A client that has gone hears nothing.
      this.#inner.send(notificationOf(id, TASK_CHANGED, task)).catch(() => {});
    });
    this.#watched.set(id, watch);
    const notifications = {
      ...Object(params['notifications']),
      ...(watch.taskIds.length === 0 ? {} : { taskIds: watch.taskIds }),
    };
    const sent = this.#inner.send(notificationOf(id, ACKNOWLEDGED, { ...params, notifications }));
    watch.start();
    return sent;
  }

  #forget(id: RequestId): void {
    this.#asked.delete(id);
    this.#watched.get(id)?.stop();
    this.#watched.delete(id);
  }
}

function idIn(meta: unknown): RequestId | undefined {
  const id = isObject(meta) ? meta[SUBSCRIPTION_ID] : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}
