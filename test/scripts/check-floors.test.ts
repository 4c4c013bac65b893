import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runHere } from '../support/in-this-process.js';

const script = fileURLToPath(new URL('../../scripts/check-floors.mjs', import.meta.url));

/** The complaints about a source tree made of `files`. */
async function check(files: Readonly<Record<string, string>>): Promise<{ lines: string[]; status: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-floors-'));
  try {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    }
    const { stderr, exitCode } = await runHere(script, [folder]);
    return { lines: stderr.trim().split('\n'), status: exitCode };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

it('imports that go down pass', async () => {
  const { lines, status } = await check({
    'base/errors.ts': "import { readFileSync } from 'node:fs';\n",
    'settings/environment/settings.ts':
      "import { z } from 'zod';\nimport { x } from '../../base/errors.js';\n",
    'cli/main.ts':
      "await import('../settings/environment/settings.js');\nprocess.env.HOME;\nconsole.log(1);\n",
  });
  expect(lines).toEqual(['rooms: 3 files, imports go down only']);
  expect(status).toBe(0);
});

it.each([
  [
    'an import that goes up',
    'base/text/a.ts',
    "\nimport {\n  b,\n} from '../../settings/files/b.js';",
    '4: base/ may not use settings/; it may use nothing',
  ],
  [
    'a dynamic import that goes up',
    'base/text/a.ts',
    "await import('../../cli/main.js');",
    '1: base/ may not use cli/',
  ],
  [
    're-exporting what stands above',
    'base/text/a.ts',
    "export { b } from '../../run/life/b.js';",
    '1: base/ may not use run/',
  ],
  [
    'a folder that uses one above it',
    'run/artifacts/a.ts',
    "import { b } from '../calls/b.js';",
    '1: run/artifacts/ may not use run/calls/, which stands above it',
  ],
  [
    "what is a room's own",
    'cli/run/a.ts',
    "import { b } from '../../run/life/b.js';",
    "1: run/life/b.ts is run/'s own; its face is in scripts/rooms.json",
  ],
  [
    'a package behind another door',
    'run/life/a.ts',
    "import { execa } from 'execa';",
    '1: execa may be imported only in',
  ],
  ['a package without a door', 'run/life/a.ts', "import x from 'left-pad/x';", '1: left-pad has no door'],
  ['a file in no room', 'a.ts', '', '1: is in no room'],
  ['a folder that nobody has named', 'run/odds/a.ts', '', '1: run/ has no folder odds; it has artifacts,'],
  ['a third level', 'run/calls/deep/a.ts', '', '1: lies more than two folders deep'],
  ['a file beside the folders of its room', 'run/a.ts', '', '1: lies beside the folders of run/'],
  ['a default export', 'base/text/a.ts', 'export default 1;', '1: export default is not for here'],
  [
    'the environment',
    'settings/files/a.ts',
    '// process.env\nprocess.env.X;',
    '2: process.env is not for here',
  ],
  ['the console', 'mcp/calls/a.ts', "\n\nconsole.log('x');", '3: console.log( is not for here'],
])('%s is refused with its line', async (_what, file, text, complaint) => {
  const { lines, status } = await check({ [file]: text });
  expect(lines[0]).toContain(`src/${file}:${complaint}`);
  expect(status).toBe(1);
});

it('a file beside the folder of its name is refused', async () => {
  const { lines } = await check({ 'base/json.ts': '', 'base/json/json.ts': '' });
  expect(lines).toContain('src/base/json.ts:1: stands beside the folder of its name; put it into it');
});

it('a folder takes twenty files and no more', async () => {
  const files = Array.from({ length: 21 }, (_, index) => [`base/text/${index}.ts`, ''] as const);
  expect((await check(Object.fromEntries(files.slice(1)))).status).toBe(0);
  expect((await check(Object.fromEntries(files))).lines[0]).toBe(
    'src/base/text:1: has 21 files, and at most 20 are for a folder',
  );
});

it('words in comments are not code, and a string is not a comment', async () => {
  const text = "const pattern = '/mcp/*.json'; // console.log(1)\nconsole.log(2); /* a */\n";
  expect((await check({ 'wire/a.ts': text })).lines[0]).toContain('src/wire/a.ts:2:');
});

it('a cycle is shown as its path', async () => {
  const { lines } = await check({
    'base/text/a.ts': "import './b.js';",
    'base/text/b.ts': "import './c.js';",
    'base/text/c.ts': "import './a.js';",
  });
  expect(lines[0]).toContain(
    'src/base/text/a.ts:1: imports itself: base/text/a.ts -> base/text/b.ts -> base/text/c.ts -> base/text/a.ts',
  );
});
