// The named tokens as they are now, for a bridge that runs: read again when their file has changed, so that one that is
// revoked or made counts from the next request on.

import { timingSafeEqual } from 'node:crypto';
import type { Principal } from '../../base/principal.js';
import { LastUses } from './last-uses.js';
import { isExpired, TokenFile, type TokenRecord } from './token-file.js';
import { principalIdOf } from './token-id.js';
import { hashOfToken } from './token-text.js';

export type TokenVerdict =
  | { readonly state: 'known'; readonly principal: Principal }
  | { readonly state: 'expired'; readonly name: string; readonly expiredAtMs: number }
  /** Nobody has made it, or it has been revoked: which of the two is not kept. */
  | { readonly state: 'unknown' };

type Kept = { readonly record: TokenRecord; readonly hash: Buffer };

export class TokenBook {
  readonly #file: TokenFile;
  readonly #uses: LastUses;
  readonly #isEqual: typeof timingSafeEqual;
  #stamp: string | undefined;
  #tokens: readonly Kept[] = [];

  /** `isEqual` compares two hashes in a time that says nothing of them; a test counts with its own. */
  constructor(stateDir: string, isEqual: typeof timingSafeEqual = timingSafeEqual) {
    this.#isEqual = isEqual;
    this.#file = new TokenFile(stateDir);
    this.#uses = new LastUses(stateDir);
  }

  /**
   * Whose token it is. Every kept hash is compared, each in constant time, whatever the others say: the time tells neither
   * which token it is nor whether there is one. Throws E_STATE where the file cannot be used.
   */
  verdict(text: string, nowMs = Date.now()): TokenVerdict {
    const tokens = this.#current();
    const hash = hashOfToken(text);
    const [found] = tokens.filter((one) => this.#isEqual(one.hash, hash));
    if (found === undefined) return { state: 'unknown' };
    const { record } = found;
    if (isExpired(record, nowMs))
      return { state: 'expired', name: record.name, expiredAtMs: record.expiresAtMs ?? nowMs };
    const known = tokens.map((one) => one.record.id);
    this.#uses.note(record.id, known, nowMs);
    return { state: 'known', principal: principalOf(record) };
  }

  /** Whether there is a token that lets somebody in. Throws E_STATE where the file cannot be used. */
  hasUsable(nowMs = Date.now()): boolean {
    return this.#current().some(({ record }) => !isExpired(record, nowMs));
  }

  #current(): readonly Kept[] {
    // Before reading: a change in between is seen the next time.
    const { stamp } = this.#file;
    if (stamp !== undefined && stamp === this.#stamp) return this.#tokens;
    this.#stamp = undefined;
    this.#tokens = this.#file.read().map((record) => ({ record, hash: Buffer.from(record.hash, 'hex') }));
    this.#stamp = stamp;
    return this.#tokens;
  }
}

/** A token of that name, as a principal. */
export const principalOf = (record: TokenRecord): Principal => ({
  id: principalIdOf(record),
  name: record.name,
  servers: record.servers === '*' ? undefined : record.servers,
  scopes: record.scopes,
  expiresAtMs: record.expiresAtMs,
});
