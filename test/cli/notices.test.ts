// A call that waits for a person, told to a webhook by the built program; and a webhook that hangs, which delays no answer.

import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it, onTestFinished } from 'vitest';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { until } from '../support/time.js';
import { makeUsed } from '../support/used-state.js';
import { command } from './command.js';

const APPROVED = fileURLToPath(new URL('../fixtures/prompting-server.mjs', import.meta.url));

it('tells a webhook that hangs what waits, and the call goes on when it is allowed', async () => {
  const received: string[] = [];
  // It never answers.
  const server = createServer(async (request) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const home = tempHome();
  const folder = join(home, 'desk');
  mkdirSync(folder);
  const config = join(home, 'servers.json');
  const desk = { command: process.execPath, args: [APPROVED, folder] };
  writeFileSync(config, JSON.stringify({ mcpServers: { desk } }), { mode: 0o600 });
  const key = join(home, 'key');
  writeFileSync(key, `whsec_${Buffer.alloc(32, 1).toString('base64')}`, { mode: 0o600 });
  const settings = {
    MCP_SERVERS_CONFIG: config,
    MCP_BRIDGE_STATE_DIR: makeUsed(join(home, 'state')),
    MCP_BRIDGE_TOOLS: 'execute',
    MCP_BRIDGE_EXECUTE_SERVER: 'desk',
    MCP_BRIDGE_APPROVE: 'all',
    MCP_BRIDGE_NOTIFY_WEBHOOK: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    MCP_BRIDGE_NOTIFY_SECRET_FILE: key,
  };
  const client = new Client({ name: 'agent', version: '7' });
  const env = bridgeEnv(home, settings);
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [MAIN], env, cwd: home, stderr: 'ignore' }),
  );
  onTestFinished(() => client.close());
  const calling = client.callTool({ name: 'execute', arguments: { command: '[]' } });
  await until(() => received.length > 0, 'a word at the webhook');
  const { data } = JSON.parse(received[0] ?? '');
  expect(data).toMatchObject({ server: 'desk', tool: 'execute', calls: 1, client: 'agent 7' });
  expect(data).not.toHaveProperty('arguments');
  const answered = await command(['approvals', 'allow', data.question], { home, env: settings });
  expect(answered).toMatchObject({ exitCode: 0 });
  expect(await calling).toMatchObject({ content: [{ text: 'changed' }] });
});
