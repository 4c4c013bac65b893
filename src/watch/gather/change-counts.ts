// Numbers by which whoever looks again sees whether something has changed, for everybody together and for each principal, who is not to
// learn that something of another has.

export class ChangeCounts {
  #all = 0;
  readonly #own = new Map<string, number>();

  /** Grows with each change; with a principal, with each change of what is theirs. */
  of(principal?: string): number {
    return principal === undefined ? this.#all : (this.#own.get(principal) ?? 0);
  }

  /** Something has changed that is this principal's; without one, of the user of the machine or of nobody. */
  grow(principal?: string): void {
    this.#all++;
    if (principal !== undefined) this.#own.set(principal, this.of(principal) + 1);
  }
}
