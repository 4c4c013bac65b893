// How far one call is, as notifications that its client asked for: what the code reports, what the tools that it called say,
// and a sign of life when all are silent. The protocol wants numbers that only grow; a report that goes back is told in words.
// Nothing is said after the call's answer.

import { clip, countOf, makeHarmless, shownExactly } from '../../base/text/text.js';
import type { CallEvent, Meter } from '../../run/calls/call-context.js';

/** Claude Code gives up after 30 silent minutes, other clients after one; a person wonders after some seconds. */
export const HEARTBEAT_MS = 3_000;
/** Between what the code reports: five a second are as many as a display can show, and a flood costs no more. */
const REPORT_EVERY_MS = 200;
/** Step that a sign of life adds: nothing that a display would show, and a million steps are one. */
const TICK = 1e-6;
const MAX_MESSAGE_CHARS = 200;
/** Above it numbers are told in words: a sign of life could no longer add to them and stay near. */
const MAX_NUMBER = 1e15;

/** How far code says it is, or a tool that it has called. */
type Report = Pick<Extract<CallEvent, { type: 'progress' }>, 'done' | 'total' | 'message'>;

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
  #newest: Report | undefined;
  #newestOfTool: (Report & { readonly tool: string }) | undefined;
  #pause: NodeJS.Timeout | undefined;

  /** Without `send` nobody listens, and everything here is free. */
  constructor(send: ((params: ProgressParams) => void) | undefined) {
    this.#send = send;
    if (send !== undefined) this.#heartbeat = setInterval(() => this.beat(), HEARTBEAT_MS).unref();
  }

  /** Tells what happens to the call, in words for its agent: its place in the queue, what the call waits for, what it does. */
  hear(event: CallEvent): void {
    switch (event.type) {
      case 'queued': {
        const { place } = event;
        this.describe(() =>
          place.ahead === 0 ? 'Queued: next in line.' : `Queued: ${countOf(place.ahead, 'run')} ahead.`,
        );
        return this.beat();
      }
      case 'preparing':
        return this.describe(event.waitsFor);
      case 'started': {
        const startedAt = performance.now();
        return this.describe(() => runningMessage(event.meter, performance.now() - startedAt));
      }
      case 'progress':
        return this.report(event);
      case 'tool.progress':
        return this.reportTool(event);
      case 'output':
        return;
    }
  }

  /** Sets what the signs of life say from now on; `sentence` is called anew for each. */
  describe(sentence: () => string): void {
    this.#describe = sentence;
  }

  /** Sentence that a sign of life would say now. */
  get sentence(): string {
    return joinSentences(this.#said, this.#describe?.() ?? '');
  }

  /** Tells now how things are, and again when nothing has been told for a while. */
  beat(): void {
    if (this.#send === undefined || this.#describe === undefined) return;
    this.#tell(this.#told + TICK, this.sentence);
  }

  /** Tells a report of the code: at once, or soon if another was told just now; of the reports between, the last. */
  report(report: Report): void {
    if (this.#send === undefined) return;
    this.#newest = report;
    this.#tellSoon();
  }

  /** Tells a tool's report in words: its numbers are its own. Told as seldom as the code's reports, and after them. */
  reportTool(report: Report & { readonly tool: string }): void {
    if (this.#send === undefined) return;
    this.#newestOfTool = report;
    this.#tellSoon();
  }

  /** Tells what is left to tell, and nothing more. */
  [Symbol.dispose](): void {
    this.#newestOfTool = undefined;
    this.#tellNewest();
    clearInterval(this.#heartbeat);
    clearInterval(this.#pause);
    this.#describe = undefined;
    this.#send = undefined;
  }

  #tellSoon(): void {
    if (this.#pause !== undefined) return;
    this.#tellNewest();
    this.#pause = setInterval(() => this.#tellNewest(), REPORT_EVERY_MS).unref();
  }

  #tellNewest(): void {
    if (this.#newest !== undefined) {
      const newest = this.#newest;
      this.#newest = undefined;
      this.#tellReport(newest);
    } else if (this.#newestOfTool !== undefined) {
      const { tool, ...report } = this.#newestOfTool;
      this.#newestOfTool = undefined;
      this.#tell(this.#told + TICK, joinSentences(this.#said, `${tool}: ${inWords(report)}`));
    } else {
      clearInterval(this.#pause);
      this.#pause = undefined;
    }
  }

  #tellReport(report: Report): void {
    const { done, total, message } = report;
    const words = message === null ? '' : inLine(message);
    this.#said = inWords(report);
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
    this.#send?.({ progress: this.#told, ...total, message: shownExactly(message) });
  }
}

function runningMessage({ calls, inFlight, waitingFor, asking }: Meter, elapsedMs: number): string {
  if (asking !== '') return asking;
  const waits = inFlight === 0 ? '' : `, ${inFlight} in flight: ${waitingFor}`;
  return `Running for ${Math.round(elapsedMs / 1000)} s; ${countOf(calls, 'tool call')}${waits}.`;
}

const joinSentences = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('. ');

/** A stranger's words as one short line. */
const inLine = (text: string): string => clip(makeHarmless(text).replaceAll(/\s+/g, ' '), MAX_MESSAGE_CHARS);

/** `3 of 10: pages`. */
function inWords({ done, total, message }: Report): string {
  const fraction =
    total === null
      ? `${roundForDisplay(done)} done`
      : `${roundForDisplay(done)} of ${roundForDisplay(total)}`;
  const words = message === null ? '' : inLine(message);
  return words === '' ? fraction : `${fraction}: ${words}`;
}

/** Without the noise of fractions: 0.1 + 0.2 is 0.3 here. */
const roundForDisplay = (number: number): string => String(Math.round(number * 1000) / 1000);

/** The next number that a client with numbers like ours can tell from this one. */
const nextAbove = (number: number): number => number * (1 + Number.EPSILON);
