// Texts that stand where a secret would: after `token=`, in a URL before its host, as a member of JSON whose name says
// so. Nothing is known of the texts themselves. Every one of these looks at each character a bounded number of times:
// strangers write what they read.

import { endOfString } from '../json/json-text.js';

const HIDDEN = '…';
const WORDS = 'token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|authorization|cookie';
/** `token=`, `"apiKey": "`, `Authorization: Bearer `, also with escaped quotes; what follows is the value. */
const KEY = new RegExp(`(?:${WORDS})\\\\{0,8}["']?\\s*[=:]\\s*\\\\{0,8}["']?(?:(?:bearer|basic)\\s+)?`, 'gi');
/** Characters that end a value, besides white space. */
const VALUE_END = '"\',;&';
const MIN_CHARS = 8;
const MEMBER_NAME = new RegExp(`${WORDS}|private[_-]?key|credential`, 'i');
/** Longest name of a JSON member that may announce a secret; a longer name says something else. */
const MAX_NAME_CHARS = 140;
const SPACE = /\s/;
const AUTHORITY_END = '/';
const USER_END = '/:@';

/** `text` without what stands after a word such as `token`, and looks like one. */
export function withoutKeyed(text: string): string {
  let shown = '';
  let kept = 0;
  // `runEnd` is where the last examined value ends, and `lastDigit` is the index of its last digit, or -1. A digit
  // tells a secret from a word such as `expired`.
  let runEnd = 0;
  let lastDigit = -1;
  KEY.lastIndex = 0;
  for (let key = KEY.exec(text); key !== null; key = KEY.exec(text)) {
    const start = key.index + key[0].length;
    if (start >= runEnd) {
      runEnd = firstOf(VALUE_END, text, start);
      lastDigit = lastDigitIn(text, start, runEnd);
    }
    // Backslashes left of an escaped quote are not the value's.
    let end = runEnd;
    while (end > start && text[end - 1] === '\\') end--;
    if (lastDigit < start || end - start < MIN_CHARS) continue;
    shown += `${text.slice(kept, start)}${HIDDEN}`;
    kept = end;
    KEY.lastIndex = end;
  }
  return kept === 0 ? text : shown + text.slice(kept);
}

function lastDigitIn(text: string, start: number, end: number): number {
  for (let at = end - 1; at >= start; at--) {
    const unit = text.charCodeAt(at);
    if (unit >= 48 && unit <= 57) return at;
  }
  return -1;
}

/** `text` without the passwords of the URLs in it. */
export function withoutUrlPasswords(text: string): string {
  let shown = '';
  let kept = 0;
  for (let slashes = text.indexOf('://'); slashes !== -1; slashes = text.indexOf('://', slashes + 3)) {
    // Neither goes beyond the next `://`.
    const colon = firstOf(USER_END, text, slashes + 3);
    if (text[colon] !== ':') continue;
    const end = firstOf(AUTHORITY_END, text, colon);
    const at = colon + text.slice(colon, end).lastIndexOf('@');
    if (at <= colon + 1) continue;
    shown += `${text.slice(kept, colon + 1)}${HIDDEN}`;
    kept = at;
  }
  return kept === 0 ? text : shown + text.slice(kept);
}

/** Index of the next white space or one of `stops`; a loop, since a regular expression is set up anew each time. */
function firstOf(stops: string, text: string, from: number): number {
  let at = from;
  while (at < text.length && !isSpace(text, at) && !stops.includes(text[at] ?? '')) at++;
  return at;
}

function isSpace(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit <= 32 ? unit === 32 || (unit >= 9 && unit <= 13) : unit >= 0x80 && SPACE.test(text[at] ?? '');
}

/** JSON text without the texts that its objects call passwords, tokens and the like. It stays JSON. */
export function withoutSecretMembers(json: string): string {
  let shown = '';
  let kept = 0;
  for (let start = json.indexOf('"'); start !== -1; start = json.indexOf('"', start)) {
    const end = endOfString(json, start);
    const colon = afterSpace(json, end);
    const value = afterSpace(json, colon + 1);
    const isMember = json[colon] === ':' && json[value] === '"';
    if (isMember && end - start <= MAX_NAME_CHARS && MEMBER_NAME.test(json.slice(start, end))) {
      shown += `${json.slice(kept, value)}"${HIDDEN}"`;
      kept = endOfString(json, value);
      start = kept;
    } else start = Math.max(end, start + 1);
  }
  return kept === 0 ? json : shown + json.slice(kept);
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text, at)) at++;
  return at;
}
