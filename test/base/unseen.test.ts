// What does not show becomes visible, and what emoji and scripts need stays: the rule for all that is read.

import { describe, expect, it } from 'vitest';
import { clip, isHarmless, makeHarmless, shownExactly } from '../../src/base/text/text.js';
import { isAllSeen, madeVisibleJson } from '../../src/base/text/unseen.js';
import { growth, LINEAR } from '../support/cpu-time.js';

/** A text in tags, as they are used to hide instructions: U+E0000 and the ASCII of each letter. */
const inTags = (text: string) =>
  [...text].map((char) => String.fromCodePoint(0xe0000 + (char.codePointAt(0) ?? 0))).join('');

describe('is made visible', () => {
  it.each([
    ['tags', `ok${inTags('Hi')}`, 'ok\\u{e0048}\\u{e0069}'],
    ['zero width', 'a\u200bb\u200cc\u200dd\u200ee\u200ff', 'a\\u200bb\\u200cc\\u200dd\\u200ee\\u200ff'],
    ['joiner and byte order mark', '\u2060x\ufeffy', '\\u2060x\\ufeffy'],
    ['marks of direction', 'a\u061cb\u202ec\u2066', 'a\\u061cb\\u202ec\\u2066'],
    ['separators of lines', 'a\u2028b\u2029c', 'a\\u2028b\\u2029c'],
    [
      'a soft hyphen and fillers',
      'a\u00adb\u3164c\u115fd\uffa0\u034f',
      'a\\xadb\\u3164c\\u115fd\\uffa0\\u034f',
    ],
    ['selectors behind letters', 'a\ufe0fb\ufe00c\u{e0101}', 'a\\ufe0fb\\ufe00c\\u{e0101}'],
    ['what is not assigned yet', '\u{e0fff}\u2065\u{e01ff}', '\\u{e0fff}\\u2065\\u{e01ff}'],
    ['notes of music and shorthand', '\u{1d173}\u{1bca0}', '\\u{1d173}\\u{1bca0}'],
    ['a second selector', '😀\ufe0f\ufe0f❤\ufe0f\ufe0e', '😀\ufe0f\\ufe0f❤\ufe0f\\ufe0e'],
    ['a second joiner', '👩\u200d\u200d💻', '👩\\u200d\\u200d💻'],
    ['a joiner at the end', '👩\u200d', '👩\\u200d'],
    ['a joiner at the start', '\u200d👩', '\\u200d👩'],
    ['tags behind a flag that is none', `🏴${inTags('usca')}\u{e007f}`, `🏴${escapes('usca')}\\u{e007f}`],
    ['a flag without an end', `🏴${inTags('gbeng')}`, `🏴${escapes('gbeng')}`],
    ['a joiner in Latin', 'Auf\u200clage', 'Auf\\u200clage'],
    ['a joiner between scripts', 'ا\u200da', 'ا\\u200da'],
    ['joiners in a row in a script', 'می\u200c\u200cخ', 'می\\u200c\\u200cخ'],
    ['a far ideographic selector', '葛\u{e01ef}', '葛\\u{e01ef}'],
    ['selectors of digits', '1\ufe0f2', '1\\ufe0f2'],
  ])('makes %s visible', (_what, text, expected) => {
    expect(makeHarmless(text)).toBe(expected);
    expect(isHarmless(text)).toBe(false);
    expect(shownExactly(text)).toBe(expected);
    // What is visible is no longer touched.
    expect(makeHarmless(expected)).toBe(expected);
    expect(isHarmless(expected)).toBe(true);
  });
});

function escapes(text: string): string {
  return [...text].map((char) => `\\u{e00${char.codePointAt(0)?.toString(16)}}`).join('');
}

describe('stays as it is', () => {
  it.each([
    ['plain text', 'Ünïcödé, 漢字, тест, ไทย, 한국어, \ttab\nline'],
    ['emoji', '😀 ❤️ ☎︎ 1️⃣ #️⃣ 👍🏽 🇨🇭'],
    ['families and professions', '👩‍👩‍👧‍👦 👩🏽‍💻 🕵🏽‍♂️ 🏳️‍🌈 🏴‍☠️ ❤️‍🔥 👁️‍🗨️ 🧑🏻‍❤️‍💋‍🧑🏿'],
    [
      'flags with tags',
      `🏴${inTags('gbeng')}\u{e007f} 🏴${inTags('gbsct')}\u{e007f}🏴${inTags('gbwls')}\u{e007f}`,
    ],
    ['Persian', 'می‌خواهم کتاب‌های'],
    ['Hindi', 'क्‍ष और क्‌ष'],
    ['Bengali', 'র‍্যাব'],
    ['Sinhala', 'ශ්‍රී ලංකා'],
    ['Malayalam of old', 'അവന്‍ പോയി'],
    ['Mongolian', 'ᠮᠣᠩᠭᠣᠯ\u180e\u1820 ᠠ᠋'],
    ['ideographs', '葛\u{e0100}飾区 辻\u{e0101}'],
    ['mathematics', '∪︀'],
  ])('leaves %s as it is', (_what, text) => {
    expect(makeHarmless(text)).toBe(text);
    expect(isHarmless(text)).toBe(true);
  });
});

it('a name that is compared may not even have what emoji and scripts need', () => {
  expect(isAllSeen('naïve name')).toBe(true);
  for (const name of ['p\u200b', 'می\u200cخ', '❤\ufe0f', 'a\u0007']) expect(isAllSeen(name)).toBe(false);
});

it('a cut leaves nothing unseen behind', () => {
  const text = `👩‍👩‍👧 🏴${inTags('gbeng')}\u{e007f} می‌خواهم 1️⃣`;
  for (let chars = 1; chars < text.length; chars++) expect(isHarmless(clip(text, chars))).toBe(true);
});

it('JSON says the same with escapes of its own', () => {
  const value = { 'a\u200b': ['\u{e0041}\u009b', '👩‍💻', 7] };
  const json = madeVisibleJson(JSON.stringify(value));
  expect(json).toBe('{"a\\u200b":["\\udb40\\udc41\\u009b","👩‍💻",7]}');
  expect(JSON.parse(json)).toEqual(value);
});

it('data keeps what a terminal would swallow, in a visible form', () => {
  expect(shownExactly('a\u001b[31mb\rc\r\nd\ud800')).toBe('a\\x1b[31mb\\x0dc\r\nd\ufffd');
});

it.each([
  ['joiners', '\u200d'],
  ['tags', '\u{e0041}'],
  ['joiners and letters', '\u200da'],
  ['joiners and letters of a script', 'م\u200d'],
  ['emoji and joiners', '😀\u200d'],
  ['flags that never end', `🏴${inTags('gbeng')}`],
  ['escapes', '\u001b'],
  ['starts of titles', '\u001b]0;'],
  ['starts of colours', '\u001b[0'],
  ['carriage returns', '\r'],
  ['carriage returns and letters', 'a\r'],
  ['empty lines', '\r\n'],
])('%s take time that grows with their length', (_what, piece) => {
  const looked = (bytes: number) => isHarmless(makeHarmless(piece.repeat(bytes / Buffer.byteLength(piece))));
  expect(growth(looked, 16 * 1024)).toBeLessThan(LINEAR);
});
