// `approvals`: the questions that bridges of this user ask about tool calls, and the answers of the command line. Starts
// nothing; each bridge takes the answer to its own question.

import { type Decision, MAX_WORD_CHARS } from '../../policy/approvals/question.js';
import { prepare } from '../serving/prepare.js';
import { printJson, usageError, visibleText } from '../terminal/output.js';

import { paragraph } from '../terminal/wrap.js';
import { chosenQuestion, giveAnswer, surveyApprovals } from './give-answer.js';

import { NOTHING, questionsText, questionText, unreadableText } from './text.js';
import { watchApprovals } from './watch.js';

const GRANTS: readonly Exclude<Decision, 'no'>[] = ['once', 'run', 'session', 'always'];

/** Lists what waits; with `watch`, goes on until it is ended. */
export async function approvals({
  watch,
  json,
}: {
  readonly watch?: true;
  readonly json?: true;
}): Promise<void> {
  if (watch) return await watchApprovals(stateDir(), json === true);
  const { open, unreadable } = surveyApprovals(stateDir());
  if (json) {
    printJson({ approvals: open.map(({ question, pid }) => ({ ...question, pid })), unreadable });
    return;
  }
  const list = open.length === 0 ? paragraph(NOTHING) : questionsText(open.map(({ question }) => question));
  process.stdout.write(list + unreadableText(unreadable));
}

/** All of one question: what would be sent, and which answers it offers. */
export function approvalsShow(id: string, { json }: { readonly json?: true }): void {
  const { question, pid } = chosenQuestion(id, surveyApprovals(stateDir()));
  if (json) printJson({ ...question, pid });
  else process.stdout.write(questionText(question));
}

export async function approvalsAllow(
  id: string,
  options: { readonly for: string; readonly reason?: string; readonly json?: true },
): Promise<void> {
  const { reason } = options;
  const decision = GRANTS.find((one) => one === options.for);
  if (decision === undefined)
    throw usageError(
      `--for is '${visibleText(options.for)}'; allowed: ${GRANTS.join(', ')}.`,
      'Give one of these.',
    );
  if (reason !== undefined && decision !== 'always')
    throw usageError(
      `--reason needs --for always, but --for is '${decision}'.`,
      'Leave it out, or add --for always: the reason is written into the policy file.',
    );
  await answer(id, decision, checkWord('--reason', reason), options.json);
}

export async function approvalsDeny(
  id: string,
  { word, json }: { readonly word?: string; readonly json?: true },
): Promise<void> {
  await answer(id, 'no', checkWord('--word', word), json);
}

async function answer(
  id: string,
  decision: Decision,
  word: string | undefined,
  json: true | undefined,
): Promise<void> {
  const asked = chosenQuestion(id, surveyApprovals(stateDir()));
  const { is, why } = await giveAnswer(asked, decision, word);
  if (is === 'late') process.exitCode = 1;
  if (json) return printJson({ id: asked.question.id, taken: is === 'taken', why });
  process.stdout.write(
    paragraph(
      is === 'taken'
        ? `${asked.question.id}: ${visibleText(why)}.`
        : `Too late: ${asked.question.id} had ended (${visibleText(why)}). Nothing was changed.`,
    ),
  );
}

function checkWord(option: string, text: string | undefined): string | undefined {
  if (text !== undefined && text.length > MAX_WORD_CHARS)
    throw usageError(
      `${option} has ${text.length} characters; at most ${MAX_WORD_CHARS} are allowed.`,
      'Say it in fewer words.',
    );
  return text;
}

const stateDir = (): string => prepare('error', 'ends').settings.stateDir;
