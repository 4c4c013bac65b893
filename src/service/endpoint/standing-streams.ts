// Streams that nothing ends but their reader: they tell of changes. Each lasts as long as the credential that opened it gives
// the same rights.

import { type Principal, rightsOf } from '../../base/principal.js';
import type { HttpFrontParts, RequestFacts } from '../http/parts.js';

export type StandingStream = {
  readonly facts: RequestFacts;
  readonly principal: Principal;
  readonly end: () => void;
};

export class StandingStreams implements Disposable {
  readonly #authenticate: HttpFrontParts['authenticate'];
  readonly #streams = new Set<StandingStream>();
  readonly #looking: NodeJS.Timeout;

  /** Looks at every stream each `lookMs` milliseconds. */
  constructor(authenticate: HttpFrontParts['authenticate'], lookMs: number) {
    this.#authenticate = authenticate;
    this.#looking = setInterval(() => void this.#look(), lookMs).unref();
  }

  add(stream: StandingStream): void {
    this.#streams.add(stream);
  }

  delete(stream: StandingStream): void {
    this.#streams.delete(stream);
  }

  /** Looks no more; the streams go on. */
  [Symbol.dispose](): void {
    clearInterval(this.#looking);
  }

  /** Ends those whose credential counts no more, since it has ended or was taken back, or gives other rights now. */
  async #look(): Promise<void> {
    for (const { facts, principal, end } of [...this.#streams]) {
      const decided = await this.#authenticate(facts).catch(() => undefined);
      if (decided === undefined) continue;
      if (!('principal' in decided) || rightsOf(decided.principal) !== rightsOf(principal)) end();
    }
  }
}
