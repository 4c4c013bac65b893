// JSON text laid out in lines for a person, without parsing it: numbers, escapes and the order of keys stay as they are
// written, since what is shown must be what is sent. Knows nothing of what the text is for.

import { madeVisibleJson } from '../text/unseen.js';
import { endOfString } from './json-text.js';

/** Deeper values are not moved further to the right, or a deep one would be mostly spaces. */
const MAX_INDENTS = 16;
const INDENT = '  ';
/** Longest JSON that is read more easily in one line. */
const ONE_LINE_CHARS = 60;
/** Between two tokens of JSON nothing else is white space. */
const BETWEEN = /[\s\ufeff]/;

/**
 * The text as pieces that, put together, say the same in lines. Every character that does not show is an escape of JSON,
 * and no string goes on in another line, so that nothing in a string looks like a part of the layout. Linear; whatever the
 * text is, nothing of it but white space between tokens is left out.
 */
export function jsonPieces(json: string) {
  const text = json.toWellFormed();
  const pieces: { readonly is: 'key' | 'string' | 'plain'; readonly text: string }[] = [];
  let plain = '';
  let depth = 0;
  const isShort = text.length <= ONE_LINE_CHARS;
  const newLine = () => (isShort ? ' ' : `\n${INDENT.repeat(Math.min(MAX_INDENTS, Math.max(0, depth)))}`);
  for (let at = 0; at < text.length; ) {
    const letter = text.charAt(at);
    if (letter === '"') {
      const end = endOfString(text, at);
      const next = afterSpace(text, end);
      if (plain !== '') pieces.push({ is: 'plain', text: madeVisibleJson(plain) });
      plain = '';
      pieces.push({ is: text.charAt(next) === ':' ? 'key' : 'string', text: inOneLine(text.slice(at, end)) });
      at = end;
      continue;
    }
    at++;
    if (BETWEEN.test(letter)) continue;
    if (letter === '{' || letter === '[') {
      const next = afterSpace(text, at);
      const closes = text.charAt(next) === (letter === '{' ? '}' : ']');
      depth += closes ? 0 : 1;
      plain += closes ? letter + text.charAt(next) : letter + newLine();
      if (closes) at = next + 1;
    } else if (letter === '}' || letter === ']') {
      depth--;
      plain += newLine() + letter;
    } else if (letter === ',') plain += letter + newLine();
    else plain += letter === ':' ? ': ' : letter;
  }
  if (plain !== '') pieces.push({ is: 'plain', text: madeVisibleJson(plain) });
  return pieces;
}

/** All pieces of laid-out JSON as one text. */
export const laidOutJson = (json: string): string =>
  jsonPieces(json)
    .map(({ text }) => text)
    .join('');

function afterSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && BETWEEN.test(text.charAt(at))) at++;
  return at;
}

/** A string that is JSON has none of these three as it is; one that is not must not draw lines of its own. */
const inOneLine = (string: string): string =>
  madeVisibleJson(string).replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
