// What the audit says afterwards of runs that a real agent asked for, and how `runs` shows it: refused and failed calls
// as well, secrets and results not at all.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditedRun } from '../../src/cli/kept/read-audit.js';
import { command } from '../cli/command.js';
import { hostileServer, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { makeUsed } from '../support/used-state.js';

const TOKEN = 'swordfish-98765';
const CODE = `
from mcp._binding import current
async def tried(call):
    try:
        await call
    except runtime.MCPError as error:
        print(error.code)
ask = lambda tool: current().link.request("tools.call", {"server": "h", "tool": tool, "arguments": {}})
await mcp_h.echo(text="${TOKEN}")
await tried(mcp_h.rpc_error())
await tried(ask("fail"))
await tried(ask("nothing"))
await tried(mcp_h.leak(how="text"))
await tried(runtime.read_resource("h", "x:y"))
await tried(current().link.request("servers.load", {"server": "nowhere"}))`;

const home = tempHome();
const stateDir = makeUsed(join(home, 'state'));
let bridge: TestBridge;
beforeAll(async () => {
  const server = { command: process.execPath, args: [], ...hostileServer(), env: { SOME_TOKEN: TOKEN } };
  const env = {
    MCP_BRIDGE_STATE_DIR: stateDir,
    MCP_BRIDGE_AUDIT: 'arguments',
    MCP_BRIDGE_DENY: 'h.fail',
  };
  bridge = await startBridge({ h: server }, { env, clientName: 'an-agent' });
  const ran = await bridge.run(CODE, { servers: ['h'] });
  expect(ran.error).toBeUndefined();
  expect(ran.stdout).toEqual([
    'E_TOOL_FAILED',
    'E_DENIED',
    'E_TOOL_UNKNOWN',
    'E_TOOL_FAILED',
    'E_RESOURCE_FAILED',
    'E_SERVER_UNKNOWN',
  ]);
  await bridge.run('1 / 0');
  // The second bridge of the same state directory: the command line.
  const script = await command(['run', '-'], {
    home,
    input: 'print(1)',
    env: { MCP_BRIDGE_STATE_DIR: stateDir },
  });
  expect(script).toMatchObject({ stdout: '1\n', exitCode: 0 });
  await bridge[Symbol.asyncDispose]();
});
afterAll(() => bridge[Symbol.asyncDispose]());

const shown = async (...args: string[]) => {
  const { stdout, exitCode, stderr } = await command(['runs', ...args], {
    home,
    env: { MCP_BRIDGE_STATE_DIR: stateDir },
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
};
const kept = async (...args: string[]) =>
  (JSON.parse(await shown('--json', ...args)) as { readonly runs: readonly AuditedRun[] }).runs;

it('has a line for each run, whoever asked for it, and each call with verdict and rule', async () => {
  const all = await kept();
  expect(all.map(({ line }) => [line?.status, line?.calls, line?.servers, line?.client])).toEqual([
    ['success', 7, ['h'], 'an-agent 1.0.0'],
    ['error', 0, [], 'an-agent 1.0.0'],
    ['success', 0, [], 'command line'],
  ]);
  expect(new Set(all.map(({ run }) => run)).size).toBe(3);
  const byTool = new Map(all[0]?.calls.map((call) => [call.tool, call]));
  expect(byTool.get('echo')).toMatchObject({
    verdict: 'allowed',
    result: { bytes: expect.any(Number) },
    argumentsText: '{"text":"[SOME_TOKEN of h]"}',
  });
  expect(byTool.get('rpc_error')).toMatchObject({ verdict: 'allowed', error: 'E_TOOL_FAILED' });
  expect(byTool.get('fail')).toMatchObject({
    verdict: 'denied',
    rule: expect.stringContaining('MCP_BRIDGE_DENY'),
    error: 'E_DENIED',
  });
  // What a server calls a failure is one to whoever asks for failures, and an answer that has a size.
  expect(byTool.get('leak')).toMatchObject({ error: 'E_TOOL_FAILED', result: { bytes: expect.any(Number) } });
  expect(byTool.get('resources/read')).toMatchObject({ verdict: 'allowed', error: 'E_RESOURCE_FAILED' });
  expect(byTool.get('servers/load')).toMatchObject({ server: 'nowhere', error: 'E_SERVER_UNKNOWN' });
  expect(byTool.get('nothing')).toMatchObject({ verdict: 'allowed', error: 'E_TOOL_UNKNOWN' });
});

it('is for its owner alone and holds no secret', () => {
  const folder = join(stateDir, 'audit');
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const files = readdirSync(folder);
  expect(files).toHaveLength(2);
  for (const file of files) {
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, file), 'utf8')).not.toContain(TOKEN);
  }
});

it('is shown as tables: the last runs, those that failed, those of a server, the calls of one', async () => {
  expect(await kept('--last', '1')).toHaveLength(1);
  expect((await kept('--failed')).map(({ line }) => line?.status)).toEqual(['success', 'error']);
  const [run] = await kept('--server', 'h');
  expect(await kept('--server', 'other')).toEqual([]);
  const table = await shown();
  // A line for each run, and one more for why it failed.
  expect(table.split('\n')).toHaveLength(6);
  expect(table).toContain('\n  ZeroDivisionError: division by zero\n');
  expect(table).toMatch(/^began +run +language +status +took +calls +servers +client\n/);
  expect(table).toContain('7 (6 failed)');
  const calls = await shown('--calls', run?.run.slice(0, 10) ?? '');
  expect(calls).toMatch(/h\.fail +E_DENIED .*MCP_BRIDGE_DENY/);
  expect(calls).toMatch(/h\.echo +answered/);
  const nobody = await command(['runs', '--calls', 'zzz'], { home, env: { MCP_BRIDGE_STATE_DIR: stateDir } });
  expect(nobody).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("no run 'zzz'") });
  const empty = { home, env: { MCP_BRIDGE_STATE_DIR: join(home, 'nowhere'), MCP_BRIDGE_AUDIT: 'off' } };
  expect((await command(['runs'], empty)).stdout).toBe('Runs are not recorded: MCP_BRIDGE_AUDIT is off.\n');
});
