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
    'config/settings.ts': "import { z } from 'zod';\nimport { x } from '../base/errors.js';\n",
    'cli/main.ts': "await import('../config/settings.js');\nprocess.env.HOME;\nconsole.log(1);\n",
  });
  expect(lines).toEqual(['floors: 3 files, imports go down only']);
  expect(status).toBe(0);
});

it.each([
  [
    'an import that goes up',
    'base/a.ts',
    "\nimport {\n  b,\n} from '../config/b.js';",
    '4: base/ may not use config/',
  ],
  ['a dynamic import that goes up', 'base/a.ts', "await import('../cli/b.js');", '1: base/ may not use cli/'],
  ['a re-export that goes up', 'base/a.ts', "export { b } from '../run/b.js';", '1: base/ may not use run/'],
  [
    'a room that uses one above it',
    'run/policy/a.ts',
    "import { b } from '../calls/b.js';",
    '1: run/policy/ may not use run/calls/; it may use nothing else there',
  ],
  [
    'a room that uses what is outside of the rooms',
    'run/outcome/hints/a.ts',
    "import { b } from '../../run.js';",
    '1: run/outcome/ may not use run/run.ts; it may use run/artifacts, run/programs',
  ],
  [
    'a package behind another door',
    'run/a.ts',
    "import { execa } from 'execa';",
    '1: execa may be imported only in',
  ],
  ['a package without a door', 'run/a.ts', "import x from 'left-pad/x';", '1: left-pad has no door'],
  ['a file on no floor', 'a.ts', '', '1: is on no floor'],
  ['a default export', 'base/a.ts', 'export default 1;', '1: export default is not for here'],
  ['the environment', 'config/a.ts', '// process.env\nprocess.env.X;', '2: process.env is not for here'],
  ['the console', 'server/a.ts', "\n\nconsole.log('x');", '3: console.log( is not for here'],
])('%s is refused with its line', async (_what, file, text, complaint) => {
  const { lines, status } = await check({ [file]: text });
  expect(lines[0]).toContain(`src/${file}:${complaint}`);
  expect(status).toBe(1);
});

it('words in comments are not code, and a string is not a comment', async () => {
  const text = "const pattern = '/mcp/*.json'; // console.log(1)\nconsole.log(2); /* a */\n";
  expect((await check({ 'config/a.ts': text })).lines[0]).toContain('src/config/a.ts:2:');
});

it('a cycle is shown as its path', async () => {
  const { lines } = await check({
    'base/a.ts': "import './b.js';",
    'base/b.ts': "import './c.js';",
    'base/c.ts': "import './a.js';",
  });
  expect(lines[0]).toContain(
    'src/base/a.ts:1: imports itself: base/a.ts -> base/b.ts -> base/c.ts -> base/a.ts',
  );
});
