// The policy as the person meets it who has written it: what `servers` and `doctor` say, and that a wrong one stops
// every command but `serve`, which tells the agent of it (wrong-settings.test.ts).

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RuleReading } from '../../src/policy/rules/approval-rules.js';
import { KeptCatalog } from '../../src/servers/catalog/kept-catalog.js';
import { hostile } from '../servers/hostile.js';
import { bridgeEnv, tempHome } from '../support/start-bridge.js';
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

describe('policy test', () => {
  const RULES = `version: 1
approvals:
  rules:
    - { action: deny, tools: [files.write], when: 'args.size > 1000' }
    - { action: ask, tools: [files.write], when: 'args.size > 100' }
    - { action: allow, tools: [files.write], when: 'args.size <= 100' }
    - { action: ask, principals: ['token:*'] }
`;
  const tested = async (...args: readonly string[]) => {
    writeFileSync(policy, RULES, { mode: 0o600 });
    return await commandHere(['policy', 'test', ...args], { home, env: { MCP_BRIDGE_POLICY: policy } });
  };
  const states = async (...args: readonly string[]) => {
    const { stdout } = await tested(...args, '--json');
    const said = JSON.parse(stdout) as { is: string; rule: string; rules: RuleReading[] };
    return [said.is, said.rule, ...said.rules.map(({ is, counts }) => `${is}${counts ? ' +' : ''}`)];
  };
  const named = (index: number, when: string) => `approvals.rules.${index} in ${policy} (${when})`;

  it('says which rules are met, and which one decides', async () => {
    expect(await states('files.write', '{"size":50}')).toEqual([
      'allow',
      named(2, 'args.size <= 100'),
      'not met',
      'not met',
      'met +',
      'not met',
    ]);
    // All that ask ahead of one that allows.
    expect(await states('files.write {"size":500}', '--principal', 'token:ann#1')).toEqual([
      'ask',
      `${named(1, 'args.size > 100')} and approvals.rules.3 in ${policy}`,
      'not met',
      'met +',
      'not met',
      'met +',
    ]);
  });

  it('says what is unclear, what that counts as, and why', async () => {
    expect(await states('files.write', '{"size":50,"Size":5000}')).toEqual([
      'deny',
      named(0, 'args.size > 1000'),
      'unclear +',
      'unclear +',
      'unclear',
      'not met',
    ]);
    const { stdout } = await tested('files.write', '{"size":50,"Size":5000}');
    expect(stdout).toContain(
      `Denied by ${named(0, 'args.size > 1000')}: files.write {"size":50,"Size":5000}`,
    );
    expect(stdout).toMatch(/deny +unclear, counts as met +.*'size' has 'Size' beside it/);
    expect(stdout).toMatch(/allow +unclear, counts as not met/);
    expect(stdout).toMatch(/ask +not met +.*its principals are others/);
    expect(stdout).toContain('servers refresh files');
  });

  it('goes by the schema that was kept of the tool, and by lists as well', async () => {
    const spec = { ...hostile('files'), name: 'files', command: 'node', args: ['files'], env: {} };
    const inputSchema = { type: 'object', properties: { size: { type: 'integer' } } };
    const tool = { name: 'write', description: '', inputSchema, outputSchema: undefined, needsTask: false };
    const server = { spec, serverVersion: '1', instructions: undefined, tools: () => [tool] };
    new KeptCatalog(bridgeEnv(home)['MCP_BRIDGE_STATE_DIR'] ?? '', () => {}).learn(server);
    const { stdout } = await tested('files.write {"size":50.5}');
    expect(stdout).toContain("'size' is a number with a fraction, and the tool's schema says integer");
    expect(stdout).not.toContain('servers refresh');
    writeFileSync(policy, 'version: 1\nperServer: { files: { deny: [write] } }', { mode: 0o600 });
    const denied = await commandHere(['policy', 'test', 'files.write', '--json'], {
      home,
      env: { MCP_BRIDGE_POLICY: policy },
    });
    expect(JSON.parse(denied.stdout)).toMatchObject({
      is: 'deny',
      rule: `perServer.files.deny 'write' in ${policy}`,
      rules: [],
    });
  });

  it.each([
    ['write', "The call is 'write'; allowed: the server's name, a dot"],
    ['file.write', "No server is called 'file'. Did you mean 'files'?"],
    ['files.write {"size":', 'The arguments are not JSON'],
  ])('%s is no call', async (call, words) => {
    const { stderr, exitCode } = await tested(call);
    expect(stderr).toContain(words);
    expect(exitCode).toBe(2);
  });
});
