// Names as they are shown: exactly, and no two of them alike.

import { describe, expect, it } from 'vitest';
import { shownName, shownTool } from '../../src/base/text/shown-name.js';

describe('a name is shown', () => {
  it.each([
    ['list_notes', 'list_notes'],
    ['io.github/some-server', 'io.github/some-server'],
    ['two words', 'two words'],
    ['büro', 'büro'],
    ['搜索_web', '搜索_web'],
    ['поиск', 'поиск'],
    ['delete_all\rlist_notes', 'delete_all\\x0dlist_notes'],
    ['list\u001b[31m_notes', 'list\\x1b[31m_notes'],
    ['list\b\b_notes', 'list\\x08\\x08_notes'],
    ['a\nb\tc', 'a\\nb\\tc'],
    ['a\r\nb', 'a\\x0d\\nb'],
    ['a\\x0db', 'a\\\\x0db'],
    ['a\u200bb\u202ec', 'a\\u200bb\\u202ec'],
    ['a\u{e0041}', 'a\\u{e0041}'],
    ['❤\ufe0f', '❤\\ufe0f'],
    [' a  b ', '\\x20a \\x20b\\x20'],
    ['a\u00a0b\u3000c\u2800d', 'a\\u00a0b\\u3000c\\u2800d'.replace('\\u00a0', '\\xa0')],
    ['a\ud800', 'a\\ud800'],
    ['bu\u0308ro', 'bu\\u0308ro'],
    ['\u212bngstrom', '\\u212bngstrom'],
    ['ｄelete', '\\uff44elete'],
    ['dеlete', 'd\\u0435lete'],
    ['сору', '\\u0441\\u043e\\u0440\\u0443'],
    ['a…', 'a\\u2026'],
    ['', ''],
  ])('shows %j as %s', (name, shown) => {
    expect(shownName(name)).toBe(shown);
  });

  it('so that no two look the same', () => {
    const odd = [
      '',
      'a',
      ' ',
      '  ',
      '\\',
      '\\\\',
      '\r',
      '\n',
      '\t',
      '\u001b',
      '\u001b[31m',
      '\\x1b',
      '\\r',
      '\u200b',
    ];
    const more = [
      '\u00a0',
      '\u0000',
      '\u007f',
      '\u0085',
      '\u2028',
      '\u2800',
      '\ud800',
      '\udc00',
      '\ufffd',
      '…',
      '.',
    ];
    const parts = [...odd, ...more, 'é', 'e\u0301', '\u0441', 'c'];
    const names = new Set(
      parts.flatMap((one) => parts.flatMap((two) => [`${one}${two}`, `x${one}y${two}z`])),
    );
    const shown = [...names].map((name) => shownName(name));
    expect(new Set(shown).size).toBe(names.size);
    for (const text of shown) expect(text).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u2800\ud800]/u);
  });

  it('in its beginning and its digest, where it is too long', () => {
    const [one, other] = ['x', 'y'].map((end) => shownName(`${'a'.repeat(400)}${end}`, 100));
    expect(one).toMatch(/^a{20,}…\[401 characters, sha256 [0-9a-f]{16}\]$/);
    expect(one).toHaveLength(100);
    expect(one).not.toBe(other);
    expect(shownName('a'.repeat(100), 100)).toBe('a'.repeat(100));
  });

  it('takes a time that grows with the length of the name', () => {
    const long = `\u0344${'\u0315\u0300'.repeat(500_000)}`;
    expect(shownName(long)).toContain('characters, sha256');
  });
});

it.each([
  ['notes', 'list', 'notes.list'],
  ['a.b', 'c', 'a\\.b.c'],
  ['a', 'b.c', 'a.b.c'],
  ['a\\', '.b', 'a\\\\..b'],
])('tool %j of %j', (server, tool, shown) => {
  expect(shownTool(server, tool)).toBe(shown);
});
