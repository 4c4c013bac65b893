// The questions that wait in a state directory, of all its bridges, and the one that a person means.

import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { clip } from '../../base/text/text.js';
import type { Question } from '../../policy/approvals/question.js';
import { type InboxFolder, inboxFolders, type Unreadable } from '../../policy/inbox/inbox-folder.js';
import type { FiledQuestion } from '../../policy/inbox/question-file.js';
import { visible } from '../terminal/output.js';

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

/** By its id or the beginning of it, with or without `q-`. Throws E_ARGUMENTS, which says how one has ended that did. */
export function chosenQuestion(wanted: string, { open, ended }: Survey): WaitingQuestion {
  const start = wanted.startsWith('q-') ? wanted : `q-${wanted}`;
  const [found, ...others] =
    start === 'q-' ? [] : open.filter(({ question }) => question.id.startsWith(start));
  if (found !== undefined && others.length === 0) return found;
  const echo = visible(clip(wanted, MAX_ECHO_CHARS));
  const past = ended.find(({ id }) => start !== 'q-' && id.startsWith(start));
  throw new BridgeError('E_ARGUMENTS', trouble(echo, others.length, past), {
    fault: 'operator',
    remedy:
      open.length === 0
        ? 'No question waits now.'
        : `Give the id of a question that waits, or a longer beginning of it: ${ownCommand('approvals')} lists them.`,
  });
}

function trouble(echo: string, others: number, past: EndedQuestion | undefined): string {
  if (others > 0) return `${others + 1} questions begin with '${echo}'.`;
  return past === undefined
    ? `No question '${echo}' waits.`
    : `Question '${echo}' has ended: ${visible(past.closed.why)}.`;
}
