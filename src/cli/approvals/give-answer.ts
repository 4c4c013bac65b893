// An answer of the command line: put beside the question, and then told by its bridge whether it was the first one.

import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError, messageOf } from '../../base/errors.js';
import { drawnLetters } from '../../base/text/drawn-letters.js';
import type { Decision } from '../../policy/approvals/question.js';
import { thisUser } from '../../policy/inbox/question-file.js';
import type { WaitingQuestion } from './open-questions.js';

/** A bridge that looks only every two seconds, on a busy machine. */
const TAKEN_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 50;
const MARK_LETTERS = 16;

/** `why` is how the question ended, as the rest of a sentence about it. */
type GivenAnswer =
  | { readonly is: 'taken'; readonly why: string }
  | { readonly is: 'late'; readonly why: string };

/** Throws E_STATE where the bridge takes no answer `withinMs`, E_ARGUMENTS where the decision is not offered. */
export async function giveAnswer(
  { question, digest, folder }: WaitingQuestion,
  decision: Decision,
  word: string | undefined,
  withinMs = TAKEN_WITHIN_MS,
): Promise<GivenAnswer> {
  const { id, offers } = question;
  if (!offers.includes(decision))
    throw new BridgeError('E_ARGUMENTS', `Question ${id} does not offer '${decision}'.`, {
      fault: 'operator',
      remedy: `It offers: ${offers.join(', ')}.`,
    });
  const mark = drawnLetters(MARK_LETTERS);
  const put = (): boolean => {
    try {
      return folder.putAnswer({ id, digest, decision, word, who: thisUser(), mark });
    } catch (thrown) {
      throw notTaken(`The answer to ${id} cannot be written: ${messageOf(thrown)}.`);
    }
  };
  // Where something lies there that is no answer, the bridge takes it away.
  let isPut = false;
  const until = Date.now() + withinMs;
  for (;;) {
    isPut ||= put();
    const found = folder.question(id);
    if (found === undefined) {
      if (isPut) folder.removeAnswer(id);
      return { is: 'late', why: 'its bridge has ended' };
    }
    if (!('why' in found) && found.is === 'closed') {
      const { why, answer } = found.closed;
      return { is: answer === mark ? 'taken' : 'late', why };
    }
    if (isPut && folder.answer(id).is === 'absent' && isStillOpen(folder.question(id)))
      throw notTaken(`The bridge refused the answer to ${id}: what it asks is not what was shown.`);
    if (Date.now() > until) {
      // It must not count later, when nobody expects it any more.
      if (isPut) folder.removeAnswer(id);
      throw notTaken(
        isPut
          ? `The bridge of ${id} has not taken the answer within ${withinMs / 1000} s; it was taken back.`
          : `Somebody else has answered ${id}, and its bridge has not taken that within ${withinMs / 1000} s.`,
      );
    }
    await sleep(LOOK_EVERY_MS);
  }
}

const isStillOpen = (found: ReturnType<WaitingQuestion['folder']['question']>): boolean =>
  found !== undefined && ('why' in found || found.is === 'open');

const notTaken = (message: string): BridgeError =>
  new BridgeError('E_STATE', message, {
    fault: 'operator',
    remedy: 'Look whether it still waits, and at the log of its bridge.',
  });
