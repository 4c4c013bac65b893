// Calls that were answered with a task (the extension io.modelcontextprotocol/tasks): the client asks how far the task is
// until it has the result. A task belongs to its principal; to everybody else it is as unknown as one that never was.

import { randomBytes } from '../../base/crypto.js';
import { charsIn, clipHarmless } from '../../base/text/text.js';

import type { RpcError } from '../../wire/envelope.js';
import { WrongParams } from '../../wire/wrong-params.js';
import type { InputRequests } from './questions.js';
import type { ResumableCall, ResumableCallEnd } from './resumable-call.js';

/** How long a result waits to be fetched. A client that was restarted meanwhile may have kept the id of its task. */
export const RESULT_KEPT_MS = 1_800_000;
/** Tasks of one principal, with those whose result is kept; a call beyond them is waited for as without tasks. */
export const MAX_TASKS = 32;
/** Characters of all results of one principal that are kept; the oldest goes, but for the last one. */
export const MAX_RESULT_CHARS = 64_000_000;
/** A client whose model asks itself pays for every question: so a call that has lasted long is asked for seldom. */
const LEAST_POLL_MS = 1_000;
const MOST_POLL_MS = 15_000;
const POLL_SHARE = 0.1;
/** JSON-RPC 2.0, section 5.1. */
const INTERNAL_ERROR = -32_603;

type TaskTimes = {
  readonly taskId: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** From `createdAt` on. It grows while the task is at work. */
  readonly ttlMs: number;
};

/** Answer to a call that becomes a task. */
export type CreatedTask = TaskTimes & { readonly status: 'working'; readonly pollIntervalMs: number };

/** MCP's DetailedTask. */
export type DetailedTask<R> = TaskTimes & {
  readonly pollIntervalMs?: number;
  readonly statusMessage?: string;
} & (
    | { readonly status: 'working' }
    | { readonly status: 'input_required'; readonly inputRequests: InputRequests }
    | { readonly status: 'completed'; readonly result: R }
    | { readonly status: 'failed'; readonly error: RpcError }
    | { readonly status: 'cancelled' }
  );

type TaskRecord<R> = {
  readonly id: string;
  readonly call: ResumableCall<R>;
  readonly createdAtMs: number;
  updatedAtMs: number;
  /** Whether its client was told how it ended. */
  isFetched: boolean;
  readonly watchers: Set<() => void>;
  end:
    | {
        readonly at: number;
        readonly how: ResumableCallEnd<R> | 'cancelled';
        readonly chars: number;
        readonly timer: NodeJS.Timeout;
      }
    | undefined;
};

export class Tasks<R> implements Disposable {
  readonly #tasks = new Map<string, TaskRecord<R>>();

