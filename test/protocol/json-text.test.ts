import { describe, expect, it } from 'vitest';
import {
  excessOf,
  loneSurrogateIn,
  parseJson,
  RawJson,
  sliceAt,
  stringify,
  wellFormedJson,
} from '../../src/protocol/json-text.js';

describe('sliceAt', () => {
  it.each([
    [
      '{"params":{"arguments":{"n":12345678901234567890,"f":1.0}}}',
      ['params', 'arguments'],
      '{"n":12345678901234567890,"f":1.0}',
    ],
    ['{ "a" : [1, {"b": "}"}] , "c": 1e400 }', ['c'], '1e400'],
    ['{"a":"x\\"y","b":"\\\\"}', ['b'], '"\\\\"'],
    ['{"a":1,"a":2}', ['a'], '2'],
    ['{"\\u0061":true}', ['a'], 'true'],
    ['{"__proto__":{"x":1}}', ['__proto__', 'x'], '1'],
    ['{"a":1}', ['b'], undefined],
    ['[1]', ['a'], undefined],
    ['7', [], '7'],
  ] as const)('%s at %j', (text, path, slice) => {
    expect(sliceAt(text, path)).toBe(slice);
  });

  it('agrees with JSON.parse on random documents', () => {
    let seed = 1;
    const random = (n: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % n;
    };
    const value = (depth: number): unknown =>
      [
        () => random(1000) - 500,
        () => ['', 'a"b', '\\', '{[}]', 'é😀', '\u2028'][random(6)],
        () => null,
        () => Array.from({ length: random(3) }, () => value(depth - 1)),
        () => Object.fromEntries(Array.from({ length: random(4) }, (_, n) => [`k${n}"`, value(depth - 1)])),
      ][depth > 0 ? random(5) : random(3)]?.();
    for (let round = 0; round < 2_000; round++) {
      const inner = value(4);
      const text = JSON.stringify(
        { before: value(2), at: { deep: inner }, after: value(2) },
        undefined,
        random(2),
      );
      expect(JSON.parse(sliceAt(text, ['at', 'deep']) ?? '')).toEqual(JSON.parse(JSON.stringify(inner)));
    }
  });
});

describe('stringify', () => {
  it('writes RawJson verbatim and stays on one line', () => {
    expect(stringify({ a: new RawJson('{"n": 9007199254740993,\n "f": 1.0}'), b: [new RawJson('-0')] })).toBe(
      '{"a":{"n": 9007199254740993,  "f": 1.0},"b":[-0]}'.replace(',  ', ',  '),
    );
  });

  it('does not take the text of a string for a mark', () => {
    expect(stringify({ a: 'x:0', b: new RawJson('"$1"') })).toBe('{"a":"x:0","b":"$1"}');
  });
});

describe('hostile text', () => {
  const limits = { maxDepth: 128, maxValues: 1_000_000 };

  it.each([129, 5_000, 1_000_000])('refuses %i levels before it parses', (levels) => {
    expect(() => parseJson('['.repeat(levels), limits)).toThrow(/deeper than 128/);
    const nested = '['.repeat(levels) + ']'.repeat(levels);
    expect(() => parseJson(nested, limits)).toThrow(/deeper than 128/);
  });

  it('counts levels and values, and none of them inside a string', () => {
    const text = '["[[,,[[", {"a": []}]';
    expect(excessOf(text, { maxDepth: 3, maxValues: 5 })).toBeUndefined();
    expect(excessOf(text, { maxDepth: 2, maxValues: 5 })).toMatch(/deeper than 2/);
    expect(excessOf(text, { maxDepth: 3, maxValues: 4 })).toMatch(/more than 4 values/);
  });

  it('refuses 64 MiB of small values in less than a second, which would take the parser twenty', () => {
    const text = `[${'{},'.repeat((64 * 1024 * 1024) / 3 - 1)}{}]`;
    const startedAt = performance.now();
    expect(() => parseJson(text, limits)).toThrow(/more than 1000000 values/);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it.each([
    ['"\\ud800"', '"\\ufffd"'],
    ['"\\ud83d\\ude00"', '"\\ud83d\\ude00"'],
    ['"\\\\ud800"', '"\\\\ud800"'],
    ['"\\ude00\\ud83d"', '"\\ufffd\\ufffd"'],
    ['"\ud800"', '"\ufffd"'],
  ])('%s becomes well-formed', (text, formed) => {
    expect(wellFormedJson(text)).toBe(formed);
    expect(loneSurrogateIn(text) === undefined).toBe(formed === text);
  });

  it('a lone surrogate is named as an escape', () => {
    expect(loneSurrogateIn('{"a":"x\\\\ud800\\ud83d\\ude00","b":"\\udc80"}')).toBe('\\udc80');
    expect(loneSurrogateIn('{"\ud800":1}')).toBe('\\ud800');
  });
});
