// A call as it will be sent, for a person to read: laid out in lines, whole, and nothing of it but text.

import { jsonPieces } from '../../base/json/laid-out-json.js';
import type { AskedCall } from '../approvals/question.js';
import { type Html, html } from './html.js';

/** Longer ones have no colours: each piece is an element, and browsers grow slow over some ten thousand. */
const MAX_COLOURED_CHARS = 60_000;
/** Longer ones scroll in a frame of their own, so that the buttons are not a kilometre below. */
const SCROLLS_ABOVE_CHARS = 3_000;

/** `name` is what a screen reader calls it. */
export function callHtml({ arguments: text }: AskedCall, name: string): Html {
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
