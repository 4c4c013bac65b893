// How far the making of an image is: mmdebstrap says which step it is at, and how long each takes is known well enough.

import { type BarProgress, ProgressBar } from '../terminal/progress-bar.js';

/** The beginnings of mmdebstrap's lines and of ours, in their order, with the share of the time that is over by then. */
const STEPS = [
  ['Installing ', 0],
  ['running apt-get update', 0.02],
  ['downloading packages', 0.08],
  ['extracting archives', 0.25],
  ['installing essential', 0.35],
  ['installing remaining', 0.6],
  ['cleaning package lists', 0.82],
  ['creating tarball', 0.86],
  ['Importing as ', 0.93],
] as const;

/** Shows on `stream` what a build tells of itself; `onProgress` and `onBytes` are what buildImage takes. */
export class BuildProgress implements Disposable {
  readonly #bar: ProgressBar;
  readonly #isBar: boolean;
  #now: BarProgress | undefined;

  constructor(stream: NodeJS.WriteStream) {
    this.#bar = new ProgressBar(stream);
    this.#isBar = stream.isTTY === true;
  }

  readonly onProgress = (line: string): void => {
    const found = STEPS.find(([beginning]) => line.startsWith(beginning));
    // A line that is no step of ours, such as how long a step took, is a line in a pipe and no news for a bar.
    if (found === undefined && this.#isBar) return;
    const share = Math.max(found?.[1] ?? 0, this.#now?.share ?? 0);
    this.#now = { step: line.replace(/\.{3}$/, ''), share };
    this.#bar.show(this.#now);
  };

  readonly onBytes = (bytes: number): void => {
    if (this.#now !== undefined) this.#bar.show({ ...this.#now, bytes });
  };

  [Symbol.dispose](): void {
    this.#bar[Symbol.dispose]();
  }
}

/** For who wants none, such as whoever reads JSON. */
export const NO_PROGRESS = { onProgress: () => {}, onBytes: undefined, [Symbol.dispose]: () => {} } as const;
