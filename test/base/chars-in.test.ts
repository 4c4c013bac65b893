// How much text a value holds.

import { expect, it } from 'vitest';
import { charsIn } from '../../src/base/text/text.js';

it.each([
  ['text', 4],
  [7, 0],
  [undefined, 0],
  [{ a: 'ab', b: ['c', { d: 'de' }], e: null }, 5],
])('of %j are %i', (value, chars) => {
  expect(charsIn(value)).toBe(chars);
});

it('are counted once where a value holds itself, however deep it is', () => {
  const text = { is: 'abc' };
  const ring: { self?: object; texts: object[] } = { texts: [text, text] };
  ring.self = ring;
  let deep: object = ring;
  for (let depth = 0; depth < 100_000; depth++) deep = { deep };
  expect(charsIn(deep)).toBe(3);
});
