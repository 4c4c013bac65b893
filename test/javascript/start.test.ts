// How JavaScript and TypeScript programs start: what run.cjs makes of a file before it leaves it to Node. What only a Node
// that is older than the tests' own does, and what esbuild does, is seen in test/front-door/javascript.test.ts.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { play } from '../support/fake-host.js';

const require = createRequire(import.meta.url);
const { hasModuleSyntax } = require('../../sandbox-runtime/javascript/syntax.cjs') as {
  hasModuleSyntax: (source: string) => boolean;
};

it.each<[string, boolean]>([
  ["import fs from 'node:fs';", true],
  ["import { a } from './a.js';\nconst require = 1;", true],
  ['export const a = 1;', true],
  ['export default 1;', true],
  ['console.log(import.meta.url);', true],
  ['const a = await b();', true],
  ['for await (const a of b) console.log(a);', true],
  ["const fs = require('fs');\nconst a = await b();", true],
  ['const __dirname = 1;\nawait 0;', true],
  ['console.log(await f());', true],
  ['const a = [1, (await b).c];', true],
  ['#!/usr/bin/env node\nawait 0;', true],
  ["const fs = require('fs');", false],
  ['module.exports = { a: 1 };', false],
  ["'use strict';\nasync function f() { await g(); }\nf();", false],
  ["import('./a.mjs').then(console.log);", false],
  ["console.log('import x from y');", false],
  ['#!/usr/bin/env node\nreturn 1;', false],
  // Neither: the complaint is for Node to make.
  ['const a = ;', false],
  ['await x; const b = ;', false],
  ['', false],
])('knows whether this is a module: %j', (source, expected) => {
  expect(hasModuleSyntax(source)).toBe(expected);
});

it('finds an await that Node takes for a mistake, and touches no package.json that says what it is', async () => {
  const read = "console.log(require('fs').readFileSync('package.json', 'utf8'));";
  const awaits = await play({ files: { 'main.js': `console.log(await Promise.resolve(1));\n${read}` } });
  expect(awaits.stdout).toBe('1\n{\n  "type": "module"\n}\n\n');
  const typed = await play({
    files: { 'main.js': read, 'package.json': '{"type":"commonjs"}' },
  });
  expect(typed.stdout).toBe('{"type":"commonjs"}\n');
});

it('gives modules what CommonJS has, each by its own place, and leaves them what they declare', async () => {
  const { stdout, stderr } = await play({
    files: {
      'main.mjs': `
        import { dirname } from 'node:path';
        import * as lib from './lib/util.mjs';
        const { EOL } = require('node:os');
        console.log(EOL.length, __dirname === process.cwd(), __filename === process.argv[1], require.main === module);
        console.log(lib.place === process.cwd() + '/lib', lib.isMain, require('./data.json').k, lib.own, process.argv.slice(2));`,
      'lib/util.mjs': `
        export const place = __dirname;
        export const isMain = require.main === module;
        const require2 = require;
        export const own = (() => { const __filename = 'mine'; return __filename })();`,
      'data.json': '{"k": 7}',
    },
    args: ['a b', '--c'],
  });
  expect(stderr).toBe('');
  expect(stdout).toBe("1 true true true\ntrue false 7 mine [ 'a b', '--c' ]\n");
});

it('runs CommonJS as Node does, and shows no line of its own in a trace', async () => {
  const { stdout, stderr, code } = await play({
    files: {
      'main.js': `
        const { add } = require('./util.js');
        console.log(add(1, 2), require.main === module, process.mainModule === module, module.parent, module.id);
        function fail() {
          throw new Error('boom');
        }
        fail();`,
      'util.js': 'exports.add = (a, b) => a + b;',
    },
  });
  expect(stdout).toBe('3 true true null .\n');
  expect(stderr).toMatch(/Error: boom\n\s+at fail \(.*main\.js:5:\d+\)/);
  expect(stderr).not.toContain('sandbox-runtime');
  expect(code).toBe(1);
});

// From 22.18 on Node runs it itself, and the system's own folders are looked through whatever the PATH is.
const runsTypescript =
  Boolean((process.features as { typescript?: unknown }).typescript) || existsSync('/usr/bin/esbuild');
it.skipIf(runsTypescript)('says what is missing where nothing can run TypeScript', async () => {
  const path = process.env['PATH'];
  try {
    process.env['PATH'] = '/nowhere';
    const { stderr, code } = await play({ files: { 'main.ts': 'const a: number = 1;' } });
    expect(stderr).toMatch(/cannot run TypeScript: it has no esbuild, and Node [\d.]+ does not/);
    expect(code).toBe(1);
  } finally {
    process.env['PATH'] = path;
  }
});
