// Calls of code wait for their turn where several principals are served: nothing is asked before it has come, and it is given back
// however the call ends.

import { expect, it } from 'vitest';
import { policyOf } from '../../../src/policy/rules/policy.js';
import type { CallTurn } from '../../../src/run/calls/call-limits.js';
import { type CallServers, guardCalls } from '../../../src/run/calls/guarded-calls.js';
import { toolCall } from '../../../src/run/calls/guest-call.js';
import { LoadedServers } from '../../../src/run/calls/on-demand.js';
import { SavedByRun, SavedTools } from '../../../src/run/calls/saved-tools.js';
import { NEVER, pause } from '../../support/time.js';

function callWith(turn: CallTurn, signal: AbortSignal, args: object = {}) {
  const asked: string[] = [];
  const policy = () => policyOf({ allow: undefined, deny: [], file: undefined }, []);
  const get = (name: string) => {
    asked.push(name);
    return Promise.reject(new Error('asked'));
  };
  const doc = { name: 'desk', alias: 'desk', description: '', instructions: null, truncated: false };
  const tool = { name: 'say', functionName: 'say', description: '', inputSchema: {}, outputSchema: null };
  const loaded = new LoadedServers([{ ...doc, tools: [tool] }] as never, policy);
  const guard = guardCalls(
    {
      runId: 'run-1',
      loaded,
      discovered: [],
      loadServer: () => Promise.reject(new Error('loaded')),
      saved: new SavedByRun(new SavedTools('/nonexistent', false), 'run-1'),
      approvals: undefined,
      stopClock: () => () => {},
      tell: () => {},
      observer: () => {},
    },
    { known: {}, lease: { get, specOf: () => undefined }, policy } as unknown as CallServers,
    {
      shapes: { learn: () => {} },
      audit: 'on',
      turn,
      principal: 'local',
    },
  );
  return { asked, answer: guard.answer(toolCall('desk', 'say', args), signal) };
}

it('a call asks nothing before its turn, and gives the turn back when it has failed', async () => {
  let grant = () => {};
  const granted = new Promise<void>((resolve) => {
    grant = resolve;
  });
  let held = 0;
  const turn: CallTurn = async () => {
    await granted;
    held++;
    return { [Symbol.dispose]: () => void held-- };
  };
  const { asked, answer } = callWith(turn, NEVER);
  const failing = expect(answer).rejects.toThrow('asked');
  await pause(20);
  expect(asked).toEqual([]);
  grant();
  await failing;
  expect([asked, held]).toEqual([['desk'], 0]);
});

it('a call that is not wanted any more when its turn comes asks nothing', async () => {
  const leaving = new AbortController();
  const turn: CallTurn = async () => {
    leaving.abort(new Error('left'));
    return { [Symbol.dispose]: () => {} };
  };
  const { asked, answer } = callWith(turn, leaving.signal);
  await expect(answer).rejects.toThrow('left');
  expect(asked).toEqual([]);
});

it('arguments with a lone surrogate reach no server as something else, whoever sends them', async () => {
  const turn: CallTurn = async () => ({ [Symbol.dispose]: () => {} });
  for (const args of [{ text: 'a\ud800' }, { '\udc80': 1 }, { list: [{ text: '\ude00\ud83d' }] }]) {
    const { asked, answer } = callWith(turn, NEVER, args);
    await expect(answer).rejects.toMatchObject({
      code: 'E_TOOL_FAILED',
      message: expect.stringMatching(/was not called: its arguments hold a lone surrogate, '\\u/),
    });
    expect(asked).toEqual([]);
  }
  const { asked, answer } = callWith(turn, NEVER, { text: '\ud83d\ude00 \\ud800' });
  await expect(answer).rejects.toThrow('asked');
  expect(asked).toEqual(['desk']);
});
