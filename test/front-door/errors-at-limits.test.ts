// Errors that teach, of runs that use up their time or their processes. They have a file of their own, since other tests of
// errors run beside each other.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileServer, startBridge, type TestBridge } from '../support/start-bridge.js';
import { expectError, GREEDY_CASES } from './error-case.js';
import { REACH_SECONDS } from './reached.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({ h: hostileServer() });
});
afterAll(() => bridge[Symbol.asyncDispose]());

it.each(GREEDY_CASES)('says what ended the code: $about, $error', (each) => expectError(bridge, each));

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

describe('a timeout says what came instead of an answer', () => {
  const place = String.raw`It was at main\.py:1: r = await mcp_h\.amiss\(how="something else"\), waiting for h\.amiss\.`;
  const instead = String.raw` Instead 'h' wrote 2 lines to its stdout that are not MCP messages\. Its last words:\n`;
  const words = new RegExp(`${place}${instead}[\\s\\S]*> stdout: KeyError: 7`);
  const code = 'r = await mcp_h.amiss(how="something else")';
  const silent = 'r = await mcp_h.hang()';
  const more = { servers: ['h'], timeout: REACH_SECONDS };

  it('tells a run what its server wrote instead', async () => {
    expect(await bridge.run(code, more)).toMatchObject({
      status: 'timeout',
      error: expect.stringMatching(words),
      remedy: expect.stringMatching(/^Read what it wrote\. If that does not help: Pass a larger timeout/),
    });
    expect((await bridge.run(silent, more)).error).toMatch(/, waiting for h\.hang$/);
  });

  it('to a call of a session, whose code is interrupted and abandons its calls', async () => {
    const text = async (each: string) => {
      const { content } = await bridge.call({ ...more, code: each, session: 'late' });
      return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    };
    expect(await text(code)).toMatch(words);
    const next = await text(silent);
    expect(next).toMatch(/, waiting for h\.hang/);
    expect(next).not.toContain('Instead');
  });
});
