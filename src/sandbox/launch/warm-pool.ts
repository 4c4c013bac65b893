// Sandboxes that were started ahead, greeted, and wait. take() gives one away; what was given a run never returns, what
// was only asked to check code may (sandbox.ts says why that is safe). Filling and letting go happen off the call path:
// after a run has ended, or a moment after it began when it takes long.

import { availableParallelism, freemem } from 'node:os';
import { asBridgeError } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { Sandbox } from '../conversation/sandbox.js';
import { keyOf, type SandboxProfile } from '../spec/profile.js';

/**
 * A waiting sandbox is dropped so long after its start and not replaced before the next run: nobody is working. Its age
 * counts, also when it was given back, since the engine's own clock (`deadManSeconds`) goes on meanwhile.
 */
export const MAX_WAIT_SECONDS = 600;
/** A run that lasts longer than this no longer keeps the pool from filling: others may come meanwhile. */
const FILL_BESIDE_RUN_AFTER_MS = 1_000;
/** The first rest after a failed start; each further failure doubles it. */
const REST_MS = 1_000;
const MAX_REST_MS = 60_000;
/** Share of the memory that is free without them which waiting sandboxes of all kinds may take together. */
const MEMORY_PART = 0.25;

type WarmPoolOptions = {
  /** How many wait at most; 0 makes every take() a cold start. */
  readonly size: number;
  /** Memory that one waiting sandbox may take. */
  readonly bytesEach: number;
  /** Memory that the waiting sandboxes of all pools may take, this one's included. */
  readonly heldBytes: () => number;
  readonly start: (signal: AbortSignal) => Promise<Sandbox>;
  readonly retire: (sandbox: Sandbox) => void;
  /** False when one started now would be another, for instance of a newer image. Asked on the call path. */
  readonly isCurrent: (sandbox: Sandbox) => boolean;
  /** One begins to wait, or is given away after it has. */
  readonly onWaits?: (sandbox: Sandbox, waits: boolean) => void;
  readonly observer: Observer;
};

