// Files of hostile code in a folder of the user's: inside it, beside what is there, and where nothing reads them unasked.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeOut } from '../../src/cli/terminal/write-out.js';

let base: string;
let out: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'write-out-'));
  out = join(base, 'results');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const content = Buffer.from([0, 1, 255]);

it('a file arrives under its own name, folders and all', () => {
  expect(writeOut(out, 'out/a/b.bin', content)).toBeUndefined();
  expect(readFileSync(join(out, 'a/b.bin'))).toEqual(content);
});

it.each([
  ['out/../../x', /has a part '\.\.'/],
  ['/etc/x', /is absolute/],
  ['out/-rf', /begins with a dash/],
  ['out/.bashrc', /begins with a dot/],
  ['out/.git/hooks/pre-commit', /begins with a dot/],
  ['out/a\\..\\b', /backslash or a colon/],
  ['out/C:x', /backslash or a colon/],
  ['out/', /is empty/],
])('%s is not written', (name, problem) => {
  expect(writeOut(out, name, content)).toMatch(problem);
  expect(readdirSync(base)).toEqual([]);
});

it('what is there stays as it is', () => {
  mkdirSync(out);
  writeFileSync(join(out, 'a'), 'mine');
  expect(writeOut(out, 'out/a', content)).toContain('out/a was not written: EEXIST');
  expect(readFileSync(join(out, 'a'), 'utf8')).toBe('mine');
});

it('no link is followed, to a file or to a folder', () => {
  mkdirSync(out);
  mkdirSync(join(base, 'elsewhere'));
  symlinkSync(join(base, 'elsewhere', 'file'), join(out, 'file'));
  symlinkSync(join(base, 'elsewhere'), join(out, 'folder'));
  expect(writeOut(out, 'out/file', content)).toContain('was not written');
  expect(writeOut(out, 'out/folder/x', content)).toContain('is no folder');
  expect(existsSync(join(base, 'elsewhere', 'file'))).toBe(false);
  expect(readdirSync(join(base, 'elsewhere'))).toEqual([]);
});
