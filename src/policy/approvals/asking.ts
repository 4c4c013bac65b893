// One question, wherever it can be answered: in a dialog of the agent's client and in the inbox, at the same time. The first
// answer counts, and the other places are told. What nobody answers in time expires.

import { Deadline } from '../../base/waiting/deadline.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import { canAsk, dialog } from './dialog.js';
import type { ApprovalAnswer, Inbox, Question } from './question.js';

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
 * Dialogs of one agent come one after the other: nobody answers two at once. An agent of 2026-07-28 is another one in each of its
 * calls: its client has asked for each of them, and puts their questions as it likes.
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
      .then((end = { is: 'nobody' }) => {
        if (end.is === 'answer') settle({ is: 'answered', answer: end.answer });
        else if (end.is === 'closed') settle({ is: 'closed' });
        else if (posted === undefined) settle({ is: 'nobody' });
      });
  } else if (posted === undefined) settle({ is: 'nobody' });
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
