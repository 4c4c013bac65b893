// One signal for several reasons to stop. AbortSignal.any leaves a note behind in a source that outlives what it made
// (129 bytes each time with Node 20), so a bridge that serves for days would grow; this one lets go when it is disposed.

import { setMaxListeners } from 'node:events';

export class LinkedSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #onAbort = (): void => {
    const first = this.#sources.find(({ aborted }) => aborted);
    this.#controller.abort(first?.reason);
  };

  /** Aborts as soon as one of `sources` does, with its reason. */
  constructor(...sources: readonly AbortSignal[]) {
    this.#sources = sources;
    // Everything that is under way listens to the end of the bridge; Node takes more than ten listeners for a leak.
    setMaxListeners(0, ...sources);
    for (const source of sources) source.addEventListener('abort', this.#onAbort, { once: true });
    if (sources.some(({ aborted }) => aborted)) this.#onAbort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const source of this.#sources) source.removeEventListener('abort', this.#onAbort);
  }
}
