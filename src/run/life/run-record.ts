// A run's record tells log and audit of one run, whoever asked for it: that the run has begun, and how it has ended.

import type { BridgeEvent, Observer } from '../../base/log/events.js';
import type { RunStatus } from '../events.js';

type Started = Omit<Extract<BridgeEvent, { type: 'run.started' }>, 'type'>;

/** Why a run failed. `type` is an exception's class or a code of ours. */
type Reason = { readonly type: string; readonly message: string };

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
  ended(
    { status, error }: { readonly status: RunStatus; readonly error?: Reason | undefined },
    servers: readonly string[],
    calls: number,
  ): number {
    const durationMs = performance.now() - this.#startedAt;
    const reason = error === undefined ? undefined : { kind: error.type, message: error.message };
    this.#observer({
      type: 'run.ended',
      run: this.#run,
      servers,
      status,
      error: reason,
      durationMs,
      calls,
    });
    return durationMs;
  }
}
