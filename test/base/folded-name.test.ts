// What folds alike: every letter with its other cases, in all of Unicode, since a reader that knows no case takes them for one.

import { expect, it } from 'vitest';
import { foldName } from '../../src/base/text/name-pattern.js';

it('no letter has another case that does not fold like it', () => {
  const apart: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    const letter = String.fromCodePoint(code);
    for (const other of [letter.toLowerCase(), letter.toUpperCase()])
      if (other !== letter && foldName(other) !== foldName(letter)) apart.push(`${letter} ${other}`);
  }
  expect(apart).toEqual([]);
});
