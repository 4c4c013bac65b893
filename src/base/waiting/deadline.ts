// One clock per run. Whatever ends a run first (time, the client, shutdown, a lost sandbox) is its cause for good;
// later causes change nothing. Relies on timers, and on a look at the monotonic clock where one may have had no turn.

import { setMaxListeners } from 'node:events';

export type EndCause = 'timeout' | 'cancelled' | 'shutdown';

/** A clock stands from the call on until what is given back is called. */
export type StopClock = () => () => void;

// setTimeout takes a signed 32-bit number of milliseconds; more than that fires at once.
const MAX_TIMER_MS = 2 ** 31 - 1;

export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #unlink: () => void;
  #timer: NodeJS.Timeout | undefined;
  /** Undefined while the clock stands. */
  #endsAt: number | undefined;
  /** The time left while the clock stands. */
  #leftMs = Number.POSITIVE_INFINITY;
  #isFinished = false;
  #cause: EndCause | undefined;

  /** Follows `parent`: when it aborts, the cause is `cancelled` unless its reason says `shutdown`. */
  constructor(parent: AbortSignal) {
    // Every call of a run listens; a hundred of them are no leak.
    setMaxListeners(0, this.#controller.signal);
    const onAbort = () => this.end(parent.reason === 'shutdown' ? 'shutdown' : 'cancelled');
    parent.addEventListener('abort', onAbort, { once: true });
    this.#unlink = () => parent.removeEventListener('abort', onAbort);
    if (parent.aborted) onAbort();
  }

  /** Starts the clock: the cause becomes `timeout` after `timeoutMs`. */
  start(timeoutMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isFinished) return;
    this.#endsAt = performance.now() + timeoutMs;
    this.#timer = setTimeout(() => this.end('timeout'), Math.min(timeoutMs, MAX_TIMER_MS));
  }

  /**
   * Stops the clock, for what is not the run's own time; returns the milliseconds that it has left, for start(). Where
   * none are, the cause is `timeout`, also when something has kept the timer from its turn.
   */
  pause(): number {
    clearTimeout(this.#timer);
    if (this.#endsAt === undefined) return this.#leftMs;
    this.#leftMs = Math.max(0, this.#endsAt - performance.now());
    this.#endsAt = undefined;
    if (this.#leftMs === 0) this.end('timeout');
    return this.#leftMs;
  }

  /** Stops the clock for good: what it was for has ended. It is not started again; other causes still count. */
  finish(): void {
    this.pause();
    this.#isFinished = true;
  }

  end(cause: EndCause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.#controller.abort(cause);
  }

  get cause(): EndCause | undefined {
    return this.#cause;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#unlink();
  }
}
