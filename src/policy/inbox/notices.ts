// An inbox whose questions are also told outside of it, where the operator has said so: on the desktop, or by a webhook. Who answers
// within some seconds is told nothing. A word that cannot be sent delays no question, and is told once in the log. What sends is
// loaded with the first question that waits.

import { messageOf } from '../../base/errors.js';
import { loadedOnce } from '../../base/replaced-part.js';
import type { Inbox, Question } from '../approvals/question.js';
import type { NoticeParts, Notifiers } from './notifiers.js';

const loadNotifiers = loadedOnce(() => import('./notifiers.js'));

/** Long enough for whoever sits before a dialog of the agent, and short beside what a question may wait. */
const NOTICE_AFTER_MS = 5_000;

/** An inbox that tells; `inbox` itself where nobody is to be told. `afterMs`: for how long nobody is told; a test shortens it. */
export function withNotices(inbox: Inbox, parts: NoticeParts, afterMs = NOTICE_AFTER_MS): Inbox {
  const { desktop, webhook } = parts.settings.notify;
  return desktop || webhook !== undefined ? new NoticedInbox(inbox, parts, afterMs) : inbox;
}

class NoticedInbox implements Inbox {
  readonly #inbox: Inbox;
  readonly #parts: NoticeParts;
  readonly #afterMs: number;
  #notifiers: Promise<Notifiers> | undefined;

  constructor(inbox: Inbox, parts: NoticeParts, afterMs: number) {
    this.#inbox = inbox;
    this.#afterMs = afterMs;
    this.#parts = parts;
  }

  post(question: Question): ReturnType<Inbox['post']> {
    const posted = this.#inbox.post(question);
    const timer = setTimeout(() => void this.#tell(question), this.#afterMs).unref();
    void posted.answered.then(() => clearTimeout(timer));
    return {
      answered: posted.answered,
      withdraw: (why) => {
        clearTimeout(timer);
        posted.withdraw(why);
      },
    };
  }

  pageOf(id: string): Promise<string | undefined> {
    return this.#inbox.pageOf(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inbox[Symbol.asyncDispose]();
    (await this.#notifiers?.catch(() => undefined))?.hurry();
  }

  async #tell(question: Question): Promise<void> {
    try {
      this.#notifiers ??= loadNotifiers().then(({ Notifiers }) => new Notifiers(this.#parts));
      await (await this.#notifiers).tell(question);
    } catch (thrown) {
      // The program's files were replaced: the next call says so.
      this.#parts.observer({ type: 'inbox.trouble', message: `no word of a question: ${messageOf(thrown)}` });
    }
  }
}
