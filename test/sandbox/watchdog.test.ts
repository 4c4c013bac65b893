// The verdict on samples, and the pace at which they are taken.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Bounds,
  type Breach,
  judge,
  pauseMs,
  type Sample,
  Watchdog,
} from '../../src/sandbox/watchdog.js';

const MB = 1024 ** 2;
const bounds: Bounds = { memoryBytes: 512 * MB, inodes: 1_000, hostFloorBytes: 256 * MB };
const calm: Sample = { memoryBytes: 20 * MB, exact: false, inodes: 3, hostAvailableBytes: 8_000 * MB };

describe('judge', () => {
  it.each<[string, Partial<Sample>, Breach['limit'] | undefined]>([
    ['calm', {}, undefined],
    ['at the limit', { memoryBytes: 512 * MB, exact: true }, undefined],
    ['above the limit', { memoryBytes: 513 * MB, exact: true }, 'memory'],
    ['an upper bound above it, which is no proof', { memoryBytes: 4_000 * MB }, undefined],
    ['too many files', { inodes: 1_001 }, 'inodes'],
    [
      'a host in need, and a container that is why',
      { hostAvailableBytes: 200 * MB, memoryBytes: 300 * MB },
      'host memory',
    ],
    ['a host in need, for which it is not to blame', { hostAvailableBytes: 200 * MB }, undefined],
  ])('%s', (_name, change, limit) => {
    expect(judge({ ...calm, ...change }, bounds)?.limit).toBe(limit);
  });
});

describe('pauseMs', () => {
  it('is long far from the limit, short near it', () => {
    expect(pauseMs(calm, bounds, 0)).toBe(100);
    expect(pauseMs({ ...calm, memoryBytes: 500 * MB }, bounds, 0)).toBe(10);
  });

  it('never lets measuring take more than a tenth of the time', () => {
    expect(pauseMs({ ...calm, memoryBytes: 600 * MB }, bounds, 20)).toBe(180);
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
    const samples = [calm, undefined, { ...calm, memoryBytes: 600 * MB, exact: true }, calm];
    const seen: Breach[] = [];
    let taken = 0;
    using _dog = new Watchdog(
      () => samples[taken++],
      bounds,
      (breach) => seen.push(breach),
    );
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen).toEqual([{ limit: 'memory', allowed: 512 * MB, seen: 600 * MB }]);
    expect(taken).toBe(3);
  });

  it('stops when it is disposed', async () => {
    let taken = 0;
    {
      using _dog = new Watchdog(
        () => {
          taken++;
          return calm;
        },
        bounds,
        () => {},
      );
      await vi.advanceTimersByTimeAsync(15);
    }
    await vi.advanceTimersByTimeAsync(1_000);
    expect(taken).toBe(1);
  });
});
