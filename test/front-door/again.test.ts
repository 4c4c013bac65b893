// `again`: a run of a real bridge, run once more out of its record while nothing reaches its server.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { command } from '../cli/command.js';
import { startBridge, tempHome } from '../support/start-bridge.js';
import { makeUsed } from '../support/used-state.js';

const CHANGING = fileURLToPath(new URL('../fixtures/changing-server.mjs', import.meta.url));

it('answers the calls of a recorded run from its record, refuses one that differs, and starts no server', async () => {
  const folder = join(tempHome(), 'changing');
  mkdirSync(folder);
  const note = { name: 'note', description: 'Notes.', inputSchema: { type: 'object' } };
  writeFileSync(join(folder, 'tools.json'), JSON.stringify([note]));
  // The history of its state directory is to be its own.
  const stateDir = makeUsed(join(tempHome(), 'state'));
  const desk = { command: process.execPath, args: [CHANGING, folder] };
  const bridge = await startBridge({ desk }, { env: { MCP_BRIDGE_STATE_DIR: stateDir } });
  onTestFinished(() => bridge[Symbol.asyncDispose]());
  const code = [
    'import random',
    'first = await mcp_desk.note(text="same")',
    'print(first)',
    'try:',
    '    await mcp_desk.note(text=str(random.random()))',
    'except runtime.MCPError as e:',
    '    print("refused", e)',
  ].join('\n');
  const ran = await bridge.run(code, { servers: ['desk'] });
  expect(ran, JSON.stringify(ran)).toMatchObject({ status: 'success' });
  const starts = () =>
    existsSync(join(folder, 'starts')) ? readFileSync(join(folder, 'starts'), 'utf8') : '';
  const before = starts();
  const env = {
    MCP_BRIDGE_STATE_DIR: stateDir,
    MCP_SERVERS_CONFIG: join(bridge.home, 'servers.json'),
    MCP_BRIDGE_WARM: '0',
  };
  const listed = await command(['runs', '--json'], { home: bridge.home, env });
  const [{ run }] = JSON.parse(listed.stdout).runs;
  const again = await command(['again', run], { home: bridge.home, env });
  expect(again.stdout).toContain(ran.stdout?.[0]);
  expect(again.stdout).toMatch(/refused .*did not ask tools\/call of server 'desk'/);
  expect(again.stderr).toMatch(
    /differs: .*\n.*again: 1 answer from its record, 1 not asked for, 1 not in it/,
  );
  expect(again.exitCode).toBe(1);
  expect(starts()).toBe(before);
});
