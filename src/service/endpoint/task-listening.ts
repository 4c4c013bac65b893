// The stream of a client that listens for its tasks, and perhaps for changed lists as well. The SDK's own streams know of
// lists only, and end at once where nobody listens for one.

import type { ServerEventBus } from '@modelcontextprotocol/server';
import { stringify } from '../../base/json/json-text.js';
import {
  ACKNOWLEDGED,
  notificationOf,
  SUBSCRIPTION_ID,
  TASK_CHANGED,
  type WatchTasks,
} from '../../mcp/calls/tasks.js';

/** Which lists the bridge tells of, by the field that asks for it. */
const LISTS = {
  toolsListChanged: { kind: 'tools_list_changed', method: 'notifications/tools/list_changed' },
  resourcesListChanged: { kind: 'resources_list_changed', method: 'notifications/resources/list_changed' },
} as const;

type TaskListener = {
  readonly id: string | number;
  readonly taskIds: readonly string[];
  /** The whole filter that the client has sent. */
  readonly asked: Readonly<Record<string, unknown>>;
  readonly watchTasks: WatchTasks;
  /** On which changes of lists are published. */
  readonly bus: ServerEventBus;
  readonly keepAliveMs: number;
};

export type TaskStream = {
  readonly response: Response;
  /** Ends the stream and tells the client that this was all. */
  end(): void;
};

/** The stream is in `open` for as long as it is. */
export function taskStream(listener: TaskListener, open: Set<TaskStream>): TaskStream {
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
