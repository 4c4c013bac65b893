// How much processor time one container has used since somebody asked for it to be counted, as its control group says.
// The group is gone soon after the container, so that what was seen last counts.

import { processorGroup, processorUseIn } from '../../engine/machine/enforcement.js';

/** A run that uses much takes long: what it uses after the last look is less than this. */
const LOOK_EVERY_MS = 500;

export class ProcessorTime implements Disposable {
  readonly #dir: string | undefined;
  readonly #atStart: number | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #last: number | undefined;

  /** `pid` is that of the container's first process. */
  constructor(pid: number) {
    this.#dir = processorGroup(pid);
    this.#atStart = this.#read();
    if (this.#atStart !== undefined) this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
  }

  /** Reads it now; does nothing once the group is gone. */
  look(): void {
    this.#last = this.#read() ?? this.#last;
  }

  /** As last seen; undefined where nothing can be seen. */
  get seconds(): number | undefined {
    if (this.#atStart === undefined) return undefined;
    return Math.max(0, (this.#last ?? this.#atStart) - this.#atStart);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #read(): number | undefined {
    return this.#dir === undefined ? undefined : processorUseIn(this.#dir);
  }
}
