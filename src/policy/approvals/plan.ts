// A run that only plans: its reads are executed, and at its first write it is stopped. The calls that come in the same moment
// are listed with it, since code that gathers calls means all of them.

/** A call that was not made; `text` is the JSON of its arguments as it would be sent. */
export type PlannedCall = { readonly server: string; readonly tool: string; readonly text: string };

/** Outcome of a plan. */
export type Planned = {
  /** Calls that the plan would make first; empty where the plan has come to no write. */
  readonly calls: readonly PlannedCall[];
  /** Further calls of that moment, which are too many to be listed. */
  readonly notListed: number;
  /** Whether it was stopped at a write. */
  readonly isStopped: boolean;
};

/** asyncio.gather sends its calls within a few milliseconds. */
const GATHER_MS = 100;
/** Nobody reads more. */
const MAX_LISTED = 200;
const MAX_CHARS = 256 * 1024;

export class Plan implements Planned, Disposable {
  readonly #calls: PlannedCall[] = [];
  readonly #onStop: () => void;
  #timer: NodeJS.Timeout | undefined;
  #chars = 0;
  #left = 0;
  #isStopped = false;

  /** `onStop` is called once, a moment after the first write. */
  constructor(onStop: () => void) {
    this.#onStop = onStop;
  }

  get calls(): readonly PlannedCall[] {
    return this.#calls;
  }

  get notListed(): number {
    return this.#left;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Whether it has come to a write. From the first one on nothing more is called. */
  get isAtWrite(): boolean {
    return this.#timer !== undefined || this.#isStopped;
  }

  /** Takes a write, which is not made: nothing answers it. */
  write(call: PlannedCall): Promise<never> {
    if (this.#calls.length < MAX_LISTED && this.#chars + call.text.length <= MAX_CHARS) {
      this.#chars += call.text.length;
      this.#calls.push(call);
    } else this.#left++;
    this.#timer ??= setTimeout(() => {
      this.#isStopped = true;
      this.#onStop();
    }, GATHER_MS);
    return new Promise(() => {});
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
