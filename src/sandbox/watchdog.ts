// Stands in for a memory cgroup where the engine has none: while code runs, measures the container from outside and
// says when it has gone too far. The verdict is pure; what is measured, and what follows, belongs to others.

/** What a container holds at one moment. */
export type Sample = {
  /** Private and shared memory of its processes and what its tmpfs hold. */
  readonly memoryBytes: number;
  /** False for an upper bound that was cheap to have. */
  readonly exact: boolean;
  /** Files, folders and links in its tmpfs. */
  readonly inodes: number;
  /** MemAvailable of the host. */
  readonly hostAvailableBytes: number;
};

export type Bounds = {
  readonly memoryBytes: number;
  readonly inodes: number;
  /** Below this much on the host, a container that holds a good part of its own limit goes. */
  readonly hostFloorBytes: number;
};

/** Which bound was passed, with what was seen. */
export type Breach =
  | { readonly limit: 'memory'; readonly allowed: number; readonly seen: number }
  | { readonly limit: 'inodes'; readonly allowed: number; readonly seen: number }
  | { readonly limit: 'host memory'; readonly allowed: number; readonly seen: number };

/** An empty file costs a kilobyte of kernel memory: a tenth of this many is more than honest code makes in RAM. */
export const MAX_INODES = 200_000;
/** A container below this part of its limit is not what the host is short of memory for. */
const BLAMELESS_PART = 0.25;

/** Undefined while all is well. */
export function judge(sample: Sample, bounds: Bounds): Breach | undefined {
  const { memoryBytes, exact, inodes, hostAvailableBytes } = sample;
  if (exact && memoryBytes > bounds.memoryBytes)
    return { limit: 'memory', allowed: bounds.memoryBytes, seen: memoryBytes };
  if (inodes > bounds.inodes) return { limit: 'inodes', allowed: bounds.inodes, seen: inodes };
  if (hostAvailableBytes < bounds.hostFloorBytes && memoryBytes > bounds.memoryBytes * BLAMELESS_PART)
    return { limit: 'host memory', allowed: bounds.hostFloorBytes, seen: hostAvailableBytes };
  return undefined;
}

const MAX_PAUSE_MS = 100;
const MIN_PAUSE_MS = 10;
/** Two cores that do nothing but touch new pages were seen to take 2 to 3 GB a second. */
const GROWTH_BYTES_PER_MS = 3_000_000;
/** Measuring is synchronous, in the bridge's one thread: it may take this part of its time. */
const DUTY = 0.1;

/** How long until the next look: shorter the nearer the limit, and never so short that looking is all we do. */
export function pauseMs({ memoryBytes }: Sample, bounds: Bounds, costMs: number): number {
  const nearness = (bounds.memoryBytes - memoryBytes) / GROWTH_BYTES_PER_MS;
  const wanted = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, nearness));
  return Math.max(wanted, costMs * (1 / DUTY - 1));
}

/** Samples until it is disposed or a bound is passed; a sample that cannot be had (the container is ending) is passed over. */
export class Watchdog implements Disposable {
  readonly #sample: () => Sample | undefined;
  readonly #bounds: Bounds;
  readonly #onBreach: (breach: Breach) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(sample: () => Sample | undefined, bounds: Bounds, onBreach: (breach: Breach) => void) {
    this.#sample = sample;
    this.#bounds = bounds;
    this.#onBreach = onBreach;
    this.#timer = setTimeout(() => this.#look(), MIN_PAUSE_MS);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const startedAt = performance.now();
    const sample = this.#sample();
    const breach = sample === undefined ? undefined : judge(sample, this.#bounds);
    if (breach !== undefined) return this.#onBreach(breach);
    const pause =
      sample === undefined ? MAX_PAUSE_MS : pauseMs(sample, this.#bounds, performance.now() - startedAt);
    this.#timer = setTimeout(() => this.#look(), pause);
  }
}
