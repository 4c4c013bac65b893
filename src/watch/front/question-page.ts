// Questions of one bridge on its own page, for clients that open a link: on this machine alone, from the first question that somebody is
// sent a link to until nothing was asked for a while. A link shows the questions of the principal whom it was made for.

import type { Question } from '../../policy/approvals/question.js';
import type { Posted, PostedPage, PostedQuestions } from '../../policy/inbox/inbox.js';
import { thisUser } from '../../policy/inbox/question-file.js';
import { History } from '../gather/history.js';
import { OwnServer } from './own-server.js';
import type { AnswerableQuestion, Sources } from './sources.js';

/** Without a question for so long, the page ends; its links open nothing then. */
const IDLE_MS = 60_000;
const CLOSED =
  'This page is opened by the link that the bridge gave with its question, and each link opens it once. The next question comes with another one.';

export class QuestionPage implements PostedPage {
  readonly #source: PostedQuestions;
  readonly #server: OwnServer;
  readonly #unlisten: () => void;
  readonly #onEnd: () => void;
  readonly #idleMs: number;
  /** By the id of the question. */
  readonly #links = new Map<string, string>();
  #idle: NodeJS.Timeout | undefined;
  #ended: Promise<void> | undefined;

  /** Rejects where no port can be had. */
  static async open(
    source: PostedQuestions,
    { onEnd, idleMs = IDLE_MS }: { readonly onEnd: () => void; readonly idleMs?: number },
  ): Promise<QuestionPage> {
    const sources = () => sourcesOf(source);
    // A bridge does not live for its page, nor for a browser that has it open.
    const server = await OwnServer.open({ sources, closed: CLOSED }, { outlives: false });
    const page = new QuestionPage(source, server, onEnd, idleMs);
    page.#onChange();
    return page;
  }

  private constructor(source: PostedQuestions, server: OwnServer, onEnd: () => void, idleMs: number) {
    this.#source = source;
    this.#server = server;
    this.#onEnd = onEnd;
    this.#idleMs = idleMs;
    this.#unlisten = source.onChange(() => this.#onChange());
  }

  linkTo({ id, principal }: Question): string {
    const link = this.#links.get(id) ?? this.#server.newLink({ sees: 'own', principal });
    this.#links.set(id, link);
    return link;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    this.#unlisten();
    await this.#server[Symbol.asyncDispose]();
  }

  #onChange(): void {
    this.#server.look();
    if (this.#source.isAnyOpen()) {
      clearTimeout(this.#idle);
      this.#idle = undefined;
      return;
    }
    this.#links.clear();
    this.#idle ??= setTimeout(() => {
      this.#onEnd();
      void this[Symbol.asyncDispose]();
    }, this.#idleMs).unref();
  }
}

/** Questions and nothing else: the rest is on the page of `ui`, which sees all bridges. */
const sourcesOf = (source: PostedQuestions): Sources => ({
  views: ['questions'],
  bridges: {
    facts: [],
    versionOf: () => 0,
    factsVersionOf: () => 0,
    runs: function* () {},
    run: () => undefined,
    recorded: async () => null,
  },
  history: new History(),
  readAudit: () => {},
  questions: () => source.all().flatMap((one) => answerable(source, one)),
  ended: () =>
    source
      .all()
      .flatMap(({ question, state }) =>
        state.at === 'open' ? [] : [{ question, why: state.why, atMs: state.sinceMs }],
      ),
  sessions: () => [],
  filesOf: async () => [],
});

const answerable = (
  source: PostedQuestions,
  { question, digest, state }: Posted,
): readonly AnswerableQuestion[] =>
  state.at === 'closed'
    ? []
    : [
        {
          question,
          digest,
          answer: async (decision, word = '') => {
            const taken = source.answer(question.id, { decision, word, by: 'page', who: thisUser() });
            if (taken.is === 'taken') return { is: 'taken', why: endOf(source, question) };
            if (taken.is === 'late') return { is: 'late', why: taken.why };
            throw new Error(taken.why);
          },
        },
      ];

function endOf(source: PostedQuestions, { id }: Question): string {
  const state = source.all().find(({ question }) => question.id === id)?.state;
  return state?.at === 'closed' ? state.why : 'answered';
}
