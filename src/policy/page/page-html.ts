// The whole page: all open questions of one principal, or one of them, and the headers that it is sent with.

import { randomBytes } from 'node:crypto';
import { textBeside } from '../../base/files/read-text.js';
import { jsonPieces } from '../../base/json/laid-out-json.js';
import { shownName, shownTool } from '../../base/text/shown-name.js';
import { shownExactly } from '../../base/text/text.js';
import { type Decision, MAX_WORD_CHARS } from '../approvals/question.js';
import type { Posted } from '../inbox/inbox.js';

// HTML as text. Whatever is put into a template is text and shows as such: there is no way to put markup in but another
// template.

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | Html | readonly Html[];

/** Attributes stand in double quotes. Characters that do not show become visible escapes. */
const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(parts.map((part, at) => part + (at < values.length ? markup(values[at] ?? '') : '')).join(''));

function markup(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return escapeHtml(shownExactly(String(value)));
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter);

// The whole page.

const STYLE = textBeside(new URL('./page-style.css', import.meta.url));
const SCRIPT = textBeside(new URL('./page-script.js', import.meta.url));

export type Page = { readonly headers: Readonly<Record<string, string>>; readonly text: string };

/** Sent with every answer. Forms say where they come from only as far as the page lets browsers say it. */
export const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy':
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
};

/** Open ones first; each part has the newest first. */
export function questionsPage({
  keys,
  secret,
  posted,
  only,
  notice,
  isBare = false,
}: {
  /** Tokens that make forms ours. */
  readonly keys: { readonly tokenOf: (posted: Posted) => string };
  readonly secret: string;
  /** Questions of this principal, as the inbox has them. */
  readonly posted: readonly Posted[];
  /** Where the page is that of one question. */
  readonly only?: Posted | undefined;
  /** Said ahead of the questions: what has just become of an answer. `isDone`: it was taken. */
  readonly notice?: { readonly says: string; readonly isDone: boolean } | undefined;
  /** Without style and script, for the page's own script, which has both. */
  readonly isBare?: boolean;
}): Page {
  const open = posted.filter(({ state }) => state.at === 'open');
  const listed =
    only === undefined ? [...open, ...posted.filter(({ state }) => state.at === 'closed')] : [only];
  const others = only === undefined ? 0 : open.filter((one) => one !== only).length;
  const articles = listed.map((one) => questionHtml(one, `/${secret}/${one.question.id}`, keys.tokenOf(one)));
  const heading = headingOf(open.length);
  const body = html`<body data-events="/${secret}/events">
<main>
<h1 id="count">${heading}</h1>
<p id="lost" class="warn" role="alert" hidden>The bridge does not answer: it has ended, or nothing was asked for a while. The next question comes with a link of its own.</p>
<p role="status" class="${notice?.isDone === false ? 'not' : ''}">${notice?.says ?? ''}</p>
<div id="questions">${articles.map((one) => html`${one}\n`)}</div>
<p id="others">${others === 0 ? backLink(only, secret) : othersLink(others, secret)}</p>
</main>`;
  return shell(
    `${open.length > 0 ? `(${open.length}) ` : ''}Approvals`,
    body,
    isBare ? {} : { style: STYLE, script: SCRIPT },
  );
}

function headingOf(open: number): string {
  if (open === 0) return 'Nothing waits for you.';
  return open === 1 ? 'One question waits for you.' : `${open} questions wait for you.`;
}

const othersLink = (others: number, secret: string): Html =>
  html`<a href="/${secret}/">${others === 1 ? 'One more question waits' : `${others} more questions wait`}</a>`;

const backLink = (only: Posted | undefined, secret: string): Html =>
  only === undefined ? new Html('') : html`<a href="/${secret}/">All questions</a>`;

/** A page with a sentence and nothing to do. */
export const plainPage = (says: string): Page =>
  shell('Approvals', html`<body>\n<main>\n<h1>Approvals</h1>\n<p>${capitalise(says)}</p>\n</main>`, {
    style: STYLE,
  });

function shell(
  title: string,
  body: Html,
  { style, script }: { readonly style?: string; readonly script?: string },
): Page {
  const nonce = randomBytes(16).toString('base64');
  const element = (name: 'style' | 'script', code: string | undefined): Html =>
    new Html(code === undefined ? '' : `<${name} nonce="${nonce}">${code}</${name}>\n`);
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${element('style', style)}</head>
${body}
${element('script', script)}</body>
</html>
`;
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `script-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "form-action 'self'",
    'img-src data:',
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
  return {
    headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
    text,
  };
}

// One question on the page: what would be called, why it is asked, and the buttons of what may be decided.

/** Limit for what a page shows, as browsers bear it; a question that cannot be shown whole can only be denied here. */
const MAX_SHOWN_CHARS = 2_000_000;

const BUTTONS: Readonly<Record<Decision, string>> = {
  once: 'Allow once',
  run: 'For this run',
  session: 'For this session',
  always: 'Always',
  no: 'Deny',
};
const NOTHING = new Html('');

/** Whether a person could read all of it here. */
export const isShownWhole = ({ question }: Posted): boolean =>
  question.object.calls.reduce((sum, call) => sum + call.arguments.length, 0) <= MAX_SHOWN_CHARS;

