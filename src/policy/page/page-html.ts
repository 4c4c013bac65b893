// The whole page: all open questions of one principal, or one of them, and the headers that it is sent with.

import { randomBytes } from 'node:crypto';
import { textBeside } from '../../base/files/read-text.js';
import type { Posted } from '../inbox/posted.js';
import { Html, html } from './html.js';
import type { PageKeys } from './keys.js';
import { capital, questionHtml } from './question-html.js';

const STYLE = textBeside(new URL('./page-style.css', import.meta.url));
const SCRIPT = textBeside(new URL('./page-script.js', import.meta.url));

/** Said ahead of the questions: what has just become of an answer. `isDone`: it was taken. */
export type Notice = { readonly says: string; readonly isDone: boolean };

export type Page = { readonly headers: Readonly<Record<string, string>>; readonly text: string };

export type PageFacts = {
  readonly keys: PageKeys;
  readonly secret: string;
  /** Questions of this principal, as the inbox has them. */
  readonly posted: readonly Posted[];
  /** Where the page is that of one question. */
  readonly only?: Posted | undefined;
  readonly notice?: Notice | undefined;
  /** Without style and script, for the page's own script, which has both. */
  readonly isBare?: boolean;
};

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
export function questionsPage({ keys, secret, posted, only, notice, isBare = false }: PageFacts): Page {
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
  shell('Approvals', html`<body>\n<main>\n<h1>Approvals</h1>\n<p>${capital(says)}</p>\n</main>`, {
    style: STYLE,
  });

type Looks = { readonly style?: string; readonly script?: string };

function shell(title: string, body: Html, { style, script }: Looks): Page {
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
