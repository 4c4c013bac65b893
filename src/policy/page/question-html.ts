// One question on the page: what would be called, why it is asked, and the buttons of what may be decided.

import { jsonPieces } from '../../base/json/laid-out-json.js';
import { shownName, shownTool } from '../../base/text/shown-name.js';
import type { AskedCall, Decision } from '../approvals/question.js';
import { MAX_WORD_CHARS } from '../inbox/answer-file.js';
import type { Posted } from '../inbox/posted.js';
import { Html, html } from './html.js';

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
<p class="end">${capital(state.why)}, at ${clock(new Date(state.sinceMs))}.</p>
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
  if (calls.length === 1 && only !== undefined) return callHtml(only, `Arguments of ${shownName(tool)}`);
  const items = calls.map((call, at) => html`<li>${callHtml(call, `Arguments of call ${at + 1}`)}</li>\n`);
  return html`<ol>${items}</ol>`;
}

const tooLong = (id: string): Html =>
  html`<p class="warn">What would be sent is too long for a page, so that it can only be denied here. In a terminal, <code>approvals show ${id}</code> shows all of it, and <code>approvals allow ${id}</code> allows it.</p>`;

function formHtml(posted: Posted, action: string, token: string): Html {
  const { id, offers, object } = posted.question;
  const offered = offers.filter((decision) => decision === 'no' || isShownWhole(posted));
  const buttons = offered.map(
    (decision) =>
      html`<button name="decision" value="${decision}" class="${decision}"${label(decision)}>${BUTTONS[decision]}</button>\n`,
  );
  const takesReason = offered.includes('always');
  const note = takesReason
    ? 'The code is told it with “Deny”; “Always” writes it into the policy file.'
    : 'The code is told it with “Deny”.';
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

/** By the clock of this machine, where the browser is too. */
const clock = (at: Date): string => at.toLocaleTimeString('en-GB', { timeStyle: 'medium' });

export const capital = (sentence: string): string => sentence.charAt(0).toUpperCase() + sentence.slice(1);

/** Longer arguments have no colours: each piece is an element, and browsers grow slow over some ten thousand. */
const MAX_COLOURED_CHARS = 60_000;
/** Longer arguments scroll in a frame of their own, so that the buttons are not a kilometre below. */
const SCROLLS_ABOVE_CHARS = 3_000;

/**
 * A call as it will be sent, for a person to read: laid out in lines, whole, and nothing of it but text. `name` is what a
 * screen reader calls it.
 */
function callHtml({ arguments: text }: AskedCall, name: string): Html {
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
