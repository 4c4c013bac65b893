// Tells a client of its tasks as they change, in place of its asking again and again. What is told is what `tasks/get` would
// answer at that moment.

import { isDeepStrictEqual } from 'node:util';
import type { DetailedTask, Tasks } from './tasks.js';

/** Work may tell of its progress a thousand times a second; words alone are told at most this often. */
const WORDS_EVERY_MS = 1_000;

/** Watch over the tasks of a client that it will hear of. */
export type TaskWatch = {
  /** Without those that are nobody's, or somebody else's. */
  readonly taskIds: readonly string[];
  /** Tells of each as it is, and from now on when it has changed. */
  start(): void;
  stop(): void;
};

/** Watches `taskIds` for this principal, who must have declared that it knows tasks. */
export type WatchTasks = (taskIds: readonly string[], tell: (task: object) => void) => TaskWatch;

export function watchTasks<R>(
  tasks: Tasks<R>,
  principal: string,
  taskIds: readonly string[],
  tell: (task: object) => void,
): TaskWatch {
  const own = [...new Set(taskIds)].filter((taskId) => tasks.has(principal, taskId));
  const stops: Array<() => void> = [];
  return {
    taskIds: own,
    start: () => {
      for (const taskId of own) stops.push(watchOne(tasks, principal, taskId, tell));
    },
    stop: () => {
      for (const stop of stops.splice(0)) stop();
    },
  };
}

function watchOne<R>(
  tasks: Tasks<R>,
  principal: string,
  taskId: string,
  tell: (task: object) => void,
): () => void {
  let told: unknown;
  let timer: NodeJS.Timeout | undefined;
  let unwatch = () => {};
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
    unwatch();
  };
  const tellNow = () => {
    if (!tasks.has(principal, taskId)) return stop();
    const task = tasks.get(principal, taskId);
    clearTimeout(timer);
    timer = undefined;
    told = stateOf(task);
    tell(task);
    if (hasEnded(task)) stop();
  };
  const onChange = () => {
    if (tasks.has(principal, taskId) && isDeepStrictEqual(stateOf(tasks.get(principal, taskId)), told))
      timer ??= setTimeout(tellNow, WORDS_EVERY_MS).unref();
    else tellNow();
  };
  unwatch = tasks.watch(principal, taskId, onChange);
  tellNow();
  return stop;
}

/** State that a client has to act upon: not the words of the task's progress, nor the times. */
const stateOf = <R>(task: DetailedTask<R>): unknown => [
  task.status,
  task.status === 'input_required' ? task.inputRequests : undefined,
];

const hasEnded = <R>({ status }: DetailedTask<R>): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';
