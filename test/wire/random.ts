// Random choices that are the same on every machine for the same seed, so that a failure can be repeated by the number
// that it prints. Mulberry32: one 32-bit word of state, good enough to choose inputs by.

export type Random = {
  /** A whole number from 0 to `n` - 1. */
  readonly below: (n: number) => number;
  readonly pick: <T>(items: readonly T[]) => T;
  /** True once in `n` times. */
  readonly oneIn: (n: number) => boolean;
};

export function seeded(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (n: number): number => next() % n;
  return {
    below,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
    oneIn: (n) => below(n) === 0,
  };
}

const NUMBERS = (
  '0 -0 1 -1 1.0 0.1 1e400 -1e400 1e-400 9007199254740992 9007199254740993 -9007199254740993 2147483648 ' +
  '12345678901234567890123456789012345678901234567890 1E5 5e-324 1.7976931348623157e308'
).split(' ');
/** As they stand between the quotes of a JSON text. */
const STRINGS = [
  '',
  'a',
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'then',
  'toJSON',
  'length',
  '0',
  '-1',
  '\\u0000',
  '\\ud800',
  '\\udc00\\ud800',
  '\\ud83d\\ude00',
  '\\u2028',
  '\\\\',
  '\\"',
  '\\\\\\"',
  '\\\\ud800',
  '\\n\\r\\t\\b\\f\\/',
  '{[}]',
  ',:',
  '\\u001b[31m',
  '\\u202e',
  '$&',
  '$1',
  '__CODE_LITERAL__',
  'type',
  '\\u0074ype',
  'x'.repeat(300),
];
const SPACES = ['', '', '', '', ' ', '\t', '  '];

/** The text of a JSON string. */
export const randomString = (random: Random): string => `"${random.pick(STRINGS)}"`;

/** The text of any JSON value, with repeated keys, numbers that no language holds and space between tokens. */
export function randomJson(random: Random, depth: number): string {
  const space = () => random.pick(SPACES);
  const many = <T>(make: () => T): T[] => Array.from({ length: random.below(4) }, make);
  const inner = () => `${space()}${randomJson(random, depth - 1)}${space()}`;
  switch (random.below(depth > 0 ? 7 : 4)) {
    case 0:
      return random.pick(NUMBERS);
    case 1:
      return random.pick(['null', 'true', 'false']);
    case 2:
    case 3:
      return randomString(random);
    case 4:
      return `[${many(inner).join(',') || space()}]`;
    default:
      return randomObject(random, inner, space);
  }
}

function randomObject(random: Random, inner: () => string, space: () => string): string {
  const members = Array.from(
    { length: random.below(4) },
    () => `${space()}${randomString(random)}${space()}:${inner()}`,
  );
  return `{${members.join(',') || space()}}`;
}
