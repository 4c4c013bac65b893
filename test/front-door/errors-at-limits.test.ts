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

it.each([
  ['a run', {}],
  ['a call of a session', { session: 'late' }],
])('a timeout says what came instead of an answer: %s', async (_name, more) => {
  const code = 'r = await mcp_h.amiss(how="something else")';
  const late = await bridge.run(code, { servers: ['h'], timeout: REACH_SECONDS, ...more });
  expect(late).toMatchObject({
    status: 'timeout',
    error: expect.stringMatching(
      /It was at main\.py:1: .*, waiting for h\.amiss\. Instead 'h' wrote 2 lines to its stdout that are no messages of MCP\. Its last words:\n[\s\S]*> stdout: KeyError: 7/,
    ),
    remedy: expect.stringMatching(/^See what it wrote\. Else: Pass a larger timeout/),
  });
  const silent = await bridge.run('r = await mcp_h.hang()', {
    servers: ['h'],
    timeout: REACH_SECONDS,
    ...more,
  });
  expect(silent.error).toMatch(/, waiting for h\.hang$/);
});
