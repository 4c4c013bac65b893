// How long questions of one kind may have a run's clock stand: all of them together, and for no longer than one is open.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { AskingTime } from '../../src/policy/approvals/standing-clock.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function noted(maxMs = 60_000) {
  const order: string[] = [];
  const time = new AskingTime(() => {
    order.push('stands');
    return () => void order.push('goes on');
  }, maxMs);
  return { time, order };
}

it('the clock stands while any question is open', () => {
  const { time, order } = noted();
  const [one, other] = [time.ask(), time.ask()];
  one?.();
  one?.();
  expect(order).toEqual(['stands']);
  other?.();
  expect(order).toEqual(['stands', 'goes on']);
});

it('what was waited counts for all that follow, and open questions hold it no longer than that', () => {
  const { time, order } = noted();
  const first = time.ask();
  vi.advanceTimersByTime(40_000);
  first();
  vi.advanceTimersByTime(100_000);
  expect(time.leftMs).toBe(20_000);
  const second = time.ask();
  vi.advanceTimersByTime(19_999);
  expect(order).toEqual(['stands', 'goes on', 'stands']);
  vi.advanceTimersByTime(1);
  expect(order).toEqual(['stands', 'goes on', 'stands', 'goes on']);
  const third = time.ask();
  second();
  third();
  time.ask();
  expect([order.length, time.leftMs]).toEqual([4, 0]);
});

it('a clock that stands for questions of another time is not had to go on by those that end late', () => {
  const { time, order } = noted();
  const first = time.ask();
  first();
  const second = time.ask();
  first();
  expect(order).toEqual(['stands', 'goes on', 'stands']);
  second();
});

it('the clock of a run that has ended stands for good', () => {
  const { time, order } = noted();
  const open = time.ask();
  time[Symbol.dispose]();
  open();
  vi.advanceTimersByTime(100_000);
  time.ask();
  expect(order).toEqual(['stands']);
});
