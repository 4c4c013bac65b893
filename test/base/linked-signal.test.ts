import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { LinkedSignal } from '../../src/base/waiting/linked-signal.js';

it('aborts with the first reason, also where that came before it', () => {
  const [one, two] = [new AbortController(), new AbortController()];
  using later = new LinkedSignal(one.signal, two.signal);
  expect(later.signal.aborted).toBe(false);
  two.abort('two');
  one.abort('one');
  expect(later.signal.reason).toBe('two');
  using before = new LinkedSignal(two.signal);
  expect(before.signal.reason).toBe('two');
});

it('leaves nothing behind in a source that lives on', () => {
  const source = new AbortController();
  for (let count = 0; count < 3; count++) new LinkedSignal(source.signal)[Symbol.dispose]();
  expect(getEventListeners(source.signal, 'abort')).toEqual([]);
});

it('makes Node take no number of listeners for a leak', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  const source = new AbortController();
  const links = Array.from({ length: 20 }, () => new LinkedSignal(source.signal));
  // Warnings are told in a later turn.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', onWarning);
  for (const link of links) link[Symbol.dispose]();
  expect(warnings).toEqual([]);
});
