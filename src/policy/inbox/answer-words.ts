// How an answer is told to people: on the page, on the command line, and to whoever answers too late.

import { clipHarmlessLine } from '../../base/text/text.js';
import type { ApprovalAnswer, Decision } from '../approvals/question.js';

const WORD_CHARS_SHOWN = 200;

const DONE: Readonly<Record<Decision, string>> = {
  once: 'allowed once',
  run: 'allowed for this run',
  session: 'allowed for this session',
  always: 'allowed always',
  no: 'denied',
};
const PLACES: Readonly<Record<ApprovalAnswer['by'], string>> = {
  agent: 'in the agent',
  page: 'on the page',
  'command line': 'on the command line',
};

/** `allowed once by ann on the page`; where there is a word, it stands behind a colon. */
export function answerWords({ decision, word, by, who }: ApprovalAnswer): string {
  const said = word === undefined ? '' : `: ${clipHarmlessLine(word, WORD_CHARS_SHOWN)}`;
  return `${DONE[decision]} by ${clipHarmlessLine(who, WORD_CHARS_SHOWN)} ${PLACES[by]}${said}`;
}
