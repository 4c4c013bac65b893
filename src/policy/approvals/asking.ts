// One question, wherever it can be answered: in a dialog of the agent's client and in the inbox, at the same time. The first
// answer counts, and the other places are told. What nobody answers in time expires.

import { randomUUID } from '../../base/crypto.js';
import { clipHarmless } from '../../base/text/text.js';
import { Deadline } from '../../base/waiting/deadline.js';
import { canLeaveTextEmpty } from '../../hosts/records/all-hosts.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import {
  type ApprovalAnswer,
  type Decision,
  headOf,
  type Inbox,
  MAX_DIALOG_CHARS,
  MAX_WORD_CHARS,
  type Question,
  questionText,
} from './question.js';

export type AskingEnd =
  | { readonly is: 'answered'; readonly answer: ApprovalAnswer }
  /** `cancelled`: whoever asked has ended. `nobody`: there is no place where it could be answered. */
  | { readonly is: 'expired' | 'cancelled' | 'closed' | 'nobody' };

export type AskingParts = {
  readonly agent: AgentCapabilities;
  /** Undefined where there is only the agent. */
  readonly inbox: Inbox | undefined;
  /** Whether the person who may answer is at this machine, and can open the page. */
  readonly isLocal: boolean;
  readonly dialogs: Dialogs;
};

/**
 * Dialogs of one agent come one after the other: nobody answers two at once. An agent of 2026-07-28 is another one in each of
 * its calls: its client has asked for each of the calls, and puts their questions as it likes.
 */
export class Dialogs {
  readonly #last = new WeakMap<object, Promise<unknown>>();

  /** `work` when no other dialog of the agent's client is open; undefined where `signal` has ended the wait. */
  async inTurn<T>(
    agent: AgentCapabilities,
    work: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const before = this.#last.get(agent) ?? Promise.resolve();
    const own = before.then(() => (signal.aborted ? undefined : work()));
    this.#last.set(
      agent,
      own.catch(() => {}),
    );
    return await own;
  }
}

/** Never rejects. It waits for at most `withinMs`, and no longer than until `signal` aborts. */
export async function ask(
  question: Question,
  { agent, inbox, isLocal, dialogs }: AskingParts,
  withinMs: number,
  signal: AbortSignal,
): Promise<AskingEnd> {
  if (signal.aborted) return { is: 'cancelled' };
  using deadline = new Deadline(signal);
  deadline.start(withinMs);
  const over = new AbortController();
  const posted = postedTo(inbox, question);
  let settle = (_asked: AskingEnd): void => {};
  const settled = new Promise<AskingEnd>((resolve) => {
    settle = resolve;
  });
  deadline.signal.addEventListener(
    'abort',
    () => settle({ is: deadline.cause === 'timeout' ? 'expired' : 'cancelled' }),
    { once: true },
  );
  void posted?.answered.then((answer) => settle({ is: 'answered', answer }));
  if (canAsk(agent)) {
    const page = async () => (isLocal ? await pageOf(inbox, question.id) : undefined);
    const parts = { agent, page, waitsElsewhere: posted !== undefined };
    void dialogs
      .inTurn(agent, () => dialog(question, parts, over.signal), over.signal)
      .then((end = NOBODY) => {
        if (end.is !== 'nobody' || posted === undefined) settle(end);
      });
  } else if (posted === undefined) settle(NOBODY);
  const asked = await settled;
  posted?.withdraw(whyTaken(asked));
  over.abort('cancelled');
  return asked;
}

/** A place that fails is none: it must not keep the question from the others. */
function postedTo(inbox: Inbox | undefined, question: Question): ReturnType<Inbox['post']> | undefined {
  try {
    return inbox?.post(question);
  } catch {
    return undefined;
  }
}

async function pageOf(inbox: Inbox | undefined, id: string): Promise<string | undefined> {
  try {
    return await inbox?.pageOf(id);
  } catch {
    return undefined;
  }
}

function whyTaken(asked: AskingEnd): string {
  switch (asked.is) {
    case 'answered':
      return `answered by ${asked.answer.by}`;
    case 'expired':
      return 'expired';
    case 'closed':
      return 'closed without an answer';
    case 'cancelled':
    case 'nobody':
      return 'cancelled';
  }
}

// A question put to a person through the agent's client: a form with the decision, or the address of the page. The answer is
// the client's word for what the person did; nothing in it can be taken for more than one of the decisions that were offered.

type DialogParts = {
  readonly agent: AgentCapabilities;
  /** The page of the question; undefined where there is none. */
  readonly page: () => Promise<string | undefined>;
  /** Whether the question waits elsewhere too. */
  readonly waitsElsewhere: boolean;
};

/** Hosts without a screen decline a dialog at once. No person reads and answers one in so short a time. */
const NO_PERSON_WITHIN_MS = 400;

const WORDS: Readonly<Record<Decision, string>> = {
  once: 'Yes, this once',
  run: 'Yes, and every call of this tool in this run',
  session: 'Yes, and every call of this tool in this session',
  always: 'Yes, always: write it into the policy file',
  no: 'No',
};

const NOBODY: AskingEnd = { is: 'nobody' };

/** Whether the client can be asked at all. */
function canAsk({ elicits }: AgentCapabilities): boolean {
  const { form, url } = elicits();
  return form || url;
}

/**
 * End of a dialog, as the client tells it. `nobody`: the client has asked nobody, so that the question goes on waiting
 * elsewhere; `closed`: the person has taken the question away without a decision. Never rejects: a client that fails has asked
 * nobody.
 */
async function dialog(question: Question, parts: DialogParts, signal: AbortSignal): Promise<AskingEnd> {
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
  if (form && !isLong) return formOf(whole, question.offers, question.client);
  const page = url || form ? await parts.page() : undefined;
  if (url && page !== undefined) {
    const elicitationId = randomUUID();
    const message = `${headOf(question).split('\n', 1)[0]} The page shows what would be sent, and takes the answer.`;
    return { params: { mode: 'url', message, url: page, elicitationId }, offers: [], elicitationId };
  }
  if (!form) return undefined;
  return formOf(tooLong(question, whole.length, page, parts.waitsElsewhere), ['no'], question.client);
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

function formOf(message: string, offers: readonly Decision[], client: string): ApprovalDialog {
  const word = {
    type: 'string',
    title: 'Word',
    description: 'Why not, for the code to read; or why always.',
    maxLength: MAX_WORD_CHARS,
  };
  const properties = {
    decision: {
      type: 'string',
      title: 'Decision',
      enum: offers,
      enumNames: offers.map((decision) => WORDS[decision]),
    },
    ...(canLeaveTextEmpty(client) ? { word } : {}),
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
): AskingEnd {
  const no = (word?: string): AskingEnd => ({ is: 'answered', answer: answerFrom('no', word, client) });
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
  return { is: 'answered', answer: answerFrom(chosen, said, client) };
}

const answerFrom = (decision: Decision, word: string | undefined, who: string): ApprovalAnswer => ({
  decision,
  ...(word === undefined || word.trim() === '' ? {} : { word: clipHarmless(word.trim(), MAX_WORD_CHARS) }),
  by: 'agent',
  who,
});
