// Segments of a file: what is written where, and that nothing is lost when somebody removes files meanwhile.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SegmentedFile, type Segments } from '../../../src/run/audit/audit-files.js';

let dir: string;
let segments: Segments;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'segments-'));
  segments = { pathOf: (index) => join(dir, `f.${index}`), bytesEach: 20, kept: 2, index: 0 };
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const ended = (file: SegmentedFile) =>
  new Promise<void>((resolve, reject) => file.once('close', resolve).once('error', reject).end());
const written = (file: SegmentedFile, text: string) =>
  new Promise<void>((resolve, reject) => file.write(text, (error) => (error ? reject(error) : resolve())));
const contents = () =>
  readdirSync(dir)
    .sort()
    .map((name) => `${name}: ${readFileSync(join(dir, name), 'utf8')}`);

it('each write goes into one, a full one is followed by the next, and the oldest go', async () => {
  const file = new SegmentedFile(segments);
  for (let at = 0; at < 10; at++) file.write(`line ${at} of ten;`);
  await ended(file);
  expect(contents()).toEqual([
    'f.2: line 4 of ten;line 5 of ten;',
    'f.3: line 6 of ten;line 7 of ten;',
    'f.4: line 8 of ten;line 9 of ten;',
  ]);
  expect(statSync(join(dir, 'f.4')).mode & 0o777).toBe(0o600);
});

it('that is opened again goes on where it was', async () => {
  const first = new SegmentedFile(segments);
  first.write('the first of two lines;');
  first.write('b;');
  await ended(first);
  const second = new SegmentedFile(segments);
  second.write('c;');
  await ended(second);
  expect(contents()).toEqual(['f.0: the first of two lines;', 'f.1: b;c;']);
});

it('that is removed while it is written is followed by another', async () => {
  const file = new SegmentedFile(segments);
  await written(file, 'a;');
  rmSync(join(dir, 'f.0'));
  await written(file, 'b;');
  await written(file, 'c;');
  await ended(file);
  expect(contents()).toEqual(['f.1: b;c;']);
});

it('all of which others remove again and again loses nothing but what was removed, and fails never', async () => {
  const file = new SegmentedFile(segments);
  const removing = setInterval(() => {
    for (const name of readdirSync(dir)) rmSync(join(dir, name), { force: true });
  }, 1);
  for (let at = 0; at < 300; at++) await written(file, `line ${at} of many, so long;`);
  clearInterval(removing);
  await written(file, 'the last');
  await ended(file);
  expect(contents().join()).toContain('the last');
});

it('without its folder says so with each write, and ends', async () => {
  segments = { ...segments, pathOf: () => join(dir, 'absent', 'f') };
  const file = new SegmentedFile(segments);
  file.on('error', () => {});
  await expect(written(file, 'a;')).rejects.toMatchObject({ code: 'ENOENT' });
});
