// The access tokens of principals, for as long as they are good, for servers that the operator lets have them or have one in
// exchange. In memory only. A principal with several clients has several tokens; the one that came last counts.

import type { CallerToken } from '../principals/authentication.js';

/** More principals than one bridge serves; the longest unused goes first. */
const MAX_KEPT = 10_000;

export class CallerTokens {
  /** By the principal's id, the last used at the end. */
  readonly #tokens = new Map<string, CallerToken>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs;
  }

  keep(principalId: string, token: CallerToken): void {
    this.#tokens.delete(principalId);
    this.#tokens.set(principalId, token);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MAX_KEPT && oldest !== undefined) this.#tokens.delete(oldest);
  }

  /** Undefined where there is none, or it has expired. */
  of(principalId: string): CallerToken | undefined {
    const token = this.#tokens.get(principalId);
    if (token === undefined || token.expiresAtMs > this.#nowMs()) return token;
    this.#tokens.delete(principalId);
    return undefined;
  }
}
