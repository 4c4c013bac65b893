// How often a server's own word has its list of tools read, with time that is handed in.

import { expect, it } from 'vitest';
import { ListPace } from '../../src/servers/server/tool-list.js';

type Server = {
  /** When it says that its list has changed: each `everyMs` until `untilMs`. */
  readonly everyMs: number;
  readonly untilMs?: number;
  /** Whether the list is another one each time. */
  readonly isOther?: boolean;
  readonly tookMs?: number;
};

const HOUR_MS = 3_600_000;

/** When the list was read in one hour. */
function readings({ everyMs, untilMs = HOUR_MS, isOther = false, tookMs = 0 }: Server): number[] {
  let now = 0;
  const pace = new ListPace(() => now);
  const read: number[] = [];
  let isStale = false;
  for (; now < HOUR_MS; now += 10) {
    if (now % everyMs === 0 && now <= untilMs) {
      pace.noteTold();
      isStale = true;
    }
    if (!isStale || pace.waitMs > 0) continue;
    isStale = false;
    read.push(now);
    now += tookMs;
    pace.read(isOther, tookMs);
  }
  return read;
}

it('one word has the list read at once', () => {
  expect(readings({ everyMs: HOUR_MS })).toEqual([0]);
});

it('while nothing changes it is read twice as late each time, and once in a minute at most', () => {
  const read = readings({ everyMs: 10 });
  expect(read.slice(0, 8)).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000]);
  expect(read.length).toBeLessThan(70);
});

it('a list that is another one each time is read once in a second', () => {
  expect(readings({ everyMs: 10, untilMs: 5_000, isOther: true })).toEqual([
    0, 1_000, 2_000, 3_000, 4_000, 5_000,
  ]);
});

it('however often it changes, reading it takes one part in twenty of the time', () => {
  const read = readings({ everyMs: 10, isOther: true, tookMs: 500 });
  expect(read[1]).toBe(10_500);
  expect((read.length * 500) / HOUR_MS).toBeLessThan(1 / 20);
  // The longest wait is a minute all the same.
  expect(readings({ everyMs: 10, isOther: true, tookMs: 30_000 })[1]).toBe(90_000);
});

it.each([10, 990, 1_000, 2_500, 40_000])(
  'the last of words that come each %d ms has it read after that',
  (everyMs) => {
    for (const isOther of [true, false]) {
      const read = readings({ everyMs, untilMs: 100_000, isOther });
      const lastWord = Math.floor(100_000 / everyMs) * everyMs;
      expect(read.at(-1)).toBeGreaterThanOrEqual(lastWord);
      expect(read.at(-1)).toBeLessThanOrEqual(lastWord + 60_000);
    }
  },
);

it('after a quiet minute a word counts at once again', () => {
  let now = 0;
  const pace = new ListPace(() => now);
  for (let times = 0; times < 10; times++) {
    pace.noteTold();
    now += pace.waitMs;
    pace.read(false, 0);
  }
  pace.noteTold();
  expect(pace.waitMs).toBe(60_000);
  now += 59_000;
  pace.noteTold();
  expect(pace.waitMs).toBe(1_000);
  now += 60_010;
  pace.noteTold();
  pace.read(false, 0);
  expect(pace.waitMs).toBe(1_000);
});

it('whoever uses the server does not wait for as long as a word of its own', () => {
  let now = 0;
  const pace = new ListPace(() => now);
  for (let times = 0; times < 5; times++) pace.read(false, 0);
  expect([pace.waitMs, pace.waitForUserMs]).toEqual([16_000, 1_000]);
  now += 1_000;
  expect([pace.waitMs, pace.waitForUserMs]).toEqual([15_000, 0]);
});
