// Text of servers and of code that is long and made to be slow to read: while it is, everybody else is still answered,
// and the deadline is on time. A ping that the bridge answers late shows for how long it has done nothing else.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hostileServer, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { makeUsed } from '../support/used-state.js';

/** On a calm machine it is 30 ms; on a busy one the bridge may have to wait for its turn. It was 8 s and more. */
const MAX_STALL_MS = 1_000;
const TIMEOUT_SECONDS = 3;

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

/** Runs it to its deadline, and says how long that took and how long the bridge was deaf at most. */
async function timed(code: string) {
  let isOver = false;
  let stallMs = 0;
  const startedAt = performance.now();
  const running = bridge.run(code, { servers: ['h'], timeout: TIMEOUT_SECONDS }).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const askedAt = performance.now();
    await bridge.client.ping();
    stallMs = Math.max(stallMs, performance.now() - askedAt);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { outcome: await running, ms: performance.now() - startedAt, stallMs };
}

it.each([
  ['token=', 'keys'],
  ['\\\\u002', 'escapes'],
])('sixty errors of 16 KB made of %s hold up nobody', async (pump) => {
  const code = `
import asyncio
from mcp._binding import current
async def fail(n):
    given = {"code": -32000, "message": "${pump}" * (16384 // len("${pump}"))}
    try:
        await current().link.request("tools.call", {"server": "h", "tool": "rpc_error", "arguments": given})
    except runtime.MCPError as error:
        return len(str(error))
print(all(await asyncio.gather(*map(fail, range(60)))), flush=True)
while True: pass`;
  const { outcome, ms, stallMs } = await timed(code);
  expect(outcome).toMatchObject({ status: 'timeout', stdout: ['True'] });
  expect(stallMs).toBeLessThan(MAX_STALL_MS);
  expect(ms).toBeLessThan((TIMEOUT_SECONDS + 3) * 1000);
});

it.each([
  ['{"text": "token=" * 10923}', 'keys'],
  ['{"token" * 30: "x", "text": "swordfish-98765" * 4300}', 'a secret over and over'],
])('arguments of 64 KB, which the audit keeps, hold up nobody: %s', async (given) => {
  const code = `
import asyncio
from mcp._binding import current
ask = lambda n: current().link.request("tools.call", {"server": "h", "tool": "echo", "arguments": ${given}})
print(len(await asyncio.gather(*map(ask, range(20)))), flush=True)
while True: pass`;
  const { outcome, ms, stallMs } = await timed(code);
  expect(outcome).toMatchObject({ status: 'timeout', stdout: ['20'] });
  expect(stallMs).toBeLessThan(MAX_STALL_MS);
  expect(ms).toBeLessThan((TIMEOUT_SECONDS + 3) * 1000);
});

it('and the audit has them without the secret', async () => {
  await bridge[Symbol.asyncDispose]();
  const dir = join(stateDir, 'audit');
  const kept = readdirSync(dir).map((name) => readFileSync(join(dir, name), 'utf8'));
  expect(kept.join('')).toContain('[SOME_TOKEN of h]');
  expect(kept.join('')).not.toContain('swordfish');
});
