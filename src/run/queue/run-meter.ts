// Counts the processor time of one run, for its principal's quota: what the kernel has counted for its sandbox; where that
// cannot be seen (an engine elsewhere, no control group of its own), the time for which the run had the sandbox.

import type { Sandbox } from '../../sandbox/conversation/sandbox.js';

export class RunMeter {
  readonly #isCounting: boolean;
  /** By performance.now(): when each was taken. */
  readonly #taken = new Map<Sandbox, number>();
  #seconds = 0;
  #told = 0;

  /** One that does not count costs nothing. */
  constructor(isCounting: boolean) {
    this.#isCounting = isCounting;
  }

  /** The run has this sandbox from now on. */
  follow(sandbox: Sandbox): Sandbox {
    if (!this.#isCounting) return sandbox;
    sandbox.countProcessorTime();
    this.#taken.set(sandbox, performance.now());
    return sandbox;
  }

  /** Processor seconds used since the last call of `lap`, in sandboxes that the run still has too. */
  lap(): number {
    let seconds = this.#seconds;
    for (const [sandbox, since] of this.#taken) seconds += usedIn(sandbox, since);
    const lap = seconds - this.#told;
    this.#told = seconds;
    return lap;
  }

  /** The run has this sandbox no more. */
  leave(sandbox: Sandbox): void {
    const since = this.#taken.get(sandbox);
    if (since === undefined) return;
    this.#taken.delete(sandbox);
    this.#seconds += usedIn(sandbox, since);
  }

  /** The run has none of its sandboxes any more. */
  leaveAll(): void {
    for (const sandbox of this.#taken.keys()) this.leave(sandbox);
  }
}

const usedIn = (sandbox: Sandbox, since: number): number =>
  sandbox.processorSeconds ?? (performance.now() - since) / 1000;
