// What log and audit hear of one run, whoever asked for it: that it has begun, and how it has ended.

import type { BridgeEvent, Observer, RunStatus } from '../base/events.js';

type Started = Omit<Extract<BridgeEvent, { type: 'run.started' }>, 'type'>;

export class RunRecord {
  readonly #run: string;
  readonly #observer: Observer;
  readonly #startedAt = performance.now();

  constructor(started: Started, observer: Observer) {
    this.#run = started.run;
    this.#observer = observer;
    observer({ type: 'run.started', ...started });
  }

  /** Tells of the end, and returns how long the run has taken, in milliseconds. */
  ended(status: RunStatus, servers: readonly string[], calls: number): number {
    const durationMs = performance.now() - this.#startedAt;
    this.#observer({ type: 'run.ended', run: this.#run, servers, status, durationMs, calls });
    return durationMs;
  }
}
