// What doctor says of the bridge's entry in each host: as that host would start it, and not by the variables of the terminal.

import { chmodSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostFindings } from '../../src/cli/doctor/host-findings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { Home } from '../hosts/home.js';

let home: Home;
let bin: string;
beforeEach(() => {
  home = new Home();
  const npx = home.write('bin/npx', '#!/bin/sh\n');
  chmodSync(npx, 0o755);
  bin = npx.replace(/\/npx$/, '');
});
afterEach(() => home[Symbol.dispose]());

type Entry = { command?: string; args?: readonly string[]; env?: Readonly<Record<string, string>> };
const entry = ({ command = 'npx', args = ['-y', 'mcp-sandbox-bridge'], env = {} }: Entry = {}) =>
  JSON.stringify({ mcpServers: { py: { command, args, env } } });
const findings = (env: Readonly<Record<string, string>> = {}) =>
  hostFindings(home.discover(), { PATH: bin, ...env }, hostFacts());

it('an entry that can start is fine, and says what it starts with, without secrets', () => {
  home.write('.claude.json', entry({ env: { MCP_BRIDGE_IMAGE: 'data', GITHUB_TOKEN: 'ghp_verysecret1' } }));
  const found = findings();
  expect(found).toMatchObject([
    {
      name: 'host Claude Code',
      status: 'ok',
      detail: expect.stringMatching(
        /^'py' in .*\.claude\.json starts `npx -y mcp-sandbox-bridge` with MCP_BRIDGE_IMAGE=data$/,
      ),
    },
    // The terminal has nothing to compare with.
  ]);
  expect(JSON.stringify(found)).not.toContain('verysecret');
});

it('a command that is not there fails, with what registers it anew', () => {
  home.write(
    '.claude.json',
    entry({ command: '/nowhere/node', args: ['/nowhere/mcp-sandbox-bridge/dist/cli/main.js'] }),
  );
  expect(findings()).toMatchObject([
    {
      status: 'fail',
      detail: expect.stringContaining('its command /nowhere/node was not found'),
      remedy: expect.stringMatching(/uninstall claude-code`, then `.*install claude-code`/),
    },
  ]);
});

it('a file that node would run and that is not there fails too', () => {
  const args = ['/nowhere/mcp-sandbox-bridge/dist/cli/main.js'];
  home.write('.claude.json', entry({ command: process.execPath, args }));
  expect(findings()).toMatchObject([
    { status: 'fail', detail: expect.stringContaining(`its file ${args[0]} does not exist`) },
  ]);
});

it('a command is looked for on the PATH that the entry gives', () => {
  home.write('.claude.json', entry({ env: { PATH: '/nowhere' } }));
  expect(findings()).toMatchObject([
    { status: 'fail', detail: expect.stringContaining('npx was not found') },
  ]);
});

it('a host that is started from a desktop does not find what only this terminal finds', () => {
  home.write('.cursor/mcp.json', entry({ command: 'mcp-sandbox-bridge', args: [] }));
  chmodSync(home.write('bin/mcp-sandbox-bridge', '#!/bin/sh\n'), 0o755);
  expect(findings()).toMatchObject([
    { name: 'host Cursor', status: 'warn', detail: expect.stringContaining("on this terminal's PATH only") },
  ]);
});

it('a wrong setting fails in the words of the settings, with the command that corrects it', () => {
  home.write('.claude.json', entry({ env: { MCP_BRIDGE_TIMEOUT: 'soon' } }));
  expect(findings()[0]).toMatchObject({
    status: 'fail',
    detail: expect.stringContaining("MCP_BRIDGE_TIMEOUT is 'soon'; allowed: whole seconds"),
    remedy: expect.stringMatching(
      /config set MCP_BRIDGE_TIMEOUT=VALUE --host claude-code`, then restart Claude Code\.$/,
    ),
  });
});

it('a misspelt setting is a warning, with the name that is nearest', () => {
  home.write('.claude.json', entry({ env: { MCP_BRIDGE_IMGE: 'data' } }));
  expect(findings()).toMatchObject([
    {
      status: 'warn',
      detail: expect.stringContaining("Did you mean 'MCP_BRIDGE_IMAGE'?"),
      remedy: expect.stringContaining('config unset MCP_BRIDGE_IMGE --host claude-code'),
    },
  ]);
});

it('what differs between hosts, and from this terminal, is said once', () => {
  home.write('.claude.json', entry({ env: { MCP_BRIDGE_IMAGE: 'data', MCP_BRIDGE_PIDS: '64' } }));
  home.write('.gemini/settings.json', entry({ env: { MCP_BRIDGE_PIDS: '64' } }));
  const same = { MCP_BRIDGE_PIDS: '64' };
  const find = (env: Readonly<Record<string, string>>) => findings(env).find(({ name }) => name === 'hosts');
  expect(find(same)).toMatchObject({
    status: 'warn',
    detail: 'MCP_BRIDGE_IMAGE is data in Claude Code, not set in Gemini CLI',
    remedy: expect.stringContaining('config set NAME=VALUE'),
  });
  expect(find({ ...same, MCP_BRIDGE_TIMEOUT: '60' })?.detail).toContain(
    'MCP_BRIDGE_TIMEOUT is not set in every host, 60 in this terminal',
  );
  home.write('.gemini/settings.json', entry({ env: { MCP_BRIDGE_IMAGE: 'data', MCP_BRIDGE_PIDS: '64' } }));
  expect(find(same)).toBeUndefined();
});
