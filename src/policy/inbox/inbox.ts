// The inbox of a bridge: where its questions wait besides the agent, as files for the command line and on a page for the
// browser. The first answer counts. Until the first question it has read, made and started nothing.

import { BridgeError, messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { loadedOnce } from '../../base/replaced-part.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import {
  type ApprovalAnswer,
  type Decision,
  type Inbox,
  MAX_WORD_CHARS,
  type Question,
} from '../approvals/question.js';
import { FolderWatch, InboxFolder, UNFINISHED_MS } from './inbox-folder.js';
import type { NoticeParts, Notifiers } from './notifiers.js';
import {
  closedText,
  digestOf,
  MAX_QUESTION_BYTES,
  MAX_WHO_CHARS,
  QUESTION_ID,
  questionText,
} from './question-file.js';

// A question that was put into the inbox, from then until it is forgotten. It ends once: answered, or taken away.

export type Posted = {
  readonly question: Question;
  /** Digest of the text that was written for the question; an answer has to name the digest. */
  readonly digest: string;
  readonly state:
    | { readonly at: 'open' }
    /** `why` says how it ended, as the rest of a sentence about it: `expired`, `denied by ann on the page`. */
    | { readonly at: 'closed'; readonly why: string; readonly sinceMs: number };
};

/** Part of the inbox that the page knows. */
export interface PostedQuestions {
  /** Questions of everybody, the newest first; the ones that have ended not long ago are among them. */
  all(): readonly Posted[];
  /** Whether anything of anybody waits. */
  isAnyOpen(): boolean;
  /** Takes an answer, or says why not; `late` is one to a question that has ended already, `why` as above. */
  answer(
    id: string,
    answer: ApprovalAnswer,
  ): { readonly is: 'taken' } | { readonly is: 'late' | 'wrong'; readonly why: string };
  /** Calls `listener` after each change; returns how to take it back. */
  onChange(listener: () => void): () => void;
}

/** Where a browser shows the questions of an inbox. */
export interface PostedPage extends AsyncDisposable {
  /** The address of one question. */
  linkTo(question: Question): string;
}

/** How long the page shows what has ended, and how many of those it shows at most. */
const SHOWN_MS = 600_000;
const MAX_SHOWN = 50;

export type InboxOptions = {
  /** State folder of the bridge: `approvals/` is made in it with the first question. */
  readonly stateDir: string;
  readonly observer: Observer;
  /**
   * Called for the first question that somebody is sent a link to, and again after the page has ended by itself. Rejects where
   * no page can be opened; calls `onEnd` when the page has ended by itself.
   */
  readonly openPage: (
    source: PostedQuestions,
    options: { readonly onEnd: () => void },
  ) => Promise<PostedPage>;
  /** How often answers are looked for where the system says nothing; a test shortens it. */
  readonly lookEveryMs?: number;
  /** Limit for the file of a question; a test lowers it. */
  readonly maxFileBytes?: number;
};

/** Opens nothing yet. */
export const openInbox = (options: InboxOptions): Inbox => new FileInbox(options);

type KeptQuestion = Posted & {
  state: Posted['state'];
  readonly isFiled: boolean;
  readonly answered: (answer: ApprovalAnswer) => void;
  /** An answer file that was told to be none. */
  hasTold: boolean;
};

