// The page of the inbox: a small HTTP server on this machine alone, from the first question that somebody is sent a link to
// until nothing was asked for a while. Its address has a secret for each principal, which shows that principal's questions.

import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { shownTool } from '../../base/text/shown-name.js';
import { DECISIONS, type Decision, type Question } from '../approvals/question.js';
import type { Posted, PostedPage, PostedQuestions } from '../inbox/inbox.js';
import { thisUser } from '../inbox/question-file.js';
import { LiveStreams } from './live-streams.js';
import { formFields, isSame, onlyValue, originHere, refusalOf } from './own-requests.js';
import { HEADERS, isShownWhole, type Page, plainPage, questionsPage } from './page-html.js';
import { endPageServer, makePageServer } from './page-server.js';

/** Without a question for so long, the page ends; its addresses lead nowhere then. */
const IDLE_MS = 60_000;

export class ApprovalPage implements PostedPage {
  readonly #source: PostedQuestions;
  readonly #server: Server;
  readonly #keys = new PageKeys();
  readonly #live = new LiveStreams();
  readonly #unlisten: () => void;
  readonly #onEnd: () => void;
  readonly #idleMs: number;
  #idle: NodeJS.Timeout | undefined;
  #ended: Promise<void> | undefined;
  #port = 0;

  /** Rejects where no port can be had. */
  static async open(
    source: PostedQuestions,
    { onEnd, idleMs = IDLE_MS }: { readonly onEnd: () => void; readonly idleMs?: number },
  ): Promise<ApprovalPage> {
    const page = new ApprovalPage(source, onEnd, idleMs);
    page.#server.listen(0, '127.0.0.1');
    await once(page.#server, 'listening');
    page.#port = (page.#server.address() as AddressInfo).port;
    page.#server.unref();
    page.#onChange();
    return page;
  }

  private constructor(source: PostedQuestions, onEnd: () => void, idleMs: number) {
    this.#source = source;
    this.#onEnd = onEnd;
    this.#idleMs = idleMs;
    this.#server = makePageServer((request, response) => void this.#serve(request, response));
    // A bridge does not live for its page, nor for a browser that has it open.
    this.#server.on('connection', (socket) => socket.unref());
    this.#unlisten = source.onChange(() => this.#onChange());
  }

  linkTo({ id, principal }: Question): string {
    return `http://127.0.0.1:${this.#port}/${this.#keys.secretOf(principal)}/${id}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    this.#unlisten();
    this.#live[Symbol.dispose]();
    await endPageServer(this.#server);
  }

  #onChange(): void {
    this.#live.tell('changed');
    if (this.#source.isAnyOpen()) {
      clearTimeout(this.#idle);
      this.#idle = undefined;
      return;
    }
    this.#idle ??= setTimeout(() => {
      this.#onEnd();
      void this[Symbol.asyncDispose]();
    }, this.#idleMs).unref();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const objection = refusalOf(request, originHere(request, this.#port));
      if (objection === undefined) await this.#answer(request, response);
      else say(response, objection.status, plainPage(objection.says), objection.headers);
    } catch {
      // The browser has gone, or something of ours is wrong: nothing was answered for anybody.
      if (response.headersSent) response.destroy();
      else say(response, 500, plainPage('Something went wrong. Load the page again.'));
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path, base] = [request.url ?? '', 'http://127.0.0.1'];
    const { pathname, searchParams } = new URL(URL.canParse(path, base) ? path : '/', base);
    const [, secret = '', name, ...more] = pathname.split('/');
    const opened = this.#keys.openedBy(secret);
    if (opened === undefined || name === undefined || more.length > 0)
      return say(response, 404, plainPage('There is nothing here. Open the link that the bridge gave.'));
    const { principal } = opened;
    const posted = this.#source.of(principal);
    const facts = { keys: this.#keys, secret, posted };
    if (name === 'events') {
      if (!this.#live.add(response, HEADERS)) say(response, 503, plainPage('Too many pages are open.'));
      return;
    }
    const only = posted.find(({ question }) => question.id === name);
    if (name !== '' && only === undefined)
      return say(response, 404, plainPage('This question is no longer here. There is nothing to do.'));
    if (request.method !== 'POST') {
      const done = posted.find(({ question }) => question.id === searchParams.get('done'));
      return say(
        response,
        200,
        questionsPage({ ...facts, only, notice: noticeOf(done), isBare: searchParams.has('bare') }),
      );
    }
    if (only === undefined)
      return say(response, 405, plainPage('Answers go to a question.'), { allow: 'GET, HEAD' });
    await this.#take(request, response, only, facts);
  }

  async #take(
    request: IncomingMessage,
    response: ServerResponse,
    asked: Posted,
    { keys, secret }: { readonly keys: PageKeys; readonly secret: string },
  ): Promise<void> {
    const form = await formOf(request);
    const { id, principal } = asked.question;
    const refuse = (status: number, says: string, headers?: Readonly<Record<string, string>>) => {
      // Show the questions as they are now: the form may have taken a while to arrive.
      const posted = this.#source.of(principal);
      say(
        response,
        status,
        questionsPage({ keys, secret, posted, notice: { says, isDone: false } }),
        headers,
      );
    };
    if (form === 'too large')
      return refuse(413, 'Nothing was answered: what was sent is too large.', { connection: 'close' });
    if (form === 'not a form' || !keys.isTokenOf(asked, form.token))
      return refuse(403, 'Nothing was answered: this form does not belong to the question.');
    if (form.decision !== 'no' && !isShownWhole(asked))
      return refuse(403, 'Nothing was answered: what is too long to be shown here can only be denied here.');
    const { decision, word } = form;
    const taken = this.#source.answer(id, { decision, word, by: 'page', who: thisUser() });
    if (taken.is === 'late')
      return refuse(
        409,
        `Your answer came too late, and changes nothing. The question had ended: ${taken.why}.`,
      );
    if (taken.is === 'wrong') return refuse(403, `Nothing was answered: ${taken.why}.`);
    response.writeHead(303, { ...HEADERS, location: `/${secret}/?done=${id}` });
    response.end();
  }
}

function noticeOf(done: Posted | undefined) {
  if (done?.state.at !== 'closed') return undefined;
  const { server, tool } = done.question.object;
  return { says: `${shownTool(server, tool)}: ${done.state.why}.`, isDone: true };
}

function say(
  response: ServerResponse,
  status: number,
  { headers, text }: Page,
  more: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { ...headers, ...more });
  response.end(text);
}

/**
 * The form that a person has sent: `too large`, or `not a form` where a field is missing, stands twice or says something else.
 * Rejects when the sender goes.
 */
async function formOf(
  request: IncomingMessage,
): Promise<{ token: string; decision: Decision; word: string } | 'too large' | 'not a form'> {
  const fields = await formFields(request);
  if (fields === undefined) return 'too large';
  const [token, said, word] = ['token', 'decision', 'word'].map((name) => onlyValue(fields, name));
  const decision = DECISIONS.find((one) => one === said);
  if (token === undefined || decision === undefined) return 'not a form';
  return { token, decision, word: word ?? '' };
}

// Secrets that open the page and that make its forms ours. All of them are drawn when the page starts and gone when it ends.

/** 32 letters of base64url. */
const SECRET_BYTES = 24;

class PageKeys {
  readonly #secrets = new Map<string | undefined, string>();
  readonly #key = randomBytes(32);

  /** Part of the address: a cookie would be sent to every port of this machine, whoever listens there. */
  secretOf(principal: string | undefined): string {
    const secret = this.#secrets.get(principal) ?? randomBytes(SECRET_BYTES).toString('base64url');
    this.#secrets.set(principal, secret);
    return secret;
  }

  /** A secret opens the questions of one principal, and of no other. */
  openedBy(secret: string): { readonly principal: string | undefined } | undefined {
    for (const [principal, own] of this.#secrets) if (isSame(secret, own)) return { principal };
    return undefined;
  }

  /** Token in the form of a question: bound to the question and to the text that was shown. */
  tokenOf({ question, digest }: Posted): string {
    return createHmac('sha256', this.#key).update(`${question.id}\n${digest}`).digest('base64url');
  }

  isTokenOf(posted: Posted, token: string): boolean {
    return isSame(token, this.tokenOf(posted));
  }
}
