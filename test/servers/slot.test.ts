// One server's place in the pool, with a server that is only a record: each state against everything that may happen
// in it, above all what must change nothing. Real servers are in pool.test.ts.

import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { Redactor } from '../../src/base/secrets/redact.js';
import { NO_AGENT } from '../../src/servers/asking/agent-capabilities.js';
import { WaitsForUser } from '../../src/servers/connection/link.js';
import { Slot } from '../../src/servers/pool/slot.js';
import type {
  Downstream,
  DownstreamEvents,
  OpenDownstream,
  openDownstream,
} from '../../src/servers/server/downstream.js';
import { hostile } from './hostile.js';

type Attempt = {
  readonly events: DownstreamEvents;
  readonly signal: AbortSignal;
  readonly fail: (error: Error) => void;
  readonly succeed: () => void;
  /** The server ends, for this reason. */
  readonly crash: (reason: string) => void;
  readonly close: ReturnType<typeof vi.fn>;
  readonly downstream: Downstream;
};

// Loaded anew with the mock, and once more without it for the files that run in this process afterwards.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());

const attempts: Attempt[] = vi.hoisted(() => []);
vi.mock('../../src/servers/server/downstream.js', () => ({
  openDownstream: ((_spec, _context, _callers, events, signal) => {
    let crash = (_reason: string): void => {};
    const closed = new Promise<string>((resolve) => {
      crash = resolve;
    });
    const downstream = { closed, tools: () => [], problems: () => [] } as unknown as Downstream;
    const close = vi.fn(async () => crash('was closed by the bridge'));
    const open: OpenDownstream = {
      downstream,
      close,
      refreshIfStale: () => undefined,
      rootsChanged: () => {},
      isAsking: () => true,
      insteadSentence: () => '',
    };
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () =>
        reject(new BridgeError('E_SHUTDOWN', 'The bridge is closing.', { fault: 'bridge' })),
      );
      const succeed = () => resolve(open);
      attempts.push({ events, signal, fail: reject, succeed, crash, close, downstream });
    });
  }) satisfies typeof openDownstream,
}));

const DEAD = new BridgeError('E_SERVER_UNAVAILABLE', 'No such program.', {
  fault: 'operator',
  remedy: 'Install it.',
});
const LOGIN = new WaitsForUser('E_SERVER_UNAVAILABLE', 'It wants a login.', { fault: 'operator' });

let slot: Slot;
let events: BridgeEvent[];
beforeEach(() => {
  vi.useFakeTimers();
  attempts.length = 0;
  events = [];
  const context = {
    env: {},
    times: {
      connectTimeoutMs: 1_000,
      probeMs: 500,
      silenceMs: 1_000,
      idleMs: 10_000,
      restMs: 1_000,
      maxRestMs: 3_000,
    },
    observer: (event: BridgeEvent) => void events.push(event),
    redactor: new Redactor(),
  };
  slot = new Slot(hostile(), context, () => {});
});
afterEach(() => {
  vi.useRealTimers();
});

const last = (): Attempt => attempts.at(-1) as Attempt;
const types = () => events.map(({ type }) => type.replace('downstream.', ''));
const settled = () => vi.advanceTimersByTimeAsync(0);

async function ready(): Promise<Attempt> {
  const opening = slot.get(NO_AGENT);
  last().succeed();
  await opening;
  await settled();
  return last();
}

async function failed(error: Error): Promise<void> {
  const opening = expect(slot.get(NO_AGENT)).rejects.toBe(error);
  last().fail(error);
  await opening;
}

it('idle: letting go of it and closing it start nothing', async () => {
  slot.hold(NO_AGENT)();
  await slot.close();
  expect(slot.state).toMatchObject({ state: 'idle', tools: undefined, reason: undefined });
  expect([slot.isAsking, attempts.length]).toEqual([false, 0]);
});

it('opening: asking again begins nothing, and what retires it waits for the end of the attempt', async () => {
  const both = [slot.get(NO_AGENT), slot.get(NO_AGENT)];
  expect([slot.state.state, attempts.length, slot.isAsking]).toEqual(['opening', 1, false]);
  const onGone = vi.fn();
  slot.retire(onGone);
  await settled();
  expect(onGone).not.toHaveBeenCalled();
  last().succeed();
  expect(await Promise.all(both)).toEqual([last().downstream, last().downstream]);
  await settled();
  expect(last().close).toHaveBeenCalledOnce();
  expect([slot.state.state, onGone.mock.calls.length > 0]).toEqual(['idle', true]);
});

