// The verdict on what is seen, when an exact look is worth its price, and the pace of looking.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Bounds,
  type Breach,
  type Glance,
  judge,
  mustWeigh,
  pauseMs,
  Watchdog,
} from '../../src/sandbox/limits/watchdog.js';

const MB = 1024 ** 2;
const bounds: Bounds = { memoryBytes: 512 * MB, inodes: 1_000, hostFloorBytes: 256 * MB };
const calm: Glance = { atMostBytes: 20 * MB, kernelBytes: 0, inodes: 3, hostAvailableBytes: 8_000 * MB };
const much: Glance = { ...calm, atMostBytes: 4_000 * MB };

describe('judge', () => {
  it.each<[string, Partial<Glance>, number | undefined, Breach['limit'] | undefined]>([
    ['calm', {}, undefined, undefined],
    ['at the limit', much, 512 * MB, undefined],
    ['above the limit', much, 513 * MB, 'memory'],
    ['an upper bound above it, which is no proof', much, undefined, undefined],
    ['too many files', { inodes: 1_001 }, undefined, 'inodes'],
    [
      'a host in need, and a container that is why',
      { hostAvailableBytes: 200 * MB, atMostBytes: 300 * MB },
      undefined,
      'host memory',
    ],
    ['a host in need, for which it is not to blame', { hostAvailableBytes: 200 * MB }, undefined, undefined],
    ['sockets that could hold as much as the limit', { kernelBytes: 512 * MB }, undefined, undefined],
    ['sockets that could hold more', { kernelBytes: 513 * MB }, undefined, 'kernel memory'],
  ])('%s', (_name, change, weighed, limit) => {
    expect(judge({ ...calm, ...change }, weighed, bounds, 700 * MB)?.limit).toBe(limit);
  });

  it('blames it for what the host has lost since it began and nobody is seen to hold', () => {
    const needy = { ...calm, hostAvailableBytes: 200 * MB };
    expect(judge(needy, undefined, bounds, 732 * MB)?.limit).toBe(undefined);
    expect(judge(needy, undefined, bounds, 733 * MB)?.limit).toBe('host memory');
  });
});

describe('mustWeigh', () => {
  const last = { bytes: 400 * MB, hostAvailableBytes: 8_000 * MB, atMs: 1_000, costMs: 50 };

  it('only where a glance leaves it open', () => {
    expect(mustWeigh(calm, undefined, bounds, 0)).toBe(false);
    expect(mustWeigh(much, undefined, bounds, 0)).toBe(true);
  });

  it('takes a tenth of the time at most', () => {
    expect(mustWeigh(much, last, bounds, 1_200)).toBe(false);
    expect(mustWeigh(much, last, bounds, 1_450)).toBe(true);
  });

  it('but half of it, where the host has lost more than was left to the limit', () => {
    const lost = { ...much, hostAvailableBytes: 7_880 * MB };
    expect(mustWeigh(lost, last, bounds, 1_060)).toBe(true);
    expect(mustWeigh(lost, last, bounds, 1_040)).toBe(false);
    expect(mustWeigh({ ...lost, hostAvailableBytes: 7_900 * MB }, last, bounds, 1_060)).toBe(false);
  });
});

describe('pauseMs', () => {
  it('is long far from the limit, short near it', () => {
    expect(pauseMs({ ...calm, atMostBytes: 0 }, undefined, { ...bounds, memoryBytes: 1_024 * MB }, 0)).toBe(
      100,
    );
    expect(pauseMs({ ...calm, atMostBytes: 500 * MB }, undefined, bounds, 0)).toBe(10);
  });

  it('never lets looking take more than a tenth of the time', () => {
    expect(pauseMs(calm, undefined, bounds, 20)).toBe(180);
  });
});

describe('Watchdog', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('tells of a breach once and is then done', async () => {
    const glances = [calm, undefined, much, calm];
    const seen: Breach[] = [];
    let taken = 0;
    const scales = { glance: () => glances[taken++], weigh: () => 600 * MB };
    using _dog = new Watchdog(scales, bounds, (breach) => seen.push(breach));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen).toEqual([{ limit: 'memory', allowed: 512 * MB, seen: 600 * MB }]);
    expect(taken).toBe(3);
  });

  it('stops when it is disposed', async () => {
    let taken = 0;
    const scales = {
      glance: () => {
        taken++;
        return calm;
      },
      weigh: () => undefined,
    };
    const dog = new Watchdog(scales, bounds, () => {});
    await vi.advanceTimersByTimeAsync(15);
    dog[Symbol.dispose]();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(taken).toBe(1);
  });
});
