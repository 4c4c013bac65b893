// Who may have a request served, and when: by credential, by the number of its requests, and in turn with other principals.

import type { BridgeError } from '../../base/errors.js';
import { Bucket } from '../../base/waiting/bucket.js';
import type { RequestId } from '../../wire/request-body.js';
import {
  type Authenticated,
  type HttpAnswer,
  type HttpFrontParts,
  type RequestFacts,
  rpcError,
} from './parts.js';

/** Whose turn it is that a request is refused. No principal has this id. */
const REFUSED = 'refused requests';
const CLOSE = { connection: 'close' } as const;
/** Reading and parsing so much takes about as long as all else that a request costs; everybody waits meanwhile. */
const BYTES_AS_A_REQUEST = 262_144;

export class Admission {
  readonly #parts: HttpFrontParts;
  readonly #rate: RateLimit;
  #waiting = 0;

  constructor(parts: HttpFrontParts) {
    this.#parts = parts;
    this.#rate = new RateLimit(parts.settings.requestsPerMinute);
  }

  /** Requests that wait for their turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Who asks, if the request may be served now; otherwise what to answer. */
  async of(facts: RequestFacts): Promise<Authenticated> {
    const decided = await this.#parts.authenticate(facts);
    if ('refusal' in decided) return decided;
    const { id } = decided.principal;
    const wait = this.#rate.waitSeconds(id);
    return wait > 0 ? { refusal: tooMany(wait), principalId: id } : decided;
  }

  /** Counts so many messages of a principal. */
  spend(principal: string, messages: number): void {
    this.#rate.spend(principal, messages);
  }

  /** Counts a body that was read, by its size: what is refused for what it says has cost that as well. */
  spendBytes(principal: string, bytes: number): void {
    this.#rate.spend(principal, Math.floor(bytes / BYTES_AS_A_REQUEST));
  }

  /**
   * Resolves when the turn of `owner` has come: with undefined, or with the refusal where too much of it waits. The turn lasts
   * until `ended` resolves; `id` says that of the request.
   */
  async turn(
    owner: string,
    ended: Promise<void>,
    id: () => RequestId = () => null,
  ): Promise<HttpAnswer | undefined> {
    if (this.#parts.turn === undefined) return undefined;
    const gone = new AbortController();
    void ended.then(() => gone.abort());
    // A drain waits for it, so that it is told to come again.
    this.#waiting++;
    const turn = await this.#parts.turn(owner, gone.signal).finally(() => this.#waiting--);
    if ('refused' in turn) return busyAnswer(turn.refused, id());
    void ended.then(() => turn[Symbol.dispose]());
    return undefined;
  }

  /** `refusal` in its turn. What is refused costs time as well: all of it has one place. */
  async refuseInTurn(refusal: HttpAnswer, ended: Promise<void>): Promise<HttpAnswer> {
    const unheard = await this.turn(REFUSED, ended);
    return unheard === undefined ? refusal : { ...refusal, headers: { ...refusal.headers, ...CLOSE } };
  }
}

const tooMany = (seconds: number): HttpAnswer =>
  rpcError(429, `You have sent too many requests: come back in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });

const busyAnswer = ({ advice, retryAfterSeconds = 1 }: BridgeError, id: RequestId): HttpAnswer =>
  rpcError(429, advice, { id, headers: { 'retry-after': String(retryAfterSeconds) } });

/** Full buckets are forgotten when there are more keys than this; they would be made anew just so. */
const MAX_IDLE_KEYS = 10_000;

/** A token bucket for each key: a minute's worth of requests may come at once, and they grow again evenly. */
class RateLimit {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** `perMinute` is both how many come back in a minute and how many can be spent at once. `now` is in milliseconds. */
  constructor(perMinute: number, now: () => number = () => performance.now()) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** Whole seconds to wait before `key` may spend one; 0 where it may now. Spends nothing. */
  waitSeconds(key: string): number {
    return Math.ceil(this.#bucket(key).msUntil(1) / 1000);
  }

  /** Spends `count`, also where they are not there: the next request then waits for longer. */
  spend(key: string, count = 1): void {
    const bucket = this.#bucket(key);
    bucket.spend(count);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > MAX_IDLE_KEYS) this.#forgetFull();
  }

  #bucket(key: string): Bucket {
    const size = { burst: this.#perMinute, perSecond: this.#perMinute / 60 };
    return this.#buckets.get(key) ?? new Bucket(size, this.#now);
  }

  #forgetFull(): void {
    for (const [key, bucket] of this.#buckets) if (bucket.isFull) this.#buckets.delete(key);
    // All of them are being spent: the oldest key goes, so that memory stays bounded.
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size <= MAX_IDLE_KEYS) break;
      this.#buckets.delete(key);
    }
  }
}
