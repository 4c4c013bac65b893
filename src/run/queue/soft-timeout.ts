// How long a call waits for set-up: a pull, a build, a start. Hosts give a call up after half a minute to a minute, and
// what their model reads then says nothing. So the call is answered before, with what is going on; set-up goes on behind
// it, and the next call joins it. A failure that comes when nobody waits any more is told to the next call, once.

import { asBridgeError, BridgeError } from '../../base/errors.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';

/** Well below what hosts wait: thirty seconds are the least that was seen. */
export const SET_UP_SOFT_TIMEOUT_MS = 25_000;
/** Least time for a call that has waited in the queue: a sandbox that is ready takes no time. */
const LEAST_MS = 5_000;
/** Several calls that wait for the same set-up hear of its failure at the same time. */
const SAME_MOMENT_MS = 1_000;
/** A failure from longer ago may have been mended since. */
const FAILURE_LASTS_MS = 300_000;

/** How long a call has waited for set-up, and what for. */
export type Waited = {
  /** When the call came, by performance.now(). */
  readonly since: number;
  /** Words on the set-up that is going on now. */
  readonly goingOn: () => string;
};

export class SoftTimeout {
  readonly #withinMs: number | undefined;
  /** Failures that came while nobody waited for them, by the key of their source. */
  readonly #untold = new Map<string, { readonly error: BridgeError; readonly at: number }>();
  /** How many wait, and when one of them was last told of a failure, by the key of their source. */
  readonly #waiting = new Map<string, { count: number; toldAt: number }>();

  /** Undefined waits for as long as it takes. */
  constructor(withinMs: number | undefined) {
    this.#withinMs = withinMs;
  }

  /**
   * Takes what `source` gives. Throws E_SETTING_UP where that takes too long; the thing is taken all the same and given back,
   * so that the next call finds it. Whoever cancels a call stops waiting, and ends no set-up that others share.
   */
  async take<T>(
    key: string,
    source: {
      readonly take: (signal: AbortSignal) => Promise<T>;
      readonly giveBack: (late: T) => void;
    },
    waited: Waited,
    signal: AbortSignal,
  ): Promise<T> {
    if (this.#withinMs === undefined) return await source.take(signal);
    const untold = this.#untold.get(key);
    this.#untold.delete(key);
    if (untold !== undefined && performance.now() - untold.at < FAILURE_LASTS_MS) throw untold.error;
    using link = new LinkedSignal(signal);
    const taking = source.take(link.signal);
    const waiters = this.#waiters(key);
    waiters.count++;
    const wait = this.#expiry(waited);
    try {
      return await Promise.race([taking, wait.expired]);
    } catch (thrown) {
      if (wait.isOver())
        void taking.then(
          (late) => source.giveBack(late),
          (late: unknown) => this.#keep(key, late),
        );
      else waiters.toldAt = performance.now();
      throw thrown;
    } finally {
      waiters.count--;
      wait.end();
    }
  }

  /** `going`, which nobody has to take care of when it comes too late. Throws E_SETTING_UP. */
  async wait<T>(going: Promise<T>, waited: Waited): Promise<T> {
    if (this.#withinMs === undefined) return await going;
    const wait = this.#expiry(waited);
    // A later failure is told to whoever asks for the same thing next.
    going.catch(() => {});
    try {
      return await Promise.race([going, wait.expired]);
    } finally {
      wait.end();
    }
  }

  #expiry({ since, goingOn }: Waited) {
    const leftMs = Math.max(LEAST_MS, (this.#withinMs ?? 0) - (performance.now() - since));
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        isOver = true;
        reject(notYet(goingOn(), performance.now() - since));
      }, leftMs);
    });
    // Ended before its time it is awaited by nobody.
    expired.catch(() => {});
    return { expired, isOver: () => isOver, end: () => clearTimeout(timer) };
  }

  #keep(key: string, thrown: unknown): void {
    const { count, toldAt } = this.#waiters(key);
    const at = performance.now();
    if (count === 0 && at - toldAt > SAME_MOMENT_MS)
      this.#untold.set(key, { error: asBridgeError(thrown), at });
  }

  #waiters(key: string): { count: number; toldAt: number } {
    const known = this.#waiting.get(key) ?? { count: 0, toldAt: Number.NEGATIVE_INFINITY };
    this.#waiting.set(key, known);
    return known;
  }
}

const notYet = (goingOn: string, waitedMs: number): BridgeError =>
  new BridgeError(
    'E_SETTING_UP',
    `Nothing has run yet: set-up is still going on after ${Math.round(waitedMs / 1000)} s. ${goingOn}`,
    {
      fault: 'engine',
      remedy: 'Make the same call again in a while, unchanged: set-up goes on, and the next call joins it.',
    },
  );
