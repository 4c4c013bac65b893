// Questions of the very command that runs code. At the user's own terminal each is asked there, and one key answers it, as in
// `approvals --watch`; anywhere else a line says how to answer it, once. A question waits as long as ever, and can be answered
// in the other places too.

import { setTimeout as sleep } from 'node:timers/promises';
import { ownCommand } from '../../base/process/own-command.js';
import { countOf } from '../../base/text/text.js';
import type { Question } from '../../policy/approvals/question.js';
import { visibleText } from '../terminal/output.js';
import { surveyApprovals, type WaitingQuestion } from './give-answer.js';
import { toolOf } from './text.js';
import { askOne, KeyReader, LOOK_EVERY_MS } from './watch.js';

/** Between an end by the clock and the time that a question gives for it. */
const CLOCK_MS = 50;

/** Looks for questions of one command until it is disposed of. */
export class RunQuestions implements AsyncDisposable {
  readonly #stateDir: string;
  readonly #isOwn: (asked: WaitingQuestion) => boolean;
  /** Whether a key of this terminal can answer. */
  readonly #hasKeys: boolean;
  readonly #seen = new Map<string, Question>();
  readonly #stop = new AbortController();
  readonly #looking: Promise<void>;
  #isAsking = false;

  constructor(
    stateDir: string,
    { isOwn, hasKeys }: { readonly isOwn: (asked: WaitingQuestion) => boolean; readonly hasKeys: boolean },
  ) {
    this.#stateDir = stateDir;
    this.#isOwn = isOwn;
    this.#hasKeys = hasKeys;
    // A folder that cannot be read shows no question; the run goes on, and its questions expire.
    this.#looking = this.#look().catch(() => {});
  }

  /** Whether a question has the terminal just now. */
  get isAsking(): boolean {
    return this.#isAsking;
  }

  /** Stops looking, and gives the terminal back. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#looking;
  }

  /** Stops looking; resolves with the ids of questions that nobody answered in time. */
  async end(): Promise<readonly string[]> {
    await this[Symbol.asyncDispose]();
    if (this.#seen.size === 0) return [];
    const { ended } = surveyApprovals(this.#stateDir);
    return ended
      .filter(({ id, closed }) => {
        const question = this.#seen.get(id);
        return question !== undefined && Date.parse(closed.at) >= Date.parse(question.expiresAt) - CLOCK_MS;
      })
      .map(({ id }) => id);
  }

  async #look(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      const next = surveyApprovals(this.#stateDir).open.findLast(
        (one) => this.#isOwn(one) && !this.#seen.has(one.question.id),
      );
      if (next === undefined) await sleep(LOOK_EVERY_MS, undefined, { signal });
      else {
        this.#seen.set(next.question.id, next.question);
        if (this.#hasKeys) await this.#ask(next, signal);
        else process.stderr.write(waitingText(next.question));
      }
    }
  }

  async #ask(asked: WaitingQuestion, signal: AbortSignal): Promise<void> {
    this.#isAsking = true;
    try {
      using keys = new KeyReader();
      await askOne(asked, { stateDir: this.#stateDir, keys, to: process.stderr, isLast: true }, signal);
    } finally {
      this.#isAsking = false;
    }
  }
}

function waitingText(question: Question): string {
  const { id, object, rule, expiresAt } = question;
  const minutes = Math.max(1, Math.round((Date.parse(expiresAt) - Date.now()) / 60_000));
  const count = countOf(object.calls.length, 'call');
  return (
    `${id}: ${toolOf(question)} needs your approval (${count}, ${visibleText(rule)}).\n` +
    `next:  \`${ownCommand('approvals', 'show', id)}\` shows it, \`${ownCommand('approvals', 'allow', id)}\` allows it. ` +
    `It waits for ${minutes} min.\n`
  );
}
