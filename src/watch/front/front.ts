// The page over HTTP, on this machine alone: who may see it, what it is sent, and what it may ask for. Everything that it is sent is
// JSON and a page without one word of anybody else.

import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jsonPieces } from '../../base/json/laid-out-json.js';
import { shownExactly } from '../../base/text/text.js';
import { DECISIONS, type Decision, type Question } from '../../policy/approvals/question.js';
import { LiveStreams } from '../../policy/page/live-streams.js';
import { formFields, onlyValue, refusalOf } from '../../policy/page/own-requests.js';
import { endPageServer, makePageServer } from '../../policy/page/page-server.js';
import type { RunOfBridge, SeenBridges } from '../gather/bridges.js';
import type { History } from '../gather/history.js';
import { RUNNING } from '../told/told.js';
import { FrontKeys } from './keys.js';
import type { Changed, ShownNow, ShownQuestion, ShownRun, ShownSession } from './shown.js';

/** Pages are told of changes at most so often; they ask for what has changed themselves. */
const TELL_EVERY_MS = 250;
/** How often files are looked at while a page is open: the audit, questions, sessions. */
const LOOK_EVERY_MS = 500;
/** Arguments that are longer in sum can only be denied here, as nobody would read them in a browser. */
const MAX_SHOWN_CHARS = 2_000_000;

const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // No code but the page's own file, no style but its own, no request to anywhere else, and no markup out of texts.
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
};

/** A question that waits, and how it is answered. */
export type AnswerableQuestion = {
  readonly question: Question;
  /** Digest of the question's text as it was read. */
  readonly digest: string;
  /** Resolves with how the question ended, as the rest of a sentence; rejects where the bridge takes no answer. */
  readonly answer: (
    decision: Decision,
    word: string | undefined,
  ) => Promise<{ readonly is: 'taken' | 'late'; readonly why: string }>;
};

export type LiveSession = Omit<ShownSession, 'token'> & {
  /** Ends it; rejects where that is not possible. */
  readonly end: () => Promise<void>;
};

/** Where the page has it all from. */
export type Sources = {
  readonly bridges: SeenBridges;
  readonly history: History;
  /** Has the history take what the audit has got since the last look. */
  readonly readAudit: () => void;
  readonly questions: () => readonly AnswerableQuestion[];
  readonly sessions: () => readonly LiveSession[];
  /** The page's own files, as the build has made them. */
  readonly script: string;
  readonly style: string;
};

export class WatchFront implements AsyncDisposable {
  readonly #sources: Sources;
  readonly #server: Server;
  readonly #keys = new FrontKeys();
  readonly #live = new LiveStreams();
  readonly #timer: NodeJS.Timeout;
  #port = 0;
  #changed = new Set<Changed[number]>();
  #telling: NodeJS.Timeout | undefined;
  #seen = { questions: '', sessions: '', runs: -1 };

