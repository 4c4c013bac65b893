// A question put to a person through the agent's client: a form with the decision, or the address of the page. What comes back
// is the client's word for what the person did; nothing in it can be taken for more than one of the decisions that were offered.

import { randomUUID } from '../../base/crypto.js';
import { clipHarmless } from '../../base/text/text.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { ApprovalAnswer, Decision, Question } from './question.js';
import { headOf, MAX_DIALOG_CHARS, questionText } from './question-text.js';

/**
 * End of a dialog, as the client tells it. `nobody`: the client has asked nobody, so that the question goes on waiting
 * elsewhere; `closed`: the person has taken the question away without a decision.
 */
type DialogEnd =
  | { readonly is: 'answer'; readonly answer: ApprovalAnswer }
  | { readonly is: 'nobody' }
  | { readonly is: 'closed' };

type DialogParts = {
  readonly agent: AgentCapabilities;
  /** The page of the question; undefined where there is none. */
  readonly page: () => Promise<string | undefined>;
  /** Whether the question waits elsewhere too. */
  readonly waitsElsewhere: boolean;
};

/** Hosts without a screen decline a dialog at once. No person reads and answers one in so short a time. */
const NO_PERSON_WITHIN_MS = 400;
export const MAX_WORD_CHARS = 500;

const WORDS: Readonly<Record<Decision, string>> = {
  once: 'Yes, this once',
  run: 'Yes, and every call of this tool in this run',
  session: 'Yes, and every call of this tool in this session',
  always: 'Yes, always: write it into the policy file',
  no: 'No',
};

const NOBODY: DialogEnd = { is: 'nobody' };

/** Whether the client can be asked at all. */
export function canAsk({ elicits }: AgentCapabilities): boolean {
  const { form, url } = elicits();
  return form || url;
}

/** Never rejects: a client that fails has asked nobody. */
export async function dialog(
  question: Question,
  parts: DialogParts,
  signal: AbortSignal,
): Promise<DialogEnd> {
  const asked = await asDialog(question, parts);
  if (asked === undefined || signal.aborted) return NOBODY;
  const startedAt = performance.now();
  try {
    const said = await parts.agent.elicit(asked.params, signal);
    const isTooFast = performance.now() - startedAt < NO_PERSON_WITHIN_MS;
    return endOf(said, asked, question, isTooFast);
  } catch {
    return NOBODY;
  } finally {
    if (asked.elicitationId !== undefined) parts.agent.elicitationDone(asked.elicitationId);
  }
}

type ApprovalDialog = {
  readonly params: Readonly<Record<string, unknown>>;
  readonly offers: readonly Decision[];
  /** Id of the elicitation, where a page is shown. */
  readonly elicitationId?: string;
};

/** Undefined where the client can show no form of it. */
async function asDialog(question: Question, parts: DialogParts): Promise<ApprovalDialog | undefined> {
  const { form, url } = parts.agent.elicits();
  const whole = questionText(question);
  const isLong = whole.length > MAX_DIALOG_CHARS;
  if (form && !isLong) return formOf(whole, question.offers);
  const page = url || form ? await parts.page() : undefined;
  if (url && page !== undefined) {
    const elicitationId = randomUUID();
    const message = `${headOf(question).split('\n', 1)[0]} The page shows what would be sent, and takes the answer.`;
    return { params: { mode: 'url', message, url: page, elicitationId }, offers: [], elicitationId };
  }
  if (!form) return undefined;
  return formOf(tooLong(question, whole.length, page, parts.waitsElsewhere), ['no']);
}

const tooLong = (
  question: Question,
  chars: number,
  page: string | undefined,
  waitsElsewhere: boolean,
): string => {
  const where = page === undefined ? 'with the command `approvals`' : `at ${page}`;
  const elsewhere = waitsElsewhere ? `It can be read and allowed ${where}; here` : 'Here';
  const [first = ''] = headOf(question).split('\n', 1);
  return `${first} The question has ${chars} characters, too many for a dialog. ${elsewhere} it can only be refused.`;
};

function formOf(message: string, offers: readonly Decision[]): ApprovalDialog {
  const properties = {
    decision: {
      type: 'string',
      title: 'Decision',
      enum: offers,
      enumNames: offers.map((decision) => WORDS[decision]),
    },
    word: {
      type: 'string',
      title: 'Word',
      description: 'Why not, for the code to read; or why always.',
      maxLength: MAX_WORD_CHARS,
    },
  };
  return {
    params: { message, requestedSchema: { type: 'object', properties, required: ['decision'] } },
    offers,
  };
}

function endOf(
  { action, content }: Readonly<Record<string, unknown>>,
  { offers, elicitationId }: ApprovalDialog,
  { client }: Question,
  isTooFast: boolean,
): DialogEnd {
  const no = (word?: string): DialogEnd => ({ is: 'answer', answer: answered('no', word, client) });
  if (action !== 'accept') {
    if (isTooFast) return NOBODY;
    return action === 'decline' ? no() : { is: 'closed' };
  }
  // The person has only agreed to open the page.
  if (elicitationId !== undefined) return NOBODY;
  const { decision, word } = Object(content) as { decision?: unknown; word?: unknown };
  const chosen = offers.find((offered) => offered === decision);
  const said = typeof word === 'string' ? word : undefined;
  if (chosen === undefined) return no('the answer holds none of the decisions that were offered');
  return { is: 'answer', answer: answered(chosen, said, client) };
}

const answered = (decision: Decision, word: string | undefined, who: string): ApprovalAnswer => ({
  decision,
  ...(word === undefined || word.trim() === '' ? {} : { word: clipHarmless(word.trim(), MAX_WORD_CHARS) }),
  by: 'agent',
  who,
});