/** `action` is where its form goes, `token` what makes the form ours. */
export function questionHtml(posted: Posted, action: string, token: string): Html {
  const { question, state } = posted;
  const { server, tool, calls } = question.object;
  const title = html`<h2><bdi class="server">${whole(server)}</bdi><span class="dot">.</span><wbr><bdi class="tool">${whole(tool)}</bdi></h2>`;
  if (state.at === 'closed') {
    return html`<article id="${question.id}" data-state="closed" class="closed">
${title}
<p class="end">${capitalise(state.why)}, at ${clock(new Date(state.sinceMs))}.</p>
</article>`;
  }
  const many =
    calls.length === 1
      ? 'This call would be sent:'
      : `These ${calls.length} calls would be sent, all or none:`;
  return html`<article id="${question.id}" data-state="open" class="open" aria-label="Question about ${shownTool(server, tool)}">
${title}
<p class="why">Asked because of ${question.rule}.</p>
<p class="left" data-expires="${question.expiresAt}">Waits until ${clock(new Date(question.expiresAt))}.</p>
${isShownWhole(posted) ? html`<h3>${many}</h3>\n${callsHtml(posted)}` : tooLong(question.id)}
${formHtml(posted, action, token)}
<dl>${facts(posted)}</dl>
</article>`;
}

function callsHtml({ question }: Posted): Html {
  const { calls, tool } = question.object;
  const [only] = calls;
  if (calls.length === 1 && only !== undefined)
    return callHtml(only.arguments, `Arguments of ${shownName(tool)}`);
  const items = calls.map(
    (call, at) => html`<li>${callHtml(call.arguments, `Arguments of call ${at + 1}`)}</li>\n`,
  );
  return html`<ol>${items}</ol>`;
}

const tooLong = (id: string): Html =>
  html`<p class="warn">What would be sent is too long for a page, so it can only be denied here. In a terminal, <code>approvals show ${id}</code> shows all of it, and <code>approvals allow ${id}</code> allows it.</p>`;

function formHtml(posted: Posted, action: string, token: string): Html {
  const { id, offers, object } = posted.question;
  const offered = offers.filter((decision) => decision === 'no' || isShownWhole(posted));
  const buttons = offered.map(
    (decision) =>
      html`<button name="decision" value="${decision}" class="${decision}"${label(decision)}>${BUTTONS[decision]}</button>\n`,
  );
  const takesReason = offered.includes('always');
  const note = takesReason
    ? 'The code reads it after “Deny”; “Always” writes it into the policy file.'
    : 'The code reads it after “Deny”.';
  const always = takesReason
    ? html`<p class="note">“Always” allows every later call of ${shownTool(object.server, object.tool)}, whatever its arguments.</p>`
    : NOTHING;
  // The first button is what Enter in the field presses: none, so that nobody allows something by it.
  return html`<form method="post" action="${action}">
<button disabled hidden></button>
<input type="hidden" name="token" value="${token}">
<div class="buttons">${buttons}</div>
<label for="word-${id}">A word, if you like. <span class="note">${note}</span></label>
<input id="word-${id}" name="word" maxlength="${MAX_WORD_CHARS}" autocomplete="off" spellcheck="false">
${always}
</form>`;
}

/** However long: what is decided here is decided of the thing that has this name. */
const whole = (name: string): string => shownName(name, Number.POSITIVE_INFINITY);

/** Heard without the button beside it, `For this run` would not say what. */
const label = (decision: Decision): Html =>
  decision === 'no' || decision === 'once' ? NOTHING : html` aria-label="Allow: ${BUTTONS[decision]}"`;

function facts({ question }: Posted): readonly Html[] {
  const { client, run, session, principal, askedAt, id } = question;
  const rows: ReadonlyArray<readonly [string, string | undefined]> = [
    ['Client', client],
    ['Run', run],
    ['Session', session],
    ['Principal', principal],
    ['Asked at', clock(new Date(askedAt))],
    ['Question', id],
  ];
  return rows.flatMap(([name, value]) =>
    value === undefined ? [] : [html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>\n`],
  );
}

/** Time by the clock of this machine, where the browser is too. */
const clock = (at: Date): string => at.toLocaleTimeString('en-GB', { timeStyle: 'medium' });

const capitalise = (sentence: string): string => sentence.charAt(0).toUpperCase() + sentence.slice(1);

/** Longer arguments have no colours: each piece is an element, and browsers grow slow over some ten thousand. */
const MAX_COLOURED_CHARS = 60_000;
/** Longer arguments scroll in a frame of their own, so that the buttons are not a kilometre below. */
const SCROLLS_ABOVE_CHARS = 3_000;

/**
 * A call as it will be sent, for a person to read: laid out in lines, whole, and nothing of it but text. `name` is what a
 * screen reader calls it.
 */
function callHtml(text: string, name: string): Html {
  const pieces = jsonPieces(text);
  const isColoured = text.length <= MAX_COLOURED_CHARS;
  const shown = pieces.map((piece) =>
    piece.is === 'plain' || !isColoured
      ? html`${piece.text}`
      : html`<span class="${piece.is}">${piece.text}</span>`,
  );
  if (text.length <= SCROLLS_ABOVE_CHARS) return html`<pre>${shown}</pre>`;
  const length = text.length.toLocaleString('en');
  return html`<p class="note">${length} characters; scroll to the end to see all of them.</p>
<pre class="long" tabindex="0" role="region" aria-label="${name}">${shown}</pre>`;
}
