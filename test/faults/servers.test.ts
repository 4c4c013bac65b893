// The user's own servers misbehave: one clear error for that call, the others unaffected, the next call served, and
// no process of theirs left when the bridge ends.

import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { hostileServer, type Payload, type ServerEntry } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';
import { fault } from './stage.js';

type Row = {
  readonly row?: string;
  readonly title: string;
  /** Modes of the server `h`; beside it `ok` always behaves. */
  readonly modes?: readonly string[];
  readonly server?: ServerEntry;
  readonly code: string;
  readonly expected: Partial<Payload> | { readonly error: unknown };
  readonly timeout?: number;
  /** What a later run finds. */
  readonly next?: string;
  /** False where the server cannot be used at all. */
  readonly loads?: false;
};

const FLOODING_SERVER = fileURLToPath(new URL('../fixtures/flooding-server.mjs', import.meta.url));
/** It has no limit of its own: it says as much as is taken from it. */
const flooding = (...kinds: readonly string[]): ServerEntry => ({
  command: process.execPath,
  args: [FLOODING_SERVER, ...kinds],
});
const FLOODS = ['logs', 'progress', 'updates', 'pings', 'questions', 'answers', 'noise', 'stderr'];

/** How many `what` the server counts between two of its answers, at least a second later. */
const counted = (what: string) => `
import asyncio
before = (await mcp_h.counts())["${what}"]
await asyncio.sleep(1)
(await mcp_h.counts())["${what}"] - before`;

/** Runs `call` and gives what it raised, as text. */
const raised = (call: string) => `
try:
    said = str(await ${call})
except runtime.MCPError as error:
    said = str(error)
said
`;
const says = (text: string | RegExp) => ({ status: 'success', result: expect.stringMatching(text) });

