// Which names cross the wall. Each refused one has broken some archive, upload or sandbox before.

import { describe, expect, it } from 'vitest';
import { NameSet, nameProblem, shownName, uniqueName } from '../../../src/run/artifacts/file-names.js';

describe('a name that goes in', () => {
  it.each([
    'data.csv',
    'in/deep/data.csv',
    'out/a',
    '.env',
    'a b',
    'é😀.txt',
    'فهرست‌ها 👩‍💻.txt',
    '...',
    'a..b',
    'x'.repeat(255),
    'con',
    'a\\b',
    '~',
  ])('%s is plain', (name) => {
    expect(nameProblem(name)).toBeUndefined();
  });

  it.each([
    ['', 'is empty'],
    ['/etc/passwd', 'is absolute'],
    ['..', "has a part '..'"],
    ['../x', "has a part '..'"],
    ['a/../../x', "has a part '..'"],
    ['./x', "has a part '.'"],
    ['a//b', 'has an empty part'],
    ['a/', 'has an empty part'],
    ['a\0b', 'holds a control character'],
    ['a\nb', 'holds a control character'],
    ['a\u0085b', 'holds a control character'],
    ['re\u200bport.csv', 'holds an invisible character'],
    ['fdp\u202e.exe', 'holds an invisible character'],
    ['\ud800', 'is not well-formed text'],
    ['-rf', 'has a part that begins with a dash'],
    ['a/-b', 'has a part that begins with a dash'],
    ['x'.repeat(256), 'has a part longer than 255 bytes'],
    ['é'.repeat(128), 'has a part longer than 255 bytes'],
    ['abc/'.repeat(300), 'is longer than 1024 bytes'],
  ])('%j %s', (name, problem) => {
    expect(nameProblem(name)).toBe(problem);
  });

  it.each<[string, readonly string[], string | undefined]>([
    ['the same twice', ['a', 'a'], 'is given twice'],
    ['the same in two Unicode forms', ['caf\u00e9', 'cafe\u0301'], 'is given twice'],
    ['case makes a difference on Linux', ['a', 'A'], undefined],
    ['a file where a folder is', ['a/b', 'a'], 'is the name of a folder'],
    ['a folder where a file is', ['a', 'a/b'], "needs a folder where 'a' is a file"],
    ['deeper', ['a', 'a/b/c'], "needs a folder where 'a' is a file"],
    ['the folder for results', ['out'], 'is the name of a folder'],
    ['in the folder for results', ['out/a', 'out/b'], undefined],
  ])('%s', (_what, names, problem) => {
    const set = new NameSet();
    expect(names.map((name) => set.add(name)).at(-1)).toBe(problem);
  });
});

describe('a name that comes out', () => {
  it.each([
    ['out/a.txt', 'out/a.txt'],
    ['out/../../etc/passwd', 'out/etc/passwd'],
    ['/etc/passwd', 'etc/passwd'],
    ['out/a\n[files] b', 'out/a\\n[files] b'],
    ['out/\u001b[31mred\u202e', 'out/red\\u202e'],
    ['out/\ud800', 'out/\ufffd'],
    ['///', 'unnamed'],
    ['..', 'unnamed'],
  ])('%j is shown as %s', (name, shown) => {
    expect(shownName(name)).toBe(shown);
  });

  it('is clipped, and unique', () => {
    expect(shownName('x'.repeat(1_000))).toHaveLength(200);
    const taken = new Set<string>();
    expect(['a', 'a', 'a (2)', 'a'].map((name) => uniqueName(name, taken))).toEqual([
      'a',
      'a (2)',
      'a (2) (2)',
      'a (3)',
    ]);
  });
});
