// A token bucket for each key: a minute's worth of requests may come at once, and they grow again evenly.

const MINUTE_MS = 60_000;
/** Full buckets are forgotten when there are more keys than this; they would be made anew just so. */
const MAX_IDLE_KEYS = 10_000;

type Bucket = { tokens: number; at: number };

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
    const { tokens } = this.#bucket(key);
    return tokens >= 1 ? 0 : Math.max(1, Math.ceil(((1 - tokens) * MINUTE_MS) / this.#perMinute / 1000));
  }

  /** Spends `count`, also where they are not there: the next request then waits for longer. */
  spend(key: string, count = 1): void {
    const bucket = this.#bucket(key);
    bucket.tokens = Math.max(bucket.tokens - count, -this.#perMinute);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > MAX_IDLE_KEYS) this.#forgetFull();
  }

  #bucket(key: string): Bucket {
    const now = this.#now();
    const { tokens, at } = this.#buckets.get(key) ?? { tokens: this.#perMinute, at: now };
    const grown = tokens + ((now - at) * this.#perMinute) / MINUTE_MS;
    return { tokens: Math.min(this.#perMinute, grown), at: now };
  }

  #forgetFull(): void {
    for (const key of this.#buckets.keys())
      if (this.#bucket(key).tokens >= this.#perMinute) this.#buckets.delete(key);
    // All of them are being spent: the oldest key goes, so that memory stays bounded.
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size <= MAX_IDLE_KEYS) break;
      this.#buckets.delete(key);
    }
  }
}
