// The page over HTTP: who may see it, what it is sent, and what it may ask for. Everything that it is sent is JSON and a page without
// one word of anybody else. Whoever serves it has a server of its own for it, or that of the bridge over HTTP.

import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { messageOf } from '../../base/errors.js';
import { jsonPieces } from '../../base/json/laid-out-json.js';
import { replacedPart } from '../../base/replaced-part.js';
import { shownExactly } from '../../base/text/text.js';
import { PACKAGE_ROOT } from '../../base/version.js';
import { DECISIONS, type Question } from '../../policy/approvals/question.js';
import type { RunOfBridge } from '../gather/bridges.js';
import { RUNNING } from '../told/told.js';
import { cookiesOf, FrontKeys, loginCookie, loginSecret, type Visit } from './keys.js';
import { formFields, onlyValue, refusalOf } from './own-requests.js';
import { plainPage } from './plain-page.js';
import type {
  Changed,
  ShownEnd,
  ShownFile,
  ShownNow,
  ShownQuestion,
  ShownRun,
  ShownSession,
  ViewName,
} from './shown.js';
import {
  type AnswerableQuestion,
  type PastQuestion,
  partFor,
  type RunFile,
  type Sources,
  type Viewer,
} from './sources.js';

/** How often is looked for changes while a page is open: bridges, the audit, questions, sessions. */
const LOOK_EVERY_MS = 500;
/** Somebody who has logged in does so again after a working day: the issuer may have taken their account away meanwhile. */
const LOGIN_KEEPS_MS = 8 * 3_600_000;
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

export type FrontOptions = {
  /** Called when somebody opens the page. */
  readonly sources: () => Sources;
  /** One of the page's own files, as the build has made it; a test gives its own. */
  readonly file?: typeof builtFile;
  /** Says for whom a link is, and uses it up. */
  readonly useLink: (secret: string) => Viewer | undefined;
  /** Path below which the page lies, `/ui` for one. */
  readonly prefix?: string;
  /** A browser that asks nothing for so long has to be let in anew; without it, it may come back as long as the process runs. */
  readonly keepsMs?: number;
  /** Whether this viewer may still look; without it everybody may who has come in. */
  readonly maySee?: (viewer: Viewer) => boolean;
  /** The way in for people besides links, at an issuer. Both reject with an error whose message is a sentence for the person. */
  readonly login?: {
    /** Where the browser goes, and the secret that it brings back to `redirect`. */
    readonly begin: (redirect: string) => Promise<{ readonly location: string; readonly secret: string }>;
    /** For whom the page opens; `from` is the address of the browser. */
    readonly end: (
      redirect: string,
      answer: URLSearchParams,
      browser: { readonly secret: string; readonly from: string },
    ) => Promise<Viewer>;
  };
  /** Sentence to whoever has no link that opens the page. */
  readonly closed: string;
};

/** Data that one browser is shown, and how it is told of changes. */
type Watched = {
  readonly visit: Visit;
  readonly sources: Sources;
  readonly live: LiveStreams;
  seen: Readonly<Record<Changed[number], unknown>> | undefined;
  /** Sentence on the plain page when it is next shown, once. */
  said: { readonly says: string; readonly isDone: boolean } | undefined;
};

export class WatchFront implements Disposable {
  readonly #options: FrontOptions;
  readonly #prefix: string;
  readonly #keys: FrontKeys;
  readonly #views = new Map<Visit, Watched>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#prefix = options.prefix ?? '';
    this.#keys = new FrontKeys(options.useLink, options.keepsMs);
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** Whether a browser may still ask for something. */
  get isOpened(): boolean {
    return this.#keys.visits.length > 0;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const { live } of this.#views.values()) live[Symbol.dispose]();
    this.#views.clear();
  }

  /** Answers a request. `origin` is that of the page by the name that was asked for; undefined where it is none of its names. */
  async serve(request: IncomingMessage, response: ServerResponse, origin: string | undefined): Promise<void> {
    try {
      const objection = refusalOf(request, origin);
      if (objection === undefined && origin !== undefined) await this.#answer(request, response, origin);
      else say(response, objection?.status ?? 403, objection?.says ?? '', objection?.headers);
    } catch {
      // The browser has gone, or something of ours is wrong: nothing was done for anybody.
      if (response.headersSent) response.destroy();
      else say(response, 500, 'Something went wrong. Load the page again.');
    }
  }

