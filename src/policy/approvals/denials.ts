// Errors that code is given for calls that were not approved. Each error is a refusal of its own call.

import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { clipHarmless } from '../../base/text/text.js';
import type { AskingEnd } from './asking.js';
import { MAX_WORD_CHARS } from './dialog.js';
import type { ApprovalAnswer } from './question.js';

const GO_ON = 'Go on without it; do not do the same in another way.';
const NO_WORD = 'no reason was given';

export const deniedByUser = ({ word = '' }: Pick<ApprovalAnswer, 'word'>): BridgeError =>
  refusal(`denied by the user: ${clipHarmless(word, MAX_WORD_CHARS) || NO_WORD}`, GO_ON);

/** `seconds`: how long the question could be answered. */
export function notApproved(
  asked: Exclude<AskingEnd['is'], 'answered'>,
  rule: string,
  seconds: number,
): BridgeError {
  switch (asked) {
    case 'expired':
      return refusal(
        `not approved: nobody answered within ${seconds} s`,
        `The question has expired, and nothing was sent. Ask the user before you try again; open questions are in \`${ownCommand('approvals')}\`.`,
      );
    case 'closed':
      return refusal('not approved: the user closed the question without an answer', GO_ON);
    case 'cancelled':
      return refusal('not approved: the run has ended', 'Nothing was sent.');
    case 'nobody':
      return refusal(
        `not approved: nobody can be asked, which ${rule} demands`,
        'This client cannot ask its user. The user can allow the tool in the policy file, or use a client that can.',
      );
  }
}

export const tooMuchToShow = (chars: number, max: number): BridgeError =>
  refusal(
    `not approved: its arguments have ${chars} characters, and a person is shown at most ${max}`,
    'Pass less in one call.',
  );

export const tooManyQuestions = (max: number): BridgeError =>
  refusal(
    `not approved: the user was asked ${max} times in this run already`,
    'Gather calls of one tool: they are one question.',
  );

export const timeUsedUp = (seconds: number): BridgeError =>
  refusal(
    `not approved: the ${seconds} s for questions of one run are used up`,
    'Make the call in another run. The user sets the time with MCP_BRIDGE_APPROVE_WAIT.',
  );

export const planSavesNothing = (): BridgeError =>
  refusal('a plan saves nothing', 'Run the code without mode="plan" to save a function.');

const refusal = (message: string, remedy: string): BridgeError =>
  new BridgeError('E_DENIED', `${message}.`, { fault: 'operator', remedy });
