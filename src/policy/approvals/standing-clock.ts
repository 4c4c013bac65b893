// The clock of a run, which stands while a person is asked something, by whomever and however many at once. Where that takes
// long, what runs in its sandbox stands still too, and its place is for other runs meanwhile. What the sandbox computes all the
// same, since nothing has stopped it yet, or nothing can, is taken off what the clock has left.

import type { Deadline, StopClock } from '../../base/waiting/deadline.js';

export type Standing = {
  /** Stops the processes in the sandbox until the returned function is called; undefined where nothing can stop them. */
  readonly freeze: () => (() => void) | undefined;
  /**
   * Gives the place of a stopped run to other runs; the run has its place again when the returned function's promise
   * resolves. Undefined where the run keeps its place.
   */
  readonly standAside: (() => (() => Promise<void>) | undefined) | undefined;
  /** Seconds of processor time that the sandbox has used; undefined where nobody can know, and then nothing is taken off. */
  readonly used?: (() => number | undefined) | undefined;
};

/** A person who answers at once need not wait for anything to be stopped and started. */
const FREEZE_AFTER_MS = 2_000;
const LOOK_EVERY_MS = 1_000;

export class StandingClock implements Disposable {
  readonly #deadline: Pick<Deadline, 'pause' | 'start'>;
  readonly #standing: Standing | undefined;
  /** Number of callers that keep the clock stopped. */
  #stopped = 0;
  /**
   * When it began to stand, what it had left, and what the sandbox had used by then. Set from the first stop until the clock
   * goes on, which may have to wait for a place.
   */
  #stands: { readonly at: number; readonly leftMs: number; readonly used: number } | undefined;
  #looking: NodeJS.Timeout | undefined;
  #freezing: NodeJS.Timeout | undefined;
  #thaw: (() => void) | undefined;
  /** Undefined while the run has its place. */
  #comeBack: (() => Promise<void>) | undefined;

  /** Without `standing`, the code runs on. */
  constructor(deadline: Pick<Deadline, 'pause' | 'start'>, standing?: Standing) {
    this.#deadline = deadline;
    this.#standing = standing;
  }

  /** Stops the clock until each who has stopped it has called the returned function. */
  readonly stop = (): (() => void) => {
    if (this.#stopped++ === 0) this.#stand();
    let isStopped = true;
    return () => {
      if (!isStopped) return;
      isStopped = false;
      if (--this.#stopped === 0) this.#comeBackAndGoOn();
    };
  };

  /** The code is to end, and has no time to wait for a place or for a person. */
  letGo(): void {
    this.#comeBack = undefined;
    clearTimeout(this.#freezing);
    this.#thaw?.();
    this.#thaw = undefined;
    if (this.#stopped === 0) this.#goOn();
  }

  /** The run has ended: its clock stands for good. */
  [Symbol.dispose](): void {
    clearTimeout(this.#freezing);
    clearInterval(this.#looking);
    this.#stands = undefined;
  }

  #stand(): void {
    // After the question before it waits for its place yet.
    if (this.#stands !== undefined) return;
    const leftMs = this.#deadline.pause();
    const standing = this.#standing;
    this.#stands = { at: performance.now(), leftMs, used: standing?.used?.() ?? 0 };
    if (standing === undefined) return;
    this.#freezing = setTimeout(() => this.#freeze(standing), FREEZE_AFTER_MS).unref();
    this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** Ends a run that has computed, while its clock stands, for as long as it had left. */
  #look(): void {
    const stands = this.#stands;
    if (stands !== undefined && this.#computedMs(stands) >= stands.leftMs) this.#deadline.start(0);
  }

  /** On several processors it computes no more than the time that goes by. */
  #computedMs({ at, used }: { readonly at: number; readonly used: number }): number {
    const now = this.#standing?.used?.() ?? used;
    // Some processes' time is no longer seen when they have ended.
    return Math.max(0, Math.min((now - used) * 1_000, performance.now() - at));
  }

  #freeze({ freeze, standAside }: Standing): void {
    this.#thaw = freeze();
    // A run that computes on needs its place.
    if (this.#thaw !== undefined) this.#comeBack = standAside?.();
  }

  #comeBackAndGoOn(): void {
    clearTimeout(this.#freezing);
    if (this.#comeBack === undefined) return this.#goOn();
    void this.#comeBack().then(() => {
      if (this.#stopped === 0) this.#goOn();
    });
  }

  #goOn(): void {
    const stands = this.#stands;
    if (stands === undefined) return;
    this.#stands = undefined;
    clearInterval(this.#looking);
    this.#comeBack = undefined;
    this.#thaw?.();
    this.#thaw = undefined;
    this.#deadline.start(Math.max(0, this.#deadline.pause() - this.#computedMs(stands)));
  }
}

// How long the clock of a run may stand for questions of one kind, in sum: those about its calls, those of its servers, those
// for further servers. Then it goes on, whether or not they are answered, so that nobody has more of a run's time by asking.

const EARLY_MS = 10;

export class AskingTime implements Disposable {
  readonly #stopClock: StopClock;
  /** How many questions are open. */
  #open = 0;
  #leftMs: number;
  /** When the clock was stopped for the open questions, by performance.now(). */
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  #goOn: () => void = () => {};

  constructor(stopClock: StopClock, maxMs: number) {
    this.#stopClock = stopClock;
    this.#leftMs = maxMs;
  }

  /** A question is open until what is given back is called. */
  readonly ask: StopClock = () => {
    if (this.#open++ === 0) this.#stand();
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      if (--this.#open === 0) this.#end();
    };
  };

  get leftMs(): number {
    const sinceMs = this.#since === undefined ? 0 : performance.now() - this.#since;
    return Math.max(0, this.#leftMs - sinceMs);
  }

  /** The clock of a run that has ended stands for good. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#isOver = true;
    this.#leftMs = this.leftMs;
    this.#since = undefined;
  }

  #stand(): void {
    if (this.#isOver || this.#leftMs <= 0) return;
    this.#since = performance.now();
    this.#goOn = this.#stopClock();
    this.#timer = setTimeout(() => this.#end(), this.#leftMs).unref();
  }

  #end(): void {
    clearTimeout(this.#timer);
    if (this.#since === undefined) return;
    // Node's timers fire some milliseconds early by this clock; nobody answers a question in what is left then.
    this.#leftMs = this.leftMs < EARLY_MS ? 0 : this.leftMs;
    this.#since = undefined;
    this.#goOn();
  }
}
