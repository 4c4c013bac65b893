// A wrong value as it is repeated to whoever gave it.

import { expect, it } from 'vitest';
import { describeValue } from '../../src/base/text/echo.js';

it.each([
  [undefined, 'nothing'],
  [7, '7'],
  ['short', '"short"'],
  ['x'.repeat(1_000_001), / of 1000001 characters$/],
  [Array.from({ length: 300 }, () => 'file'), / of 300 items$/],
  [{ long: 'x'.repeat(200) }, /^\{"long":"x+…$/],
])('a value that is too long says how long it is', (value, shown) => {
  const text = describeValue(value);
  if (typeof shown === 'string') expect(text).toBe(shown);
  else expect(text).toMatch(shown);
  expect(text.length).toBeLessThan(120);
});
