// The first bridge of a run of the tests of programs, which keeps its compiled code for those that find a used state directory.
// This bridge needs no engine: its one command goes to the command server.

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HANGS_MS } from './time.js';

const MAIN = resolve('dist/cli/main.js');
const MESSAGES = [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'first', version: '1' } },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/call', params: { name: 'execute', arguments: { command: 'true' } } },
];

export function setup(): void {
  const home = join(process.env['TEST_ROOT'] ?? '', 'first');
  const state = join(home, 'state');
  const config = join(home, 'servers.json');
  mkdirSync(home);
  const box = { command: process.execPath, args: [MAIN, 'code-exec'], env: { MCP_EXEC_WORKDIR: home } };
  writeFileSync(config, JSON.stringify({ mcpServers: { box } }), { mode: 0o600 });
  const env = {
    HOME: home,
    PATH: process.env['PATH'],
    MCP_SERVERS_CONFIG: config,
    MCP_BRIDGE_STATE_DIR: state,
    MCP_BRIDGE_TOOLS: 'execute',
    MCP_BRIDGE_EXECUTE_SERVER: 'box',
    MCP_BRIDGE_ALLOW_SELF_SERVER: '1',
  };
  const input = MESSAGES.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
  // Where it fails, its tests say so, and the others find out everything anew.
  spawnSync(process.execPath, [MAIN], {
    cwd: home,
    env,
    input,
    timeout: HANGS_MS,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  process.env['TEST_FIRST_STATE_DIR'] = state;
}
