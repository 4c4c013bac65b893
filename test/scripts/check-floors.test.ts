import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runHere } from '../support/in-this-process.js';

const script = fileURLToPath(new URL('../../scripts/check-floors.mjs', import.meta.url));

type Files = Readonly<Record<string, string>>;

/** The complaints about a source tree made of `files`, and about a sandbox-runtime where one is given. */
async function check(files: Files, runtime?: Files): Promise<{ lines: string[]; status: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-floors-'));
  const trees = { src: files, ...(runtime && { 'sandbox-runtime': runtime }) };
  try {
    for (const [tree, inside] of Object.entries(trees)) {
      mkdirSync(join(folder, tree));
      for (const [file, text] of Object.entries(inside)) {
        mkdirSync(dirname(join(folder, tree, file)), { recursive: true });
        writeFileSync(join(folder, tree, file), text);
      }
    }
    const { stderr, exitCode } = await runHere(
      script,
      Object.keys(trees).map((tree) => join(folder, tree)),
    );
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

const bothWays: readonly (readonly [string, Files, string])[] = [
  [
    'at the top',
    {
      'harness/a.py': 'import os\nfrom harness.b import (\n    one,\n    two,\n)\n',
      'harness/b.py': 'import harness.a as a\n',
    },
    'harness/a.py -> harness/b.py -> harness/a.py',
  ],
  [
    'inside a function',
    {
      'mcp/_a.py': 'from mcp import _b\n',
      'mcp/_b.py': 'def b() -> None:\n    from mcp._a import a  # later\n\n    a()\n',
    },
    'mcp/_a.py -> mcp/_b.py -> mcp/_a.py',
  ],
  [
    'for types only',
    {
      'harness/a.py': 'from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from harness.b import B\n',
      'harness/b.py': 'from harness.a import a\n',
    },
    'harness/a.py -> harness/b.py -> harness/a.py',
  ],
  [
    'by a name at run time',
    {
      'harness/a.py': 'import importlib\n\nimportlib.import_module("mcp._b").b()\n',
      'mcp/_b.py': 'from harness.a import a\n',
    },
    'harness/a.py -> mcp/_b.py -> harness/a.py',
  ],
  [
    'by its package',
    { 'mcp/__init__.py': 'from mcp.a import a\n', 'mcp/a.py': 'from mcp import __all__\n' },
    'mcp/__init__.py -> mcp/a.py -> mcp/__init__.py',
  ],
  [
    'by relative names',
    { 'mcp/a.py': 'from . import b\n', 'mcp/b.py': 'from .a import a\n' },
    'mcp/a.py -> mcp/b.py -> mcp/a.py',
  ],
  [
    'in JavaScript',
    {
      'javascript/a.cjs': "const b = require('./mcp/b.cjs');\n",
      'javascript/mcp/b.cjs': "const a = () => require('../a.cjs');\n",
    },
    'javascript/a.cjs -> javascript/mcp/b.cjs -> javascript/a.cjs',
  ],
];

it.each(bothWays)(
  'modules of the sandbox that import each other are refused: %s',
  async (_how, runtime, path) => {
    const { lines, status } = await check({}, runtime);
    const [first] = path.split(' ');
    expect(lines[0]).toBe(
      `sandbox-runtime/${first}:1: imports itself: ${path}; move what they share to a file below both`,
    );
    expect(status).toBe(1);
  },
);

it('modules of the sandbox may import what stands below them, and texts and comments import nothing', async () => {
  const { lines, status } = await check(
    {},
    {
      'mcp/__init__.py': 'from mcp import a\n',
      'mcp/a.py': 'from mcp.b import b\n',
      'mcp/b.py':
        '"""Below a:\n\nfrom mcp.a import a\n"""\n\n# import mcp.a\nCODE = """\nimport mcp.a\n"""\nb = 1\n',
      'javascript/c.cjs': "// require('./c.cjs')\n",
    },
  );
  expect(lines).toEqual([
    'rooms: 0 files, imports go down only',
    'sandbox-runtime: 4 files, none imports itself',
  ]);
  expect(status).toBe(0);
});
