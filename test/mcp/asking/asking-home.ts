// A home whose bridge hands commands to a server that asks the user.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempHome } from '../../support/start-bridge.js';
import { makeUsed } from '../../support/used-state.js';

const ASKING = fileURLToPath(new URL('../../fixtures/asking-server.mjs', import.meta.url));

/** With the settings that lead there, and what the server has noted of its calls. */
export function askingHome() {
  const home = tempHome();
  const folder = join(home, 'asking');
  mkdirSync(folder);
  writeFileSync(join(folder, 'events'), '');
  const config = join(home, 'servers.json');
  const asking = { command: process.execPath, args: [ASKING, folder] };
  writeFileSync(config, JSON.stringify({ mcpServers: { asking } }), { mode: 0o600 });
  const settings = {
    MCP_SERVERS_CONFIG: config,
    MCP_BRIDGE_TOOLS: 'execute',
    MCP_BRIDGE_EXECUTE_SERVER: 'asking',
    MCP_BRIDGE_STATE_DIR: makeUsed(join(home, 'state')),
  };
  const events = () => readFileSync(join(folder, 'events'), 'utf8').trim().split('\n');
  return { home, settings, events };
}
