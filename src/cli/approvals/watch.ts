// `approvals --watch`: each new question as it comes. On a terminal one key answers it; in a pipe each is a line, and so is
// its end.

import { emitKeypressEvents } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../base/errors.js';
import { madeVisibleJson } from '../../base/text/unseen.js';
import type { Decision } from '../../policy/approvals/question.js';
import { interruptSignal, signalOfLostReader } from '../terminal/interrupt.js';
import { coloursFor, sayDim, visibleText } from '../terminal/output.js';
import { giveAnswer, type Survey, surveyApprovals, type WaitingQuestion } from './give-answer.js';

import { questionText, toolOf } from './text.js';

export const LOOK_EVERY_MS = 300;
/** A key that was on its way when the question appeared was not meant for it. */
const UNREAD_MS = 700;

const KEYS: readonly { readonly letter: string; readonly decision: Decision; readonly says: string }[] = [
  { letter: 'y', decision: 'once', says: 'yes, once' },
  { letter: 'r', decision: 'run', says: 'for this run' },
  { letter: 's', decision: 'session', says: 'for this session' },
  { letter: 'a', decision: 'always', says: 'always' },
  { letter: 'n', decision: 'no', says: 'no' },
];

/** Ends at an interrupt, at `q`, and when nobody reads any more. */
export async function watchApprovals(stateDir: string, json: boolean): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, interruptSignal(), signalOfLostReader()]);
  const isAsking = process.stdin.isTTY === true && process.stdout.isTTY === true && !json;
  try {
    if (isAsking) await askEach(stateDir, signal, () => ended.abort());
    else await printEach(stateDir, json, signal);
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}

/** Prints lines for a script: one when a question comes, and one when it has ended. */
async function printEach(stateDir: string, json: boolean, signal: AbortSignal): Promise<void> {
  const known = new Map<string, WaitingQuestion>();
  for (;;) {
    const survey = surveyApprovals(stateDir);
    for (const one of [...survey.open].reverse()) {
      const { question } = one;
      if (known.has(question.id)) continue;
      known.set(question.id, one);
      const { calls } = question.object;
      const count = calls.length === 1 ? '1 call' : `${calls.length} calls`;
      say(
        json
          ? { event: 'asked', ...question }
          : `${question.id} asks: ${toolOf(question)}, ${count}, ${visibleText(question.rule)}`,
      );
    }
    for (const id of [...known.keys()]) {
      if (survey.open.some(({ question }) => question.id === id)) continue;
      known.delete(id);
      const why = endOf(id, survey);
      say(json ? { event: 'ended', id, why } : `${id} ended: ${visibleText(why)}`);
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

function say(what: string | object): void {
  const line = typeof what === 'string' ? what : madeVisibleJson(JSON.stringify(what));
  process.stdout.write(`${line}\n`);
}

const endOf = (id: string, { ended }: Survey): string =>
  ended.find((one) => one.id === id)?.closed.why ?? 'its bridge has ended';

async function askEach(stateDir: string, signal: AbortSignal, end: () => void): Promise<void> {
  using keys = new KeyReader(end);
  /** Shown and left to be answered elsewhere. */
  const left = new Set<string>();
  sayDim('Waits for questions; q ends.');
  for (;;) {
    const next = surveyApprovals(stateDir).open.findLast(({ question }) => !left.has(question.id));
    if (next === undefined) {
      keys.forget();
      await sleep(LOOK_EVERY_MS, undefined, { signal });
      continue;
    }
    await askOne(next, { stateDir, keys, to: process.stdout, isLast: false }, signal);
    left.add(next.question.id);
  }
}

/** Shows one question until it has been answered here or elsewhere, or is left. */
export async function askOne(
  asked: WaitingQuestion,
  {
    stateDir,
    keys,
    to,
    isLast,
  }: {
    readonly stateDir: string;
    readonly keys: KeyReader;
    readonly to: NodeJS.WriteStream;
    /** Nothing is watched besides, so that there is nothing to quit. */
    readonly isLast: boolean;
  },
  signal: AbortSignal,
): Promise<void> {
  const { question } = asked;
  const paint = coloursFor(to);
  const offered = KEYS.filter(({ decision }) => question.offers.includes(decision));
  const others = [{ letter: 'l', says: 'leave it' }, ...(isLast ? [] : [{ letter: 'q', says: 'quit' }])];
  const prompt = [...offered, ...others]
    .map(({ letter, says }) => `${paint.bold(letter)} ${says}`)
    .join(' · ');
  to.write(`\n${questionText(question)}${prompt}\n`);
  await sleep(UNREAD_MS, undefined, { signal });
  keys.forget();
  for (;;) {
    const survey = surveyApprovals(stateDir);
    if (!survey.open.some(({ question: { id } }) => id === question.id)) {
      to.write(`Ended: ${visibleText(endOf(question.id, survey))}.\n`);
      return;
    }
    const key = keys.take();
    const chosen = offered.find(({ letter }) => letter === key);
    if (chosen !== undefined) {
      to.write(`${await giveDecision(asked, chosen.decision)}\n`);
      return;
    }
    if (key === 'l') return;
    if (key !== undefined)
      sayDim(
        `'${visibleText(key)}' is not one of the keys: ${[...offered, ...others].map(({ letter }) => letter).join(', ')}`,
      );
    else await sleep(LOOK_EVERY_MS / 3, undefined, { signal });
  }
}

async function giveDecision(asked: WaitingQuestion, decision: Decision): Promise<string> {
  try {
    const { is, why } = await giveAnswer(asked, decision, undefined);
    return is === 'taken'
      ? `Taken: ${visibleText(why)}.`
      : `Too late (${visibleText(why)}). Nothing was changed.`;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** Keys of the terminal, one by one as they are pressed. Puts the terminal back at its end. */
export class KeyReader implements Disposable {
  #pressed: string[] = [];
  readonly #end: (() => void) | undefined;

  /** `end` is called for a key that ends the command; without it, such keys are as all others. */
  constructor(end?: () => void) {
    this.#end = end;
    emitKeypressEvents(process.stdin);
    process.stdin.setRawMode(true);
    process.stdin.on('keypress', this.#onKey);
    process.stdin.resume();
  }

  /** The oldest key that nobody has taken. */
  take(): string | undefined {
    return this.#pressed.shift();
  }

  forget(): void {
    this.#pressed = [];
  }

  [Symbol.dispose](): void {
    process.stdin.off('keypress', this.#onKey);
    process.stdin.setRawMode(false);
    process.stdin.pause();
  }

  readonly #onKey = (
    text: string | undefined,
    key: { readonly name?: string; readonly ctrl?: boolean },
  ): void => {
    // In this mode the terminal makes no signals of its keys.
    if (key.ctrl === true && key.name === 'c') process.emit('SIGINT');
    else if (this.#end !== undefined && (text === 'q' || (key.ctrl === true && key.name === 'd')))
      this.#end();
    else this.#pressed.push((text ?? key.name ?? '').toLowerCase());
  };
}
