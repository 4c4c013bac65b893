// Jobs as tasks (the extension io.modelcontextprotocol/tasks): its requests, by which a client asks how far its job is until it
// has the result, and what `subscriptions/listen` adds to that, which tells a client of its tasks as they change.

import { isDeepStrictEqual } from 'node:util';
import { MissingRequiredClientCapabilityError } from '@modelcontextprotocol/server';
import { isObject } from '../../base/json/records.js';
import { clipHarmless } from '../../base/text/text.js';
import { type RpcError, WrongParams } from '../../wire/envelope.js';
import { type AgentRequest, offersOf, TASKS_EXTENSION } from '../requests/agent-request.js';
import type { AgentServer } from '../requests/agent-server.js';
import { fieldsOf } from '../requests/complaint.js';
import type { Job } from './job.js';
import { type Jobs, RESULT_KEPT_MS } from './jobs.js';
import type { InputRequest } from './questions.js';

/** Capabilities of a server object that answers the requests of the extension. */
export const TASK_CAPABILITIES = { extensions: { [TASKS_EXTENSION]: {} } };

/** A client whose model asks itself pays for every question: so a job that has lasted long is asked for seldom. */
const LEAST_POLL_MS = 1_000;
const MOST_POLL_MS = 15_000;
const POLL_SHARE = 0.1;
/** JSON-RPC 2.0, section 5.1. */
const INTERNAL_ERROR = -32_603;
/** Work may tell of its progress a thousand times a second; words alone are told at most this often. */
const WORDS_EVERY_MS = 1_000;
const MAX_SHOWN_CHARS = 80;

/** Answer to a call that is a task from now on. */
export const createdTask = (job: Job) => {
  const now = Date.now();
  return { ...timesOf(job, now), status: 'working' as const, pollIntervalMs: pollMs(now - sinceMs(job)) };
};

/** Throws WrongParams where there is no such task. */
export function getTask(jobs: Jobs, taskId: unknown): ReturnType<typeof viewOf> {
  const job = taskOf(jobs, taskId);
  if (job.end !== undefined) job.isTold = true;
  return viewOf(job, Date.now());
}

/** Hands over what the client has answered. Throws WrongParams for an unknown task and for answers of the wrong shape. */
export function updateTask(jobs: Jobs, taskId: unknown, inputResponses: unknown): void {
  const { questions } = taskOf(jobs, taskId);
  questions.answer(questions.readResponses(inputResponses));
}

/** Ends the work of a task; one that has ended already stays as it is. Throws WrongParams where there is no such task. */
export const cancelTask = (jobs: Jobs, taskId: unknown): void => jobs.cancel(taskOf(jobs, taskId));

/** Answers tasks/get, tasks/update and tasks/cancel for the principal of `jobs`. */
export function answerTaskRequests(server: AgentServer, jobs: Jobs): void {
  const answer = (method: string, handler: (taskId: unknown, request: AgentRequest) => unknown) =>
    server.answer(method, (params, request) => {
      if (!offersOf(request.capabilities).tasks) throw notDeclared(method);
      return { ...Object(handler(fieldsOf(params)['taskId'], request)) };
    });
  answer('tasks/get', (taskId) => getTask(jobs, taskId));
  // The SDK puts the answers there, as of every request.
  answer('tasks/update', (taskId, { context }) => updateTask(jobs, taskId, context.mcpReq.inputResponses));
  answer('tasks/cancel', (taskId) => cancelTask(jobs, taskId));
}

const notDeclared = (what: string) =>
  new MissingRequiredClientCapabilityError(
    { requiredCapabilities: TASK_CAPABILITIES },
    `${what} is for clients that declare the extension ${TASKS_EXTENSION} with the request.`,
  );

/** A task belongs to its principal; to everybody else it is as unknown as one that never was. */
function taskOf(jobs: Jobs, taskId: unknown): Job {
  const job = jobs.task(taskId);
  if (job !== undefined) return job;
  const minutes = RESULT_KEPT_MS / 60_000;
  throw new WrongParams(
    `taskId: there is no task '${clipHarmless(String(taskId), MAX_SHOWN_CHARS)}' of yours here. A result is kept for ${minutes} minutes, and by the server process that made the task; call the tool again.`,
  );
}

const sinceMs = ({ taskSinceMs }: Job): number => taskSinceMs ?? 0;

const pollMs = (ageMs: number): number =>
  Math.round(Math.min(MOST_POLL_MS, Math.max(LEAST_POLL_MS, ageMs * POLL_SHARE)));

const isOver = ({ state }: Job): boolean => state !== 'working' && state !== 'input_required';

/** Names and times of a task, in ISO 8601; `ttlMs` counts from its creation, and grows while it is at work. */
function timesOf(job: Job, now: number) {
  const createdAtMs = sinceMs(job);
  // Changes from before the job was a task are none of the task's.
  const changedAtMs = Math.max(createdAtMs, job.changedAtMs);
  return {
    taskId: job.id,
    createdAt: new Date(createdAtMs).toISOString(),
    lastUpdatedAt: new Date(changedAtMs).toISOString(),
    ttlMs: (isOver(job) ? changedAtMs : now) - createdAtMs + RESULT_KEPT_MS,
  };
}

