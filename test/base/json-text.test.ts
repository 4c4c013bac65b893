import { describe, expect, it, vi } from 'vitest';
import {
  excessOf,
  inexactNumber,
  inPieces,
  loneSurrogateIn,
  PlainText,
  parseJson,
  RawJson,
  sliceAt,
  stringify,
  wellFormedJson,
} from '../../src/base/json/json-text.js';

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
  ] as const)('finds the value of %s at %j', (text, path, slice) => {
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

  it('writes plain text as JSON.stringify does, and hands on a long text as it is', () => {
    const long = Buffer.from('x'.repeat(100)).toString('base64');
    const value = {
      files: [{ name: 'a', data: new PlainText(long) }, new PlainText('')],
      b: new RawJson('[1, 2]'),
    };
    expect(stringify(value)).toBe(`{"files":[{"name":"a","data":"${long}"},""],"b":[1, 2]}`);
    expect(JSON.parse(JSON.stringify(value))).toEqual(JSON.parse(stringify(value)));
    expect(inPieces(value)).toContain(long);
    expect(inPieces({ a: 1 })).toEqual(['{"a":1}']);
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

  it('refuses 64 MiB of small values before the parser sees them, which it would take twenty seconds', () => {
    const text = `[${'{},'.repeat((64 * 1024 * 1024) / 3 - 1)}{}]`;
    const parser = vi.spyOn(JSON, 'parse');
    try {
      expect(() => parseJson(text, limits)).toThrow(/more than 1000000 values/);
      expect(parser).not.toHaveBeenCalled();
      parseJson('[{}]', limits);
      expect(parser).toHaveBeenCalled();
    } finally {
      parser.mockRestore();
    }
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

describe('numbers that a double keeps', () => {
  it.each(
    [
      '0 -0 0.0 0e5 1 1.0 1.50 1e3 1E+3 10e-1 0.1 0.30000000000000004'.split(' '),
      '-9007199254740991 9007199254740991 5e-324 1e-7 0.0000001 100000000000000.5'.split(' '),
    ].flat(),
  )('keeps %s as it is', (number) => {
    expect(inexactNumber(`{"a":[1,${number}]}`)).toBeUndefined();
  });

  it.each(
    [
      '9007199254740992 9007199254740993 -9007199254740993 1.7976931348623157e308 1e400 -1e400 1e-400 1e22 0.1000000000000000055511151231257827'.split(
        ' ',
      ),
      '1000.00000000000000001 3.14159265358979323846 1e99999999999999999999 1.0000000000000000000001'.split(
        ' ',
      ),
    ].flat(),
  )('tells that a double does not keep %s', (number) => {
    expect(inexactNumber(`{"a":[1,${number}]}`)).toBe(number);
  });

  it('takes no digits in a text for a number', () => {
    expect(inexactNumber('{"1e400":"9007199254740993","a\\"1e400":"1e400"}')).toBeUndefined();
  });
});