  /** Tells pages, now and not a moment later, what has changed since the last look, and ends those that may not look any more. */
  look(): void {
    const visits = new Set(this.#keys.visits);
    for (const [visit, view] of this.#views) {
      if (visits.has(visit) && this.#mayGoOn(visit)) this.#lookFor(view);
      else {
        view.live[Symbol.dispose]();
        this.#views.delete(visit);
      }
    }
  }

  #mayGoOn(visit: Visit): boolean {
    if (this.#options.maySee?.(visit.viewer) !== false) return true;
    this.#keys.end(visit);
    return false;
  }

  #lookFor(view: Watched): void {
    const { visit, sources, live } = view;
    if (live.size === 0) return;
    // A browser that has the page open is there, also without asking for anything.
    visit.lastSeenMs = performance.now();
    const { bridges, history, readAudit, questions, ended, sessions } = sources;
    readAudit();
    const asked = questions().map(({ question, digest }) => question.id + digest);
    const seen = {
      questions: JSON.stringify([asked, ended().map(({ question }) => question.id)]),
      sessions: JSON.stringify(sessions().map(({ end: _end, ...session }) => session)),
      runs: `${history.versionOf()} ${bridges.versionOf()}`,
      bridges: bridges.factsVersionOf(),
      now: `${bridges.versionOf()} ${bridges.facts.length} ${asked.join()}`,
    };
    const changed = (Object.keys(seen) as Changed[number][]).filter((key) => seen[key] !== view.seen?.[key]);
    if (changed.length > 0) live.tell(JSON.stringify(changed));
    view.seen = seen;
  }

  #viewOf(visit: Visit): Watched {
    const known = this.#views.get(visit);
    if (known !== undefined) return known;
    const sources = partFor(visit.viewer, this.#options.sources());
    const view = { visit, sources, live: new LiveStreams(), seen: undefined, said: undefined };
    this.#views.set(visit, view);
    return view;
  }

  async #answer(request: IncomingMessage, response: ServerResponse, origin: string): Promise<void> {
    const target = request.url ?? '';
    const { pathname, searchParams } = new URL(URL.canParse(target, origin) ? target : '/', origin);
    const { closed, file = builtFile } = this.#options;
    const [place = '', name = '', ...more] = pathname.startsWith(`${this.#prefix}/`)
      ? pathname.slice(this.#prefix.length + 1).split('/')
      : [];
    if (place === 'open' && more.length === 0) return this.#open(request, response, name, origin);
    if (this.#options.login !== undefined && name === '' && request.method === 'GET') {
      if (place === 'callback') return await this.#endLogin(request, response, searchParams, origin);
      if (place === 'login' || place === '') return await this.#beginLogin(response, origin);
    }
    const isOurs = pathname.startsWith(`${this.#prefix}/${place}/`) && more.length === 0;
    const visit = isOurs ? this.#keys.visitAt(place, request.headers.cookie) : undefined;
    if (visit === undefined || !this.#mayGoOn(visit)) return say(response, 403, closed);
    const view = this.#viewOf(visit);
    const isSecure = origin.startsWith('https:');
    if (request.method === 'POST') return await this.#act(request, response, name, { view, isSecure });
    if (name === '') return send(response, 'text/html', shell(view.sources.views, this.#leaveTokenOf(visit)));
    if (name === 'page.js') return send(response, 'text/javascript', file('page.js'));
    if (name === 'page.css') return send(response, 'text/css', file('page.css'));
    if (name === 'events') {
      if (!view.live.add(response, HEADERS)) return say(response, 503, 'Too many pages are open.');
      // Its first data are older than its stream: the next look tells of everything.
      view.seen = undefined;
      return;
    }
    if (name === 'plain') return this.#sendPlain(response, 200, view);
    if (name === 'file') return await this.#sendFile(response, searchParams, view);
    const shown = await this.#show(name, searchParams, view);
    if (shown === undefined) return say(response, 404, 'There is nothing here.');
    send(response, 'application/json', JSON.stringify(shown));
  }

  #sendPlain(response: ServerResponse, status: number, view: Watched): void {
    const { said } = view;
    view.said = undefined;
    const open = this.#shownQuestions(view);
    const ended = view.sources.ended().map(shownEnd);
    const text = plainPage({ open, ended, notice: said, leaveToken: this.#leaveTokenOf(view.visit) });
    send(response, 'text/html', text, status);
  }

  /** The bytes of a file: whatever it is, it is saved and never shown by the browser itself. */
  async #sendFile(response: ServerResponse, params: URLSearchParams, view: Watched): Promise<void> {
    const name = params.get('name') ?? '';
    const files = await this.#filesOf(params, view);
    const content = await files?.find((file) => file.name === name)?.read();
    if (content === undefined) return say(response, files === undefined ? 404 : 410, FILE_GONE);
    response.writeHead(200, { ...HEADERS, ...fileHeaders(name), 'content-length': content.length });
    response.end(content);
  }

  /** Files of the run that is asked for; undefined where this viewer has no such run. */
  async #filesOf(params: URLSearchParams, { sources }: Watched): Promise<readonly RunFile[] | undefined> {
    sources.readAudit();
    const id = params.get('run') ?? '';
    const found = sources.history.run(id, sources.bridges.run(id));
    return found && (await sources.filesOf(found.seen));
  }

  #shownQuestions({ visit, sources }: Watched): readonly ShownQuestion[] {
    return sources
      .questions()
      .map((one) => shownQuestion(one, this.#keys.tokenOf(visit, 'answer', one.question.id, one.digest)));
  }

  async #beginLogin(response: ServerResponse, origin: string): Promise<void> {
    try {
      const begun = await this.#options.login?.begin(`${origin}${this.#prefix}/callback`);
      const { location = '', secret } = begun ?? {};
      const cookie = loginCookie(secret, this.#prefix, origin.startsWith('https:'));
      response.writeHead(302, {
        ...HEADERS,
        'referrer-policy': 'no-referrer',
        'set-cookie': cookie,
        location,
      });
      response.end();
    } catch (thrown) {
      say(response, 503, messageOf(thrown));
    }
  }

  async #endLogin(
    { headers, socket }: IncomingMessage,
    response: ServerResponse,
    answer: URLSearchParams,
    origin: string,
  ): Promise<void> {
    const isSecure = origin.startsWith('https:');
    const forgets = loginCookie(undefined, this.#prefix, isSecure);
    const browser = { secret: loginSecret(headers.cookie), from: socket.remoteAddress ?? '' };
    try {
      const viewer = await this.#options.login?.end(`${origin}${this.#prefix}/callback`, answer, browser);
      if (viewer === undefined) return say(response, 403, this.#options.closed);
      const visit = this.#keys.opened(viewer, LOGIN_KEEPS_MS);
      response.setHeader('set-cookie', [forgets, ...cookiesOf(visit, this.#prefix, isSecure)]);
      send(response, 'text/html', opening(`${this.#prefix}/${visit.place}/`));
    } catch (thrown) {
      say(response, 403, messageOf(thrown), { 'set-cookie': forgets });
    }
  }

  #open(
    { method, headers }: IncomingMessage,
    response: ServerResponse,
    secret: string,
    origin: string,
  ): void {
    // A request that only looks whether there is something uses nothing up.
    if (method !== 'GET') return say(response, 405, 'Open the link in a browser.', { allow: 'GET' });
    const visit = this.#keys.openedBy(secret, headers.cookie);
    if (visit === undefined) return say(response, 403, this.#options.closed);
    const location = `${this.#prefix}/${visit.place}/`;
    response.setHeader('set-cookie', cookiesOf(visit, this.#prefix, origin.startsWith('https:')));
    // A redirect saves a document, but where the link stood in another web page, browsers would not send the cookie with it.
    if (headers['sec-fetch-site'] !== 'none') return send(response, 'text/html', opening(location));
    response.writeHead(303, { ...HEADERS, location });
    response.end();
  }

  /** The data of one view; undefined where there is no such view, or no such run. */
  async #show(name: string, params: URLSearchParams, view: Watched): Promise<object | undefined> {
    const { visit, sources } = view;
    const { bridges, history, readAudit, sessions } = sources;
    if (name === 'now') return await shownNow(sources);
    if (name === 'bridges') return bridges.facts;
    if (name === 'questions') return this.#shownQuestions(view);
    if (name === 'ended') return sources.ended().map(shownEnd);
    if (name === 'sessions')
      return sessions().map(
        ({ end: _end, owner: _owner, ...session }): ShownSession => ({
          ...session,
          token: this.#keys.tokenOf(visit, 'end', session.handle),
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
    if (name === 'verdicts') {
      readAudit();
      return history.verdicts(bridges.runs());
    }
    if (name === 'files') return (await this.#filesOf(params, view))?.map(shownFile);
    if (name !== 'run') return undefined;
    readAudit();
    const id = params.get('run') ?? '';
    const found = history.run(id, bridges.run(id));
    if (found === undefined) return undefined;
    const recorded = found.seen.isRecorded ? await bridges.recorded(id) : null;
    return { ...found, recorded } satisfies ShownRun;
  }

  /** Token of the form that ends a visit; undefined where the page ends by itself, with the command that shows it. */
  #leaveTokenOf(visit: Visit): string | undefined {
    return this.#options.keepsMs === undefined ? undefined : this.#keys.tokenOf(visit, 'leave');
  }

  async #act(
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    { view, isSecure }: { readonly view: Watched; readonly isSecure: boolean },
  ): Promise<void> {
    const fields = await formFields(request);
    if (fields === undefined)
      return say(response, 413, 'Nothing was done: what was sent is too large.', { connection: 'close' });
    const [token = '', id = ''] = ['token', 'id'].map((field) => onlyValue(fields, field));
    const act = { answer: this.#take, end: this.#end, leave: this.#leave }[name];
    if (act === undefined) return say(response, 404, 'There is nothing here.');
    const { status, says, cookies } = await act.call(this, view, { id, token, fields, isSecure });
    this.look();
    if (cookies !== undefined) response.setHeader('set-cookie', cookies);
    if (!fields.has('plain')) return say(response, status, says);
    view.said = { says, isDone: status === 200 };
    if (status !== 200) return this.#sendPlain(response, status, view);
    response.writeHead(303, { ...HEADERS, location: 'plain' });
    response.end();
  }

  async #end({ visit, sources }: Watched, { id, token }: Form): Promise<FormEnd> {
    const session = sources.sessions().find(({ handle }) => handle === id);
    if (!this.#keys.isTokenOf(token, visit, 'end', id))
      return { status: 403, says: 'Nothing was done: this form does not belong to the session.' };
    if (session === undefined) return { status: 409, says: 'This session has ended already.' };
    await session.end();
    return { status: 200, says: 'The session has ended.' };
  }

  /** Ends the visit in all windows of its browser, which forgets its cookies. */
  async #leave({ visit }: Watched, { token, isSecure }: Form): Promise<FormEnd> {
    if (!this.#keys.isTokenOf(token, visit, 'leave'))
      return { status: 403, says: 'Nothing was done: this form does not belong to the page.' };
    this.#keys.end(visit);
    const cookies = cookiesOf({ ...visit, cookie: '' }, this.#prefix, isSecure);
    return { status: 200, says: LEFT, cookies: cookies.map((cookie) => `${cookie}; Max-Age=0`) };
  }

  async #take({ visit, sources }: Watched, { id, token, fields }: Form): Promise<FormEnd> {
    const asked = sources.questions().find(({ question }) => question.id === id);
    if (asked === undefined) return { status: 409, says: tooLate(sources, id) };
    const decision = DECISIONS.find((one) => one === onlyValue(fields, 'decision'));
    // The token is that of the text as it was shown: of another text, another one.
    if (decision === undefined || !this.#keys.isTokenOf(token, visit, 'answer', id, asked.digest))
      return { status: 403, says: 'Nothing was answered: this form does not belong to the question.' };
    if (!asked.question.offers.includes(decision))
      return { status: 403, says: 'Nothing was answered: this is not offered.' };
    if (decision !== 'no' && !isShownWhole(asked.question))
      return {
        status: 403,
        says: 'Nothing was answered: what is too long to be shown here can only be denied here.',
      };
    const word = onlyValue(fields, 'word')?.trim() || undefined;
    const { is, why } = await asked.answer(decision, word, visit.viewer);
    return is === 'taken'
      ? { status: 200, says: `${capitalise(why)}.` }
      : { status: 409, says: `${TOO_LATE} The question had ended: ${why}.` };
  }
}

// Pages that are open in browsers, as streams of server-sent events.

/** Open tabs of one person; a browser has six connections to one address at most. */
const MAX_STREAMS = 24;
/** A browser that has gone is noticed by this. */
const ALIVE_EVERY_MS = 20_000;

/** Pages that are open somewhere, told that something has changed. They ask for what it is themselves. */
class LiveStreams implements Disposable {
  readonly #streams = new Set<ServerResponse>();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#send(':\n\n'), ALIVE_EVERY_MS);
    this.#timer.unref();
  }

  /** False where there are too many already. */
  add(response: ServerResponse, headers: Readonly<Record<string, string>>): boolean {
    if (this.#streams.size >= MAX_STREAMS) return false;
    response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
    response.write('retry: 3000\n\n');
    this.#streams.add(response);
    response.once('close', () => this.#streams.delete(response));
    return true;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Tells every page `data`, a text without line breaks. */
  tell(data: string): void {
    this.#send(`data: ${data}\n\n`);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
  }

  #send(text: string): void {
    for (const stream of this.#streams) stream.write(text);
  }
}

type Form = {
  readonly id: string;
  readonly token: string;
  readonly fields: URLSearchParams;
  /** Whether the page is asked for over TLS. */
  readonly isSecure: boolean;
};
type FormEnd = { readonly status: number; readonly says: string; readonly cookies?: readonly string[] };

const LEFT =
  'You are logged out here. If you had logged in at an issuer, it may still know this browser: log out there, too, where others use it.';
const FILE_GONE =
  'This file is not kept any more. Files of runs are kept for a time, and the oldest make room for new ones (MCP_BRIDGE_KEEP_SECONDS, MCP_BRIDGE_KEEP_MB).';
const TOO_LATE = 'Your answer came too late, and changes nothing.';

function tooLate({ ended }: Sources, id: string): string {
  const why = ended().find(({ question }) => question.id === id)?.why;
  return why === undefined
    ? `${TOO_LATE} The question has ended.`
    : `${TOO_LATE} The question had ended: ${why}.`;
}

async function shownNow({ bridges, questions }: Sources): Promise<ShownNow> {
  const running = [...bridges.runs()].filter(({ seen }) => seen.status === RUNNING);
  const withCode = async ({ seen, calls, underWay }: RunOfBridge) => ({
    seen,
    calls: [...calls, ...(underWay?.values() ?? [])],
    recorded: seen.isRecorded ? await bridges.recorded(seen.run) : null,
  });
  return {
    bridges: bridges.facts.length,
    running: await Promise.all(running.map(withCode)),
    questions: questions().length,
  };
}

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

function send(response: ServerResponse, type: string, text: string, status = 200): void {
  response.writeHead(status, { ...HEADERS, 'content-type': `${type}; charset=utf-8` });
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
const shell = (views: readonly ViewName[], leaveToken: string | undefined): string => `<!doctype html>
<html lang="en" data-views="${views.join(' ')}"${leaveToken === undefined ? '' : ` data-leave="${leaveToken}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mcp-sandbox-bridge</title>
<link rel="icon" href="data:,">
<link rel="preload" href="now" as="fetch" crossorigin>
<link rel="stylesheet" href="page.css">
<script src="page.js" defer></script>
<noscript><meta http-equiv="refresh" content="0; url=plain"></noscript>
</head>
<body>
<noscript><a href="plain">Questions without JavaScript</a></noscript>
</body>
</html>
`;

const isShownWhole = ({ object }: Question): boolean =>
  object.calls.reduce((sum, call) => sum + call.arguments.length, 0) <= MAX_SHOWN_CHARS;

const shownEnd = ({ question: { id, object }, why, atMs }: PastQuestion): ShownEnd => ({
  ...{ id, server: object.server, tool: object.tool, why: capitalise(why) },
  at: new Date(atMs).toISOString(),
});

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

/** One of the page's own files, as the bundler has written it. Throws E_REPLACED where it is not there. */
function builtFile(name: 'page.js' | 'page.css'): string {
  try {
    return readFileSync(join(PACKAGE_ROOT, 'dist/bundle', name), 'utf8');
  } catch (thrown) {
    throw replacedPart(thrown);
  }
}

// Files of runs as the page is sent them. Code in a sandbox has chosen their names and all that is in them, so no browser is told of a
// type that it would show by itself: the page shows texts and pictures out of the same bytes, as text and as pixels.

/** Types that `fileType` gives after a look at the content: text that is text, and pictures that begin as such. */
const TEXT = /^(?:text\/[\w.+-]+|application\/json)$/;
const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

function shownFile({ name, mimeType, sizeBytes }: Omit<RunFile, 'read'>): ShownFile {
  const [, kind] = PICTURE.exec(mimeType) ?? [];
  const shows = TEXT.test(mimeType) ? 'text' : (kind as ShownFile['shows']);
  return { name, bytes: sizeBytes, ...(shows === undefined ? {} : { shows }) };
}

/** Headers by which a browser saves the file, under the last part of its name, and runs nothing of it wherever it lands. */
const fileHeaders = (name: string): Readonly<Record<string, string>> => ({
  'content-type': 'application/octet-stream',
  'content-disposition': `attachment; ${fileName(basename(name) || 'file')}`,
  'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
});

/** The name in both forms of RFC 6266: as it is, and for old readers without whatever is not plain. */
function fileName(name: string): string {
  const plain = name.replace(/[^\w.-]/g, '_');
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${plain}"; filename*=UTF-8''${exact}`;
}
