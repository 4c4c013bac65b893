// A token bucket: so much can be spent at once, and it grows again evenly. It can be overdrawn, by as much again as it holds.

export class Bucket {
  readonly #size;
  readonly #now: () => number;
  #tokens: number;
  #at: number;

  /** A bucket begins full. `now` is in milliseconds. */
  constructor(
    size: {
      /** The amount that a full bucket holds. */
      readonly burst: number;
      readonly perSecond: number;
    },
    now: () => number = () => performance.now(),
  ) {
    this.#size = size;
    this.#now = now;
    this.#tokens = size.burst;
    this.#at = now();
  }

  /** Below 0 where it is overdrawn. */
  get left(): number {
    const now = this.#now();
    // A test that plays the clock begins it anew.
    const passedMs = Math.max(0, now - this.#at);
    const grown = this.#tokens + (passedMs * this.#size.perSecond) / 1000;
    this.#tokens = Math.min(this.#size.burst, grown);
    this.#at = now;
    return this.#tokens;
  }

  get isFull(): boolean {
    return this.left >= this.#size.burst;
  }

  /** Spends `count`, also where they are not there: whoever waits for some then waits for longer. */
  spend(count: number): void {
    this.#tokens = Math.max(this.left - count, -this.#size.burst);
  }

  /** How long until it holds `count`; 0 where it does. */
  msUntil(count: number): number {
    return Math.max(0, ((count - this.left) * 1000) / this.#size.perSecond);
  }
}
