// A folder of the harness that was compared once is used again without reading it, for as long as nobody has written in it.

import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { harnessKey, harnessOf } from '../../src/sandbox/launch/kept-harness.js';
import { keepCompiled } from '../../src/sandbox/python/python-name.js';
import { removeFolder } from '../support/remove-folder.js';

const IMAGE = { id: 'one' };
const COMPILED = 'mcp/__pycache__/_proxy.cpython-313.pyc';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'kept-harness-'));
  onTestFinished(() => removeFolder(stateDir));
  keepCompiled(stateDir, harnessKey(IMAGE), new Map([[COMPILED, 'compiled']]));
});

const harness = (image = IMAGE) => harnessOf(image, { stateDir, filesDir: stateDir });
const source = (dir: string) => join(dir, 'harness/main.py');

it('is used again without what it was made of', () => {
  const made = harness();
  expect(made.isCompiled).toBe(true);
  expect(readFileSync(join(made.dir, COMPILED), 'utf8')).toBe('compiled');
  rmSync(join(stateDir, 'cache/harness.json'));
  expect(harness()).toEqual(made);
});

it('is another one for another image', () => {
  const made = harness();
  const other = harness({ id: 'other' });
  expect(other.isCompiled).toBe(false);
  expect(basename(other.dir)).not.toBe(basename(made.dir));
  expect(harness()).toEqual(made);
});

it('is looked for anew until the Python of the image has compiled it', () => {
  rmSync(join(stateDir, 'cache/harness.json'));
  expect(harness().isCompiled).toBe(false);
  keepCompiled(stateDir, harnessKey(IMAGE), new Map([[COMPILED, 'compiled']]));
  expect(harness().isCompiled).toBe(true);
});

it.each<readonly [string, (dir: string) => void]>([
  ['a file was added', (dir) => writeFileSync(join(dir, 'mcp/added.py'), '')],
  ['a file was removed', (dir) => rmSync(source(dir))],
  ['a folder was removed', (dir) => rmSync(join(dir, 'mcp'), { recursive: true })],
  [
    'a file was written with as many bytes, and its time put back',
    (dir) => {
      const { atimeMs, mtimeMs } = statSync(source(dir));
      writeFileSync(source(dir), readFileSync(source(dir), 'utf8').replace('import', 'export'));
      utimesSync(source(dir), atimeMs / 1000, mtimeMs / 1000);
    },
  ],
  [
    'a file became a link',
    (dir) => {
      rmSync(source(dir));
      symlinkSync(join(dir, 'entrypoint.py'), source(dir));
    },
  ],
])('is mended when %s', (_what, change) => {
  const { dir } = harness();
  const text = readFileSync(source(dir), 'utf8');
  change(dir);
  expect(harness().dir).toBe(dir);
  expect(readFileSync(source(dir), 'utf8')).toBe(text);
  expect(existsSync(join(dir, 'mcp/added.py'))).toBe(false);
});
