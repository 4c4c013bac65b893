// JSON as lines says the same as the JSON, and no string in it looks like a line.

import { describe, expect, it } from 'vitest';
import { jsonPieces, laidOutJson } from '../../src/base/json/laid-out-json.js';
import { growth, LINEAR } from '../support/cpu-time.js';

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

  it.each(['[', '"\\', '{"a":', ' '])('takes time that grows with its length, however many %j', (piece) => {
    expect(growth((chars) => jsonPieces(piece.repeat(chars / piece.length)), 4_000)).toBeLessThan(LINEAR);
  });
});

it('keys and strings are told apart', () => {
  expect(jsonPieces('{"a" : "b"}').map(({ is }) => is)).toEqual(['plain', 'key', 'plain', 'string', 'plain']);
});
