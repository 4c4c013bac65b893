// How far one call is, as notifications that its client asked for: what the code reports, and a sign of life when that
// is silent. The protocol wants numbers that only grow; a report that goes back is told in words. Says nothing after
// the call's answer.

import { clip, harmless } from '../base/text.js';
import type { ProgressReport } from '../run/run.js';

/** Claude Code gives up after 30 silent minutes, other clients after one; a person wonders after some seconds. */
export const HEARTBEAT_MS = 3_000;
/** Between what the code reports: five a second are as many as a display can show, and a flood costs no more. */
const REPORT_EVERY_MS = 200;
/** What a sign of life adds: nothing that a display would show, and a million of them are less than one. */
const TICK = 1e-6;
const MAX_MESSAGE_CHARS = 200;
/** Above it numbers are told in words: a sign of life could no longer add to them and stay near. */
const MAX_NUMBER = 1e15;

export type ProgressParams = {
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
};

export class Progress implements Disposable {
  #send: ((params: ProgressParams) => void) | undefined;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  #describe: (() => string) | undefined;
  #told = 0;
  #total: number | undefined;
  /** The last report in words. */
  #said = '';
  #newest: ProgressReport | undefined;
  #pause: NodeJS.Timeout | undefined;

  /** Without `send` nobody listens, and everything here is free. */
  constructor(send: ((params: ProgressParams) => void) | undefined) {
    this.#send = send;
    if (send !== undefined) this.#heartbeat = setInterval(() => this.beat(), HEARTBEAT_MS).unref();
  }

  /** What the signs of life say from now on; asked anew for each. */
  describe(sentence: () => string): void {
    this.#describe = sentence;
  }

  /** Tells now how things are, and again when nothing has been told for a while. */
  beat(): void {
    if (this.#send === undefined || this.#describe === undefined) return;
    this.#tell(this.#told + TICK, [this.#said, this.#describe()].filter((part) => part !== '').join('. '));
  }

  /** What the code says: told at once, or soon if another was told just now; of those between, the last. */
  report(report: ProgressReport): void {
    if (this.#send === undefined) return;
    this.#newest = report;
    if (this.#pause !== undefined) return;
    this.#tellNewest();
    this.#pause = setInterval(() => this.#tellNewest(), REPORT_EVERY_MS).unref();
  }

  /** Tells what is left to tell, and nothing more. */
  [Symbol.dispose](): void {
    this.#tellNewest();
    clearInterval(this.#heartbeat);
    clearInterval(this.#pause);
    this.#describe = undefined;
    this.#send = undefined;
  }

  #tellNewest(): void {
    const newest = this.#newest;
    this.#newest = undefined;
    if (newest === undefined) {
      clearInterval(this.#pause);
      this.#pause = undefined;
      return;
    }
    const { done, total, message } = newest;
    const words = message === null ? '' : clip(harmless(message).replaceAll(/\s+/g, ' '), MAX_MESSAGE_CHARS);
    const fraction = total === null ? `${shown(done)} done` : `${shown(done)} of ${shown(total)}`;
    this.#said = words === '' ? fraction : `${fraction}: ${words}`;
    if (total !== null) this.#total = total;
    // The first one may say that nothing is done yet.
    const grows = done > this.#told && done <= MAX_NUMBER;
    this.#tell(grows ? done : this.#told + TICK, grows && words !== '' ? words : this.#said);
  }

  #tell(progress: number, message: string): void {
    // A large number is not changed by so little.
    this.#told = progress > this.#told ? progress : nextAbove(this.#told);
    const total = this.#total === undefined ? {} : { total: Math.max(this.#total, this.#told) };
    this.#heartbeat?.refresh();
    this.#send?.({ progress: this.#told, ...total, message });
  }
}

/** Without the noise of fractions: 0.1 + 0.2 is 0.3 here. */
const shown = (number: number): string => String(Math.round(number * 1000) / 1000);

/** The next number that a client with numbers like ours can tell from this one. */
const nextAbove = (number: number): number => number * (1 + Number.EPSILON);
