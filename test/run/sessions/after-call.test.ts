// What code of a session does between two calls: whose place it has, what it costs, and what ends it, whatever the code has
// said. The sandboxes are a stand-in that answers each call at once, and uses as much of the processor as the test says.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Principal } from '../../../src/base/principal.js';
import { byCommandLine } from '../../../src/run/calls/call-context.js';
import type { Outcome } from '../../../src/run/outcome/outcome.js';
import type { RunHandlers } from '../../../src/sandbox/conversation/turn.js';
import type { PrincipalRules } from '../../../src/service/principals/principal-rules.js';
import { openBridges, principalNamed, type TestBridges } from '../../service/principals/principal-bridges.js';
import { NEVER, pause, until } from '../../support/time.js';

const ANN = principalNamed('ann');

/** One that stands still where it was told so. */
type Pretended = { isStill: boolean; processorSeconds: number; wantsToGoOn: boolean };

let bridges: TestBridges;
const made: Pretended[] = [];

function pretended(): Pretended {
  const sandbox = {
    isStill: true,
    processorSeconds: 0,
    wantsToGoOn: true,
    name: `c${made.length}`,
    pid: undefined,
    spec: { memoryBytes: 1000, tmpfs: [], data: [] },
    isAlive: true,
    hasRun: true,
    ended: new Promise(() => {}),
    kill() {},
    rests() {},
    countProcessorTime() {
      sandbox.processorSeconds = 0;
    },
    hold() {
      sandbox.isStill = true;
    },
    send: () => true,
    check: async () => ({ type: 'checked', named: [] }),
    run(frame: { readonly token: string }, handlers: RunHandlers) {
      sandbox.isStill = false;
      const { token } = frame;
      const last = { type: 'result', token, value: null, repr: 'None', exact: true } as never;
      handlers.onGuest(last, JSON.stringify(last));
      handlers.onAnswered?.({ type: 'answered', code: 0, goesOn: sandbox.wantsToGoOn, memoryKills: 0 });
    },
  };
  made.push(sandbox);
  return sandbox;
}

function open(quotas: PrincipalRules['quotas'], env: Readonly<Record<string, string>> = {}): void {
  bridges = openBridges({}, { env: { MCP_BRIDGE_CONCURRENCY: '4', MCP_BRIDGE_WARM: '0', ...env } });
  bridges.rules.set(ANN.id, { quotas });
  vi.spyOn(bridges.service, 'start').mockImplementation(async () => pretended() as never);
  vi.spyOn(bridges.service, 'retire').mockImplementation(() => {});
  vi.spyOn(bridges.service, 'sweepOnce').mockImplementation(() => {});
}

beforeEach(() => void made.splice(0));
afterEach(async () => {
  vi.useRealTimers();
  await bridges[Symbol.asyncDispose]();
  vi.restoreAllMocks();
});

const call = (name: string, timeoutSeconds = 60, principal: Principal = ANN): Promise<Outcome> =>
  bridges.of(principal).run(
    {
      task: { type: 'cell', code: '1' },
      servers: [],
      files: [],
      timeoutSeconds,
      session: { name, isRequired: false },
    },
    byCommandLine(NEVER),
  );
const places = () => bridges.service.turns.running;

it('what goes on has the place of its call, so that no more goes on than its principal may have at once', async () => {
  open({ runsAtOnce: 1, runsWaiting: 4 });
  await call('one');
  expect([places(), made[0]?.isStill]).toEqual([1, false]);
  let isAnswered = false;
  const second = call('two').then(() => {
    isAnswered = true;
  });
  await pause(200);
  expect([isAnswered, bridges.service.turns.waiting]).toEqual([false, 1]);
  // Its own next call takes its place over.
  const third = call('one', 1);
  await second;
  expect(made.map(({ isStill }) => isStill)).toEqual([true, false]);
  await call('two', 1);
  await third;
});

it("what it uses is its principal's, which is refused afterwards, and it is stopped", async () => {
  open({ processorSeconds: 1 });
  await call('one');
  const [one] = made;
  expect(one?.isStill).toBe(false);
  if (one) one.processorSeconds = 17;
  await until(() => one?.isStill === true);
  expect(places()).toBe(0);
  expect((await call('one')).error?.type).toBe('E_BUSY');
  expect(bridges.of(ANN).sessions.size).toBe(1);
});

