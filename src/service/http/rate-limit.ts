// A token bucket for each key: a minute's worth of requests may come at once, and they grow again evenly.

import { Bucket } from '../../base/waiting/bucket.js';

/** Full buckets are forgotten when there are more keys than this; they would be made anew just so. */
const MAX_IDLE_KEYS = 10_000;

export class RateLimit {
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
