// Stands in for a memory cgroup where the engine has none, and for what one does not count where it has: while code runs, looks
// at the container from outside and says when it has gone too far. A glance is cheap and never too low; weighing is exact and
// costs a walk through page tables. The decisions are pure; measuring, and what follows, belongs to others.

/** A look at a container that costs next to nothing. */
export type Glance = {
  /** Memory of its processes with their page tables, a shared page counted for each, and of its files. */
  readonly atMostBytes: number;
  /** Memory of the kernel that its sockets and other open files could hold, and that nothing else counts. */
  readonly kernelBytes: number;
  /** Files, folders and links in its tmpfs. */
  readonly inodes: number;
  /** MemAvailable of the host. */
  readonly hostAvailableBytes: number;
};

/** The memory that the container holds in truth, what the host had left then, the time (monotonic) and how long it took. */
type Weighing = {
  readonly bytes: number;
  readonly hostAvailableBytes: number;
  readonly atMs: number;
  readonly costMs: number;
};

export type Bounds = {
  /** Limit for what it holds, and the same again for what the kernel could hold for it. */
  readonly memoryBytes: number;
  readonly inodes: number;
  /** Host memory below which a container ends that holds a good part of its limit, or has cost the host more than all of it. */
  readonly hostFloorBytes: number;
};

/** Which bound was passed, with what was seen. */
export type Breach = {
  readonly limit: 'memory' | 'kernel memory' | 'inodes' | 'host memory' | 'wakes';
  readonly allowed: number;
  readonly seen: number;
};

/** An empty file costs a kilobyte of kernel memory: a tenth of this many is more than honest code makes in RAM. */
export const MAX_INODES = 200_000;
/** A container below this part of its limit is not what the host is short of memory for. */
const BLAMELESS_PART = 0.25;
const MAX_PAUSE_MS = 100;
const MIN_PAUSE_MS = 10;
/** Two processors that did nothing but touch new pages took 6 GB a second. */
const GROWTH_BYTES_PER_MS = 6_000_000;
/** Looking is synchronous, in the bridge's one thread: it may take this part of its time. */
const DUTY = 0.1;
const REST_PER_COST = 1 / DUTY - 1;

/**
 * Whether a glance leaves it open that the limit is passed. Code that makes weighing dear (many processes over the same
 * pages) gets no longer pause by that: what it takes meanwhile is missing on the host, which a glance sees.
 */
export function mustWeigh(
  glance: Glance,
  last: Weighing | undefined,
  bounds: Bounds,
  nowMs: number,
): boolean {
  if (glance.atMostBytes <= bounds.memoryBytes) return false;
  if (last === undefined) return true;
  const sinceMs = nowMs - last.atMs;
  if (sinceMs >= last.costMs * REST_PER_COST) return true;
  const taken = last.hostAvailableBytes - glance.hostAvailableBytes;
  return sinceMs >= last.costMs && taken > bounds.memoryBytes - last.bytes;
}

/**
 * Undefined while all is well. `weighed` is of this moment, or undefined where the glance was enough; `hostAtFirstBytes` is
 * what the host had left at the first glance.
 */
export function judge(
  glance: Glance,
  weighed: number | undefined,
  bounds: Bounds,
  hostAtFirstBytes: number,
): Breach | undefined {
  const { atMostBytes, kernelBytes, inodes, hostAvailableBytes } = glance;
  if (weighed !== undefined && weighed > bounds.memoryBytes)
    return { limit: 'memory', allowed: bounds.memoryBytes, seen: weighed };
  if (kernelBytes > bounds.memoryBytes)
    return { limit: 'kernel memory', allowed: bounds.memoryBytes, seen: kernelBytes };
  if (inodes > bounds.inodes) return { limit: 'inodes', allowed: bounds.inodes, seen: inodes };
  const held = weighed ?? atMostBytes;
  // The container is to blame by what it holds, or by what is missing since it began and nobody is seen to hold: some memory
  // of the kernel shows nowhere.
  const unseen = hostAtFirstBytes - hostAvailableBytes - held;
  const isToBlame = held > bounds.memoryBytes * BLAMELESS_PART || unseen > bounds.memoryBytes;
  if (hostAvailableBytes < bounds.hostFloorBytes && isToBlame)
    return { limit: 'host memory', allowed: bounds.hostFloorBytes, seen: hostAvailableBytes };
  return undefined;
}

/** How long until the next glance: shorter the nearer the limit may be, and never so short that looking is all we do. */
export function pauseMs(glance: Glance, last: Weighing | undefined, bounds: Bounds, costMs: number): number {
  const held = glance.atMostBytes <= bounds.memoryBytes ? glance.atMostBytes : (last?.bytes ?? 0);
  const known = Math.max(held, glance.kernelBytes);
  const wanted = (bounds.memoryBytes - known) / GROWTH_BYTES_PER_MS;
  return Math.max(MIN_PAUSE_MS, Math.min(MAX_PAUSE_MS, wanted), costMs * REST_PER_COST);
}

/** How a container is looked at; both are undefined where it cannot be seen, or no longer. */
export type Scales = {
  readonly glance: () => Glance | undefined;
  readonly weigh: () => number | undefined;
};

/** Looks until it is disposed or a bound is passed. */
export class Watchdog implements Disposable {
  readonly #scales: Scales;
  readonly #bounds: Bounds;
  readonly #onBreach: (breach: Breach) => void;
  #last: Weighing | undefined;
  #hostAtFirstBytes: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(scales: Scales, bounds: Bounds, onBreach: (breach: Breach) => void) {
    this.#scales = scales;
    this.#bounds = bounds;
    this.#onBreach = onBreach;
    this.#timer = setTimeout(() => this.#look(), MIN_PAUSE_MS);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    const startedAt = performance.now();
    const glance = this.#scales.glance();
    const glanceMs = performance.now() - startedAt;
    if (glance === undefined) return this.#lookAfter(MAX_PAUSE_MS);
    const weighed = mustWeigh(glance, this.#last, this.#bounds, startedAt) ? this.#weigh(glance) : undefined;
    this.#hostAtFirstBytes ??= glance.hostAvailableBytes;
    const breach = judge(glance, weighed, this.#bounds, this.#hostAtFirstBytes);
    if (breach !== undefined) return this.#onBreach(breach);
    this.#lookAfter(pauseMs(glance, this.#last, this.#bounds, glanceMs));
  }

  #weigh({ hostAvailableBytes }: Glance): number | undefined {
    const startedAt = performance.now();
    const bytes = this.#scales.weigh();
    const atMs = performance.now();
    if (bytes !== undefined) this.#last = { bytes, hostAvailableBytes, atMs, costMs: atMs - startedAt };
    return bytes;
  }

  #lookAfter(pause: number): void {
    this.#timer = setTimeout(() => this.#look(), pause);
  }
}
