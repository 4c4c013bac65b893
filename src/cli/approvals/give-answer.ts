// An answer of the command line: put beside the question, and then told by its bridge whether it was the first one.

import { setTimeout as sleep } from 'node:timers/promises';
import { drawnLetters } from '../../base/crypto.js';
import { BridgeError, messageOf } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { clip } from '../../base/text/text.js';
import type { Decision, Question } from '../../policy/approvals/question.js';
import { type InboxFolder, inboxFolders, type Unreadable } from '../../policy/inbox/inbox-folder.js';
import { type FiledQuestion, thisUser } from '../../policy/inbox/question-file.js';
import { visibleText } from '../terminal/output.js';

/** A bridge that looks only every two seconds, on a busy machine. */
const TAKEN_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 50;
const MARK_LETTERS = 16;

/**
 * Answers a question; resolves with how it ended, `why` as the rest of a sentence about that. Throws E_STATE where the bridge
 * takes no answer `withinMs`, E_ARGUMENTS where the decision is not offered.
 */
export async function giveAnswer(
  { question, digest, folder }: WaitingQuestion,
  decision: Decision,
  word: string | undefined,
  {
    withinMs = TAKEN_WITHIN_MS,
    by = 'command line',
    who = thisUser(),
  }: { readonly withinMs?: number; readonly by?: 'page' | 'command line'; readonly who?: string } = {},
): Promise<{ readonly is: 'taken' | 'late'; readonly why: string }> {
  const { id, offers } = question;
  if (!offers.includes(decision))
    throw new BridgeError('E_ARGUMENTS', `Question ${id} does not offer '${decision}'.`, {
      fault: 'operator',
      remedy: `It offers: ${offers.join(', ')}.`,
    });
  const mark = drawnLetters(MARK_LETTERS);
  const put = (): boolean => {
    try {
      return folder.putAnswer({ id, digest, decision, word, who, by, mark });
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
      throw notTaken(
        `The bridge refused the answer to ${id}: the question is no longer the one that was shown.`,
      );
    if (Date.now() > until) {
      // The answer must not count later, when nobody expects it any more.
      if (isPut) folder.removeAnswer(id);
      throw notTaken(
        isPut
          ? `The bridge of ${id} did not accept the answer within ${withinMs / 1000} s, so the answer was withdrawn.`
          : `Somebody else has answered ${id}, but its bridge did not accept that within ${withinMs / 1000} s.`,
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
    remedy: 'Check whether it still waits, and read the log of its bridge.',
  });

// The questions that wait in a state directory, of all its bridges, and the one that a person means.

const MAX_ECHO_CHARS = 60;

export type WaitingQuestion = {
  readonly question: Question;
  /** Process of the bridge that asks. */
  readonly pid: number;
  /** Digest of the question's text as it was read; an answer names it. */
  readonly digest: string;
  readonly folder: InboxFolder;
};
type EndedQuestion = Extract<FiledQuestion, { is: 'closed' }>;

export type Survey = {
  /** The newest first. */
  readonly open: readonly WaitingQuestion[];
  readonly ended: readonly EndedQuestion[];
  readonly unreadable: readonly Unreadable[];
};

/** Surveys the questions that there are now; takes away what bridges that were killed have left. */
export function surveyApprovals(stateDir: string): Survey {
  const open: WaitingQuestion[] = [];
  const ended: EndedQuestion[] = [];
  const unreadable: Unreadable[] = [];
  for (const folder of inboxFolders(stateDir)) {
    folder.sweep();
    const found = folder.look();
    unreadable.push(...found.unreadable);
    for (const one of found.questions) {
      if (one.is === 'closed') ended.push(one);
      else open.push({ question: one.question, pid: one.owner.pid, digest: one.digest, folder });
    }
  }
  open.sort((one, other) => (one.question.askedAt < other.question.askedAt ? 1 : -1));
  return { open, ended, unreadable };
}

/**
 * Finds the question by its id or the beginning of it, with or without `q-`. Throws E_ARGUMENTS, which says how one has ended
 * that did.
 */
export function chosenQuestion(wanted: string, { open, ended }: Survey): WaitingQuestion {
  const start = wanted.startsWith('q-') ? wanted : `q-${wanted}`;
  const [found, ...others] =
    start === 'q-' ? [] : open.filter(({ question }) => question.id.startsWith(start));
  if (found !== undefined && others.length === 0) return found;
  const echo = visibleText(clip(wanted, MAX_ECHO_CHARS));
  const past = ended.find(({ id }) => start !== 'q-' && id.startsWith(start));
  throw new BridgeError('E_ARGUMENTS', trouble(echo, others.length, past), {
    fault: 'operator',
    remedy:
      open.length === 0
        ? 'There is nothing to approve now.'
        : `Give the id of an open question, or more of its beginning: ${ownCommand('approvals')} lists them.`,
  });
}

function trouble(echo: string, others: number, past: EndedQuestion | undefined): string {
  if (others > 0) return `${others + 1} questions have an id that begins with '${echo}'.`;
  return past === undefined
    ? `There is no open question '${echo}'.`
    : `Question '${echo}' has ended: ${visibleText(past.closed.why)}.`;
}
