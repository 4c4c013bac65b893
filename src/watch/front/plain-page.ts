// Questions as plain forms, for browsers without JavaScript. Whatever is put into a template is text and shows as such: there is no way
// to put markup in but another template.

import { shownName, shownTool } from '../../base/text/shown-name.js';
import { shownExactly } from '../../base/text/text.js';
import { type Decision, MAX_WORD_CHARS } from '../../policy/approvals/question.js';
import { BUTTONS, type ShownEnd, type ShownQuestion } from './shown.js';

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
const NOTHING = new Html('');

/**
 * The document with all open questions, and those that ended lately. `notice` is what has just become of an answer; with `leaveToken` there is
 * a button that logs out.
 */
export function plainPage({
  open,
  ended,
  notice,
  leaveToken,
}: {
  readonly open: readonly ShownQuestion[];
  readonly ended: readonly ShownEnd[];
  readonly notice: { readonly says: string; readonly isDone: boolean } | undefined;
  readonly leaveToken?: string | undefined;
}): string {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${open.length > 0 ? `(${open.length}) ` : ''}Questions</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
</head>
<body>
<main>
<h1>${headingOf(open.length)}</h1>
<p role="status" class="${notice?.isDone === false ? 'told not' : 'told'}">${notice?.says ?? ''}</p>
${open.map(questionHtml)}${ended.map(endHtml)}<p class="note">Load this page again to see what is new. <a href="plain">Load it</a></p>
${leaveToken === undefined ? NOTHING : leaveHtml(leaveToken)}</main>
</body>
</html>
`;
  return text;
}

const leaveHtml = (token: string): Html =>
  html`<form method="post" action="leave"><input type="hidden" name="token" value="${token}"><button>Log out</button></form>
`;

function headingOf(open: number): string {
  if (open === 0) return 'Nothing waits for you.';
  return open === 1 ? 'One question waits for you.' : `${open} questions wait for you.`;
}

// One question: what would be called, why it is asked, and the buttons of what may be decided.

const title = (server: string, tool: string): Html =>
  html`<h2><bdi class="server">${whole(server)}</bdi><span class="dot">.</span><wbr><bdi class="tool">${whole(tool)}</bdi></h2>`;

function questionHtml(question: ShownQuestion): Html {
  const { id, server, tool, rule, expiresAt, calls, callCount } = question;
  const many =
    callCount === 1 ? 'This call would be sent:' : `These ${callCount} calls would be sent, all or none:`;
  return html`<article id="${id}" aria-label="Question about ${shownTool(server, tool)}">
${title(server, tool)}
<p class="note">Asked because of ${rule}. Waits until ${clock(expiresAt)}.</p>
${calls === undefined ? tooLong(id) : html`<h3>${many}</h3>\n${callsHtml(calls, tool)}`}
${formHtml(question)}
<dl>${facts(question)}</dl>
</article>
`;
}

const endHtml = ({ id, server, tool, why, at }: ShownEnd): Html =>
  html`<article id="${id}" class="ended">
${title(server, tool)}
<p>${why}, at ${clock(at)}.</p>
</article>
`;

function callsHtml(calls: NonNullable<ShownQuestion['calls']>, tool: string): Html {
  const shown = calls.map(
    (pieces, at) =>
      html`<li><pre class="scrolls lines" tabindex="0" role="region" aria-label="Arguments of call ${at + 1} of ${shownName(tool)}">${pieces.map(
        ({ is, text }) => (is === 'plain' ? html`${text}` : html`<span class="${is}">${text}</span>`),
      )}</pre></li>\n`,
  );
  return html`<ol class="calls">${shown}</ol>`;
}

const tooLong = (id: string): Html =>
  html`<p class="warn">What would be sent is too long for a page, so it can only be denied here. In a terminal, <code>approvals show ${id}</code> shows all of it, and <code>approvals allow ${id}</code> allows it.</p>`;

function formHtml({ id, token, offers, server, tool }: ShownQuestion): Html {
  const buttons = offers.map(
    (decision) =>
      html`<button name="decision" value="${decision}" class="${decision}"${label(decision)}>${BUTTONS[decision]}</button>\n`,
  );
  const takesReason = offers.includes('always');
  const note = takesReason
    ? 'The code reads it after “Deny”; “Always” writes it into the policy file.'
    : 'The code reads it after “Deny”.';
  const always = takesReason
    ? html`<p class="note">“Always” allows every later call of ${shownTool(server, tool)}, whatever its arguments.</p>`
    : NOTHING;
  // The first button is what Enter in the field presses: none, so that nobody allows something by it.
  return html`<form method="post" action="answer">
<button disabled hidden></button>
<input type="hidden" name="id" value="${id}">
<input type="hidden" name="token" value="${token}">
<input type="hidden" name="plain">
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

function facts({ client, run, session, principal, askedAt, id }: ShownQuestion): readonly Html[] {
  const rows: ReadonlyArray<readonly [string, string | undefined]> = [
    ['Client', client],
    ['Run', run],
    ['Session', session],
    ['Principal', principal],
    ['Asked at', clock(askedAt)],
    ['Question', id],
  ];
  return rows.flatMap(([name, value]) =>
    value === undefined ? [] : [html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>\n`],
  );
}

/** Time by the clock of this machine. */
const clock = (at: string): string => new Date(at).toLocaleTimeString('en-GB', { timeStyle: 'medium' });
