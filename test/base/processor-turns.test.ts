// Whose work begins next in one process: a flood of one principal costs another one turn, work that waits for something else
// gives its place to more, and what nobody wants any more has no place.

import { expect, it, onTestFinished, vi } from 'vitest';
import { OF_ONE_PROCESS, Scheduler, UNLIMITED } from '../../src/base/waiting/scheduler.js';
import { NEVER, pause } from '../support/time.js';

const WORDS = { many: 'requests', refused: 'Nothing was done' };
type ProcessorTurns = ReturnType<typeof turnsOf>;

function turnsOf(atOnce: number, ofOne: number, waiting = Number.POSITIVE_INFINITY) {
  const scheduler = new Scheduler({ ...OF_ONE_PROCESS, words: WORDS, atOnce, ofOne });
  const limits = { ...UNLIMITED, waiting };
  const begin = (owner: string, signal: AbortSignal) =>
    scheduler.place({ owner, limits, memoryBytes: 0 }, signal).turn;
  return { scheduler, begin };
}

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** A clock that goes on by what is spent of it, late timers and all, and by a millisecond where nothing is to be done. */
function playedClock() {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'Date'],
    now: 0,
  });
  const { setTimeout: set } = globalThis;
  onTestFinished(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
  let nowMs = 0;
  let firedUntilMs = 0;
  // The faked timers count from when they were last played, a real one from when it is set.
  const later = (then: () => void, ms = 0) => set(then, ms + nowMs - Date.now());
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(later as typeof setTimeout);
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue({ idle: 0, active: 0, utilization: 1 });
  const playUntil = async (end: Promise<unknown>): Promise<void> => {
    let isOver = false;
    void end.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      nowMs = Math.max(nowMs, firedUntilMs + 1);
      const ms = nowMs - firedUntilMs;
      firedUntilMs = nowMs;
      await vi.advanceTimersByTimeAsync(ms);
    }
  };
  const spend = (ms: number): void => {
    nowMs += ms;
  };
  return { spend, playUntil };
}

/** Work of this process that leaves it no idle moment. */
async function busy(turns: ProcessorTurns, owner: string, onEnd: () => void, spend = spin): Promise<void> {
  const turn = await turns.begin(owner, NEVER);
  if ('refused' in turn) throw turn.refused;
  using _turn = turn;
  for (let piece = 0; piece < 3; piece++) {
    spend(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  onEnd();
}

it('a flood of one principal delays what another begins by one turn, however long the flood is', async () => {
  const turns = turnsOf(2, 1);
  const order: string[] = [];
  const flood = Array.from({ length: 60 }, () => busy(turns, 'ann', () => void order.push('ann')));
  await pause(5);
  const before = order.length;
  for (let at = 0; at < 3; at++) await busy(turns, 'ben', () => void order.push('ben'));
  const of = order.slice(before, order.lastIndexOf('ben') + 1);
  await Promise.all(flood);
  expect(of.filter((name) => name === 'ben')).toHaveLength(3);
  // One of hers beside each of his, and the one that was under way.
  expect(of.filter((name) => name === 'ann').length).toBeLessThanOrEqual(6);
  expect(order).toHaveLength(63);
  expect(turns.scheduler.waiting).toBe(0);
});

it.each([
  [1, 0.7],
  [5, 0.35],
])('a flood leaves their share of the time to %i others while they are about', async (others, most) => {
  const clock = playedClock();
  const turns = turnsOf(1, 1);
  let isOver = false;
  let spentMs = 0;
  const flood = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const turn = await turns.begin('ann', NEVER);
      if ('refused' in turn) throw turn.refused;
      clock.spend(4);
      spentMs += 4;
      turn[Symbol.dispose]();
    }
  });
  const eachOther = async () => {
    for (let other = 0; other < others; other++) await busy(turns, `other ${other}`, () => {}, clock.spend);
  };
  await clock.playUntil(eachOther());
  const beganAt = performance.now();
  spentMs = 0;
  for (let at = 0; at < 10; at++) {
    await clock.playUntil(pause(30));
    await clock.playUntil(eachOther());
  }
  const share = spentMs / (performance.now() - beganAt);
  isOver = true;
  await clock.playUntil(Promise.all(flood));
  expect(share).toBeLessThan(most);
});

it('a turn whose work waits for something else gives its place to more of the same principal', async () => {
  const turns = turnsOf(2, 1);
  const held = [];
  for (let at = 0; at < 10; at++) held.push(await turns.begin('ann', NEVER));
  expect(held.every((turn) => !('refused' in turn))).toBe(true);
});

it('too much that waits is refused with when to come back, and others are not', async () => {
  const turns = turnsOf(1, 1, 2);
  const first = await turns.begin('ann', NEVER);
  const waiting = [turns.begin('ann', NEVER), turns.begin('ann', NEVER)];
  const refused = await turns.begin('ann', NEVER);
  expect(refused).toMatchObject({
    refused: {
      code: 'E_BUSY',
      message: 'Nothing was done: 2 of your requests wait already, and no more may wait.',
      retryAfterSeconds: expect.any(Number),
    },
  });
  const other = turns.begin('ben', NEVER);
  for (const turn of [first, ...waiting, other]) {
    const begun = await turn;
    if ('refused' in begun) throw begun.refused;
    begun[Symbol.dispose]();
  }
});

it('what is not wanted any more leaves the queue at once', async () => {
  const turns = turnsOf(1, 1);
  const first = await turns.begin('ann', NEVER);
  const leaving = new AbortController();
  const waiting = turns.begin('ann', leaving.signal);
  leaving.abort();
  await waiting;
  expect(turns.scheduler.waiting).toBe(0);
  if (!('refused' in first)) first[Symbol.dispose]();
});
