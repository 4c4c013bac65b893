// The page of `ui` with the built program: two real bridges with a client each, and the page's program, over HTTP.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it, onTestFinished, vi } from 'vitest';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';

const CODE_EXEC = fileURLToPath(new URL('../../bin/code-exec', import.meta.url));

/** A home whose bridges run commands on a server, so that no container is needed. */
function homeWithServer() {
  const home = tempHome();
  const folder = join(home, '.config/mcp/servers');
  mkdirSync(folder, { recursive: true });
  const box = { command: process.execPath, args: [CODE_EXEC], env: { MCP_EXEC_WORKDIR: home } };
  writeFileSync(join(folder, 'box.json'), JSON.stringify({ mcpServers: { box } }), { mode: 0o600 });
  const env = bridgeEnv(home, {
    MCP_BRIDGE_STATE_DIR: join(home, 'state'),
    MCP_BRIDGE_TOOLS: 'execute',
    MCP_BRIDGE_EXECUTE_SERVER: 'box',
    MCP_BRIDGE_WARM: '0',
  });
  return { home, env, stateDir: join(home, 'state') };
}
type Home = ReturnType<typeof homeWithServer>;

async function startAgent({ home, env }: Home, name: string) {
  const client = new Client({ name, version: '1' });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [MAIN], env, cwd: home, stderr: 'ignore' }),
  );
  onTestFinished(() => client.close());
  const execute = (...args: string[]) =>
    client.callTool({ name: 'execute', arguments: { command: 'echo', args } });
  return { client, execute };
}

/** The program of the page, and what it sends to whoever has opened its link. */
async function startPage({ env, home }: Home) {
  const page = spawn(process.execPath, [MAIN, 'ui', '--no-browser'], {
    env,
    cwd: home,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => end(page));
  const [link] = (await once(createInterface(page.stdout), 'line')) as [string];
  const opened = await fetch(link);
  const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';');
  const [, place = ''] = /url=(\/[^/]+\/)"/.exec(await opened.text()) ?? [];
  const address = new URL(place, link);
  const data = async (name: string) =>
    (await (await fetch(new URL(name, address), { headers: { cookie } })).json()) as never;
  return { page, link, cookie, address, data };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

const seen = { timeout: HANGS_MS };

it('ui shows two bridges that run, what they ran and what that called, and nothing of one that has ended', async () => {
  const home = homeWithServer();
  const [ann, ben] = await Promise.all([startAgent(home, 'agent-ann'), startAgent(home, 'agent-ben')]);
  await Promise.all([ann.client.listTools(), ben.client.listTools()]);
  await ann.execute('from ann');
  await ben.execute('from ben');
  const { data, address, cookie } = await startPage(home);
  await vi.waitFor(async () => {
    const bridges = (await data('bridges')) as { servers: { name: string }[]; kind: string }[];
    expect(bridges.map(({ kind, servers }) => [kind, servers.map(({ name }) => name)])).toEqual([
      ['stdio', ['box']],
      ['stdio', ['box']],
    ]);
  }, seen);
  // A tool is told with all that a person needs to know whether it is the right one.
  await vi.waitFor(async () => {
    const bridges = (await data('bridges')) as { servers: { tools: unknown[] }[] }[];
    const tools = bridges.flatMap(({ servers }) => servers.flatMap((server) => server.tools));
    expect(tools).toContainEqual({
      name: 'execute',
      description: expect.stringContaining('command'),
      arguments: expect.stringMatching(/^command: string, args\?: array/),
    });
  }, seen);
  type Run = { run: string; client: string; status: string; callCount: number; tools: string[] };
  const runs = await vi.waitFor(async () => {
    const listed = (await data('runs')) as Run[];
    expect(listed.map(({ client }) => client).sort()).toEqual(['agent-ann 1', 'agent-ben 1']);
    expect(listed.map(({ status, callCount, tools }) => [status, callCount, tools])).toEqual(
      Array(2).fill(['success', 1, ['box.execute']]),
    );
    return listed;
  }, seen);
  expect(await data(`run?run=${runs[0]?.run}`)).toMatchObject({
    calls: [{ server: 'box', tool: 'execute', isAllowed: true }],
  });
  expect(await data('tools')).toMatchObject({
    tools: [{ server: 'box', tool: 'execute', calls: 2, failed: 0 }],
  });

  // A page that listens is told of a further run by itself.
  const request = httpGet(new URL('events', address), { headers: { cookie, host: address.host } });
  const [events] = (await once(request, 'response')) as [IncomingMessage];
  let told = '';
  events.on('data', (chunk: Buffer) => {
    told += chunk.toString();
  });
  await ben.execute('once more');
  await vi.waitFor(() => expect(told).toMatch(/data: \[.*"runs"/), seen);
  request.destroy();

  await ann.client.close();
  await vi.waitFor(async () => expect(await data('now')).toMatchObject({ bridges: 1 }), seen);
  expect(await data('runs')).toHaveLength(3);
});

it('ui opens once by its link, and a bridge has no socket before its tools are listed', async () => {
  const home = homeWithServer();
  const agent = await startAgent(home, 'agent');
  expect(existsSync(join(home.stateDir, 'watch'))).toBe(false);
  const { link, address, cookie } = await startPage(home);
  expect((await fetch(link)).status).toBe(403);
  expect((await fetch(address)).status).toBe(403);
  expect((await fetch(new URL('now', address))).status).toBe(403);
  expect((await fetch(address, { headers: { cookie } })).status).toBe(200);
  await agent.client.listTools();
  await vi.waitFor(() => expect(readdirSync(join(home.stateDir, 'watch'))).toHaveLength(1), seen);
  await agent.client.close();
  await vi.waitFor(() => expect(readdirSync(join(home.stateDir, 'watch'))).toHaveLength(0), seen);
});

it('ui ends with its interrupt, and its address answers nobody any more', async () => {
  const { page, link } = await startPage(homeWithServer());
  await end(page);
  await expect(fetch(link)).rejects.toThrow();
});
