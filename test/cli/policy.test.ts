// The policy as the person meets it who has written it: what `servers` and `doctor` say, and that a wrong one stops
// every command but `serve`, which tells the agent of it (wrong-settings.test.ts).

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tempHome } from '../support/start-bridge.js';
import { command, commandHere } from './command.js';

let home: string;
let policy: string;
beforeEach(() => {
  home = tempHome();
  policy = join(home, 'policy.yaml');
  const folder = join(home, '.config/mcp/servers');
  mkdirSync(folder, { recursive: true });
  const servers = Object.fromEntries(
    ['github', 'files', 'io.github.ann/notes'].map((name) => [name, { command: 'node', args: [name] }]),
  );
  writeFileSync(join(folder, 'all.json'), JSON.stringify({ mcpServers: servers }), { mode: 0o600 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

it('a denied server is listed with the rule', async () => {
  writeFileSync(policy, 'version: 1\ndeny: [io.github.ann/notes]', { mode: 0o600 });
  const env = { MCP_BRIDGE_DENY: 'git*', MCP_BRIDGE_POLICY: policy };
  const { stdout } = await commandHere(['servers', '--json'], { home, env });
  const { servers } = JSON.parse(stdout) as { servers: { name: string; state: string; reason?: string }[] };
  expect(servers.map(({ name, state, reason }) => [name, state, reason])).toEqual([
    ['files', 'ready', undefined],
    ['github', 'skipped', "denied by MCP_BRIDGE_DENY 'git*'"],
    ['io.github.ann/notes', 'skipped', `denied by deny 'io.github.ann/notes' in ${policy}`],
  ]);
});

it.each([['servers'], ['run', '-']])('a wrong policy stops %s', async (...args) => {
  writeFileSync(policy, 'version: 1\nallow: github', { mode: 0o600 });
  const { stdout, stderr, exitCode } = await commandHere(args, { home, env: { MCP_BRIDGE_POLICY: policy } });
  expect(stderr).toContain(`MCP_BRIDGE_POLICY: ${policy}: 'allow' is "github"; allowed: a list of patterns`);
  expect(stderr).toContain('next:');
  expect([stdout, exitCode]).toEqual(['', 2]);
});

it('doctor tells it as a setting that is wrong', async () => {
  const { stdout, exitCode } = await command(['doctor', '--json'], {
    home,
    env: { MCP_BRIDGE_POLICY: policy },
  });
  const { findings } = JSON.parse(stdout) as { findings: { name: string; status: string; detail: string }[] };
  expect(findings.filter(({ name }) => name === 'settings')).toMatchObject([
    { name: 'settings', status: 'fail', detail: `MCP_BRIDGE_POLICY: ${policy}: does not exist` },
  ]);
  expect(exitCode).toBe(1);
});