export class WarmPool implements Disposable {
  readonly #options: WarmPoolOptions;
  readonly #closing = new AbortController();
  readonly #waiting: { readonly sandbox: Sandbox; readonly timer: NodeJS.Timeout }[] = [];
  /** Under way and not promised to anybody. */
  readonly #starting = new Set<Promise<Sandbox>>();
  /** Runs under way, but for those that were started beside the pool. */
  #running = 0;
  /** Callers who wait for a start. */
  #unserved = 0;
  readonly #beside = new WeakSet<Sandbox>();
  #failures = 0;
  #restUntil = 0;
  #wantedAt = 0;
  #isUsed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
  }

  /** Whether anybody has wanted one of them. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** How many wait now. */
  get ready(): number {
    return this.#waiting.length;
  }

  /** Memory that the sandboxes that wait, or are on their way to, may take. */
  get heldBytes(): number {
    return (this.#waiting.length + this.#starting.size) * this.#options.bytesEach;
  }

  /**
   * A greeted sandbox: one that waits, else one that is on its way, else a cold start. With `isBeside` it is a cold start in
   * any case, and the pool is filled as if nothing ran: what waits is for others.
   */
  async take(signal: AbortSignal, { isBeside = false } = {}): Promise<Sandbox> {
    if (isBeside) {
      const sandbox = await this.#options.start(signal);
      this.#beside.add(sandbox);
      return sandbox;
    }
    this.#running++;
    this.#isUsed = true;
    this.#wantedAt = performance.now();
    this.#fillAfter(FILL_BESIDE_RUN_AFTER_MS);
    try {
      return this.#nextWaiting() ?? (await this.#takeStarting(signal));
    } catch (thrown) {
      this.#running--;
      // A start that has just failed for a caller who was told why is not tried again behind everybody's back.
      if (signal.aborted) this.#onIdle();
      else clearTimeout(this.#timer);
      throw thrown;
    }
  }

  /**
   * Takes back one that was taken and given no run: it waits again, as the next to go, or is ended where it cannot or
   * there are enough. Throws E_INTERNAL for one that was given a run.
   */
  giveBack(sandbox: Sandbox): void {
    let waits = false;
    try {
      waits = sandbox.rest() && this.#hasRoom && waitMsLeft(sandbox) > 0 && this.#options.isCurrent(sandbox);
    } finally {
      if (waits) this.#waiting.unshift(this.#waitingFor(sandbox));
      else this.#options.retire(sandbox);
      this.#onRunEnded(sandbox);
    }
  }

  /** Gets rid of one that was taken, and makes up for it as soon as no run is disturbed by that. */
  retire(sandbox: Sandbox): void {
    this.#options.retire(sandbox);
    this.#onRunEnded(sandbox);
  }

  /** Starts what is missing, up to the size, the memory and the cores there are; rests after failures. */
  fill(): void {
    this.#wantedAt = performance.now();
    this.#fill();
  }

  #fill(): void {
    clearTimeout(this.#timer);
    if (this.#closing.signal.aborted) return;
    const restMs = this.#restUntil - performance.now();
    if (restMs > 0) return this.#fillAfter(restMs);
    // Two starts at once take twice as long, and somebody waits for one of them.
    if (this.#unserved > 0) return this.#fillAfter(FILL_BESIDE_RUN_AFTER_MS);
    // Starting is processor time: more at once would only make each of them later.
    while (this.#missing > 0 && this.#starting.size < availableParallelism()) this.#startOne();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#closing.abort('shutdown');
    this.letGo();
  }

  /** Ends those that wait, and replaces none of them before the next run. */
  letGo(): void {
    for (const { sandbox, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer);
      this.#options.retire(sandbox);
    }
  }

  get #missing(): number {
    const { size, bytesEach, heldBytes } = this.#options;
    const held = heldBytes();
    const inMemory = Math.floor(((freemem() + held) * MEMORY_PART - held) / bytesEach);
    return Math.min(size - this.#waiting.length - this.#starting.size, inMemory);
  }

  get #hasRoom(): boolean {
    const there = this.#waiting.length + this.#starting.size;
    return there < this.#options.size && !this.#closing.signal.aborted;
  }

  #onRunEnded(sandbox: Sandbox): void {
    if (!this.#beside.delete(sandbox)) this.#running--;
    this.#onIdle();
  }

  #onIdle(): void {
    if (this.#running === 0) this.#fillAfter(0);
  }

  #nextWaiting(): Sandbox | undefined {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      clearTimeout(next.timer);
      if (next.sandbox.isAlive && this.#options.isCurrent(next.sandbox)) {
        this.#options.onWaits?.(next.sandbox, false);
        return next.sandbox;
      }
      this.#options.retire(next.sandbox);
    }
    return undefined;
  }

  /** One that is on its way, else a cold start. */
  async #takeStarting(signal: AbortSignal): Promise<Sandbox> {
    this.#unserved++;
    try {
      return (await this.#nextStarting(signal)) ?? (await this.#options.start(signal));
    } finally {
      this.#unserved--;
    }
  }

  /** Undefined where none is under way, or it fails or is outdated: a cold start then says why, or succeeds. */
  async #nextStarting(signal: AbortSignal): Promise<Sandbox | undefined> {
    const [promised] = this.#starting;
    if (promised === undefined) return undefined;
    this.#starting.delete(promised);
    let sandbox: Sandbox;
    try {
      sandbox = await unlessAborted(promised, signal, { discard: this.#options.retire });
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      return undefined;
    }
    // The sandbox's image may have changed while it was on its way.
    if (sandbox.isAlive && this.#options.isCurrent(sandbox)) return sandbox;
    this.#options.retire(sandbox);
    return undefined;
  }

  #fillAfter(delayMs: number): void {
    clearTimeout(this.#timer);
    if (this.#options.size === 0 || this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => this.#fill(), delayMs).unref();
  }

  #startOne(): void {
    const starting = this.#options.start(this.#closing.signal);
    this.#starting.add(starting);
    starting.then(
      (sandbox) => this.#onStarted(starting, sandbox),
      (thrown: unknown) => this.#onFailed(starting, thrown),
    );
  }

  #onStarted(starting: Promise<Sandbox>, sandbox: Sandbox): void {
    this.#failures = 0;
    // Promised to somebody in the meantime: it is theirs.
    if (!this.#starting.delete(starting)) return;
    if (this.#closing.signal.aborted) return this.#options.retire(sandbox);
    this.#waiting.push(this.#waitingFor(sandbox));
    this.#fillAfter(0);
  }

  #waitingFor(sandbox: Sandbox): { readonly sandbox: Sandbox; readonly timer: NodeJS.Timeout } {
    const timer = setTimeout(() => this.#drop(sandbox), waitMsLeft(sandbox)).unref();
    void sandbox.ended.then(() => this.#onDeath(sandbox));
    this.#options.onWaits?.(sandbox, true);
    return { sandbox, timer };
  }

  #onFailed(starting: Promise<Sandbox>, thrown: unknown): void {
    this.#starting.delete(starting);
    if (this.#closing.signal.aborted) return;
    this.#rest(asBridgeError(thrown).message);
  }

  /** One that waited has died by itself; if its like die at once, they are not made at full speed. */
  #onDeath(sandbox: Sandbox): void {
    if (!this.#drop(sandbox)) return;
    this.#rest('a waiting sandbox has died');
  }

  #rest(reason: string): void {
    const restMs = Math.min(MAX_REST_MS, REST_MS * 2 ** this.#failures++);
    this.#restUntil = performance.now() + restMs;
    this.#options.observer({ type: 'pool.resting', reason, restMs });
    // Where nobody is working, the next one who does begins anew.
    const idleMs = performance.now() - this.#wantedAt;
    if (idleMs + restMs < MAX_WAIT_SECONDS * 1000) this.#fillAfter(restMs);
  }

  #drop(sandbox: Sandbox): boolean {
    const index = this.#waiting.findIndex((waiting) => waiting.sandbox === sandbox);
    const [dropped] = index === -1 ? [] : this.#waiting.splice(index, 1);
    if (dropped === undefined) return false;
    clearTimeout(dropped.timer);
    this.#options.retire(sandbox);
    return true;
  }
}

/** How much longer it may wait. */
const waitMsLeft = ({ startedAt }: Sandbox): number =>
  startedAt + MAX_WAIT_SECONDS * 1000 - performance.now();

/** A waiting sandbox and its conmon measured 12 to 21 MB. */
const WAITING_BYTES = 64 * MB_BYTES;
/** With numpy and pandas loaded it measured 67 MB, with scipy.stats, matplotlib and openpyxl as well 140 MB; with Node 60 MB. */
const WAITING_PREPARED_BYTES = 160 * MB_BYTES;

type WarmPoolsOptions = Pick<WarmPoolOptions, 'size' | 'retire' | 'isCurrent' | 'onWaits' | 'observer'> & {
  readonly start: (kind: SandboxProfile, signal: AbortSignal) => Promise<Sandbox>;
};

/**
 * A pool of waiting sandboxes for each kind that has been asked for: the first call of a language is a cold start, and from
 * then on its next sandbox waits. A sandbox that nobody asks for again is dropped by its pool.
 */
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
    const pool: WarmPool = new WarmPool({
      ...rest,
      // Files that commands run ahead leave in the tmpfs of the kind are memory, too.
      bytesEach:
        [...kind.preimport, ...kind.ahead].length > 0 || kind.waits !== undefined
          ? WAITING_PREPARED_BYTES
          : WAITING_BYTES,
      heldBytes: () => [...this.#pools.values()].reduce((sum, each) => sum + each.heldBytes, 0),
      // No interpreter waits for those who may never use its language.
      start: (signal) => start(pool.isUsed ? kind : { ...kind, waits: undefined }, signal),
    });
    this.#pools.set(key, pool);
    return pool;
  }

  /** How many wait, of all kinds, and the bytes of memory that they hold. */
  get held(): { readonly waiting: number; readonly heldBytes: number } {
    const pools = [...this.#pools.values()];
    return {
      waiting: pools.reduce((sum, { ready }) => sum + ready, 0),
      heldBytes: pools.reduce((sum, { heldBytes }) => sum + heldBytes, 0),
    };
  }

  /** Ends all that wait; the next run begins anew. */
  letGo(): void {
    for (const pool of this.#pools.values()) pool.letGo();
  }

  [Symbol.dispose](): void {
    for (const pool of this.#pools.values()) pool[Symbol.dispose]();
  }
}
