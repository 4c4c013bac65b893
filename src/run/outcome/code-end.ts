// The moment at which the code itself has ended. From then on the run's clock stands: what the code left has a time of
// its own to arrive, and none is needed to keep it. The supervisor's word for it may be forged, by code that is still
// running; all that this gains is the files' time, since it counts once and the sandbox is killed after it.

import type { Deadline } from '../../base/waiting/deadline.js';
import type { SandboxEnd } from '../../sandbox/conversation/sandbox.js';
import type { GuestEnd } from '../../sandbox/conversation/turn.js';

/** How long files may take from the end of the code: a local pipe carries all that they may be in a tenth of this. */
const FILES_WITHIN_MS = 5_000;
/** Note for the model. */
const LATE = `[Some files of out/ did not arrive within ${FILES_WITHIN_MS / 1000} s of the end of the code.]`;

export class CodeEnd implements Disposable {
  /** Resolves with how the code ended when its files have taken too long; else never. */
  readonly filesLate: Promise<SandboxEnd>;
  readonly #deadline: Deadline;
  #onLate: (end: SandboxEnd) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #note: string | undefined;

  constructor(deadline: Deadline) {
    this.#deadline = deadline;
    this.filesLate = new Promise((resolve) => {
      this.#onLate = resolve;
    });
  }

  /** To be called with every word of an end; the first counts, and only where it comes in time. */
  onReport(report: GuestEnd): void {
    if (this.#timer !== undefined) return;
    this.#deadline.finish();
    if (this.#deadline.cause !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#note = LATE;
      this.#onLate({ how: 'exited', report });
    }, FILES_WITHIN_MS);
  }

  /** Note for the model where files have taken too long. */
  get note(): string | undefined {
    return this.#note;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