  /** Listens on 127.0.0.1; port 0 is any. Rejects where the port cannot be had. */
  static async open(sources: Sources, port = 0): Promise<WatchFront> {
    const front = new WatchFront(sources);
    front.#server.listen(port, '127.0.0.1');
    await once(front.#server, 'listening');
    front.#port = (front.#server.address() as AddressInfo).port;
    return front;
  }

  private constructor(sources: Sources) {
    this.#sources = sources;
    this.#server = makePageServer((request, response) => void this.#serve(request, response));
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  /** An address that opens the page once. */
  newLink(): string {
    return `http://127.0.0.1:${this.#port}/open/${this.#keys.newLink()}`;
  }

  /** Tells open pages, soon, that something has changed. */
  tell(...changed: Changed): void {
    for (const one of changed) this.#changed.add(one);
    if (this.#changed.size === 0 || this.#live.size === 0) return;
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      this.#live.tell(JSON.stringify([...this.#changed]));
      this.#changed.clear();
    }, TELL_EVERY_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#telling);
    this.#live[Symbol.dispose]();
    await endPageServer(this.#server);
  }

  /** Looks at files for changes, and only while somebody has the page open. */
  #look(): void {
    if (this.#live.size === 0) return;
    const { history, readAudit, questions, sessions } = this.#sources;
    readAudit();
    const now = {
      questions: questions()
        .map(({ question, digest }) => question.id + digest)
        .join(),
      sessions: JSON.stringify(sessions().map(({ end: _end, ...session }) => session)),
      runs: history.version,
    };
    for (const key of ['questions', 'sessions', 'runs'] as const)
      if (now[key] !== this.#seen[key]) this.tell(key);
    if (now.questions !== this.#seen.questions) this.tell('now');
    this.#seen = now;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const objection = refusalOf(request, this.#port);
      if (objection === undefined) await this.#answer(request, response);
      else say(response, objection.status, objection.says, objection.headers);
    } catch {
      // The browser has gone, or something of ours is wrong: nothing was done for anybody.
      if (response.headersSent) response.destroy();
      else say(response, 500, 'Something went wrong. Load the page again.');
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [target, base] = [request.url ?? '', 'http://127.0.0.1'];
    const { pathname, searchParams } = new URL(URL.canParse(target, base) ? target : '/', base);
    const [, place = '', name = '', ...more] = pathname.split('/');
    if (place === 'open' && more.length === 0) return this.#open(request, response, name);
    const isOurs = place === this.#keys.place && pathname.startsWith(`/${place}/`) && more.length === 0;
    if (!isOurs || !this.#keys.isOpenedBy(request.headers.cookie)) return say(response, 403, NOT_OPENED);
    if (request.method === 'POST') return await this.#act(request, response, name);
    const { script, style } = this.#sources;
    if (name === '') return send(response, 'text/html', shell());
    if (name === 'page.js') return send(response, 'text/javascript', script);
    if (name === 'page.css') return send(response, 'text/css', style);
    if (name === 'events') {
      if (!this.#live.add(response, HEADERS)) say(response, 503, 'Too many pages are open.');
      return;
    }
    const shown = await this.#show(name, searchParams);
    if (shown === undefined) return say(response, 404, 'There is nothing here.');
    send(response, 'application/json', JSON.stringify(shown));
  }

  #open({ method }: IncomingMessage, response: ServerResponse, secret: string): void {
    // A request that only looks whether there is something uses nothing up.
    if (method !== 'GET') return say(response, 405, 'Open the link in a browser.', { allow: 'GET' });
    if (!this.#keys.useLink(secret)) return say(response, 403, NOT_OPENED);
    // Not a redirect: where the link stood in another web page, browsers would not send the cookie with it.
    response.setHeader('set-cookie', this.#keys.cookie);
    send(response, 'text/html', opening(`/${this.#keys.place}/`));
  }

  /** The data of one view; undefined where there is no such view, or no such run. */
  async #show(name: string, params: URLSearchParams): Promise<object | undefined> {
    const { bridges, history, readAudit, questions, sessions } = this.#sources;
    if (name === 'now') return await this.#now();
    if (name === 'questions')
      return questions().map((one) =>
        shownQuestion(one, this.#keys.tokenOf('answer', one.question.id, one.digest)),
      );
    if (name === 'sessions')
      return sessions().map(
        ({ end: _end, ...session }): ShownSession => ({
          ...session,
          token: this.#keys.tokenOf('end', session.handle),
        }),
      );
    if (name === 'runs') {
      readAudit();
      return history.list(bridges.runs());
    }
    if (name === 'tools') {
      readAudit();
      return { tools: history.tools(bridges.runs()) };
    }
    if (name !== 'run') return undefined;
    readAudit();
    const id = params.get('run') ?? '';
    const found = history.run(id, bridges.run(id));
    if (found === undefined) return undefined;
    const recorded = found.seen.isRecorded ? await bridges.recorded(id) : null;
    return { ...found, recorded } satisfies ShownRun;
  }

  async #now(): Promise<ShownNow> {
    const { bridges, questions } = this.#sources;
    const running = [...bridges.runs()].filter(({ seen }) => seen.status === RUNNING);
    const withCode = async ({ seen, calls }: RunOfBridge) => ({
      seen,
      calls,
      recorded: seen.isRecorded ? await bridges.recorded(seen.run) : null,
    });
    return {
      bridges: bridges.facts,
      running: await Promise.all(running.map(withCode)),
      questions: questions().length,
    };
  }

  async #act(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> {
    const fields = await formFields(request);
    if (fields === undefined)
      return say(response, 413, 'Nothing was done: what was sent is too large.', { connection: 'close' });
    const [token = '', id = ''] = ['token', 'id'].map((field) => onlyValue(fields, field));
    if (name === 'answer') return await this.#take(response, { id, token, fields });
    if (name !== 'end') return say(response, 404, 'There is nothing here.');
    const session = this.#sources.sessions().find(({ handle }) => handle === id);
    if (!this.#keys.isTokenOf(token, 'end', id))
      return say(response, 403, 'Nothing was done: this form does not belong to the session.');
    if (session === undefined) return say(response, 409, 'This session has ended already.');
    await session.end();
    this.tell('sessions');
    say(response, 200, 'The session has ended.');
  }

  async #take(
    response: ServerResponse,
    { id, token, fields }: { readonly id: string; readonly token: string; readonly fields: URLSearchParams },
  ): Promise<void> {
    const asked = this.#sources.questions().find(({ question }) => question.id === id);
    if (asked === undefined)
      return say(response, 409, 'Your answer came too late, and changes nothing: the question has ended.');
    const decision = DECISIONS.find((one) => one === onlyValue(fields, 'decision'));
    // The token is that of the text as it was shown: of another text, another one.
    if (decision === undefined || !this.#keys.isTokenOf(token, 'answer', id, asked.digest))
      return say(response, 403, 'Nothing was answered: this form does not belong to the question.');
    if (!asked.question.offers.includes(decision))
      return say(response, 403, 'Nothing was answered: this is not offered.');
    if (decision !== 'no' && !isShownWhole(asked.question))
      return say(
        response,
        403,
        'Nothing was answered: what is too long to be shown here can only be denied here.',
      );
    const word = onlyValue(fields, 'word')?.trim() || undefined;
    const { is, why } = await asked.answer(decision, word);
    this.tell('questions', 'now');
    if (is === 'taken') say(response, 200, `${capitalise(why)}.`);
    else
      say(response, 409, `Your answer came too late, and changes nothing. The question had ended: ${why}.`);
  }
}

const NOT_OPENED =
  'This page is opened by a link, and each link opens it once. Run `mcp-sandbox-bridge ui` for another one.';

/** A sentence and nothing else, as text. */
function say(
  response: ServerResponse,
  status: number,
  says: string,
  more: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { ...HEADERS, 'content-type': 'text/plain; charset=utf-8', ...more });
  response.end(`${capitalise(says)}\n`);
}

function send(response: ServerResponse, type: string, text: string): void {
  response.writeHead(200, { ...HEADERS, 'content-type': `${type}; charset=utf-8` });
  response.end(text);
}

/** The document that goes on to the page by itself. */
const opening = (place: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=${place}">
<title>mcp-sandbox-bridge</title>
</head>
<body><p><a href="${place}">Open the page</a></p></body>
</html>
`;

/** The document, in which there is nothing yet. */
const shell = (): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mcp-sandbox-bridge</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
<script src="page.js" defer></script>
</head>
<body>
<noscript>This page needs JavaScript. Without it, use the commands runs, approvals, sessions and servers.</noscript>
</body>
</html>
`;

const isShownWhole = ({ object }: Question): boolean =>
  object.calls.reduce((sum, call) => sum + call.arguments.length, 0) <= MAX_SHOWN_CHARS;

function shownQuestion({ question }: AnswerableQuestion, token: string): ShownQuestion {
  const { id, object, rule, run, client, principal, session, askedAt, expiresAt, offers } = question;
  const isWhole = isShownWhole(question);
  return {
    ...{ id, rule, run, client, askedAt, expiresAt, token },
    server: object.server,
    tool: object.tool,
    ...(principal === undefined ? {} : { principal }),
    ...(session === undefined ? {} : { session }),
    offers: offers.filter((decision) => decision === 'no' || isWhole),
    calls: isWhole
      ? object.calls.map((call) =>
          jsonPieces(call.arguments).map(({ is, text }) => ({ is, text: shownExactly(text) })),
        )
      : undefined,
    callCount: object.calls.length,
  };
}

const capitalise = (sentence: string): string => sentence.charAt(0).toUpperCase() + sentence.slice(1);
