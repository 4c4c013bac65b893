// JavaScript and TypeScript through execute_code, as models write them, in the real image; and MCP tools from there.
// Skipped where nobody has built the image.

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { suiteWithImage } from '../support/built-image.js';
import { hostileServer, type Payload, startBridge, type TestBridge } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';
import { REACH_SECONDS } from './reached.js';

let bridge: TestBridge;

type More = Readonly<Record<string, unknown>>;

async function run(
  language: string,
  code: string,
  more: More = {},
): Promise<Payload & { readonly text: string }> {
  const args = { language, entrypoint_code: code, ...more };
  const result = (await bridge.client.callTool({ name: 'execute_code', arguments: args }, undefined, {
    timeout: HANGS_MS,
  })) as CallToolResult;
  const [block] = result.content;
  return { ...(result.structuredContent as Payload), text: block?.type === 'text' ? block.text : '' };
}

/** Runs each text as a program of its own, one after the other in one sandbox, as the harness would start it. */
const each = (programs: Readonly<Record<string, string>>): string => `
  const fs = require('fs');
  const { spawnSync } = require('child_process');
  for (const [name, text] of Object.entries(${JSON.stringify(programs)})) {
    fs.mkdirSync(require('path').dirname(name), { recursive: true });
    fs.writeFileSync(name, text);
    if (!/main\\.[cm]?[jt]s$/.test(name)) continue;
    const ran = spawnSync('node', ['--enable-source-maps', '/ipc/javascript/run.cjs', './' + name], { encoding: 'utf8' });
    console.log(name + ' -> ' + ran.status + ' ' + ran.stdout.trim() + (ran.status ? ran.stderr : ''));
    fs.rmSync('package.json', { force: true });
  }`;

