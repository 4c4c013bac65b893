// Requests of runs to servers with their answers, as a bridge remembers them so that a run can be run again: on the terms of
// MCP_BRIDGE_RECORD, in memory alone. The reason is all that is kept of a run that cannot be run again.

import type { BridgeEvent } from '../../base/log/events.js';
import type { Redact } from '../../base/secrets/redact.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Repeatable } from '../told/told.js';
import { BYTES_OF_CHARACTER, MAX_ENDED } from './remembered-runs.js';

type RequestTold = Extract<BridgeEvent, { type: 'run.answered' }>;

type RecordedRun = Omit<Extract<BridgeEvent, { type: 'run.code' }>, 'type' | 'code'> & {
  readonly redact: Redact;
  readonly requests: RequestTold[];
  bytes: number;
  isCut: boolean;
  lastAtMs: number;
};

export class RecordedRequests {
  readonly #record: Settings['record'];
  readonly #runs = new Map<string, RecordedRun>();

  constructor(record: Settings['record']) {
    this.#record = record;
  }

  /** `redact` knows the secrets of the bridge that the event is of. */
  observe(event: BridgeEvent, redact: Redact): void {
    if (this.#record === undefined) return;
    if (event.type === 'run.code') {
      const { type: _type, code: _code, ...about } = event;
      const requests: RequestTold[] = [];
      this.#runs.set(event.run, { ...about, redact, requests, bytes: 0, isCut: false, lastAtMs: Date.now() });
      this.#forget();
    } else if (event.type === 'run.answered') this.#add(event);
  }

  /** Without secrets; null for a run that is not remembered. */
  of(run: string): Repeatable | null {
    this.#forget();
    const found = this.#runs.get(run);
    if (found === undefined) return null;
    const { form, timeoutSeconds, isCut, requests, redact } = found;
    return {
      form: isCut ? 'too long' : form,
      timeoutSeconds,
      requests: requests.map(({ server, method, sent, answer, error }) => ({
        ...{ server, method, sent: redact(sent) },
        ...(answer === undefined ? {} : { answer: redact(answer) }),
        ...(error === undefined ? {} : { error: { code: error.code, message: redact(error.message) } }),
      })),
    };
  }

  #add(event: RequestTold): void {
    const run = this.#runs.get(event.run);
    if (run === undefined || run.form !== 'cell' || run.isCut) return;
    run.requests.push(event);
    run.bytes += BYTES_OF_CHARACTER * (event.sent.length + (event.answer?.length ?? 0));
    run.lastAtMs = Date.now();
    if (run.bytes > this.#most) {
      run.isCut = true;
      run.bytes = 0;
      run.requests.length = 0;
    }
    this.#forget();
  }

  /** As much as may be remembered of code and output. */
  get #most(): number {
    return this.#record?.bytes ?? 0;
  }

  /** Forgets what is too old, too many or too much; the oldest run goes first. */
  #forget(): void {
    const oldestMs = Date.now() - (this.#record?.seconds ?? 0) * 1_000;
    let left = this.#most;
    for (const [at, [id, run]] of [...this.#runs].reverse().entries()) {
      left -= run.bytes;
      if (at >= MAX_ENDED || left < 0 || run.lastAtMs < oldestMs) this.#runs.delete(id);
    }
  }
}
