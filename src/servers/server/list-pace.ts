// When a server's own word may have its list of tools read again. The first word counts at once; while the list turns out to
// be what it was, the next one has to wait, twice as long each time. However often a list does change, reading it takes a
// small share of the time.

/** Between two readings that a server has caused: at least, and where nothing changes, at most. */
const GAP_MS = { least: 1_000, most: 60_000 };
/** The time that a list has taken is at most one part in so many. */
const PARTS = 20;

export class ListPace {
  readonly #now: () => number;
  /** Between the end of the last reading and the next that a word of the server causes. */
  #gapMs = 0;
  /** The gap between the end of the last reading and the next that somebody who uses the server causes. */
  #leastMs = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The server says that its list has changed. One that has not said so for long is believed at once. */
  told(): void {
    const now = this.#now();
    if (now - this.#toldAt > GAP_MS.most) this.#gapMs = 0;
    this.#toldAt = now;
  }

  /** How long until the list may be read because the server has said so. */
  get waitMs(): number {
    return this.#left(Math.max(this.#gapMs, this.#leastMs));
  }

  /** How long the next reading has to wait where somebody is about to use the server. */
  get waitForUserMs(): number {
    return this.#left(this.#leastMs);
  }

  /** The list has been read, or could not be, in `tookMs`. */
  read(isChanged: boolean, tookMs: number): void {
    this.#readAt = this.#now();
    this.#leastMs = Math.min(Math.max(GAP_MS.least, PARTS * tookMs), GAP_MS.most);
    this.#gapMs = isChanged ? GAP_MS.least : Math.min(Math.max(GAP_MS.least, 2 * this.#gapMs), GAP_MS.most);
  }

  #left(gapMs: number): number {
    return Math.max(0, this.#readAt + gapMs - this.#now());
  }
}
