// The jobs of one principal: those under way, and for a while those that have ended and have a name by which their client asks
// for the end. There are three ways to go on with a job: by its handle (the arguments `wait` and `stop`), by the state of a
// round (`requestState`, from 2026-07-28 on), and by the id of its task.

import { drawnLetters, randomBytes } from '../../base/crypto.js';
import { charsIn, clipHarmless } from '../../base/text/text.js';
import type { AgentRequest } from '../requests/agent-request.js';
import type { ToolAnswer } from '../tools/definitions.js';
import { Job } from './job.js';
import type { InputRequest } from './questions.js';
import { type CallIdentity, jobSaidIn, mintState, readState, WrongRequestState } from './request-state.js';

/** 79 bits, which nobody guesses. */
const HANDLE_LETTERS = 16;
/** Jobs that have ended, and are kept; the oldest goes. */
export const MAX_ENDED = 32;
/** Characters of all that is kept of them; the oldest goes, but for the last one. */
export const MAX_ENDED_CHARS = 64_000_000;
/** Tasks, with those whose result is kept; a call beyond them is waited for as without tasks. */
export const MAX_TASKS = 32;
/** Jobs that ask or wait at the same time. Each holds a run and often a sandbox; a person answers one after the other. */
export const MAX_ASKING = 8;
/** How long the result of a task is kept. A client that was restarted meanwhile may have kept the id of its task. */
export const RESULT_KEPT_MS = 1_800_000;
/** Seconds that any other end is kept at least, also where no files are kept. */
const LEAST_KEPT_SECONDS = 300;
/** An agent that has not asked by then for the end of its job does without it where something else has to end. */
const ASKED_WITHIN_MS = 600_000;
/** Handles that are remembered after what they named has gone. */
const MAX_REMEMBERED = 200;
/** How long a `stop` waits for the code to end; a container that does not end is killed long before. */
const STOPS_WITHIN_MS = 15_000;

/** There is no such job; the message says why, as far as that is known. */
export class NoSuchJob extends Error {}

/** How long a request waits for the end of its job, each from when it came; undefined is for as long as it takes. */
type JobWaits = {
  /** After so long it is answered with a part. */
  readonly softTimeoutMs: number | undefined;
  /** After so long it is answered with a task, where its client knows tasks. */
  readonly taskAfterMs: number;
};

export type JobAnswer =
  | { readonly answer: ToolAnswer }
  | { readonly inputRequests: Readonly<Record<string, InputRequest>>; readonly requestState: string }
  | { readonly task: Job };

export class Jobs implements Disposable {
  readonly #keepMs: number;
  readonly #jobs = new Map<string, Job>();
  /** Jobs that have ended and are kept, in that order; `since` is by performance.now(). */
  readonly #kept = new Map<Job, { readonly since: number; chars: number; readonly timer: NodeJS.Timeout }>();
  /** Why what a handle named is gone. */
  readonly #gone = new Map<string, string>();
  readonly #startedAt = new Date();
  #madeKey: Buffer | undefined;

  /** `keepSeconds`: how long the end of a job is kept that is no task, but for LEAST_KEPT_SECONDS. */
  constructor(keepSeconds: number) {
    this.#keepMs = Math.max(keepSeconds, LEAST_KEPT_SECONDS) * 1000;
  }

  /** How many there are: under way, waiting for their client, or kept. */
  get size(): number {
    return this.#jobs.size;
  }

