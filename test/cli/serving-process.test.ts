import { expect, it } from 'vitest';
import { endBy } from '../../src/cli/serving/serving-process.js';

it('ends for a signal that comes while it waits, and for one that came while the bridge was starting', async () => {
  const interrupt = new AbortController();
  const ended = endBy(interrupt.signal);
  interrupt.abort('SIGTERM');
  const end = { reason: 'SIGTERM', exitCode: 0 };
  await expect(ended).resolves.toEqual(end);
  await expect(endBy(interrupt.signal)).resolves.toEqual(end);
});
