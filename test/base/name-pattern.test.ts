// Patterns as people write them against names as servers choose them: a table, and what a shell's glob would have done.

import { describe, expect, it, vi } from 'vitest';
import { namePattern, patternTrouble, serverPattern } from '../../src/base/text/name-pattern.js';
import { growth, LINEAR } from '../support/cpu-time.js';

describe('over one name', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['delete_*', ['delete_', 'delete_repo', 'delete_a/b.c'], ['Delete_repo', 'undelete_x', 'delete']],
    ['*', ['', '.', '..', '.hidden', 'a/b', 'a\nb', '"quoted"'], []],
    ['*write*', ['write', 'overwrite_file', 'a.write/b'], ['wrote', 'Write']],
    ['a*b*c', ['abc', 'aXbXc', 'abbcbc'], ['ab', 'acb', 'abcd']],
    ['a*a', ['aa', 'aba'], ['a']],
    ['[ab]', ['[ab]'], ['a', 'b']],
    ['a?', ['a?'], ['ab']],
    ['{a,b}', ['{a,b}'], ['a']],
    ['!a', ['!a'], ['b']],
    ['"a"', ['"a"'], ['a']],
    ['(a|b)', ['(a|b)'], ['a']],
    ['./a', ['./a'], ['a']],
    ['\\*', ['*'], ['a', '\\*']],
    ['a\\\\b', ['a\\b'], ['ab']],
    ['\\a\\.b', ['a.b'], ['\\a.b']],
    ['é*', ['é', 'été'.slice(0, 1)], ['e']],
  ])('%s', (pattern, matching, others) => {
    const matches = namePattern(pattern, 'exact');
    expect(matching.filter((name) => !matches(name))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });

  it('a name that was made for it takes no longer than another', () => {
    const matches = namePattern(`${'*a'.repeat(100)}*b`, 'wide');
    const matched = (chars: number) => expect(matches('a'.repeat(chars))).toBe(false);
    expect(growth(matched, 1_600)).toBeLessThan(LINEAR);
  });
});

describe('wide', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    [
      'delete_item',
      [
        'delete_item',
        'Delete_Item',
        'DELETE_ITEM',
        'delete_item\u200b',
        '\u2060delete\u00ad_item',
        'dele\ufe0fte_item',
        'delete\u0000_item',
        'delete_item\u{e0041}',
        '\u3164delete_item\u2800',
        ' delete_item\n',
        '\u00a0delete_item\u3000',
        'ｄｅｌｅｔｅ＿ｉｔｅｍ',
        '𝒹elete_item',
        'delete_İtem',
        'delete_ıtem',
      ],
      ['delete_items', 'delete item', 'undelete_item', 'd\u0435lete_item', ''],
    ],
    ['*.DEL*', ['x.delete', 'x.Del'], ['xdelete']],
    ['delete_*', ['Delete_', 'DELETE_repo', '\u200bdelete_repo'], ['delete']],
    ['* x *', ['a x b', 'A X B', 'a\u00a0x\u00a0b'], ['axb']],
    // What an exact match rests on may not survive folding.
    ['a *', ['a ', 'a b'], ['b']],
    ['straße', ['STRASSE', 'strasse', 'STRA\u1e9eE'], ['strase']],
    ['ΟΔΟΣ*', ['οδος', 'οδοσ', 'οδοςx'], ['οδο']],
    ['é', ['e\u0301', 'É'], ['e']],
    // What a terminal, or a line of a dialog, would show of a name with controls in it.
    [
      'list_notes',
      [
        'list\u001b[31m_notes',
        'list\u009b31m_notes',
        'list\u001b]0;title\u0007_notes',
        'delete_all\rlist_notes',
        'list_notes\rdelete_all',
        'delete_all\nLIST_NOTES',
        'list_notes\u0085',
        'lost\b\b\bist_notes',
        'list_notesX\b',
      ],
      ['list[31m_notes', 'my\rlist', 'delete_all\r'],
    ],
    ['delete_*', ['\u001b[8mdelete_all', 'read\rdelete_all'], ['read\r_delete_all']],
  ])('%j', (pattern, matching, others) => {
    const matches = namePattern(pattern, 'wide');
    expect(matching.filter((name) => !matches(name))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });

  it('means servers and tools alike', () => {
    const pattern = serverPattern('github.delete_*', 'wide');
    expect(pattern.coversTool('GitHub', 'Delete\u200b_repo')).toBe(true);
    expect(pattern.concernsServer('GITHUB ')).toBe(true);
    expect(pattern.coversTool('gitlab', 'delete_repo')).toBe(false);
  });

  it('a name that takes long to normalize is too long for one', () => {
    const matches = namePattern('*del*', 'wide');
    const normalized = vi.spyOn(String.prototype, 'normalize');
    try {
      expect(matches('e\u0301\u0316'.repeat(1_000_000))).toBe(false);
      expect(normalized).not.toHaveBeenCalled();
      expect(matches('a DEL b')).toBe(true);
      expect(normalized).toHaveBeenCalled();
    } finally {
      normalized.mockRestore();
    }
  });
});

describe('over servers and their tools', () => {
  /** Of `server` alone, and of `server.tool`. */
  const verdicts = (text: string, server: string, tool: string) => {
    const pattern = serverPattern(text, 'exact');
    return [pattern.coversServer(server), pattern.coversTool(server, tool), pattern.concernsServer(server)];
  };

  it.each<[string, string, string, boolean, boolean, boolean]>([
    ['github', 'github', 'x', true, true, true],
    ['github', 'GitHub', 'x', false, false, false],
    ['git*', 'github.example', 'x', true, true, true],
    ['github.delete_*', 'github', 'delete_repo', false, true, true],
    ['github.delete_*', 'github', 'create', false, false, true],
    ['github.*', 'github', 'any.thing', false, true, true],
    // A star after a dot is for tools: another server whose name begins so is not meant.
    ['github.*', 'github.example', 'x', false, false, false],
    ['*.write*', 'files', 'write_file', false, true, true],
    ['*.write*', 'a.writer', 'read', false, false, true],
    ['io.github.ann/files', 'io.github.ann/files', 'x', true, true, true],
    ['io.github.ann/files.read*', 'io.github.ann/files', 'read_file', false, true, true],
    ['io.github.ann/files.read*', 'io.github.ann/files', 'write', false, false, true],
    ['a\\.b', 'a.b', 'x', true, true, true],
    ['a\\.b', 'a', 'b', false, false, false],
    ['a.b', 'a', 'b', false, true, true],
    ['\\*', 'x', 'y', false, false, false],
    ['*', 'anything.at/all', 'x', true, true, true],
  ])('%s and %s.%s', (text, server, tool, whole, one, concerns) => {
    expect(verdicts(text, server, tool)).toEqual([whole, one, concerns]);
  });
});

it('what is no pattern is told as such', () => {
  expect(patternTrouble('')).toBe('is empty');
  expect(patternTrouble('a\\')).toBe('ends with a backslash that escapes nothing');
  expect(patternTrouble('a\\\\')).toBeUndefined();
  expect(patternTrouble('x'.repeat(301))).toBe('has 301 characters; at most 300 are allowed');
  expect(patternTrouble('*')).toBeUndefined();
});
