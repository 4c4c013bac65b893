import { expect, test } from 'vitest';
import { isBeforeContact } from '../../src/engine/client-words.js';

test('a registry has answered with the first line that is not about looking for one', () => {
  expect(isBeforeContact('Resolving "x" using unqualified-search registries')).toBe(true);
  expect(
    isBeforeContact('Resolved "x" as an alias (/etc/containers/registries.conf.d/shortnames.conf)'),
  ).toBe(true);
  expect(isBeforeContact('Trying to pull localhost/none:1...')).toBe(true);
  expect(isBeforeContact('Getting image source signatures')).toBe(false);
  expect(isBeforeContact('1: Pulling from library/python')).toBe(false);
});
