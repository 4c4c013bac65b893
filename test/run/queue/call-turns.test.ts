// Tool calls of several principals: how many of one are under way at once, how many wait and what is refused, for calls of
// an agent and of its code; and that the user who started the bridge is limited by none of it.

import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LOCAL_USER, type Principal } from '../../../src/base/principal.js';
import { Scheduler, UNLIMITED } from '../../../src/base/waiting/scheduler.js';
import { byCommandLine } from '../../../src/run/calls/call-context.js';
import {
  callTool,
  openBridges,
  principalNamed,
  type TestBridges,
} from '../../service/principals/principal-bridges.js';
import { NEVER, until } from '../../support/time.js';

const KEEPING = fileURLToPath(new URL('../../fixtures/keeping-server.mjs', import.meta.url));
const [ANN, BEN] = [principalNamed('ann'), principalNamed('ben')];

let bridges: TestBridges;
beforeEach(() => {
  bridges = openBridges({ desk: { command: process.execPath, args: [KEEPING] } });
});
afterEach(() => bridges[Symbol.asyncDispose]());

const call = (principal: Principal, ...[command, ...args]: string[]) =>
  callTool(bridges.of(principal), 'desk', 'execute', { command, args });

const said = async (calling: ReturnType<typeof call>) => {
  const answer = await calling;
  return 'message' in answer ? answer.type : answer.content?.[0]?.text;
};

it('a call for which too many wait is refused with when to come back; others and the user are not', async () => {
  bridges.rules.set(ANN.id, { quotas: { callsAtOnce: 1, callsWaiting: 1 } });
  const running = call(ANN, 'wait', '300');
  const waiting = call(ANN, 'say', 'second');
  expect(bridges.callTurns.waiting).toBe(1);
  expect(await call(ANN, 'say', 'third')).toEqual({
    type: 'E_BUSY',
    message: 'Nothing was called: 1 of your calls waits already, and no more may wait.',
    remedy: expect.stringMatching(/^Make the same call again in \d+ s\.$/),
  });
  expect(await said(call(BEN, 'say', 'other'))).toBe('other');
  const own = Array.from({ length: 20 }, (_, at) => said(call(LOCAL_USER, 'say', `${at}`)));
  expect(await Promise.all(own)).toEqual(Array.from({ length: 20 }, (_, at) => `${at}`));
  expect(await Promise.all([running, waiting].map(said))).toEqual(['waited 300 ms', 'second']);
  expect(await said(call(ANN, 'say', 'again'))).toBe('again');
});

it('a call that is cancelled while it waits reaches no server, and its place is free at once', async () => {
  bridges.rules.set(ANN.id, { quotas: { callsAtOnce: 1, callsWaiting: 1 } });
  const running = call(ANN, 'wait', '200');
  const leaving = new AbortController();
  const asked = {
    server: 'desk',
    tool: 'execute',
    args: { command: 'keep', args: ['x'] },
    setBy: 'servers',
    timeoutSeconds: 30,
    softTimeoutSeconds: 30,
  };
  const cancelled = bridges.of(ANN).callServer(asked, byCommandLine(leaving.signal));
  expect(bridges.callTurns.waiting).toBe(1);
  leaving.abort('cancelled');
  expect(await cancelled).toMatchObject({ type: 'E_CANCELLED' });
  const next = call(ANN, 'recall');
  expect(await Promise.all([running, next].map(said))).toEqual(['waited 200 ms', '']);
});

it('a bridge that ends lets its waiting calls end', async () => {
  bridges.rules.set(ANN.id, { quotas: { callsAtOnce: 1 } });
  const calls = [call(ANN, 'wait', '60000'), call(ANN, 'say', 'x')];
  await until(() => bridges.callTurns.waiting === 1);
  await bridges.of(ANN)[Symbol.asyncDispose]();
  for (const each of calls) expect(await each).toHaveProperty('message');
  expect(bridges.callTurns.waiting).toBe(0);
});

it('calls of code count with those of the agent, and wait where those are refused', async () => {
  const turns = new Scheduler({ atOnce: 6, ofOne: 4 });
  const wait = (owner: string, waiting: number) => ({
    owner,
    limits: { ...UNLIMITED, begun: 1, waiting },
    memoryBytes: 0,
  });
  const ofAgent = (owner: string) => turns.place(wait(owner, 0), NEVER).turn;
  const ofCode = (owner: string) => turns.take(wait(owner, Number.POSITIVE_INFINITY), NEVER);
  const first = await ofCode('ann');
  const second = ofCode('ann');
  expect(await ofAgent('ann')).toMatchObject({ refused: { code: 'E_BUSY' } });
  const other = await ofAgent('ben');
  expect(other).not.toHaveProperty('refused');
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  const again = await ofAgent('ann');
  expect(again).not.toHaveProperty('refused');
});
