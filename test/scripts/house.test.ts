// What `npm run house` counts as a small file that could live in the one that imports it.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { runHere } from '../support/in-this-process.js';

const script = fileURLToPath(new URL('../../scripts/house.mjs', import.meta.url));

/** The rows about small files, by their titles, of a checkout of these files. */
async function smallFiles(files: Readonly<Record<string, string>>): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-house-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [file, text] of Object.entries({ 'test/none.test.ts': '', ...files })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const { stdout } = await runHere(script, ['--beside', folder]);
  const rows = stripVTControlCharacters(stdout)
    .split('\n')
    .map((line) => line.split('│'))
    .map(([, title = '', there = '']) => [title.trim(), Number(there)] as const);
  return Object.fromEntries(rows.filter(([title]) => /one importer|left out/.test(title)));
}

const counts = (one: number, host: number, pure: number) => ({
  'files under 100 lines with one importer': one,
  'left out there: a host each': host,
  'left out there: pure, with a test of its own': pure,
});

it('a small file is counted where one file imports it, and not where another one loads it later', async () => {
  const files = {
    'src/run/a.ts': "import { b } from './b.js';\nimport { c } from './c.js';\nimport { d } from './d.js';\n",
    'src/run/e.ts': "import { c } from './c.js';\nconst d = await import('./d.js');\n",
    'src/run/b.ts': 'export const b = 1;\n',
    'src/run/c.ts': 'export const c = 1;\n',
    'src/run/d.ts': 'export const d = 1;\n',
  };
  expect(await smallFiles(files)).toEqual(counts(1, 0, 0));
});

it('a host each and what is pure and has a test of its own are counted apart', async () => {
  const files = {
    'src/hosts/records/all-hosts.ts': "import { zed } from './zed.js';\n",
    'src/hosts/records/zed.ts': 'export const zed = {};\n',
    'src/run/a.ts':
      "import { pure } from './pure.js';\nimport { reading } from './reading.js';\nimport { reader } from './reader.js';\nimport { pause } from './pause.js';\nimport { untested } from './untested.js';\n",
    'src/run/pure.ts':
      "import type { Stats } from 'node:fs';\nimport { join } from 'node:path';\nexport const pure = join('a', 'b');\n",
    'src/run/reading.ts': "import { readFileSync } from 'node:fs';\nexport const reading = readFileSync;\n",
    'src/run/reader.ts': "import { one } from './file.js';\nexport const reader = one;\n",
    'src/run/b.ts': "import { one } from './file.js';\n",
    'src/run/file.ts': "import { readFileSync } from 'node:fs';\nexport const one = readFileSync;\n",
    'src/run/pause.ts': 'export const pause = setTimeout;\n',
    'src/run/untested.ts': 'export const untested = 1;\n',
    'test/run/all.test.ts':
      "import { pure } from '../../src/run/pure.js';\nimport { reading } from '../../src/run/reading.js';\nimport { reader } from '../../src/run/reader.js';\nimport { pause } from '../../src/run/pause.js';\n",
  };
  expect(await smallFiles(files)).toEqual(counts(4, 1, 1));
});
