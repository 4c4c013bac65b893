import { expect, it } from 'vitest';
import { randomBytes } from '../../src/base/crypto.js';

it('random bytes are drawn once, whatever is drawn between them and however many', () => {
  const drawn = Array.from({ length: 2_000 }, (_, at) => randomBytes(8 + (at % 25)));
  const shown = drawn.map((bytes) => bytes.toString('hex'));
  expect(drawn.map(({ length }) => length)).toEqual(drawn.map((_, at) => 8 + (at % 25)));
  // Their first eight bytes are those of none other, and none is filled with zeros: one of 2 ** 64 would be by chance.
  expect(new Set(shown.map((hex) => hex.slice(0, 16))).size).toBe(drawn.length);
  const large = randomBytes(10_000);
  expect(large).toHaveLength(10_000);
  expect(large.subarray(-16).equals(Buffer.alloc(16))).toBe(false);
  // What was given is not changed when others are drawn.
  expect(drawn.map((bytes) => bytes.toString('hex'))).toEqual(shown);
  expect(randomBytes(0)).toHaveLength(0);
});