it('opening: closing ends the attempt, which is no failure, and nothing is ready or rests after it', async () => {
  const opening = expect(slot.get(NO_AGENT)).rejects.toMatchObject({ code: 'E_SHUTDOWN' });
  await slot.close();
  await opening;
  expect(last().signal.aborted).toBe(true);
  expect(slot.state).toMatchObject({ state: 'idle', reason: undefined });
  expect(types()).toEqual(['connecting']);
});

it('ready: asking starts nothing, and the idle clock stands still while calls are under way', async () => {
  const { events, close } = await ready();
  await vi.advanceTimersByTimeAsync(9_000);
  await slot.get(NO_AGENT);
  await vi.advanceTimersByTimeAsync(9_000);
  events.onActivity(1);
  await vi.advanceTimersByTimeAsync(50_000);
  await slot.get(NO_AGENT);
  await vi.advanceTimersByTimeAsync(50_000);
  expect([slot.state.state, attempts.length, slot.isAsking]).toEqual(['ready', 1, true]);
  events.onActivity(0);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(slot.state.state).toBe('ready');
  await vi.advanceTimersByTimeAsync(1);
  expect(slot.state).toMatchObject({ state: 'idle', reason: undefined });
  expect(close).toHaveBeenCalledOnce();
});

it('one that was let go of changes nothing of the next: neither its calls nor its end', async () => {
  const before = await ready();
  before.events.onActivity(1);
  before.crash('exited with code 7');
  await settled();
  expect(slot.state).toMatchObject({ state: 'idle', reason: "Server 'hostile' exited with code 7." });
  const after = await ready();
  before.events.onActivity(0);
  expect(slot.state).toMatchObject({ state: 'ready', reason: undefined });
  slot.retire(() => {});
  await settled();
  expect([slot.state.state, before.close.mock.calls.length, after.close.mock.calls.length]).toEqual([
    'idle',
    1,
    1,
  ]);
  // It ended because it was let go of: that is no reason.
  expect(slot.state.reason).toBeUndefined();
});

it('resting: asking is refused with the reason until its time is over, and each failure doubles it', async () => {
  await failed(DEAD);
  expect(slot.state).toMatchObject({ state: 'resting', reason: DEAD.message, retryInMs: 1_000 });
  await expect(slot.get(NO_AGENT)).rejects.toMatchObject({
    message: DEAD.message,
    remedy: 'Install it. It is not tried again at once: retry in 1 s.',
  });
  slot.hold(NO_AGENT)();
  await vi.advanceTimersByTimeAsync(999);
  expect([slot.state.state, attempts.length]).toEqual(['resting', 1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(slot.state).toMatchObject({ state: 'idle', reason: DEAD.message, retryInMs: undefined });
  for (const retryInMs of [2_000, 3_000, 3_000]) {
    await failed(DEAD);
    expect(slot.state).toMatchObject({ state: 'resting', retryInMs });
    await vi.advanceTimersByTimeAsync(retryInMs);
  }
  await ready();
  expect(slot.state).toMatchObject({ state: 'ready', reason: undefined });
});

it('one that wants a login is idle, and is tried again at once', async () => {
  await failed(LOGIN);
  expect(slot.state).toMatchObject({ state: 'idle', reason: LOGIN.message });
  await ready();
  expect(types()).toEqual(['connecting', 'failed', 'connecting', 'ready']);
});

it('the third crash in a row rests it; a crash without a call, or an answer, does not count', async () => {
  const crash = async (inFlight: number) => {
    const attempt = await ready();
    if (inFlight > 0) attempt.events.onActivity(inFlight);
    attempt.crash('exited with code 7');
    await settled();
    return attempt;
  };
  for (const inFlight of [1, 0, 0, 1]) await crash(inFlight);
  expect(slot.state.state).toBe('idle');
  (await ready()).events.onAnswer();
  last().crash('ended');
  await settled();
  for (const inFlight of [1, 1]) await crash(inFlight);
  expect(slot.state.state).toBe('idle');
  await crash(2);
  expect(slot.state).toMatchObject({
    state: 'resting',
    reason: "Server 'hostile' exited with code 7, 3 times in a row.",
    retryInMs: 1_000,
  });
});

it('a retired one that crashed in a call of its holder is gone when the holder lets go', async () => {
  const onGone = vi.fn();
  const letGo = slot.hold(NO_AGENT);
  const { events, crash } = await ready();
  slot.retire(onGone);
  events.onActivity(1);
  crash('exited with code 7');
  await settled();
  // Its calls are told after that, and nobody counts them any more.
  events.onActivity(0);
  expect(onGone).not.toHaveBeenCalled();
  letGo();
  await settled();
  expect(onGone).toHaveBeenCalled();
});
