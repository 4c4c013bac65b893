// The clock of a run while a person is asked: when it stands, when what runs in its sandbox does, and whose its place is.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Standing, StandingClock } from '../../src/policy/approvals/standing-clock.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A clock that notes what is done, in its order. */
function noted(standing: Partial<Standing> | undefined = {}) {
  const order: string[] = [];
  let haveIt = () => {};
  const deadline = {
    pause: () => {
      order.push('stands');
      return 1;
    },
    start: () => void order.push('goes on'),
  };
  const whole: Standing = {
    freeze: () => {
      order.push('frozen');
      return () => void order.push('thawed');
    },
    standAside: () => {
      order.push('gave its place');
      let back: Promise<void> | undefined;
      return () => {
        order.push('wants it');
        back ??= new Promise((resolve) => {
          haveIt = resolve;
        });
        return back;
      };
    },
    ...standing,
  };
  return { clock: new StandingClock(deadline, whole), order, haveIt: () => haveIt() };
}

it('an answer that comes at once stops the clock and nothing else', async () => {
  const { clock, order } = noted();
  const goOn = clock.stop();
  await vi.advanceTimersByTimeAsync(1_900);
  goOn();
  goOn();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(order).toEqual(['stands', 'stands', 'goes on']);
});

it('what stands still gives its place away, and goes on when it has one again, ahead of the clock', async () => {
  const { clock, order, haveIt } = noted();
  const goOn = clock.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(order).toEqual(['stands', 'frozen', 'gave its place']);
  goOn();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(order.slice(3)).toEqual(['wants it']);
  haveIt();
  await vi.advanceTimersByTimeAsync(0);
  expect(order.slice(4)).toEqual(['thawed', 'stands', 'goes on']);
});

it('what cannot be stopped keeps its place', async () => {
  const { clock, order } = noted({ freeze: () => undefined });
  const goOn = clock.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  goOn();
  expect(order).toEqual(['stands', 'stands', 'goes on']);
});

it('what keeps its place goes on as soon as nobody is asked', async () => {
  const { clock, order } = noted({ standAside: () => undefined });
  const goOns = [clock.stop(), clock.stop()];
  await vi.advanceTimersByTimeAsync(60_000);
  goOns[0]?.();
  expect(order).toEqual(['stands', 'frozen']);
  goOns[1]?.();
  expect(order.slice(2)).toEqual(['thawed', 'stands', 'goes on']);
});

it('a question that comes while it waits for its place has it stand on', async () => {
  const { clock, order, haveIt } = noted();
  const goOn = clock.stop();
  await vi.advanceTimersByTimeAsync(3_000);
  goOn();
  const again = clock.stop();
  haveIt();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(order).toEqual(['stands', 'frozen', 'gave its place', 'wants it']);
  again();
  await vi.advanceTimersByTimeAsync(0);
  expect(order.slice(-3)).toEqual(['thawed', 'stands', 'goes on']);
});

it('what is interrupted goes on at once, with a place or without, and its clock when nobody is asked', async () => {
  const { clock, order } = noted();
  const goOn = clock.stop();
  await vi.advanceTimersByTimeAsync(3_000);
  clock.letGo();
  expect(order.slice(3)).toEqual(['thawed']);
  goOn();
  expect(order.slice(4)).toEqual(['stands', 'goes on']);

  const waiting = noted();
  const end = waiting.clock.stop();
  await vi.advanceTimersByTimeAsync(3_000);
  end();
  waiting.clock.letGo();
  waiting.haveIt();
  await vi.advanceTimersByTimeAsync(0);
  expect(waiting.order.slice(4)).toEqual(['thawed', 'stands', 'goes on']);
});

it('a run that has ended stands for good', async () => {
  const { clock, order, haveIt } = noted();
  const goOn = clock.stop();
  await vi.advanceTimersByTimeAsync(3_000);
  goOn();
  clock[Symbol.dispose]();
  haveIt();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(order).toEqual(['stands', 'frozen', 'gave its place', 'wants it']);
});

it('what computes meanwhile does so in its own time, and no more than has gone by', async () => {
  const times: number[] = [];
  let used = 7;
  const deadline = { pause: () => 20_000, start: (leftMs: number) => void times.push(leftMs) };
  const clock = new StandingClock(deadline, {
    freeze: () => undefined,
    standAside: undefined,
    used: () => used,
  });
  const asked = async (seconds: number) => {
    const goOn = clock.stop();
    used += seconds;
    await vi.advanceTimersByTimeAsync(10_000);
    goOn();
  };
  await asked(0);
  await asked(3);
  await asked(15);
  expect(times).toEqual([20_000, 17_000, 10_000]);
});

it('what has computed for as long as it had left is at its end while it stands', async () => {
  const times: number[] = [];
  let used = 0;
  const deadline = { pause: () => 5_000, start: (leftMs: number) => void times.push(leftMs) };
  const clock = new StandingClock(deadline, {
    freeze: () => undefined,
    standAside: undefined,
    used: () => used,
  });
  clock.stop();
  used = 4.5;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(times).toEqual([]);
  used = 5;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(times).toEqual([0]);
  clock[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(times).toEqual([0]);
});

it('where nobody can know what it uses, nothing is taken off', async () => {
  const times: number[] = [];
  const deadline = { pause: () => 5_000, start: (leftMs: number) => void times.push(leftMs) };
  const clock = new StandingClock(deadline, {
    freeze: () => undefined,
    standAside: undefined,
    used: () => undefined,
  });
  const goOn = clock.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  goOn();
  expect(times).toEqual([5_000]);
});