  /** How many have ended, and are kept. */
  get ended(): number {
    return [...this.#tasks.values()].filter(({ end }) => end !== undefined).length;
  }

  /** How many have ended, and their client does not know it yet. */
  get unfetched(): number {
    return [...this.#tasks.values()].filter(({ end, isFetched }) => end !== undefined && !isFetched).length;
  }

  hasRoom(principal: string): boolean {
    return [...this.#tasks.values()].filter((task) => principalOf(task) === principal).length < MAX_TASKS;
  }

  /** Makes a task of a call whose request is answered with it. */
  create(call: ResumableCall<R>): CreatedTask {
    const now = Date.now();
    const id = randomBytes(24).toString('base64url');
    const times = { createdAtMs: now, updatedAtMs: now };
    const task: TaskRecord<R> = {
      id,
      call,
      ...times,
      isFetched: false,
      watchers: new Set(),
      end: undefined,
    };
    this.#tasks.set(id, task);
    call.becomeTask();
    call.onChange = () => {
      if (task.end !== undefined) return;
      task.updatedAtMs = Date.now();
      tellWatchers(task);
    };
    void call.ended.then((how) => this.#end(task, how));
    return { ...timesOf(task, now), status: 'working', pollIntervalMs: pollMs(0) };
  }

  /** Throws WrongParams where this principal has no such task. */
  get(principal: string, taskId: unknown): DetailedTask<R> {
    const task = this.#find(principal, taskId);
    if (task.end !== undefined) task.isFetched = true;
    return viewOf(task, Date.now());
  }

  /** Whether this principal has such a task. */
  has(principal: string, taskId: string): boolean {
    const task = this.#tasks.get(taskId);
    return task !== undefined && principalOf(task) === principal;
  }

  /**
   * Calls `onChange` when the task has changed, until what is given back is called; it does not after the task has ended.
   * Throws WrongParams as `get` does.
   */
  watch(principal: string, taskId: string, onChange: () => void): () => void {
    const { watchers } = this.#find(principal, taskId);
    watchers.add(onChange);
    return () => void watchers.delete(onChange);
  }

  /** Hands over what the client has answered. Throws WrongParams for an unknown task and for answers of the wrong shape. */
  update(principal: string, taskId: unknown, inputResponses: unknown): void {
    const { call } = this.#find(principal, taskId);
    call.questions.answer(call.questions.readResponses(inputResponses));
  }

  /** Ends the work of a task; one that has ended already stays as it is. */
  cancel(principal: string, taskId: unknown): void {
    const task = this.#find(principal, taskId);
    this.#end(task, 'cancelled');
    task.isFetched = true;
    task.call.cancel();
  }

  [Symbol.dispose](): void {
    for (const { call, end } of this.#tasks.values()) {
      clearTimeout(end?.timer);
      call.cancel();
    }
    this.#tasks.clear();
  }

  #find(principal: string, taskId: unknown): TaskRecord<R> {
    const task = typeof taskId === 'string' ? this.#tasks.get(taskId) : undefined;
    if (task !== undefined && principalOf(task) === principal) return task;
    const minutes = RESULT_KEPT_MS / 60_000;
    throw new WrongParams(
      `taskId: there is no task '${clipHarmless(String(taskId), 80)}' of yours here. A result is kept for ${minutes} minutes, and by the server process that made the task; call the tool again.`,
    );
  }

  #end(task: TaskRecord<R>, how: ResumableCallEnd<R> | 'cancelled'): void {
    if (task.end !== undefined || !this.#tasks.has(task.id)) return;
    const timer = setTimeout(() => this.#tasks.delete(task.id), RESULT_KEPT_MS).unref();
    task.end = { at: Date.now(), how, chars: charsIn(how), timer };
    task.updatedAtMs = task.end.at;
    tellWatchers(task);
    this.#dropResults(principalOf(task));
  }

  /** Drops the results of tasks that ended first, where all results of a principal are too much together. */
  #dropResults(principal: string): void {
    const ended = [...this.#tasks.values()].flatMap((task) =>
      task.end === undefined || principalOf(task) !== principal ? [] : [{ id: task.id, ...task.end }],
    );
    ended.sort((one, other) => one.at - other.at);
    let kept = ended.reduce((sum, { chars }) => sum + chars, 0);
    for (const { id, chars, timer } of ended.slice(0, -1)) {
      if (kept <= MAX_RESULT_CHARS) return;
      kept -= chars;
      clearTimeout(timer);
      this.#tasks.delete(id);
    }
  }
}

/** One that is told may stop watching. */
function tellWatchers<R>({ watchers }: TaskRecord<R>): void {
  for (const onChange of [...watchers]) onChange();
}

const principalOf = <R>({ call }: TaskRecord<R>): string => call.principal;

const pollMs = (ageMs: number): number =>
  Math.round(Math.min(MOST_POLL_MS, Math.max(LEAST_POLL_MS, ageMs * POLL_SHARE)));

function timesOf<R>({ id, createdAtMs, updatedAtMs, end }: TaskRecord<R>, now: number): TaskTimes {
  return {
    taskId: id,
    createdAt: new Date(createdAtMs).toISOString(),
    lastUpdatedAt: new Date(updatedAtMs).toISOString(),
    ttlMs: (end?.at ?? now) - createdAtMs + RESULT_KEPT_MS,
  };
}

function viewOf<R>(task: TaskRecord<R>, now: number): DetailedTask<R> {
  const { call, end, createdAtMs } = task;
  const times = timesOf(task, now);
  if (end === undefined) {
    const polled = { ...times, pollIntervalMs: pollMs(now - createdAtMs) };
    if (call.questions.size > 0)
      return { ...polled, status: 'input_required', inputRequests: call.questions.requests };
    return { ...polled, status: 'working', ...(call.said === undefined ? {} : { statusMessage: call.said }) };
  }
  if (end.how === 'cancelled') return { ...times, status: 'cancelled' };
  if ('result' in end.how) return { ...times, status: 'completed', result: end.how.result };
  const error = rpcErrorOf(end.how.error);
  return { ...times, status: 'failed', statusMessage: error.message, error };
}

/** Error of a task, as the same error would have answered the call itself. */
function rpcErrorOf(thrown: unknown): RpcError {
  const { code, message, data } = Object(thrown) as Partial<RpcError>;
  return {
    code: Number.isSafeInteger(code) ? (code as number) : INTERNAL_ERROR,
    message: typeof message === 'string' ? message : 'Internal error',
    ...(data === undefined ? {} : { data }),
  };
}
