// The servers that a run begins with: one of all that does not open costs itself, one that was named costs the run.

import { expect, it, onTestFinished, vi } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import { failureNote, openServers } from '../../src/run/life/run.js';
import type { ServerDoc } from '../../src/wire/frames.js';
import { NEVER } from '../support/time.js';

const doc = (name: string) => ({ name }) as ServerDoc;
const gone = (name: string) =>
  new BridgeError('E_SERVER_UNAVAILABLE', `Server '${name}' ended.\n> why\n\u001b[31m`, {
    fault: 'downstream',
  });
const open = (bad: readonly string[]) => async (name: string) => {
  if (bad.includes(name)) throw gone(name);
  return doc(name);
};
const names = (docs: readonly ServerDoc[]) => docs.map(({ name }) => name);

it('one of all that fails is named with its reason, and the others are there', async () => {
  const { docs, failed } = await openServers(['a'], ['b', 'c', 'd'], { open: open(['c']) }, NEVER);
  expect(names(docs)).toEqual(['a', 'b', 'd']);
  expect([...failed]).toEqual([['c', "Server 'c' ended. > why"]]);
  expect(failureNote(failed)).toBe(`Of servers=["*"], not loaded: 'c' (Server 'c' ended. > why).`);
});

it('one that was named fails the run', async () => {
  await expect(openServers(['a', 'c'], ['b'], { open: open(['c']) }, NEVER)).rejects.toMatchObject({
    code: 'E_SERVER_UNAVAILABLE',
  });
});

it('opens only a few servers at a time', async () => {
  let now = 0;
  let most = 0;
  const slow = async (name: string) => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now--;
    return doc(name);
  };
  const many = Array.from({ length: 50 }, (_, n) => `s${n}`);
  const { docs } = await openServers([], many, { open: slow }, NEVER);
  expect([docs.length, most]).toEqual([50, 8]);
});

it('those that are not open in time are left out, also those whose turn had not come', async () => {
  const hanging = (_name: string, signal: AbortSignal) =>
    new Promise<ServerDoc>((_, reject) =>
      signal.addEventListener('abort', () => reject(new Error('aborted'))),
    );
  const some = (name: string, signal: AbortSignal) =>
    name === 'ok' ? open([])(name) : hanging(name, signal);
  const many = ['ok', ...Array.from({ length: 20 }, (_, n) => `s${n}`)];
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const opening = openServers([], many, { open: some, allWithinMs: 30 }, NEVER);
  await vi.advanceTimersByTimeAsync(30);
  const { docs, failed } = await opening;
  expect(names(docs)).toEqual(['ok']);
  expect(failed.size).toBe(20);
  expect(failed.get('s19')).toBe('it did not start within 0.03 s');
  expect(failureNote(failed)).toMatch(/^Of servers=\["\*"\], not loaded: 's0' .* and 15 more\.$/);
});

it('the end of the run ends the wait', async () => {
  const controller = new AbortController();
  const hanging = (_name: string, signal: AbortSignal) =>
    new Promise<ServerDoc>((_, reject) => signal.addEventListener('abort', () => reject(gone('x'))));
  const opening = openServers([], ['a', 'b'], { open: hanging }, controller.signal);
  controller.abort();
  await expect(opening).rejects.toMatchObject({ code: 'E_SERVER_UNAVAILABLE' });
});

it('where nothing failed there is nothing to say', () => {
  expect(failureNote(new Map())).toBeUndefined();
});
