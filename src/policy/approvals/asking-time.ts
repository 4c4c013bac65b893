// How long the clock of a run may stand for questions of one kind, in sum: those about its calls, those of its servers, those
// for further servers. Then it goes on, whether or not they are answered, so that nobody has more of a run's time by asking.

import type { StopClock } from '../../base/waiting/deadline.js';

export class AskingTime implements Disposable {
  readonly #stopClock: StopClock;
  /** How many questions are open. */
  #open = 0;
  #leftMs: number;
  /** By performance.now(), while the clock stands for them. */
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
    this.#leftMs = this.leftMs;
    this.#since = undefined;
    this.#goOn();
  }
}
