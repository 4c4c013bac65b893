// Errors that teach, of runs that use up their time or their processes. They have a file of their own, since other tests of
// errors run beside each other.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { hostileServer, startBridge, type TestBridge } from '../support/start-bridge.js';
import { expectError, GREEDY_CASES } from './error-case.js';
import { REACH_SECONDS } from './reached.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({ h: hostileServer() });
});
afterAll(() => bridge[Symbol.asyncDispose]());

it.each(GREEDY_CASES)('$about: $error', (each) => expectError(bridge, each));

it.each([
  ['import time\ntime.sleep(60)', 'main.py:2: time.sleep(60)'],
  ['r = await mcp_h.hang()', 'main.py:1: r = await mcp_h.hang(), waiting for h.hang'],
  [
    'import asyncio\nawait asyncio.gather(mcp_h.hang(), mcp_h.hang(), mcp_h.sleep(ms=50_000))',
    'main.py:2: await asyncio.gather(mcp_h.hang(), mcp_h.hang(), mcp_h.sleep(ms=50_000)), waiting for h.hang (2), h.sleep',
  ],
])('a timeout says what was running: %s', async (code, where) => {
  expect(await bridge.run(code, { servers: ['h'], timeout: REACH_SECONDS })).toMatchObject({
    status: 'timeout',
    error: `Timed out after ${REACH_SECONDS} s. It was at ${where}`,
    remedy: 'Pass a larger timeout, or do less in one run.',
  });
});
