// The argument `files`: what passes arrives as it was meant, and each complaint names its entry, what was got and what is
// allowed.

import { describe, expect, it } from 'vitest';
import { FILES, readInputFiles } from '../../src/mcp/tools/input-files.js';
import { MAX_INPUT_BYTES } from '../../src/wire/frames.js';

const complaintOf = (value: unknown): string => {
  const read = readInputFiles(value, FILES);
  return 'complaint' in read ? read.complaint : 'none';
};

describe('files', () => {
  it('text and base64 become one form, bytes exact', () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, n) => n)).toString('base64');
    expect(
      readInputFiles(
        [
          { name: 'a.txt', text: 'é\r\n' },
          { name: 'in/b.bin', base64: every },
          { name: 'c', base64: `${every.slice(0, 76)}\n${every.slice(76)}\r\n` },
          { name: 'empty', text: '' },
        ],
        FILES,
      ),
    ).toEqual([
      { name: 'a.txt', data: 'w6kNCg==' },
      { name: 'in/b.bin', data: every },
      { name: 'c', data: every },
      { name: 'empty', data: '' },
    ]);
    expect(readInputFiles(undefined, FILES)).toEqual([]);
  });

  it('base64 is what has its letters, in fours, and padding at the end alone', () => {
    // In place of one letter: what Node's decoder leaves out, takes for a letter, or ends at.
    const others = ['=', '-', '_', ' ', '\t', '\0', '.', 'é', '\u0141', '\uff21', '💥'];
    const wrong = others.flatMap((other) =>
      [0, 3, 6].map((at) => `${'QUJDREVG'.slice(0, at)}${other}${'QUJDREVG'.slice(at + other.length)}`),
    );
    for (const base64 of [...wrong, 'QUJ', 'QQ=', 'QQ', '====', 'Q===', '=='])
      expect([base64, complaintOf([{ name: 'a', base64 }])]).toEqual([
        base64,
        expect.stringContaining('expected base64 with padding'),
      ]);
    for (const base64 of ['QUJDREVG', 'QUI=', 'QQ==', '+/+/', 'QR=='])
      expect([base64, complaintOf([{ name: 'a', base64 }])]).toEqual([base64, 'none']);
  });

  it.each<[string, unknown, string]>([
    [
      'no list',
      'a.csv',
      'files: got "a.csv", expected a list of at most 100 files, each an object {name, text} or {name, base64}.',
    ],
    ['no object', ['a.csv'], 'files[0]: got "a.csv", expected an object {name, text} or {name, base64}.'],
    [
      'neither text nor base64',
      [{ name: 'a' }],
      'files[0]: got {"name":"a"}, expected an object {name, text} or {name, base64}.',
    ],
    [
      'both',
      [{ name: 'a', text: '', base64: '' }],
      'files[0]: got {"name":"a","text":"","base64":""}, expected an object {name, text} or {name, base64}.',
    ],
    [
      'a field too many',
      [{ name: 'a', text: '', mode: 7 }],
      'files[0]: got {"name":"a","text":"","mode":7}, expected an object {name, text} or {name, base64}.',
    ],
    [
      'a name that leads out',
      [
        { name: 'a', text: '' },
        { name: '../b', text: '' },
      ],
      'files[1].name: got "../b", which has a part \'..\', expected a relative path such as data.csv or in/data.csv.',
    ],
    [
      'an absolute name',
      [{ name: '/workspace/a', text: '' }],
      'files[0].name: got "/workspace/a", which is absolute, expected a relative path such as data.csv or in/data.csv.',
    ],
    [
      'a name twice',
      [
        { name: 'a', text: '1' },
        { name: 'a', text: '2' },
      ],
      'files[1].name: got "a", which is given twice, expected a relative path such as data.csv or in/data.csv.',
    ],
    [
      'no base64',
      [{ name: 'a', base64: 'a*b' }],
      'files[0].base64: got "a*b", expected base64 with padding.',
    ],
    [
      'base64 without padding',
      [{ name: 'a', base64: 'YQ' }],
      'files[0].base64: got "YQ", expected base64 with padding.',
    ],
    [
      'a lone surrogate',
      [{ name: 'a', text: '\ud800' }],
      'files[0].text: got a lone surrogate, expected well-formed text.',
    ],
  ])('%s', (_what, value, complaint) => {
    expect(complaintOf(value)).toBe(complaint);
  });

  it('refuses too many files, and too much in them', () => {
    const file = (n: number) => ({ name: `f${n}`, text: '' });
    expect(complaintOf(Array.from({ length: 100 }, (_, n) => file(n)))).toBe('none');
    expect(complaintOf(Array.from({ length: 101 }, (_, n) => file(n)))).toContain('at most 100 files');
    const half = 'x'.repeat(MAX_INPUT_BYTES / 2);
    expect(
      complaintOf([
        { name: 'a', text: half },
        { name: 'b', text: half },
      ]),
    ).toBe('none');
    expect(
      complaintOf([
        { name: 'a', text: half },
        { name: 'b', text: half },
        { name: 'c', text: 'x' },
      ]),
    ).toBe('files[2]: the files are larger than 10 MiB together, which is the limit.');
  });

  it('a complaint stays short whatever it repeats, and harmless', () => {
    for (const value of [
      'x'.repeat(9e6),
      [{ name: `\u001b[31m${'y'.repeat(9e6)}`, text: '' }],
      [{ name: 'a', base64: '!'.repeat(14e6) }],
    ]) {
      expect(complaintOf(value).length).toBeLessThan(300);
      expect(complaintOf(value)).not.toContain('\u001b');
    }
  });
});