class FileInbox implements Inbox, PostedQuestions {
  readonly #options: InboxOptions;
  readonly #folder: InboxFolder;
  /** Questions by id, the oldest first. */
  readonly #posted = new Map<string, KeptQuestion>();
  readonly #listeners = new Set<() => void>();
  #watch: FolderWatch | undefined;
  #page: Promise<PostedPage | undefined> | undefined;
  #isDisposed = false;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#folder = new InboxFolder(options.stateDir);
  }

  post(question: Question): ReturnType<Inbox['post']> {
    const { id } = question;
    if (!QUESTION_ID.test(id) || this.#posted.has(id))
      throw new BridgeError('E_INTERNAL', `'${clipHarmlessLine(id, 40)}' is no id of a new question.`, {
        fault: 'bridge',
      });
    if (this.#isDisposed) return { answered: new Promise(() => {}), withdraw: () => {} };
    const text = questionText(question);
    let answered: (answer: ApprovalAnswer) => void = () => {};
    const promise = new Promise<ApprovalAnswer>((resolve) => {
      answered = resolve;
    });
    const isFiled = this.#writeQuestion(id, text);
    this.#posted.set(id, {
      ...{ question, digest: digestOf(text), state: { at: 'open' } },
      ...{ isFiled, answered, hasTold: false },
    });
    this.#onChange();
    return { answered: promise, withdraw: (why) => this.#withdraw(id, why) };
  }

  async pageOf(id: string): Promise<string | undefined> {
    const asked = this.#posted.get(id);
    if (asked?.state.at !== 'open' || this.#isDisposed) return undefined;
    const page = this.#page ?? this.#openPage();
    this.#page = page;
    const opened = await page;
    return opened?.linkTo(asked.question);
  }

  all(): readonly Posted[] {
    return [...this.#posted.values()].reverse();
  }

  isAnyOpen(): boolean {
    return [...this.#posted.values()].some(({ state }) => state.at === 'open');
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** `mark` is that of the answer's file, where it came in one. */
  answer(id: string, given: ApprovalAnswer, mark?: string): ReturnType<PostedQuestions['answer']> {
    const answer = cleanAnswer(given);
    const asked = this.#posted.get(id);
    if (asked === undefined) return { is: 'wrong', why: 'there is no such question' };
    if (asked.state.at === 'closed') return { is: 'late', why: asked.state.why };
    const { offers } = asked.question;
    if (!offers.includes(answer.decision))
      return { is: 'wrong', why: `'${answer.decision}' is not offered; offered: ${offers.join(', ')}` };
    this.#close(asked, answerWords(answer), mark);
    asked.answered(answer);
    return { is: 'taken' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#watch?.[Symbol.dispose]();
    for (const { question, isFiled } of this.#posted.values()) if (isFiled) this.#folder.remove(question.id);
    this.#posted.clear();
    const page = await this.#page;
    await page?.[Symbol.asyncDispose]();
  }

  /** Whether the command line can see it; where it cannot, it still is on the page. */
  #writeQuestion(id: string, text: string): boolean {
    try {
      const { maxFileBytes = MAX_QUESTION_BYTES } = this.#options;
      const bytes = Buffer.byteLength(text);
      if (bytes > maxFileBytes) throw new Error(`it has ${bytes} bytes; at most ${maxFileBytes} are filed`);
      this.#folder.make();
      this.#folder.sweep();
      // An answer that lies there already answers nothing that was shown.
      this.#folder.removeAnswer(id);
      this.#folder.write(id, text);
      return true;
    } catch (thrown) {
      this.#options.observer({
        type: 'inbox.trouble',
        message: `question ${id} is not on the command line: ${messageOf(thrown)}`,
      });
      return false;
    }
  }

  #withdraw(id: string, why: string): void {
    const asked = this.#posted.get(id);
    if (asked?.state.at === 'open') this.#close(asked, why, undefined);
  }

  #close(asked: KeptQuestion, why: string, mark: string | undefined): void {
    const { id } = asked.question;
    const nowMs = Date.now();
    asked.state = { at: 'closed', why, sinceMs: nowMs };
    if (asked.isFiled) {
      const at = new Date(nowMs).toISOString();
      try {
        this.#folder.write(id, closedText(id, { why, at, ...(mark === undefined ? {} : { answer: mark }) }));
        this.#folder.removeAnswer(id);
      } catch (thrown) {
        this.#folder.remove(id);
        this.#options.observer({ type: 'inbox.trouble', message: messageOf(thrown) });
      }
    }
    this.#onChange();
  }

  #onChange(): void {
    this.#forget();
    const isAsked = [...this.#posted.values()].some(({ state, isFiled }) => state.at === 'open' && isFiled);
    if (isAsked) {
      this.#watch ??= new FolderWatch(this.#folder.path, () => this.#look(), this.#options.lookEveryMs);
    } else {
      this.#watch?.[Symbol.dispose]();
      this.#watch = undefined;
    }
    for (const listener of this.#listeners) listener();
  }

  /** Forgets each question that has ended, and is old or one of too many. */
  #forget(): void {
    const closed = [...this.#posted.values()].filter(({ state }) => state.at === 'closed');
    const isOld = ({ state }: KeptQuestion) => state.at === 'closed' && state.sinceMs < Date.now() - SHOWN_MS;
    for (const [at, one] of closed.entries()) {
      if (!isOld(one) && at >= closed.length - MAX_SHOWN) continue;
      this.#posted.delete(one.question.id);
      if (one.isFiled) this.#folder.remove(one.question.id);
    }
  }

  /** At the answers that lie beside open questions. */
  #look(): void {
    for (const asked of [...this.#posted.values()])
      if (asked.state.at === 'open' && asked.isFiled) this.#lookAt(asked);
  }

  #lookAt(asked: KeptQuestion): void {
    const { id } = asked.question;
    const found = this.#folder.answer(id);
    if (found.is === 'absent') return;
    if (found.is === 'refused') {
      // The file may be being written; after that the file would only keep a right answer out.
      if (Date.now() - found.changedMs > UNFINISHED_MS) this.#refuse(asked, found.why);
      return;
    }
    const { decision, word, who, by, digest, mark } = found.answer;
    if (digest !== asked.digest) return this.#refuse(asked, 'answers another text than was asked');
    const given = { decision, ...(word === undefined ? {} : { word }), by };
    const taken = this.answer(id, { ...given, who }, mark);
    if (taken.is === 'wrong') this.#refuse(asked, taken.why);
  }

  /** `why` is the end of a sentence about the answer file. */
  #refuse(asked: KeptQuestion, why: string): void {
    const { id } = asked.question;
    this.#folder.removeAnswer(id);
    if (asked.hasTold) return;
    asked.hasTold = true;
    this.#options.observer({ type: 'inbox.refused', question: id, message: why });
  }

  async #openPage(): Promise<PostedPage | undefined> {
    try {
      return await this.#options.openPage(this, {
        onEnd: () => {
          this.#page = undefined;
        },
      });
    } catch (thrown) {
      this.#page = undefined;
      this.#options.observer({ type: 'inbox.trouble', message: `there is no page: ${messageOf(thrown)}` });
      return undefined;
    }
  }
}

/** Fit to be told to code and written into files: words are one line that shows, and only where they mean something. */
function cleanAnswer({ decision, word = '', by, who }: ApprovalAnswer): ApprovalAnswer {
  const line = decision === 'no' || decision === 'always' ? clipHarmlessLine(word, MAX_WORD_CHARS) : '';
  return {
    decision,
    ...(line === '' ? {} : { word: line }),
    by,
    who: clipHarmlessLine(who, MAX_WHO_CHARS),
  };
}

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

/** Tells an answer to people: `allowed once by ann on the page`; where there is a word, it stands behind a colon. */
function answerWords({ decision, word, by, who }: ApprovalAnswer): string {
  const said = word === undefined ? '' : `: ${clipHarmlessLine(word, WORD_CHARS_SHOWN)}`;
  return `${DONE[decision]} by ${clipHarmlessLine(who, WORD_CHARS_SHOWN)} ${PLACES[by]}${said}`;
}

// An inbox whose questions are also told outside of it, where the operator has said so: on the desktop, or by a webhook. Who answers
// within some seconds is told nothing. A word that cannot be sent delays no question, and is told once in the log. What sends is
// loaded with the first question that waits.

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
