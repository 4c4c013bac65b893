// How much of what a server says is left out, told in numbers: soon after it has begun, and then once in a while.

/** Until the first is told, and then from one time to the next. */
const TOLD_AFTER_MS = { first: 1_000, next: 60_000 };

export class LeftOut {
  readonly #tell: (count: number) => void;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #afterMs = TOLD_AFTER_MS.first;

  /** `tell` gets how many there were since it was last called. */
  constructor(tell: (count: number) => void) {
    this.#tell = tell;
  }

  /** With 0, something is to be told, though nothing is left out. */
  add(count: number): void {
    this.#count += count;
    this.#timer ??= setTimeout(() => this.flush(), this.#afterMs).unref();
  }

  /** Tells what is not told yet; for the end as well. */
  flush(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#afterMs = TOLD_AFTER_MS.next;
    const count = this.#count;
    this.#count = 0;
    this.#tell(count);
  }
}
