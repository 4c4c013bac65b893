// How long an engine that runs elsewhere is asked whether it is still there.

import { expect, it } from 'vitest';
import { askTimeoutMs } from '../../src/engine/client/cli-engine.js';

it.each([
  ['has answered nothing yet', Number.POSITIVE_INFINITY, 10_000],
  ['is quick', 80, 10_000],
  ['has always taken two seconds', 2_000, 20_000],
  ['has always taken ten seconds', 10_000, 30_000],
])('one that %s', (_what, quickestMs, timeoutMs) => {
  expect(askTimeoutMs(quickestMs)).toBe(timeoutMs);
});
