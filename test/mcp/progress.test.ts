// Progress as its client sees it: numbers that only grow and never pass their total, the code's own words before ours,
// and silence after the end.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HEARTBEAT_MS, Progress, type ProgressParams } from '../../src/mcp/requests/progress.js';

let told: ProgressParams[];
let progress: Progress;
beforeEach(() => {
  vi.useFakeTimers();
  told = [];
  progress = new Progress((params) => told.push(params));
});
afterEach(() => {
  progress[Symbol.dispose]();
  vi.useRealTimers();
});

const report = (done: number, total: number | null = null, message: string | null = null) =>
  progress.report({ done, total, message });
const only = () => {
  expect(told).toHaveLength(1);
  return told[0];
};

describe('what the code reports', () => {
  it('is told at once, as it is', () => {
    report(3, 10, 'pages');
    expect(only()).toEqual({ progress: 3, total: 10, message: 'pages' });
  });

  it('has words of its own where the code has none', () => {
    report(0.1 + 0.2, 1);
    expect(only()).toMatchObject({ message: '0.3 of 1' });
    vi.advanceTimersByTime(1_000);
    report(2);
    expect(told[1]).toMatchObject({ progress: 2, message: '2 done' });
  });

  it('is told five times a second at most, and the last one surely', () => {
    for (let n = 1; n <= 100_000; n++) report(n, 100_000);
    expect(told).toHaveLength(1);
    vi.advanceTimersByTime(200);
    expect(told).toHaveLength(2);
    expect(told[1]).toMatchObject({ progress: 100_000, total: 100_000 });
    vi.advanceTimersByTime(1_000);
    expect(told).toHaveLength(2);
    report(100_001);
    expect(told).toHaveLength(3);
  });

  it('is harmless and short', () => {
    report(1, null, `\u001b[31mred\u001b[0m\nnext\u202e\u200b${'x'.repeat(500)}`);
    expect(only()?.message).toMatch(/^red next\\u202e\\u200bx+…$/);
    expect(only()?.message).toHaveLength(200);
  });

  it('grows where the code goes back, and says in words where that is', () => {
    report(8, 10, 'first');
    vi.advanceTimersByTime(250);
    report(3, 100, 'second');
    expect(told[1]?.progress).toBeGreaterThan(8);
    expect(told[1]).toMatchObject({ total: 100, message: '3 of 100: second' });
  });

  it.each([0, 1e9, 1e15, 1e300])('grows beyond %d', (done) => {
    report(done, done);
    for (let n = 0; n < 20; n++) {
      vi.advanceTimersByTime(250);
      report(done, done);
    }
    expect(told).toHaveLength(21);
    for (const [n, each] of told.entries()) {
      expect(each.progress).toBeGreaterThan(told[n - 1]?.progress ?? 0);
      expect(each.total).toBeGreaterThanOrEqual(each.progress);
      expect(Number.isFinite(each.progress)).toBe(true);
    }
  });
});

describe('signs of life', () => {
  it('come every few seconds, and say what there is to say', () => {
    let seconds = 0;
    progress.describe(() => {
      seconds += 3;
      return `Running for ${seconds} s.`;
    });
    vi.advanceTimersByTime(3 * HEARTBEAT_MS);
    expect(told.map(({ message }) => message)).toEqual([
      'Running for 3 s.',
      'Running for 6 s.',
      'Running for 9 s.',
    ]);
    expect(told.every((each) => !('total' in each) && each.progress < 1)).toBe(true);
  });

  it('are silent while the code reports, and repeat it afterwards without passing its total', () => {
    progress.describe(() => 'Running.');
    for (let n = 1; n <= 10; n++) {
      report(n, 10);
      vi.advanceTimersByTime(HEARTBEAT_MS / 2);
    }
    expect(told.map(({ message }) => message)).not.toContain('Running.');
    vi.advanceTimersByTime(HEARTBEAT_MS);
    const last = told.at(-1);
    expect(last?.message).toBe('10 of 10. Running.');
    expect(last?.progress).toBeGreaterThan(10);
    expect(last?.progress).toBeCloseTo(10, 4);
    expect(last?.total).toBe(last?.progress);
  });

  it('do not come where there is nothing to say yet', () => {
    vi.advanceTimersByTime(10 * HEARTBEAT_MS);
    progress.beat();
    expect(told).toEqual([]);
  });
});

describe('the end', () => {
  it('tells what was left to tell, and nothing after it', () => {
    progress.describe(() => 'Running.');
    report(1, 2);
    report(2, 2);
    progress[Symbol.dispose]();
    expect(told.map((each) => each.progress)).toEqual([1, 2]);
    report(3);
    progress.beat();
    vi.advanceTimersByTime(60_000);
    expect(told).toHaveLength(2);
  });

  it('is all there is where nobody listens', () => {
    const deaf = new Progress(undefined);
    expect(vi.getTimerCount()).toBe(1);
    deaf.describe(() => {
      throw new Error('asked');
    });
    deaf.report({ done: 1, total: null, message: null });
    deaf.beat();
    expect(vi.getTimerCount()).toBe(1);
  });
});

describe('what a tool says', () => {
  const ofTool = (done: number, total: number | null = null, message: string | null = null) =>
    progress.reportTool({ tool: 'github.search', done, total, message });

  it('is told in words, and leaves the numbers to the code', () => {
    ofTool(3, 10, 'pages');
    expect(only()).toMatchObject({ message: 'github.search: 3 of 10: pages' });
    expect(only()?.progress).toBeLessThan(0.001);
    expect(only()).not.toHaveProperty('total');
  });

  it('stands after what the code said, and is harmless', () => {
    report(1, 4, 'files');
    vi.advanceTimersByTime(1_000);
    ofTool(0.5, null, `\u001b[1mbold\u202e\n${'x'.repeat(500)}`);
    expect(told[1]?.message).toMatch(/^1 of 4: files\. github\.search: 0\.5 done: bold\\u202e x+…$/);
    expect(told[1]).toMatchObject({ total: 4 });
  });

  it('is told as seldom as what the code says, together with it', () => {
    for (let n = 1; n <= 10_000; n++) {
      ofTool(n);
      report(n);
    }
    expect(told).toHaveLength(1);
    vi.advanceTimersByTime(400);
    expect(told.map(({ message }) => message)).toEqual([
      'github.search: 1 done',
      '10000 done',
      '10000 done. github.search: 10000 done',
    ]);
  });

  it('is not told after the call, and costs nothing where nobody asked', () => {
    ofTool(1);
    ofTool(2);
    progress[Symbol.dispose]();
    ofTool(3);
    vi.advanceTimersByTime(10_000);
    expect(only()).toMatchObject({ message: 'github.search: 1 done' });
    const silent = new Progress(undefined);
    silent.reportTool({ tool: 'x.y', done: 1, total: null, message: null });
    expect(vi.getTimerCount()).toBe(0);
  });
});