it('what uses little is neither stopped nor refused, as the control', async () => {
  open({ processorSeconds: 1 });
  await call('one');
  if (made[0]) made[0].processorSeconds = 0.5;
  await pause(1_500);
  expect(made[0]?.isStill).toBe(false);
  expect((await call('one')).status).toBe('success');
});

it('it stands still when the time of its call is over, and the next answer says so', async () => {
  open({});
  await call('one', 1);
  expect(made[0]?.isStill).toBe(false);
  await until(() => made[0]?.isStill === true);
  expect(places()).toBe(0);
  const { session } = await call('one');
  expect(session?.says).toEqual(['its threads were paused: the time of its last call was over']);
  expect((await call('one')).session?.says).toEqual([]);
});

it.each([
  ['has not asked to', false, 'on'],
  ['may not, whatever it has said', true, 'off'],
])('code that %s stands still in a moment', async (_what, wantsToGoOn, setting) => {
  open({}, { MCP_BRIDGE_SESSION_KEEP_RUNNING: setting });
  const first = call('one');
  await until(() => made.length === 1);
  Object.assign(made[0] ?? {}, { wantsToGoOn });
  await first;
  await call('one');
  expect([places(), made[0]?.isStill]).toEqual([1, false]);
  await until(() => made[0]?.isStill === true);
  expect(places()).toBe(0);
});

it('and at once where somebody waits for the place', async () => {
  open({ runsAtOnce: 1, runsWaiting: 0 }, { MCP_BRIDGE_SESSION_KEEP_RUNNING: 'off' });
  for (let at = 0; at < 6; at++) expect((await call(at % 2 === 0 ? 'one' : 'two')).status).toBe('success');
  expect(made.map(({ isStill }) => isStill)).toEqual([true, false]);
});

it('a call that comes in that moment does not have it stopped and let go again', async () => {
  open({}, { MCP_BRIDGE_SESSION_KEEP_RUNNING: 'off' });
  // However slow the machine is, the moment is not over.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  await call('one');
  const hold = vi.spyOn(made[0] as unknown as { hold(): void }, 'hold');
  expect((await call('one')).session).toMatchObject({ call: 2 });
  expect(hold).not.toHaveBeenCalled();
  // Each call has left one place, and taken over what the one before has.
  expect(places()).toBe(1);
});

it('where such a call does not come to its code, it stands still in a moment', async () => {
  open({}, { MCP_BRIDGE_SESSION_KEEP_RUNNING: 'off' });
  await call('one');
  const [one] = made as unknown as { check(): Promise<unknown>; isStill: boolean }[];
  let answer = (_checked: unknown): void => {};
  const checked = new Promise((resolve) => {
    answer = resolve;
  });
  if (one) one.check = () => checked;
  const second = call('one');
  await until(() => one?.isStill === true);
  answer({ type: 'checked', named: [] });
  expect((await second).status).toBe('success');
});

it('it is charged for the moment as well', async () => {
  open({ processorSeconds: 1 }, { MCP_BRIDGE_SESSION_KEEP_RUNNING: 'off' });
  await call('one');
  if (made[0]) made[0].processorSeconds = 2;
  await until(() => places() === 0);
  expect((await call('one')).error?.type).toBe('E_BUSY');
});

it('a call that ends before its code begins keeps no place', async () => {
  open({ runsAtOnce: 1, runsWaiting: 0 });
  const input = { task: { type: 'cell', code: '1' }, files: [], timeoutSeconds: 60 } as const;
  const unknown = { ...input, servers: [], session: { name: 'none', isRequired: true } };
  const wrong = { ...input, servers: ['nowhere'], session: { name: 'one', isRequired: false } };
  for (const asked of [unknown, wrong]) {
    const { status } = await bridges.of(ANN).run(asked, byCommandLine(NEVER));
    expect(status).toBe('validation_error');
    await until(() => places() === 0);
  }
  expect((await call('one')).status).toBe('success');
});

it('a call that is refused leaves its session to the next one', async () => {
  open({ processorSeconds: 1 });
  await call('one');
  bridges.service.turns.charge(ANN.id, 2);
  expect((await call('one')).error?.type).toBe('E_BUSY');
  bridges.rules.set(ANN.id, { quotas: {} });
  expect((await call('one')).session).toMatchObject({ call: 2 });
});
