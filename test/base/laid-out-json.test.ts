// JSON as lines says the same as the JSON, and no string in it looks like a line.

import { describe, expect, it } from 'vitest';
import { jsonPieces, laidOutJson } from '../../src/base/laid-out-json.js';

const LONG = 'x'.repeat(60);

it.each([
  ['{}', '{}'],
  ['[ ]', '[]'],
  ['{"a":[1,{"b":[]}],"c":"d"}', '{ "a": [ 1, { "b": [] } ], "c": "d" }'],
  [
    `{"a":[1,{"b":[]}],"c":"${LONG}"}`,
    `{\n  "a": [\n    1,\n    {\n      "b": []\n    }\n  ],\n  "c": "${LONG}"\n}`,
  ],
  ['[1.0,1e400,12345678901234567890]', '[ 1.0, 1e400, 12345678901234567890 ]'],
  ['{"a":1,"a":2}', '{ "a": 1, "a": 2 }'],
  ['"\\u0041\\/"', '"\\u0041\\/"'],
])('%s', (json, lines) => expect(laidOutJson(json)).toBe(lines));

it('what does not show is an escape that says the same', () => {
  const value = { 'k\u200b': 'a\u202eb\u{e0041}' };
  const shown = laidOutJson(JSON.stringify(value));
  expect(shown).toBe('{ "k\\u200b": "a\\u202eb\\udb40\\udc41" }');
  expect(JSON.parse(shown)).toEqual(value);
});

describe('text that is no JSON', () => {
  it.each([
    ['"a\n}\n{"', '"a\\n}\\n{"'],
    ['"a\r\tb', '"a\\r\\tb'],
    ['}}}]', ' } } } ]'],
    ['nul\u0000l', 'nul\\u0000l'],
  ])('%j is shown whole', (text, shown) => expect(laidOutJson(text)).toBe(shown));

  it('takes no long time, however deep or odd', () => {
    for (const text of [
      '['.repeat(300_000),
      '"\\'.repeat(150_000),
      '{"a":'.repeat(60_000),
      ' '.repeat(300_000),
    ]) {
      const since = performance.now();
      jsonPieces(text);
      expect(performance.now() - since).toBeLessThan(10_000);
    }
  });
});

it('keys and strings are told apart', () => {
  expect(jsonPieces('{"a" : "b"}').map(({ is }) => is)).toEqual(['plain', 'key', 'plain', 'string', 'plain']);
});