suiteWithImage('javascript', 'the javascript image', () => {
  beforeAll(async () => {
    bridge = await startBridge(
      { 'my-server': hostileServer() },
      { env: { MCP_BRIDGE_TOOLS: 'run_python,execute_code', MCP_BRIDGE_AUDIT: 'off' } },
    );
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  it('runs modules, CommonJS and what is both, in a Node that does not look for itself', async () => {
    const { stdout } = await run(
      'javascript',
      each({
        'esm/util.js': 'export const add = (a, b) => a + b;',
        'esm/main.js':
          "import fs from 'node:fs';\nimport { add } from './util.js';\nconsole.log(await add(1, 2), typeof fs.readFileSync);",
        'cjs/data.json': '{"k": 7}',
        'cjs/util.js': 'module.exports = { add: (a, b) => a + b };',
        'cjs/main.js':
          "const { add } = require('./util.js');\nconsole.log(add(1, 2), require('./data.json').k, require.main === module);",
        'both/main.js':
          "const os = require('os');\nconsole.log(typeof (await Promise.resolve(os)).EOL, __dirname.endsWith('both'));",
        'named/main.mjs': 'console.log(typeof import.meta.url);',
        'named/main.cjs': 'console.log(typeof module);',
        'given/package.json': '{"name": "x"}',
        'given/main.js': 'export {};\nconsole.log(1);',
        'typed/package.json': '{"type": "module"}',
        'typed/main.js': 'console.log(typeof __dirname, this === undefined);',
        'wrong/main.js': "import fs from 'node:fs';\n\nfs.nope();",
        'loop/main.js': 'for await (const n of [4]) console.log(n);',
        'mixed/util.js': 'module.exports = { add: (a, b) => a + b };',
        'mixed/main.js': "import util from './util.js';\nconsole.log(util.add(1, 2));",
      }),
    );
    const said = stdout?.join('\n') ?? '';
    expect(said).toContain('esm/main.js -> 0 3 function\n');
    expect(said).toContain('cjs/main.js -> 0 3 7 true\n');
    expect(said).toContain('both/main.js -> 0 string true\n');
    expect(said).toContain('named/main.mjs -> 0 string\n');
    expect(said).toContain('named/main.cjs -> 0 object\n');
    expect(said).toContain('given/main.js -> 0 1\n');
    expect(said).toContain('typed/main.js -> 0 string true\n');
    expect(said).toMatch(/wrong\/main\.js -> 1 [\s\S]*wrong\/main\.js:3\n/);
    expect(said).toContain('loop/main.js -> 0 4\n');
    expect(said).toContain('mixed/main.js -> 0 3');
  });

  it('runs TypeScript with what is more than types, and names its lines', async () => {
    const { stdout } = await run(
      'javascript',
      each({
        'a/util.ts':
          'export const add = (a: number, b: number): number => a + b;\nif (require.main === module) console.log("no");',
        'a/main.ts': `import { add } from './util.js';
import type { X } from './nowhere';
enum Color { Red, Green }
namespace N { export const x = 1; }
function seen(_: unknown, context: ClassMethodDecoratorContext) { console.log(context.name); }
class A { @seen m() {} constructor(private y = 5) { console.log(this.y); } }
new A();
interface P { a: number }
const p = { a: 1 } satisfies P;
if (require.main === module) console.log(add(1, 2), Color.Green, N.x, p.a, __dirname.endsWith('/a'));`,
        'b/main.ts':
          "import { readFileSync } from 'fs';\nconst x: number = await Promise.resolve(3);\nconsole.log(x, import.meta.url.endsWith('/b/main.ts'), typeof require('os').EOL);\nfor await (const y of [1]) console.log(y);",
        'c/main.mts': 'console.log(typeof import.meta.url as string);',
        'd/main.ts':
          'interface A { x: number }\nfunction f(a: A): never {\n  throw new TypeError("t" + a.x);\n}\nf({ x: 1 });',
        'e/main.ts': 'const a: number = 1;\nconst b = ;',
        'f/main.ts': 'import axios from "axios";\nconsole.log(axios);',
        'g/main.ts': 'type T = number;\nawait 1;\nnull!.foo as T;',
      }),
    );
    const said = stdout?.join('\n') ?? '';
    expect(said).toContain('a/main.ts -> 0 m\n5\n3 1 1 1 true\n');
    expect(said).toContain('b/main.ts -> 0 3 true string\n1\n');
    expect(said).toContain('c/main.mts -> 0 string\n');
    expect(said).toMatch(/d\/main\.ts -> 1 [\s\S]*TypeError: t1\n\s+at f \(\/workspace\/d\/main\.ts:3:9\)/);
    expect(said).toMatch(/e\/main\.ts -> 1 [\s\S]*e\/main\.ts:2:10:/);
    expect(said).toMatch(/f\/main\.ts -> 1 [\s\S]*Could not resolve "axios"\s+f\/main\.ts:1:18:/);
    expect(said).toMatch(/g\/main\.ts -> 1 [\s\S]*g\/main\.ts:3:7/);
  });

  /** Node itself takes its time to start. */
  const SECONDS = 2 * REACH_SECONDS;

  it.each([
    ['javascript', "import own from 'mcp';"],
    ['typescript', "import own from 'mcp';\nconst n: number = 1;"],
  ])('calls tools from %s', async (language, head) => {
    const { status, stdout, stderr } = await run(
      language,
      `${head}
console.log(await mcp_my_server.echo({ text: 'é😀' }), own === mcp);
const { id, tags } = await mcp_my_server.json_text();
console.log(id, tags, JSON.stringify(await mcp_my_server.echo_raw({ id })));
const all = await Promise.all(Array.from({ length: 100 }, (_, n) => mcp_my_server.echo({ text: String(n) })));
console.log(all.length, all[99]);
console.log((await mcp_my_server.image()).mediaType, (await mcp_my_server.big({ bytes: 3_000_000 })).length);
try { await mcp_my_server.fail({ text: 'on purpose' }) } catch (e) { console.log(e instanceof own.MCPError, e.message) }
try { await mcp_my_server.ecko({}) } catch (e) { console.log(e.message.split(' Its')[0]) }
mcp_my_server.sleep({ ms: 50 }).then(console.log);`,
      { servers: ['my-server'] },
    );
    expect(stderr ?? []).toEqual([]);
    expect(status).toBe('success');
    expect(stdout).toEqual([
      'é😀 true',
      expect.stringMatching(/^12345678901234567890n \[ 'a', 'b' \] \{"id":"?12345678901234567890"?\}$/),
      '100 99',
      'image/png 3000000',
      'true my-server.fail: on purpose',
      "Server 'my-server' has no tool 'ecko'. Did you mean 'echo'?",
      'slept 50 ms',
    ]);
  });

  it('is stopped at its deadline whatever it does, also with tools', async () => {
    const busy = await run(
      'javascript',
      "require('fs').writeFileSync('out/a.txt', 'a'); console.log('b'); for (;;);",
      { timeout: SECONDS },
    );
    expect(busy).toMatchObject({ status: 'timeout', stdout: ['b'] });
    expect(busy.text).toContain('a.txt');
    const waiting = await run('javascript', "console.log('b'); await mcp_my_server.hang()", {
      timeout: SECONDS,
      servers: ['my-server'],
    });
    expect(waiting).toMatchObject({ status: 'timeout', stdout: ['b'] });
    expect(waiting.text).toContain('my-server.hang');
  });

  it('says that memory ran out, in the heap and beside it', async () => {
    const heap = await run('javascript', 'const a = []; for (;;) a.push(new Array(10_000).fill({}));');
    expect(heap).toMatchObject({ status: 'error', errorType: 'E_MEMORY' });
    expect(heap.error).toContain('JavaScript heap out of memory');
    const beside = await run('javascript', 'const a = []; for (;;) a.push(Buffer.alloc(10_000_000, 1));');
    expect(beside).toMatchObject({ status: 'error', errorType: 'E_MEMORY' });
  });
});
