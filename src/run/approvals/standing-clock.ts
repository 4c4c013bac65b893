// The clock of a run, which stands while a person is asked something, by whomever and however many at once.

import type { Deadline } from '../../base/deadline.js';

export class StandingClock {
  readonly #deadline: Pick<Deadline, 'pause' | 'start'>;
  #stopped = 0;

  constructor(deadline: Pick<Deadline, 'pause' | 'start'>) {
    this.#deadline = deadline;
  }

  /** It stands from now on until what is given back is called, by each who has stopped it. */
  readonly stop = (): (() => void) => {
    if (this.#stopped++ === 0) this.#deadline.pause();
    let isStopped = true;
    return () => {
      if (!isStopped) return;
      isStopped = false;
      if (--this.#stopped === 0) this.#deadline.start(this.#deadline.pause());
    };
  };
}
