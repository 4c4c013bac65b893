// What runs in a sandbox is what was installed: whatever happened to the copy on disk is undone at the next start.

import {
  copyFileSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { idleStat, prepareHarness, saysTooOld } from '../../src/sandbox/spec/harness-files.js';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'harness-files-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const main = (dir: string) => join(dir, 'harness', 'main.py');

it('makes one folder for its content, which the user of a container can read, and only its owner can reach', () => {
  const dir = prepareHarness(stateDir);
  expect(prepareHarness(stateDir)).toBe(dir);
  expect(readdirSync(join(stateDir, 'ipc'))).toHaveLength(1);
  expect(statSync(dir).mode & 0o777).toBe(0o755);
  expect(statSync(main(dir)).mode & 0o777).toBe(0o644);
  expect(statSync(join(stateDir, 'ipc')).mode & 0o777).toBe(0o700);
});

it.each<[string, (dir: string) => void]>([
  ['a file that was altered', (dir) => writeFileSync(main(dir), 'import os; os.system("id")')],
  ['a file that was removed', (dir) => rmSync(main(dir))],
  ['a file that was added', (dir) => writeFileSync(join(dir, 'json.py'), 'evil = True')],
  ['a folder that is gone', (dir) => rmSync(dir, { recursive: true })],
  [
    'a file that became a link to another',
    (dir) => {
      const other = join(stateDir, 'other.py');
      writeFileSync(other, 'evil = True');
      rmSync(main(dir));
      symlinkSync(other, main(dir));
    },
  ],
  [
    'a file that became a link to one of the same content',
    (dir) => {
      const other = join(stateDir, 'other.py');
      copyFileSync(main(dir), other);
      rmSync(main(dir));
      symlinkSync(other, main(dir));
    },
  ],
])('mends %s', (_what, tamper) => {
  const before = prepareHarness(stateDir);
  const text = readFileSync(main(before), 'utf8');
  tamper(before);
  const dir = prepareHarness(stateDir);
  expect(readFileSync(main(dir), 'utf8')).toBe(text);
  expect(lstatSync(main(dir)).isFile()).toBe(true);
  expect(readdirSync(dir).sort()).toEqual([
    'entrypoint.py',
    'harness',
    'javascript',
    'mcp',
    'proc-stat',
    'ruby',
  ]);
});

it('what the entry point says of an old Python is known again', () => {
  const text = readFileSync(join(prepareHarness(stateDir), 'entrypoint.py'), 'utf8');
  const [, said = ''] = /sys\.exit\("(.*)"/.exec(text) ?? [];
  expect(saysTooOld(said.replace('%d', '3').replace('%d', '7'))).toBe(true);
  expect(saysTooOld('no greeting within 60 s')).toBe(false);
});

it('the stand-in for /proc/stat names every processor, and says nothing of what they did', () => {
  const lines = idleStat(2).split('\n');
  expect(lines.slice(0, 3)).toEqual([
    'cpu  0 0 0 0 0 0 0 0 0 0',
    'cpu0 0 0 0 0 0 0 0 0 0 0',
    'cpu1 0 0 0 0 0 0 0 0 0 0',
  ]);
  expect(lines).toContain('btime 0');
});