  /** How many wait for their client to send their call again, with what the client was asked. */
  get inRound(): number {
    return [...this.#jobs.values()].filter(({ isInRound }) => isInRound).length;
  }

  /** How many go on after an answer, or have ended lately and nobody knows how. */
  get unfinished(): number {
    const since = performance.now() - ASKED_WITHIN_MS;
    const isAwaited = (job: Job): boolean => {
      const kept = this.#kept.get(job);
      if (kept === undefined) return job.isNamed || job.isInRound;
      return !job.isTold && kept.since > since;
    };
    return [...this.#jobs.values()].filter(isAwaited).length;
  }

  /** Begins a job; it is ended by its request until that is answered, and from then on by a word. */
  begin(parts: ConstructorParameters<typeof Job>[0]): Job {
    const job = new Job(parts, {
      siblingOf: (asking) => this.#siblingOf(asking),
      admitQuestion: (asking) => this.#admitQuestion(asking),
      forget: (left) => this.#forget(left),
    });
    this.#jobs.set(job.id, job);
    void job.ended.then(() => this.#keep(job));
    return job;
  }

  /**
   * The answer to a request that listens to `job`: its end, what it asks, a task, or what there is of it with its handle,
   * whichever comes first. Throws what the job's work has thrown.
   */
  async answer(
    job: Job,
    request: AgentRequest,
    identity: CallIdentity,
    { softTimeoutMs, taskAfterMs }: JobWaits,
  ): Promise<JobAnswer> {
    const { signal } = request;
    const due = { task: false, part: false };
    let wake = () => {};
    const onChange = () => wake();
    const at = (ms: number, what: keyof typeof due) =>
      setTimeout(() => {
        due[what] = true;
        wake();
      }, ms).unref();
    const timers = [
      ...(request.offers.tasks ? [at(taskAfterMs, 'task')] : []),
      ...(softTimeoutMs === undefined ? [] : [at(softTimeoutMs, 'part')]),
    ];
    const unwatch = job.watch(onChange);
    signal.addEventListener('abort', onChange, { once: true });
    try {
      for (;;) {
        const answer = this.#answerNow(job, request, identity, due);
        if (answer !== undefined) return answer;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      for (const timer of timers) clearTimeout(timer);
      unwatch();
      signal.removeEventListener('abort', onChange);
      job.leave(request);
    }
  }

  /** Goes on with the job of this handle. Throws NoSuchJob. */
  async goOn(
    asked: { readonly wait: string } | { readonly stop: string },
    request: AgentRequest,
    identity: CallIdentity,
    waits: JobWaits,
  ): Promise<JobAnswer> {
    const isStop = 'stop' in asked;
    const job = isStop ? this.#find(asked.stop, 'stop') : this.#find(asked.wait, 'wait');
    job.listen(request);
    if (isStop) job.cancel('stopped');
    const softTimeoutMs = isStop ? STOPS_WITHIN_MS : waits.softTimeoutMs;
    return await this.answer(job, request, identity, { ...waits, softTimeoutMs });
  }

  /**
   * Goes on with the job that waits in the round of this state, with what its client has answered. Throws WrongParams for a
   * state or for answers that cannot be taken; neither disturbs the job.
   */
  resume(request: AgentRequest, identity: CallIdentity, state: string, inputResponses: unknown): Job {
    const round = readState(state, identity, this.#key);
    const job = this.#jobs.get(round.job);
    if (job?.isIn(round) !== true) throw new WrongRequestState('it was used already, or its call has ended.');
    job.listen(request, job.questions.readResponses(inputResponses));
    return job;
  }

  /** Whether a job is here, or was, that this handle, state or id of a task names. Says nothing of whether it may be gone on with. */
  knows(name: string): boolean {
    if (this.#jobs.has(name) || this.#gone.has(name) || this.#jobs.has(jobSaidIn(name))) return true;
    return [...this.#jobs.values()].some(({ handle }) => handle === name);
  }

  /** The job that is the task of this id. */
  task(taskId: unknown): Job | undefined {
    const job = typeof taskId === 'string' ? this.#jobs.get(taskId) : undefined;
    return job?.taskSinceMs === undefined ? undefined : job;
  }

  /** Ends the work of a job whose client asks no more for its end; one that has ended already stays as it is. */
  cancel(job: Job): void {
    job.cancel('cancelled');
    job.isTold = true;
    this.#keep(job);
  }

  /** Ends all of them. */
  [Symbol.dispose](): void {
    for (const { timer } of this.#kept.values()) clearTimeout(timer);
    for (const job of this.#jobs.values()) job[Symbol.dispose]();
    this.#kept.clear();
    this.#jobs.clear();
  }

  /** Undefined where there is nothing to answer yet. */
  #answerNow(
    job: Job,
    request: AgentRequest,
    identity: CallIdentity,
    due: { task: boolean; readonly part: boolean },
  ): JobAnswer | undefined {
    if (job.end !== undefined) {
      job.isTold = true;
      if (!job.isNamed) this.#forget(job);
      return { answer: job.rest() };
    }
    if (job.request === request && job.questions.size > 0) {
      const inputRequests = job.questions.requests;
      return { inputRequests, requestState: mintState(job.enterRound(), identity, this.#key) };
    }
    if (request.signal.aborted) {
      // Nobody reads the answer of a request that was taken back: what is new stays for the next one.
      if (job.handle !== undefined) return { answer: job.glance() };
      job.cancel(request.signal.reason);
    }
    if (due.task) {
      due.task = false;
      if (job.taskSinceMs === undefined && this.#tasks < MAX_TASKS) job.taskSinceMs = Date.now();
      if (job.taskSinceMs !== undefined) return { task: job };
    }
    if (!due.part) return undefined;
    job.handle ??= `r-${drawnLetters(HANDLE_LETTERS)}`;
    return { answer: job.part() };
  }

  get #key(): Buffer {
    this.#madeKey ??= randomBytes(32);
    return this.#madeKey;
  }

  get #tasks(): number {
    return [...this.#jobs.values()].filter(({ taskSinceMs }) => taskSinceMs !== undefined).length;
  }

  #find(handle: string, argument: 'wait' | 'stop'): Job {
    const job = [...this.#jobs.values()].find((each) => each.handle === handle);
    if (job !== undefined) return job;
    const shown = clipHarmless(handle, 80);
    const why = this.#gone.get(handle);
    if (why !== undefined) throw new NoSuchJob(`${argument}: '${shown}' is gone: ${why}.`);
    const since = this.#startedAt.toISOString().slice(0, 19).replace('T', ' ');
    throw new NoSuchJob(
      `${argument}: there is no run '${shown}' of yours. This bridge has been running since ${since} UTC, and runs end with the bridge that began them.`,
    );
  }

  #siblingOf(job: Job): Job | undefined {
    const { client } = job.caller.agent;
    return [...this.#jobs.values()].find(
      (other) =>
        other !== job && other.canAsk && client !== undefined && other.caller.agent.client === client,
    );
  }

  #admitQuestion(asking: Job): void {
    const others = [...this.#jobs.values()].filter(
      (job) => job !== asking && (job.questions.size > 0 || job.isInRound),
    );
    if (others.length >= MAX_ASKING)
      throw new Error(`${MAX_ASKING} other calls wait for answers of the user already`);
  }

  #keep(job: Job): void {
    if (!this.#jobs.has(job.id) || !job.isNamed) return;
    const known = this.#kept.get(job);
    // One that was cancelled is kept from then on, and has its end later.
    if (known !== undefined) known.chars = charsIn(job.end);
    else {
      const keepMs = job.taskSinceMs === undefined ? this.#keepMs : RESULT_KEPT_MS;
      const why = `it has ended, and its result was kept for ${keepMs / 1000} s only`;
      const timer = setTimeout(() => this.#drop(job, why), keepMs).unref();
      this.#kept.set(job, { since: performance.now(), chars: charsIn(job.end), timer });
    }
    let chars = [...this.#kept.values()].reduce((sum, each) => sum + each.chars, 0);
    for (const [oldest, kept] of this.#kept) {
      const { size } = this.#kept;
      if (size <= MAX_ENDED && (chars <= MAX_ENDED_CHARS || size === 1)) return;
      chars -= kept.chars;
      this.#drop(
        oldest,
        size > MAX_ENDED
          ? `it has ended, and ${MAX_ENDED} others have ended since; no more results are kept`
          : `it has ended, and others since; no more than ${MAX_ENDED_CHARS / 1e6} MB of results are kept`,
      );
    }
  }

  #drop(job: Job, why: string): void {
    this.#forget(job);
    if (job.handle === undefined) return;
    this.#gone.set(job.handle, why);
    const [first] = this.#gone.keys();
    if (this.#gone.size > MAX_REMEMBERED && first !== undefined) this.#gone.delete(first);
  }

  #forget(job: Job): void {
    clearTimeout(this.#kept.get(job)?.timer);
    this.#kept.delete(job);
    this.#jobs.delete(job.id);
    job[Symbol.dispose]();
  }
}
