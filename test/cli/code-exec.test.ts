// `code-exec` as a shell or a host would start it: its own name, its help, how it ends, and that it ends where it is up and
// answers nothing.

import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { refuseWindows } from '../../src/cli/serving/code-exec.js';
import { watch } from '../../src/cli/serving/watched-service.js';
import { processesWith } from '../support/nothing-left.js';
import { tempHome } from '../support/start-bridge.js';
import { eventually, nodeStarts, until } from '../support/time.js';

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

describe('the service over HTTP, which is watched', () => {
  const FAST = { everyMs: 10, answersWithinMs: 100, unanswered: 3 };

  /** As an operator starts it; `server` is the process that answers. */
  async function started() {
    const home = tempHome();
    const first = spawn(process.execPath, [BIN], {
      env: env({ MCP_EXEC_LISTEN: '127.0.0.1:0', MCP_EXEC_WORKDIR: home }),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => void first.kill('SIGKILL'));
    const [line] = (await once(first.stderr, 'data')) as [Buffer];
    const url = /http:\S+/.exec(line.toString())?.[0] ?? '';
    const server = Number(readFileSync(`/proc/${first.pid}/task/${first.pid}/children`, 'utf8'));
    return { first, server, health: () => fetch(new URL('/health', url)) };
  }
  const isGone = (pid: number) => {
    try {
      return /^\d+ \(.*\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    } catch {
      return true;
    }
  };

  it('answers in a process of its own, and ends with what has ended that, and with its exit code', async () => {
    const { first, server, health } = await started();
    expect((await health()).status).toBe(200);
    process.kill(server, 'SIGKILL');
    expect(await once(first, 'exit')).toEqual([137, null]);
  });

  it('is gone when the process that watches is killed', async () => {
    const { first, server } = await started();
    first.kill('SIGKILL');
    expect(await eventually(() => isGone(server))).toBe(true);
  });

  it('ends when it is up and answers nothing: a server that is stopped', async () => {
    // Times that a loaded machine needs to start it.
    const times = { everyMs: 10, answersWithinMs: nodeStarts(10), unanswered: 3 };
    const service = spawn(process.execPath, [BIN], {
      env: env({ MCP_EXEC_LISTEN: '127.0.0.1:0', MCP_EXEC_WORKDIR: tempHome() }),
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const said: string[] = [];
    const ended = watch(service, times, (message) => void said.push(message));
    const [line] = (await once(service.stderr as NonNullable<typeof service.stderr>, 'data')) as [Buffer];
    expect(line.toString()).toContain('listens at');
    expect(said).toEqual([]);
    service.kill('SIGSTOP');
    expect(await ended).toBe(137);
    expect(said).toEqual(['ended its server, which ran but did not answer']);
  });

  it.each(['127.0.0.1', '0.0.0.0', '::', '::1'])(
    'control: goes on as long as it answers, if not every time (%s)',
    async (host) => {
      let asked = 0;
      let isSilent = false;
      const server = createServer((request, response) => {
        asked++;
        // Two of three are left without an answer: nothing comes of one, and the other loses its connection.
        if (isSilent || asked % 3 === 2) request.socket.destroy();
        else if (asked % 3 === 0) response.end();
      });
      onTestFinished(() => {
        server.closeAllConnections();
        server.close();
      });
      await new Promise<void>((resolve) => server.listen(0, host, resolve));
      const { port } = server.address() as { readonly port: number };
      const killed: string[] = [];
      const service = Object.assign(new EventEmitter(), {
        kill: (name: string) => {
          killed.push(name);
          service.emit('exit', null, name);
        },
      });
      const ended = watch(
        service as unknown as ChildProcess,
        { ...FAST, answersWithinMs: nodeStarts(10) },
        () => {},
      );
      service.emit('message', `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`);
      await until(() => asked >= 6);
      expect(killed).toEqual([]);
      isSilent = true;
      expect(await ended).toBe(137);
      expect(killed).toEqual(['SIGKILL']);
    },
  );

  it('waits as long for one that has not come to listen yet', async () => {
    const service = Object.assign(new EventEmitter(), {
      kill: (name: string) => void service.emit('exit', null, name),
    });
    expect(await watch(service as unknown as ChildProcess, FAST, () => {})).toBe(137);
  });
});
