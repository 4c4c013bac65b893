import { describe, expect, it } from 'vitest';
import {
  clip,
  decodedText,
  HeadTail,
  isHarmless,
  linesOf,
  makeHarmless,
  wholeCharacters,
} from '../../src/base/text/text.js';
import { growth, LINEAR } from '../support/cpu-time.js';

describe('HeadTail', () => {
  it('keeps everything below its cap', () => {
    const kept = new HeadTail(10);
    for (const piece of ['abc', 'def', 'ghij']) kept.add(piece);
    expect([kept.toString(), kept.dropped]).toEqual(['abcdefghij', 0]);
  });

  it.each([1, 3, 7, 1000])('keeps head and tail and counts the rest, fed %i characters at a time', (size) => {
    const all = Array.from({ length: 1_000 }, (_, n) => String(n % 10)).join('');
    const kept = new HeadTail(20);
    for (let at = 0; at < all.length; at += size) kept.add(all.slice(at, at + size));
    expect(kept.dropped).toBe(980);
    expect(kept.toString()).toBe('0123456789\n[… 980 characters dropped (980 bytes) …]\n0123456789');
  });

  it('counts bytes too, and says where the rest is', () => {
    const kept = new HeadTail(4);
    for (const piece of ['é😀', 'x'.repeat(7), 'é'.repeat(5), 'yz']) kept.add(piece);
    expect([kept.dropped, kept.droppedBytes]).toEqual([13, 18]);
    expect(kept.toString('; see there')).toBe(
      'é\ud83d\n[… 13 characters dropped (18 bytes); see there …]\nyz',
    );
  });

  it('stays small however much is added', () => {
    const kept = new HeadTail(1_000);
    for (let n = 0; n < 100_000; n++) kept.add('xxxxxxxxxx');
    expect(kept.toString().length).toBeLessThan(1_100);
  });
});

describe('harmless', () => {
  it.each([
    ['plain é😀\ttab\nline', 'plain é😀\ttab\nline'],
    ['\u001b[1;31mred\u001b[0m', 'red'],
    ['\u001b]8;;http://x\u001b\\link\u001b]8;;\u0007', 'link'],
    ['a\r\nb', 'a\nb'],
    ['0%\r10%\r100%\nnext', '100%\nnext'],
    ['a long line\rshort', 'shortg line'],
    ['a long line\r\u001b[Kshort', 'short'],
    ['a long line\u001b[2K\rshort', 'short'],
    ['\u001b[32m50%\u001b[0m\r\u001b[32m100%\u001b[0m\r', '100%'],
    ['a\r\r\nb\r', 'a\nb'],
    ['😀\ra', 'a\ufffd'],
    ['bell\u0007 nul\u0000 c1\u009b bidi\u202e', 'bell\\x07 nul\\x00 c1\\x9b bidi\\u202e'],
    ['\ud800', '\ufffd'],
  ])('%j', (text, expected) => {
    expect(makeHarmless(text)).toBe(expected);
  });
});

it.each([
  ['plain é😀\ttab\nline', true],
  ['a\r\nb', true],
  ['a\rb', false],
  ['\u001b[31m', false],
  ['\u202e', false],
  ['\ud800', false],
])('%j may be shown as it is: %s', (text, expected) => {
  expect(isHarmless(text)).toBe(expected);
});

it('makes text of bytes, with whole characters only', () => {
  expect(decodedText(Buffer.from('é😀'))).toBe('é😀');
  expect(decodedText(Buffer.from([0xff]))).toBeUndefined();
  const bytes = Buffer.from('aé😀');
  expect([0, 1, 2, 3, 4, 6, 7, 99].map((max) => wholeCharacters(bytes, max).toString())).toEqual([
    '',
    'a',
    'a',
    'aé',
    'aé',
    'aé',
    'aé😀',
    'aé😀',
  ]);
});

it('takes linear time for a line that is written over a million times', () => {
  const bar = (times: number) => expect(makeHarmless('working…\r'.repeat(times))).toBe('working…');
  const returns = (times: number) => expect(makeHarmless('\r'.repeat(times))).toBe('');
  expect(growth(bar, 16_000)).toBeLessThan(LINEAR);
  expect(growth(returns, 48_000)).toBeLessThan(LINEAR);
});

it('clip cuts a text and linesOf gives its lines', () => {
  expect(clip('abcdef', 4)).toBe('abc…');
  expect(clip('abcd', 4)).toBe('abcd');
  expect(clip('a😀b', 3).isWellFormed()).toBe(true);
  expect(linesOf('a\n\nb\n')).toEqual(['a', '', 'b']);
  expect(linesOf('')).toEqual([]);
});
