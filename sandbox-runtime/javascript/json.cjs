// JSON as the wire wants it, and without a silent change: an integer that a Number cannot hold is a BigInt, in both
// directions. A BigInt because arithmetic that would mix the two up fails aloud, and because it goes back to a server as
// the digits that it came as; a text would not. What is sent is ASCII, bounded, and refused where JSON would lose it.

'use strict';

const { randomUUID } = require('node:crypto');
const { MAX_DEPTH, MAX_FRAME_BYTES, MAX_VALUES } = require('./frames.cjs');

/** Marks an integer's place in text that JSON.parse or JSON.stringify handles. Nobody else can know it. */
const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, 'g');
/** The shortest integers that are not exact have sixteen digits. */
const LONG = /\d{16}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d+$/;
/** As in Python; converting takes quadratic time. */
const MAX_DIGITS = 4_300;
/** Escapes of what JSON.stringify has found to be lone surrogates; an escaped backslash is passed over whole. */
const ESCAPE = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;

/** JSON.parse, with BigInts where they are needed. Throws SyntaxError. */
function parse(text) {
  if (!LONG.test(text)) return JSON.parse(text);
  return JSON.parse(markIntegers(text), (_, value) =>
    typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}

function markIntegers(text) {
  const parts = [];
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const end = quote === -1 ? text.length : quote;
    parts.push(text.slice(at, end).replace(NUMBER, mark));
    if (quote === -1) break;
    at = endOfString(text, quote);
    parts.push(text.slice(quote, at));
  }
  return parts.join('');
}

function mark(token) {
  if (!INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token;
  if (token.length > MAX_DIGITS) throw new SyntaxError(`an integer of ${token.length} digits`);
  return `"${MARK}${token}"`;
}

/** Index just past the string that opens at `start`. */
function endOfString(text, start) {
  let quote = start;
  for (;;) {
    quote = text.indexOf('"', quote + 1);
    if (quote === -1) return text.length;
    let slashes = 0;
    while (text[quote - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return quote + 1;
  }
}

/**
 * One line, newline included. TypeError for what is not JSON, RangeError for what the host would end the run for. A lone
 * surrogate becomes U+FFFD, since other languages refuse it; with `isExact` it is a TypeError.
 */
function encode(frame, { isExact = false } = {}) {
  let text;
  try {
    text = JSON.stringify(frame, replace).replace(MARKED, '$1');
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep();
    throw error;
  }
  if (text.includes('\\ud'))
    text = text.replace(ESCAPE, (found) => (found.length === 6 ? alone(found, isExact) : found));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII, controls included
  text = text.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  if (text.length >= MAX_FRAME_BYTES) {
    throw new RangeError(
      `${text.length} bytes of JSON exceed the limit of ${MAX_FRAME_BYTES} for one message`,
    );
  }
  const { depth, values } = measured(text);
  if (depth > MAX_DEPTH) throw tooDeep();
  if (values > MAX_VALUES)
    throw new RangeError(`more than ${MAX_VALUES} values, some ${values}, cannot be sent in one message`);
  return `${text}\n`;
}

function alone(surrogate, isExact) {
  if (!isExact) return '\\ufffd';
  throw new TypeError(
    `it holds a lone surrogate, '${surrogate}', which no other program reads; pass text.toWellFormed(), or base64 of the bytes`,
  );
}

const tooDeep = () => new RangeError(`data nested deeper than ${MAX_DEPTH} levels cannot be sent`);

/** The replacer of JSON.stringify: what it would leave out or turn into something else is refused, with a remedy. */
function replace(key, value) {
  const original = this[key];
  if (typeof original === 'bigint') return MARK + original;
  const complaint = complaintAbout(original);
  if (complaint !== undefined) throw new TypeError(complaint);
  return value;
}

function complaintAbout(value) {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value)
        ? undefined
        : 'NaN and Infinity are not JSON; pass null or a text instead';
    case 'function':
    case 'symbol':
      return `a ${typeof value} is not JSON`;
    case 'object':
      return value === null ? undefined : complaintAboutObject(value);
    default:
      return undefined;
  }
}

function complaintAboutObject(value) {
  if (value instanceof Promise) return 'a Promise is not JSON; await it first';
  if (value instanceof Map) return 'a Map is not JSON; pass Object.fromEntries(map)';
  if (value instanceof Set) return 'a Set is not JSON; pass [...set]';
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return "bytes are not JSON; pass Buffer.from(data).toString('base64')";
  return undefined;
}

/** The deepest nesting of well-formed JSON text, and its values as the host counts them. */
function measured(text) {
  let depth = 0;
  let deepest = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at) - 1;
    else if (char === ',') values++;
    else if (char === '{' || char === '[') {
      values++;
      deepest = Math.max(deepest, ++depth);
    } else if (char === '}' || char === ']') depth--;
  }
  return { depth: deepest, values };
}

/** How console.log(JSON.stringify(...)) shows a BigInt, which it else refuses: its digits, or a text of them. */
function allowBigIntsInJson() {
  if (BigInt.prototype.toJSON !== undefined) return;
  Object.defineProperty(BigInt.prototype, 'toJSON', {
    configurable: true,
    writable: true,
    value() {
      return JSON.rawJSON === undefined ? String(this) : JSON.rawJSON(String(this));
    },
  });
}

module.exports = { allowBigIntsInJson, encode, parse };