/** MCP's DetailedTask. */
function viewOf(
  job: Job,
  now: number,
): ReturnType<typeof timesOf> & {
  readonly pollIntervalMs?: number;
  readonly statusMessage?: string;
} & (
    | { readonly status: 'working' }
    | { readonly status: 'input_required'; readonly inputRequests: Readonly<Record<string, InputRequest>> }
    | { readonly status: 'completed'; readonly result: object }
    | { readonly status: 'failed'; readonly error: RpcError }
    | { readonly status: 'cancelled' }
  ) {
  const { state, end, said } = job;
  const times = timesOf(job, now);
  if (state === 'cancelled') return { ...times, status: state };
  if (end === undefined) {
    const polled = { ...times, pollIntervalMs: pollMs(now - sinceMs(job)) };
    if (state === 'input_required')
      return { ...polled, status: state, inputRequests: job.questions.requests };
    return { ...polled, status: 'working', ...(said === undefined ? {} : { statusMessage: said }) };
  }
  // A fault while an answer is shown fails the task as a fault of its work does: whoever watches it has nothing to catch it with.
  try {
    return { ...times, status: 'completed', result: job.show(job.rest()) };
  } catch (thrown) {
    const error = rpcErrorOf(thrown);
    return { ...times, status: 'failed', statusMessage: error.message, error };
  }
}

/** An error as JSON-RPC sends it; one that is none of ours is an internal error. */
function rpcErrorOf(thrown: unknown): RpcError {
  const { code, message, data } = Object(thrown) as Partial<RpcError>;
  return {
    code: Number.isSafeInteger(code) ? (code as number) : INTERNAL_ERROR,
    message: typeof message === 'string' ? message : 'Internal error',
    ...(data === undefined ? {} : { data }),
  };
}

// Tasks that are watched: what is told is what `tasks/get` would answer at that moment.

/**
 * Watches `taskIds` for a client that must have declared that it knows tasks. Gives the watch over those that it will hear
 * of.
 */
export type WatchTasks = (
  taskIds: readonly string[],
  tell: (task: object) => void,
) => {
  /** Without those that are nobody's, or somebody else's. */
  readonly taskIds: readonly string[];
  /** Tells of each as it is, and from now on when it has changed. */
  start(): void;
  stop(): void;
};

/** Watches tasks of the principal of `jobs`. */
export function watchTasks(
  jobs: Jobs,
  taskIds: readonly string[],
  tell: (task: object) => void,
): ReturnType<WatchTasks> {
  const own = [...new Set(taskIds)].filter((taskId) => jobs.task(taskId) !== undefined);
  const stops: Array<() => void> = [];
  return {
    taskIds: own,
    start: () => {
      for (const taskId of own) stops.push(watchOne(jobs, taskId, tell));
    },
    stop: () => {
      for (const stop of stops.splice(0)) stop();
    },
  };
}

function watchOne(jobs: Jobs, taskId: string, tell: (task: object) => void): () => void {
  let told: unknown;
  let timer: NodeJS.Timeout | undefined;
  let unwatch = () => {};
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
    unwatch();
  };
  const tellNow = () => {
    const job = jobs.task(taskId);
    if (job === undefined) return stop();
    const task = getTask(jobs, taskId);
    clearTimeout(timer);
    timer = undefined;
    told = stateOf(job);
    tell(task);
    if (isOver(job)) stop();
  };
  const onChange = () => {
    const job = jobs.task(taskId);
    if (job !== undefined && isDeepStrictEqual(stateOf(job), told))
      timer ??= setTimeout(tellNow, WORDS_EVERY_MS).unref();
    else tellNow();
  };
  unwatch = jobs.task(taskId)?.watch(onChange) ?? unwatch;
  tellNow();
  return stop;
}

/** State that a client has to act upon: not the words of the job's progress, nor the times. */
const stateOf = ({ state, questions }: Job): unknown => [state, questions.requests];

// Tasks that a request `subscriptions/listen` names. The SDK, which knows lists and resources only, handles the rest of it.

/** The method, and those of the notifications that answer it. */
const LISTEN = 'subscriptions/listen';
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
export const TASK_CHANGED = 'notifications/tasks';
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/**
 * The tasks that a client wants to hear of, or why it may not. Undefined where `message` is no such request, says nothing of
 * tasks, or not what its client can do, which the SDK refuses.
 */
export function tasksAskedFor(
  message: unknown,
): { readonly taskIds: readonly string[] } | { readonly error: RpcError } | undefined {
  if (!isObject(message) || message['method'] !== LISTEN) return undefined;
  const params = isObject(message['params']) ? message['params'] : {};
  const { notifications, _meta: meta } = params;
  const taskIds = isObject(notifications) ? (notifications['taskIds'] ?? []) : [];
  const capabilities = isObject(meta) ? meta[CAPABILITIES] : undefined;
  if (!isObject(capabilities) || (Array.isArray(taskIds) && taskIds.length === 0)) return undefined;
  if (!offersOf(capabilities).tasks) return { error: rpcErrorOf(notDeclared('notifications.taskIds')) };
  if (Array.isArray(taskIds) && taskIds.every((taskId) => typeof taskId === 'string')) return { taskIds };
  const got = clipHarmless(JSON.stringify(taskIds), MAX_SHOWN_CHARS);
  return {
    error: rpcErrorOf(
      new WrongParams(
        `notifications.taskIds: got ${got}, expected a list of ids, as calls were answered with them.`,
      ),
    ),
  };
}

/** A notification of subscription `id`. */
export const notificationOf = (id: string | number, method: string, params: object) => ({
  jsonrpc: '2.0' as const,
  method,
  params: { ...params, _meta: { ...Object(Reflect.get(params, '_meta')), [SUBSCRIPTION_ID]: id } },
});
