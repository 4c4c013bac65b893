// Text of servers and of code that is long and made to be slow to read holds up nobody: the bridge works for it about as long as
// for harmless text of the same length. That is counted in time of its processor, which a busy machine does not change.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hostileServer, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { makeUsed } from '../support/used-state.js';

/** To look for what is to be left out of it costs something; where it was looked for in the wrong way it was a hundred times as much. */
const MAX_TIMES = 8;
/** What the kernel counts in, and far below what it was. */
const GRAIN_SECONDS = 0.2;

const stateDir = makeUsed(join(tempHome(), 'state'));
let bridge: TestBridge;
beforeAll(async () => {
  const server = {
    ...hostileServer(),
    env: { SOME_TOKEN: 'swordfish-98765', OTHER_KEY: 'a"b\\c/d+e%f&g h' },
  };
  const env = {
    MCP_BRIDGE_STATE_DIR: stateDir,
    MCP_BRIDGE_AUDIT: 'arguments',
    MCP_BRIDGE_LOG_LEVEL: 'debug',
  };
  bridge = await startBridge({ h: server }, { env });
  expect(await bridge.run('await mcp_h.echo(text="up")', { servers: ['h'] })).toMatchObject({
    status: 'success',
  });
});
afterAll(() => bridge[Symbol.asyncDispose]());

/** Seconds that the bridge has worked so far. */
function worked(): number {
  const stat = readFileSync(`/proc/${bridge.pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(stat[11]) + Number(stat[12])) / 100;
}

/** Runs it, and says how long the bridge has worked for it. */
async function weighed(code: string) {
  const before = worked();
  const outcome = await bridge.run(code, { servers: ['h'], timeout: 120 });
  return { outcome, seconds: worked() - before };
}

/** The bridge works for the one about as long as for the other, and both end in `result`. */
async function expectAlike(hostile: string, harmless: string, result: unknown): Promise<void> {
  const [control, attack] = [await weighed(harmless), await weighed(hostile)];
  expect(control.outcome).toMatchObject({ status: 'success', result });
  expect(attack.outcome).toMatchObject({ status: 'success', result });
  expect(attack.seconds).toBeLessThan(MAX_TIMES * Math.max(control.seconds, GRAIN_SECONDS));
}

it.each([
  ['token=', 'keys'],
  ['\\\\u002', 'escapes'],
])('sixty errors of 16 KB made of %s hold up nobody', async (pump) => {
  const code = (text: string) => `
import asyncio
from mcp._binding import current
async def fail(n):
    given = {"code": -32000, "message": "${text}" * (16384 // len("${text}"))}
    try:
        await current().link.request("tools.call", {"server": "h", "tool": "rpc_error", "arguments": given})
    except runtime.MCPError as error:
        return len(str(error))
all(await asyncio.gather(*map(fail, range(60))))`;
  await expectAlike(code(pump), code('harmless '), true);
});

it.each([
  ['{"text": "token=" * 10923}', 'keys'],
  ['{"token" * 30: "x", "text": "swordfish-98765" * 4300}', 'a secret over and over'],
])('arguments of 64 KB, which the audit keeps, hold up nobody: %s', async (given) => {
  const code = (args: string) => `
import asyncio
from mcp._binding import current
ask = lambda n: current().link.request("tools.call", {"server": "h", "tool": "echo", "arguments": ${args}})
len(await asyncio.gather(*map(ask, range(20))))`;
  await expectAlike(code(given), code('{"text": "harmless" * 8192}'), 20);
});

it('and the audit has them without the secret', async () => {
  await bridge[Symbol.asyncDispose]();
  const dir = join(stateDir, 'audit');
  const kept = readdirSync(dir).map((name) => readFileSync(join(dir, name), 'utf8'));
  expect(kept.join('')).toContain('[SOME_TOKEN of h]');
  expect(kept.join('')).not.toContain('swordfish');
});
