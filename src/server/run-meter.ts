// Counts the processor time of one run, for its principal's quota: what the kernel has counted for its sandbox; where that
// cannot be seen (an engine elsewhere, no control group of its own), the time for which the run had the sandbox.

import type { Sandbox } from '../sandbox/sandbox.js';

export class RunMeter {
  readonly #isCounting: boolean;
  /** By performance.now(): when each was taken. */
  readonly #taken = new Map<Sandbox, number>();
  #seconds = 0;

  /** One that does not count costs nothing. */
  constructor(isCounting: boolean) {
    this.#isCounting = isCounting;
  }

  /** Of all sandboxes that were left. */
  get seconds(): number {
    return this.#seconds;
  }

  /** The run has this sandbox from now on. */
  follow(sandbox: Sandbox): Sandbox {
    if (!this.#isCounting) return sandbox;
    sandbox.countProcessorTime();
    this.#taken.set(sandbox, performance.now());
    return sandbox;
  }

  /** The run has it no more. */
  leave(sandbox: Sandbox): void {
    const since = this.#taken.get(sandbox);
    if (since === undefined) return;
    this.#taken.delete(sandbox);
    this.#seconds += sandbox.processorSeconds ?? (performance.now() - since) / 1000;
  }
}
