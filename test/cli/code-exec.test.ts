// `code-exec` as a shell or a host would start it: its own name, its help, and how it ends.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, it } from 'vitest';
import { refuseWindows } from '../../src/cli/code-exec.js';
import { processesWith } from '../support/nothing-left.js';
import { tempHome } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';

const BIN = fileURLToPath(new URL('../../bin/code-exec', import.meta.url));
const env = (extra: Readonly<Record<string, string>> = {}) => ({ PATH: process.env['PATH'] ?? '', ...extra });

async function ended(args: readonly string[], extra = {}): Promise<readonly [number | null, string]> {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: env(extra),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  return [code, said];
}

it('says what it is, and what is wrong with its settings', async () => {
  expect(await ended(['--help'])).toEqual([0, expect.stringContaining('MCP_EXEC_LISTEN')]);
  const [code, said] = await ended([], { MCP_EXEC_LISTEN: '0.0.0.0:0' });
  expect(code).not.toBe(0);
  expect(said).toContain('there is no token');
});

it('does not start on Windows, where a rule for one name of a program leaves its others open', () => {
  expect(() => refuseWindows('win32')).toThrow('does not run on Windows');
  for (const platform of ['linux', 'darwin'] as const) expect(() => refuseWindows(platform)).not.toThrow();
});

it.each([
  [{ MCP_EXEC_AUDIT: '/nowhere/audit.jsonl' }, 'MCP_EXEC_AUDIT'],
  [{ MCP_EXEC_WORKDIR: '/nowhere/work' }, 'MCP_EXEC_WORKDIR'],
])('does not start where it could not do as it is told: %j', async (extra, name) => {
  const [code, said] = await ended([], { MCP_EXEC_WORKDIR: tempHome(), ...extra });
  expect([code, said]).toEqual([2, expect.stringContaining(`${name}: ENOENT`)]);
});

it('says of a timeout above the maximum that it is not what commands get', async () => {
  const [code, said] = await ended([], { MCP_EXEC_WORKDIR: tempHome(), MCP_EXEC_TIMEOUT_MS: '900000' });
  expect([code, said]).toEqual([
    0,
    'code-exec warns: MCP_EXEC_TIMEOUT_MS is 900000; commands get 600000, which is MCP_EXEC_MAX_TIMEOUT_MS.\n',
  ]);
  const lowered = { MCP_EXEC_WORKDIR: tempHome(), MCP_EXEC_MAX_TIMEOUT_MS: '1000' };
  expect(await ended([], lowered)).toEqual([0, '']);
});

it('serves one client on stdio and ends with it', async () => {
  const home = tempHome();
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN],
    env: env({ MCP_EXEC_WORKDIR: home, MCP_EXEC_AUDIT: `${home}/audit.jsonl` }),
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  const run = (args: string) =>
    client.callTool({ name: 'execute', arguments: { command: 'sh', args: ['-c', args] } });
  expect(await run('pwd')).toMatchObject({ structuredContent: { stdout: `${home}\n` } });
  expect(await run('cat audit.jsonl')).toMatchObject({
    structuredContent: { stdout: expect.stringContaining('"args":["-c","pwd"]') },
  });
  const mark = `code-exec-test-${process.pid}`;
  const running = run(`sleep 600; echo ${mark}`).catch(() => {});
  expect(await eventually(() => processesWith(mark).length > 0)).toBe(true);
  const pid = transport.pid ?? 0;
  await client.close();
  await running;
  expect(await eventually(() => processesWith(mark).length === 0)).toBe(true);
  expect(() => process.kill(pid, 0)).toThrow();
});

it('ends on SIGTERM, with the commands that run, also those that would never end', async () => {
  const mark = `code-exec-test-${process.pid}-http`;
  const child = spawn(process.execPath, [BIN], {
    env: env({ MCP_EXEC_LISTEN: '127.0.0.1:0', MCP_EXEC_WORKDIR: tempHome() }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [line] = (await once(child.stderr, 'data')) as [Buffer];
  const url = /http:\S+/.exec(line.toString())?.[0] ?? '';
  const post = (body: object, session?: string) =>
    fetch(url, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    });
  const clientInfo = { name: 'test', version: '1' };
  const greeting = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const greeted = await post({ id: 1, method: 'initialize', params: greeting });
  const args = { command: 'sh', args: ['-c', `trap '' TERM; while :; do sleep 1; done; echo ${mark}`] };
  const params = { name: 'execute', arguments: args };
  await post({ id: 2, method: 'tools/call', params }, greeted.headers.get('mcp-session-id') ?? '');
  expect(await eventually(() => processesWith(mark).length > 0)).toBe(true);
  child.kill('SIGTERM');
  const [code] = (await once(child, 'exit')) as [number | null];
  expect(code).toBe(0);
  expect(processesWith(mark)).toEqual([]);
});
