// A pool of waiting sandboxes for each kind that has been asked for: the first call of a language is a cold start, and
// from then on its next sandbox waits. What nobody asks for again is dropped by its pool.

import { MB_BYTES } from '../../base/text/sizes.js';
import type { Sandbox } from '../conversation/sandbox.js';
import { keyOf, type SandboxProfile } from '../spec/profile.js';
import { WarmPool, type WarmPoolOptions } from './warm-pool.js';

/** A waiting sandbox and its conmon measured 12 to 25 MB. */
const WAITING_BYTES = 64 * MB_BYTES;
/** With numpy and pandas loaded it measured 67 MB, with scipy.stats, matplotlib and openpyxl as well 140 MB. */
const WAITING_PREPARED_BYTES = 160 * MB_BYTES;

type WarmPoolsOptions = Pick<WarmPoolOptions, 'size' | 'retire' | 'isCurrent' | 'onWaits' | 'observer'> & {
  readonly start: (kind: SandboxProfile, signal: AbortSignal) => Promise<Sandbox>;
};

export class WarmPools implements Disposable {
  readonly #options: WarmPoolsOptions;
  readonly #pools = new Map<string, WarmPool>();

  constructor(options: WarmPoolsOptions) {
    this.#options = options;
  }

  /** The pool of `kind`, empty when it is asked for the first time. */
  of(kind: SandboxProfile): WarmPool {
    const key = keyOf(kind);
    const known = this.#pools.get(key);
    if (known !== undefined) return known;
    const { start, ...rest } = this.#options;
    const pool = new WarmPool({
      ...rest,
      // Files that commands run ahead leave in the tmpfs of the kind are memory, too.
      bytesEach: [...kind.preimport, ...kind.ahead].length > 0 ? WAITING_PREPARED_BYTES : WAITING_BYTES,
      heldBytes: () => [...this.#pools.values()].reduce((sum, each) => sum + each.heldBytes, 0),
      start: (signal) => start(kind, signal),
    });
    this.#pools.set(key, pool);
    return pool;
  }

  /** Ends all that wait; the next run begins anew. */
  letGo(): void {
    for (const pool of this.#pools.values()) pool.letGo();
  }

  [Symbol.dispose](): void {
    for (const pool of this.#pools.values()) pool[Symbol.dispose]();
  }
}