const ROWS: readonly Row[] = [
  {
    title: 'exits before its greeting',
    modes: ['exit-early'],
    code: '1',
    loads: false,
    expected: { error: expect.stringContaining('cannot read its key') },
  },
  {
    title: 'is ended by a signal before its greeting',
    server: { command: '/bin/sh', args: ['-c', 'kill -SEGV $$'] },
    code: '1',
    loads: false,
    expected: { error: expect.stringMatching(/SIGSEGV/) },
  },
  {
    title: 'is no program',
    server: { command: '/etc/passwd' },
    code: '1',
    loads: false,
    expected: { error: expect.stringContaining('may not be executed') },
  },
  {
    title: 'ends its stdout and lives on',
    server: { command: '/bin/sh', args: ['-c', 'exec >&-; exec sleep 60'] },
    code: '1',
    timeout: 2,
    loads: false,
    expected: { error: expect.any(String) },
  },
  {
    title: 'speaks another protocol version',
    modes: ['old-protocol'],
    code: '1',
    loads: false,
    expected: { error: expect.stringContaining('1999-12-31') },
  },
  {
    title: 'names new pages of tools for ever',
    modes: ['endless-pages'],
    code: 'await mcp_h.echo(text="a")',
    expected: { status: 'success' },
  },
  {
    title: 'names the same page for ever',
    modes: ['repeat-cursor'],
    code: 'await mcp_h.echo(text="a")',
    expected: { status: 'success' },
  },
  {
    title: 'starts slowly',
    modes: ['slow-start=1500'],
    code: 'await mcp_h.echo(text="late")',
    expected: { status: 'success' },
  },
  {
    title: 'prints banners between its answers',
    modes: ['noise'],
    code: 'await mcp_h.echo(text="a")',
    expected: { status: 'success' },
  },
  {
    title: 'floods stderr before its greeting',
    modes: ['stderr-flood=3000000'],
    code: 'await mcp_h.echo(text="a")',
    expected: { status: 'success' },
  },
  { title: 'crashes in a call', code: raised('mcp_h.crash(text="oh no")'), expected: says('oh no') },
  {
    title: 'crashes in a call, and others of its calls are under way',
    code: 'import asyncio\nr = await asyncio.gather(*[mcp_h.hang() for _ in range(5)], mcp_h.crash(), return_exceptions=True)\n[len(r), all(isinstance(e, runtime.MCPError) for e in r)]',
    expected: { status: 'success', result: [6, true] },
  },
  { title: 'hangs in a call', code: 'await mcp_h.hang()', timeout: 2, expected: { status: 'timeout' } },
  {
    title: 'answers 20 MB',
    code: 'len(str(await mcp_h.big(bytes=20_000_000))) >= 20_000_000',
    timeout: 100,
    expected: { status: 'success', result: true },
  },
  {
    row: 'L10',
    title: 'answers 70 MB to one of eight calls',
    code: 'import asyncio\nr = await asyncio.gather(*[mcp_h.echo(text=str(n)) for n in range(7)], mcp_h.big(bytes=70_000_000), return_exceptions=True)\n[sum(isinstance(e, Exception) for e in r), isinstance(r[7], runtime.MCPError)]',
    timeout: 100,
    expected: { status: 'success', result: [1, true] },
  },
  {
    title: 'answers a wrong id',
    code: 'await mcp_h.wrong_id()',
    timeout: 2,
    expected: { status: 'timeout' },
  },
  {
    title: 'answers twice',
    code: 'import json\n["first" in json.dumps(await mcp_h.twice()) for _ in range(3)]',
    expected: { status: 'success', result: [true, true, true] },
  },
  {
    title: 'floods stdout with what is no message',
    code: 'await mcp_h.flood_out(bytes=5_000_000)',
    timeout: 100,
    expected: { status: 'success' },
  },
  {
    title: 'floods stderr in a call',
    code: 'await mcp_h.flood_err(bytes=5_000_000)',
    timeout: 100,
    expected: { status: 'success' },
  },
  { title: 'writes JSON that is no message', code: 'await mcp_h.scalars()', expected: { status: 'success' } },
  {
    title: 'exits after each call',
    code: 'import asyncio\nfor _ in range(4):\n    await mcp_h.last_breath()\n    await asyncio.sleep(0.2)\nawait mcp_h.echo(text="a")',
    expected: { status: 'success' },
  },
  {
    title: 'starts a daemon that holds its stdout',
    code: 'import os\n(await mcp_h.daemon())["pid"] > 0',
    expected: { status: 'success', result: true },
  },
  {
    title: 'starts a stubborn process of its own',
    modes: ['stubborn-grandchild'],
    code: 'await mcp_h.echo(text="a")',
    expected: { status: 'success' },
  },
  {
    title: 'ignores every wish to end',
    modes: ['stubborn'],
    code: 'await mcp_h.echo(text="a")',
    expected: { status: 'success' },
  },
  {
    title: 'changes its tools in a call',
    code: 'import asyncio\nawait mcp_h.grow()\nawait asyncio.sleep(0.5)',
    next: 'await mcp_h.grown_1()',
    expected: { status: 'success' },
  },
  {
    title: 'crashes at every call: it rests after the third',
    code: `errors = []
for _ in range(8):
    try: await mcp_h.crash()
    except runtime.MCPError as error: errors.append("retry in" in str(error))
errors.count(True) >= 4`,
    expected: { status: 'success', result: true },
  },
  {
    title: 'says after each list of its tools that it has changed',
    server: flooding('lists=0'),
    code: `${counted('lists')} < 10`,
    expected: { status: 'success', result: true },
  },
  {
    title: 'has other tools after each list',
    server: flooding('changes=0'),
    code: `${counted('lists')} < 20`,
    expected: { status: 'success', result: true },
  },
  ...FLOODS.map((kind) => ({
    title: `says as much as is read, unasked: ${kind}`,
    server: flooding(`${kind}=10000000`),
    code: '[(await mcp_h.echo(text=str(n))) for n in range(5)] and True',
    timeout: 100,
    expected: { status: 'success', result: true },
  })),
  {
    title: 'says as much as is read, unasked, of all kinds at once',
    server: flooding('lists=20000', ...FLOODS.map((kind) => `${kind}=20000`)),
    code: '[(await mcp_h.echo(text=str(n))) for n in range(5)] and True',
    timeout: 100,
    expected: { status: 'success', result: true },
  },
  { title: 'answers nested too deep', code: raised('mcp_h.deep(levels=100000)'), expected: says('deep') },
  { title: 'answers nothing', code: raised('mcp_h.null_result()'), expected: { status: 'success' } },
];

describe('a server', () => {
  for (const { row = 'L09', title, modes = [], server, code, expected, timeout = 60, loads, next } of ROWS) {
    fault(
      row,
      title,
      async (stage) => {
        const bridge = await stage.bridge({
          h: server ?? hostileServer(...modes),
          ok: hostileServer('well-behaved'),
        });
        const payload = await stage.answered(bridge.run(code, { servers: ['h'], timeout }));
        expect(payload).toMatchObject(expected);
        if (loads === false) expect(payload.status).toBe('error');
        if (next !== undefined) {
          const isKnown = async () =>
            (await stage.answered(bridge.run(next, { servers: ['h'] }))).status === 'success';
          expect(await eventually(isKnown)).toBe(true);
        }
        // Nobody else notices.
        const other = await stage.answered(bridge.run('await mcp_ok.echo(text="fine")', { servers: ['ok'] }));
        expect(other).toMatchObject({ status: 'success' });
      },
      // What a server puts into a session of its own is not the bridge's to end; it must only not be waited for.
      { mayStay: (left) => title.includes('daemon') && / sleep 60\s*$/.test(left) },
    );
  }
});
