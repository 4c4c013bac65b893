// What a run is counted for its principal's quota.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RunMeter } from '../../../src/run/queue/run-queue.js';
import type { Sandbox } from '../../../src/sandbox/conversation/sandbox.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A sandbox of which the kernel has counted so much; undefined where nobody can see it. */
const sandboxOf = (processorSeconds: number | undefined) => {
  const countProcessorTime = vi.fn();
  return { sandbox: { countProcessorTime, processorSeconds } as unknown as Sandbox, countProcessorTime };
};

it('counts what the kernel has counted', () => {
  const meter = new RunMeter(true);
  const { sandbox, countProcessorTime } = sandboxOf(1.5);
  meter.follow(sandbox);
  expect(countProcessorTime).toHaveBeenCalledOnce();
  vi.advanceTimersByTime(10_000);
  meter.leave(sandbox);
  meter.leave(sandbox);
  expect(meter.lap()).toBe(1.5);
});

it('counts the time that a run had its sandbox where the kernel says nothing', () => {
  const meter = new RunMeter(true);
  const { sandbox } = sandboxOf(undefined);
  meter.follow(sandbox);
  vi.advanceTimersByTime(3_000);
  meter.leave(sandbox);
  expect(meter.lap()).toBe(3);
});

it('costs nothing where there is no quota', () => {
  const meter = new RunMeter(false);
  const { sandbox, countProcessorTime } = sandboxOf(1);
  meter.follow(sandbox);
  meter.leave(sandbox);
  expect([countProcessorTime.mock.calls.length, meter.lap()]).toEqual([0, 0]);
});

it('counts on after each time that it was asked', () => {
  const meter = new RunMeter(true);
  const used = { countProcessorTime: () => {}, processorSeconds: 1 };
  meter.follow(used as unknown as Sandbox);
  expect(meter.lap()).toBe(1);
  used.processorSeconds = 3;
  expect(meter.lap()).toBe(2);
  meter.leaveAll();
  used.processorSeconds = 7;
  expect(meter.lap()).toBe(0);
});
