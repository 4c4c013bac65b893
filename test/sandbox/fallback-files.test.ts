// What a sandbox prints of its Python is taken as files only where it is all of it and stays in its directory.

import { expect, it } from 'vitest';
import { fallbackFilesIn } from '../../src/sandbox/spec/harness-files.js';

const line = (name: string, text: string) => `${name} ${Buffer.from(text).toString('base64')}\n`;
const WHOLE = line('loader', 'L') + line('lib/python3.11/__init__.pyc', '') + line('bin/python3', 'P');

it('files by name, in the order in which a directory is read', () => {
  expect([...(fallbackFilesIn(WHOLE) ?? [])].map(([name, content]) => [name, String(content)])).toEqual([
    ['bin/python3', 'P'],
    ['lib/python3.11/__init__.pyc', ''],
    ['loader', 'L'],
  ]);
});

it.each([
  ['a name that leads out', `${WHOLE}${line('lib/../../x', 'x')}`],
  ['an absolute name', `${WHOLE}${line('/etc/passwd', 'x')}`],
  ['a hidden name', `${WHOLE}${line('lib/.x', 'x')}`],
  ['what is no file', `${WHOLE}Traceback (most recent call last):\n`],
  ['one without its loader', line('bin/python3', 'P')],
  ['one that was cut', WHOLE.slice(0, -1)],
  ['nothing', ''],
])('not %s', (_, printed) => {
  expect(fallbackFilesIn(printed)).toBeUndefined();
});
