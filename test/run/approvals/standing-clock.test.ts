// The clock of a run stands as long as anybody has stopped it, and has then what it had left.

import { expect, it } from 'vitest';
import { StandingClock } from '../../../src/run/approvals/standing-clock.js';

function clock() {
  const told: string[] = [];
  const deadline = {
    pause: () => {
      told.push('pause');
      return 7;
    },
    start: (ms: number) => void told.push(`start ${ms}`),
  };
  return { told, clock: new StandingClock(deadline) };
}

it('goes on when the last one lets it, by what was left', () => {
  const { told, clock: standing } = clock();
  const [one, other] = [standing.stop(), standing.stop()];
  one();
  one();
  expect(told).toEqual(['pause']);
  other();
  expect(told).toEqual(['pause', 'pause', 'start 7']);
});
