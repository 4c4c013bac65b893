// The built program on stdio, and agents of both eras of the protocol: the SDK's first line, and its second in each of its
// modes. Commands are handed to a server of the user's, so that no container is needed.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { descendants } from '../support/nothing-left.js';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';
import { makeUsed } from '../support/used-state.js';
import { writtenState } from '../support/written-state.js';

const CODE_EXEC = fileURLToPath(new URL('../../bin/code-exec', import.meta.url));

/** How the bridge is started, with a server that runs commands. */
function program() {
  const home = tempHome();
  const config = join(home, 'servers.json');
  const box = { command: process.execPath, args: [CODE_EXEC], env: { MCP_EXEC_WORKDIR: home } };
  writeFileSync(config, JSON.stringify({ mcpServers: { box } }), { mode: 0o600 });
  const env = bridgeEnv(home, {
    MCP_SERVERS_CONFIG: config,
    MCP_BRIDGE_STATE_DIR: makeUsed(join(home, 'state')),
    MCP_BRIDGE_TOOLS: 'execute',
    MCP_BRIDGE_EXECUTE_SERVER: 'box',
  });
  const stderr = 'ignore' as const;
  return { home, parameters: { command: process.execPath, args: [MAIN], env, cwd: home, stderr } };
}

const MODES = ['legacy', 'auto', { pin: '2026-07-28' }] as const;

async function connected(mode: (typeof MODES)[number]) {
  const { home, parameters } = program();
  const transport = new StdioClientTransport(parameters);
  const client = new Client({ name: 'agent', version: '7' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, home, pid: transport.pid ?? -1 };
}

describe.each(MODES)('the second line of the SDK, mode %j', (mode) => {
  it('greets, lists and reads, and nothing is started', async () => {
    const { client, home, pid } = await connected(mode);
    expect(client.getProtocolEra()).toBe(mode === 'legacy' ? 'legacy' : 'modern');
    expect(client.getServerVersion()?.name).toBe('mcp-sandbox-bridge');
    expect(client.getInstructions()).toContain('execute runs one command');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['execute']);
    const { resources } = await client.listResources();
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
    expect((await client.readResource({ uri: resources[0]?.uri ?? '' })).contents).toHaveLength(1);
    expect(descendants(pid)).toEqual([]);
    expect(writtenState(join(home, 'state'))).toEqual([]);
  });

  it('has a command run by a server, and is told that it goes on', async () => {
    const { client, home } = await connected(mode);
    const told: string[] = [];
    const free = join(home, 'free');
    // It goes on until it is told of.
    const waiting = `until [ -e '${free}' ]; do sleep 0.1; done; echo done`;
    const result = await client.callTool(
      { name: 'execute', arguments: { command: 'sh', args: ['-c', waiting] } },
      {
        timeout: HANGS_MS,
        onprogress: ({ message }) => {
          told.push(message ?? '');
          writeFileSync(free, '');
        },
      },
    );
    expect(result).toMatchObject({ isError: false, content: [{ type: 'text', text: 'done' }] });
    expect(told.length).toBeGreaterThan(0);
  });

  it('is refused what there is not', async () => {
    const { client } = await connected(mode);
    await expect(client.callTool({ name: 'nope' })).rejects.toMatchObject({
      code: -32_602,
      message: "There is no tool 'nope'. Tools: execute.",
    });
    await expect(client.readResource({ uri: 'x:y' })).rejects.toMatchObject({ code: -32_602 });
    const wrong = await client.callTool({ name: 'execute', arguments: { command: 7 } });
    expect(wrong.isError).toBe(true);
  });
});

it('an agent of 2026-07-28 that listens is told what it will hear, and the end of it', async () => {
  const { client } = await connected('auto');
  const listening = await client.listen({ toolsListChanged: true, resourcesListChanged: true });
  expect(listening.honoredFilter).toEqual({ toolsListChanged: true, resourcesListChanged: true });
  await client.close();
  expect(['local', 'remote']).toContain(await listening.closed);
});

it('the first line of the SDK gets what it always got', async () => {
  const { parameters } = program();
  const client = new OldClient({ name: 'agent', version: '7' });
  await client.connect(new OldTransport(parameters));
  onTestFinished(() => client.close());
  expect(Object.keys(await client.listTools())).toEqual(['tools']);
  expect(await client.ping()).toEqual({});
  expect(await client.setLoggingLevel('debug')).toEqual({});
  const result = await client.callTool({ name: 'execute', arguments: { command: 'echo', args: ['hi'] } });
  expect(result).toMatchObject({ isError: false, content: [{ type: 'text', text: 'hi' }] });
  expect(result).not.toHaveProperty('resultType');
});

it.each(MODES)('with a wrong setting each call says so, mode %j', async (mode) => {
  const { parameters } = program();
  const env = { ...parameters.env, MCP_BRIDGE_MEMORY: 'lots' };
  const transport = new StdioClientTransport({ ...parameters, env });
  const client = new Client({ name: 'agent', version: '7' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  expect(client.getInstructions()).toContain('MCP_BRIDGE_MEMORY');
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['execute']);
  const result = await client.callTool({ name: 'execute', arguments: { command: 'ls' } });
  expect([result.isError, JSON.stringify(result.content)]).toEqual([
    true,
    expect.stringContaining('MCP_BRIDGE_MEMORY'),
  ]);
});

it.each(MODES)('code-exec on stdio runs commands for both eras, mode %j', async (mode) => {
  const home = tempHome();
  const env = { PATH: process.env['PATH'] ?? '', MCP_EXEC_WORKDIR: home };
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CODE_EXEC],
    env,
    stderr: 'ignore',
  });
  const client = new Client({ name: 'agent', version: '7' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['execute']);
  const result = await client.callTool({ name: 'execute', arguments: { command: 'pwd' } });
  expect(result.content).toEqual([{ type: 'text', text: home }]);
  await expect(client.callTool({ name: 'nope' })).rejects.toMatchObject({ code: -32_602 });
});
