// A bar for what takes long, on one line of a terminal that is drawn again and again. In a pipe each new step is a plain
// line instead. Hides no cursor and keeps no timer of its own process alive, so that an interrupt leaves nothing behind.

import { isQuiet } from './output.js';
import { columnsOf } from './wrap.js';

export type BarProgress = {
  /** The step that is being done now. */
  readonly step: string;
  /** How much is done, from 0 to 1; undefined where nobody can know. */
  readonly share?: number | undefined;
  /** Bytes so far; undefined where they are not known. */
  readonly bytes?: number | undefined;
};

const REDRAW_MS = 250;
const BAR_COLUMNS = 16;
/** Goes to the beginning of the line and empties it. */
const CLEAR = '\r\u001b[2K';

/** One line of at most `width` columns, such as `[#####-----]  50 %  34 MB  12 s  extracting archives`. */
export function progressLine({ step, share, bytes }: BarProgress, elapsedMs: number, width: number): string {
  const done = Math.round((share ?? 0) * BAR_COLUMNS);
  const parts = [
    ...(share === undefined
      ? []
      : [
          `[${'#'.repeat(done)}${'-'.repeat(BAR_COLUMNS - done)}]`,
          `${String(Math.round(share * 100)).padStart(3)} %`,
        ]),
    ...(bytes === undefined ? [] : [`${String(Math.round(bytes / 1e6)).padStart(3)} MB`]),
    `${String(Math.floor(elapsedMs / 1000)).padStart(3)} s`,
    step,
  ];
  const line = parts.join('  ');
  return line.length < width ? line : `${line.slice(0, width - 4)}...`;
}

/** Shows progress on `stream` until it is disposed of, and then takes the bar away. With `--quiet` it shows nothing. */
export class ProgressBar implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #isShown = !isQuiet();
  #shown: BarProgress | undefined;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    if (stream.isTTY && this.#isShown) this.#timer = setInterval(() => this.#draw(), REDRAW_MS).unref();
  }

  show(progress: BarProgress): void {
    if (!this.#isShown) return;
    const isNewStep = progress.step !== this.#shown?.step;
    this.#shown = { ...progress, bytes: progress.bytes ?? this.#shown?.bytes };
    if (this.#stream.isTTY) this.#draw();
    else if (isNewStep) this.#stream.write(`${progress.step}\n`);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    if (this.#stream.isTTY && this.#shown !== undefined) this.#stream.write(CLEAR);
    this.#shown = undefined;
  }

  #draw(): void {
    if (this.#shown === undefined) return;
    const elapsedMs = performance.now() - this.#startedAt;
    this.#stream.write(CLEAR + progressLine(this.#shown, elapsedMs, columnsOf(this.#stream)));
  }
}
