// `report` with secrets and names planted wherever it looks: none of them is in it, in either form, and it is of use.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tempHome } from '../../support/start-bridge.js';
import { commandHere } from '../command.js';

const SECRET = (where: string) => `S3cr3t-${where}-planted`;
const PLACES = [
  'variable',
  'setting',
  'unknown',
  'env',
  'argument',
  'url',
  'header',
  'message',
  'code',
  'kind',
];

let home: string;
beforeEach(() => {
  home = tempHome();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function plant(): Record<string, string> {
  const config = join(home, 'servers.json');
  const servers = {
    'acme-payroll': {
      command: join(home, 'acme', 'payroll'),
      args: ['--token', SECRET('argument')],
      env: { ACME: SECRET('env') },
    },
    memory: { command: 'npx' },
    'acme-remote': {
      type: 'http',
      url: `https://acme.example/${SECRET('url')}?key=${SECRET('url')}`,
      headers: { 'X-Key': SECRET('header') },
    },
  };
  writeFileSync(config, JSON.stringify({ mcpServers: servers }), { mode: 0o600 });
  const state = join(home, 'state');
  mkdirSync(join(state, 'audit'), { recursive: true, mode: 0o700 });
  const line = (run: string, more: object) =>
    JSON.stringify({
      ...{ kind: 'run', at: '2026-01-01T00:00:00.000Z', run, client: 'codex 1.2', servers: ['acme-payroll'] },
      ...{ code: { chars: 3, text: SECRET('code') }, timeoutSeconds: 30, status: 'error', durationMs: 12 },
      ...{ calls: 2, notListed: 0, argumentsText: SECRET('code'), ...more },
    });
  const lines = [
    line('a-1', { error: { kind: 'ValueError', message: SECRET('message') } }),
    line('a-2', { error: { kind: SECRET('kind'), message: 'x' } }),
    line('a-3', { status: 'success' }),
    JSON.stringify({
      ...{ kind: 'call', at: '2026-01-01T00:00:00.000Z', run: 'a-1', call: 1, server: 'acme-payroll' },
      ...{ tool: 'pay_acme', verdict: 'allowed', rule: 'acme', error: 'E_TOOL_FAILED', durationMs: 1 },
      ...{ arguments: { text: SECRET('code') }, argumentsText: SECRET('code') },
    }),
  ];
  writeFileSync(join(state, 'audit', 'a.jsonl'), `${lines.join('\n')}\n`, { mode: 0o600 });
  return {
    MCP_BRIDGE_STATE_DIR: state,
    MCP_SERVERS_CONFIG: config,
    MCP_BRIDGE_RUNTIME: '/nowhere/acme/podman',
    MCP_BRIDGE_MEMORY: '300m',
    MCP_BRIDGE_APPROVE: 'writes',
    MCP_BRIDGE_IMAGE: `registry.acme.example/${SECRET('setting').toLowerCase()}`,
    MCP_BRIDGE_NO_SUCH: SECRET('unknown'),
    MY_API_TOKEN: SECRET('variable'),
  };
}

it.each([[[]], [['--json']]])('nothing that was planted is in it (%j)', async (options: string[]) => {
  const { stdout, exitCode } = await commandHere(['report', ...options], { home, env: plant() });
  expect(exitCode).toBe(0);
  expect(stdout).not.toBe('');
  for (const place of PLACES) expect(stdout.toLowerCase(), place).not.toContain(SECRET(place).toLowerCase());
  for (const name of ['acme', home, 'a-1', 'pay_acme', 'planted']) expect(stdout, name).not.toContain(name);
  if (userInfo().username !== 'root') expect(stdout).not.toContain(userInfo().username);
});

it('has versions, findings, settings and failed runs, and says what it leaves out', async () => {
  const env = plant();
  const { stdout } = await commandHere(['report', '--json'], { home, env });
  const report = JSON.parse(stdout);
  expect(report.versions).toMatchObject({ node: process.version, engine: null });
  expect(report.findings.map(({ name }: { name: string }) => name)).toContain('engine');
  expect(report.servers.map(({ name }: { name: string }) => name).sort()).toEqual([
    'server-1',
    'server-2',
    'server-3',
  ]);
  expect(report.settings).toEqual(
    expect.arrayContaining([
      { name: 'MCP_BRIDGE_MEMORY', value: '300m' },
      { name: 'MCP_BRIDGE_APPROVE', value: 'writes' },
      { name: 'MCP_BRIDGE_IMAGE', value: null },
      { name: 'MCP_BRIDGE_NO_SUCH', value: null },
      { name: 'MCP_SERVERS_CONFIG', value: null },
    ]),
  );
  expect(report.runs).toMatchObject([
    {
      status: 'error',
      error: 'ValueError',
      calls: 2,
      failedCalls: { E_TOOL_FAILED: 1 },
      client: 'codex 1.2',
    },
    { status: 'error', error: 'other' },
  ]);
  expect(report.leftOut.length).toBeGreaterThan(3);
  const { stdout: text } = await commandHere(['report'], { home, env });
  for (const heading of ['doctor', 'Servers', 'Settings that are set', 'Runs that failed last', 'Left out'])
    expect(text).toContain(`\n### ${heading}\n`);
  expect(text).toContain('- `MCP_BRIDGE_IMAGE`: (left out)');
});
