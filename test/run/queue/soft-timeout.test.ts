// How long a call waits for set-up, and what becomes of a set-up that nobody waits for any more.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BridgeError } from '../../../src/base/errors.js';
import { SoftTimeout } from '../../../src/run/queue/soft-timeout.js';
import { NEVER } from '../../support/time.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const waited = (since = performance.now()) => ({ since, goingOn: () => 'Now: pulling x (3.0 MB so far).' });

/** As Promise.withResolvers, which Node 20 has not. */
function withResolvers<T>() {
  let resolve = (_value: T): void => {};
  let reject = (_reason: Error): void => {};
  const promise = new Promise<T>((resolved, rejected) => {
    resolve = resolved;
    reject = rejected;
  });
  return { promise, resolve, reject };
}

/** A set-up that is shared: whoever takes waits for the same one. */
function setUp() {
  const { promise, resolve, reject } = withResolvers<string>();
  promise.catch(() => {});
  const seen = { taken: 0, aborted: 0, givenBack: [] as string[] };
  const source = {
    take: (signal: AbortSignal) => {
      seen.taken++;
      const gone = withResolvers<never>();
      signal.addEventListener('abort', () => {
        seen.aborted++;
        gone.reject(new BridgeError('E_CANCELLED', 'The run was cancelled.', { fault: 'agent' }));
      });
      return Promise.race([promise, gone.promise]);
    },
    giveBack: (late: string) => seen.givenBack.push(late),
  };
  return { source, resolve, reject, seen };
}

/** What a call comes to, as its answer would say it. */
const outcomeOf = (call: Promise<string>) =>
  call.then(
    (value) => value,
    (thrown: BridgeError) => `${thrown.code}: ${thrown.advice}`,
  );

it('answers after its time, and the next call joins what goes on', async () => {
  const { source, resolve, seen } = setUp();
  const patience = new SoftTimeout(25_000);
  const first = outcomeOf(patience.take('k', source, waited(), NEVER));
  await vi.advanceTimersByTimeAsync(24_999);
  const second = outcomeOf(patience.take('k', source, waited(), NEVER));
  await vi.advanceTimersByTimeAsync(1);
  const said = await first;
  expect(said).toMatch(
    /^E_SETTING_UP: Nothing has run yet: .* after 25 s\. Now: pulling x \(3\.0 MB so far\)\./,
  );
  expect(said).toContain('Make the same call again');
  resolve('sandbox');
  expect(await second).toBe('sandbox');
  expect(seen).toEqual({ taken: 2, aborted: 0, givenBack: ['sandbox'] });
});

it('says a failure that nobody waited for to the next call, once, and then tries again', async () => {
  const { source, reject, seen } = setUp();
  const patience = new SoftTimeout(25_000);
  const first = outcomeOf(patience.take('k', source, waited(), NEVER));
  await vi.advanceTimersByTimeAsync(25_000);
  await first;
  reject(new BridgeError('E_IMAGE_MISSING', 'No image.', { fault: 'operator', remedy: 'Build one.' }));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await outcomeOf(patience.take('k', source, waited(), NEVER))).toBe(
    'E_IMAGE_MISSING: No image. Build one.',
  );
  expect(seen.taken).toBe(1);
  expect(await outcomeOf(patience.take('k', source, waited(), NEVER))).toContain('No image.');
  expect(seen.taken).toBe(2);
});

it('says a failure no third time where a second call waited for the same set-up', async () => {
  const { source, reject } = setUp();
  const patience = new SoftTimeout(25_000);
  const first = outcomeOf(patience.take('k', source, waited(), NEVER));
  await vi.advanceTimersByTimeAsync(25_000);
  await first;
  const second = outcomeOf(patience.take('k', source, waited(), NEVER));
  reject(new BridgeError('E_IMAGE_MISSING', 'No image.', { fault: 'operator' }));
  expect(await second).toContain('No image.');
  const later = setUp();
  later.resolve('sandbox');
  expect(await outcomeOf(patience.take('k', later.source, waited(), NEVER))).toBe('sandbox');
});

it('a failure of long ago is forgotten', async () => {
  const { source, reject } = setUp();
  const patience = new SoftTimeout(25_000);
  const first = outcomeOf(patience.take('k', source, waited(), NEVER));
  await vi.advanceTimersByTimeAsync(25_000);
  await first;
  reject(new BridgeError('E_IMAGE_MISSING', 'No image.', { fault: 'operator' }));
  await vi.advanceTimersByTimeAsync(600_000);
  const later = setUp();
  later.resolve('sandbox');
  expect(await outcomeOf(patience.take('k', later.source, waited(), NEVER))).toBe('sandbox');
});

it('a call that is cancelled lets go; one that was answered holds on', async () => {
  const { source, seen } = setUp();
  const patience = new SoftTimeout(25_000);
  const [cancelled, answered] = [new AbortController(), new AbortController()];
  const first = outcomeOf(patience.take('k', source, waited(), cancelled.signal));
  const second = outcomeOf(patience.take('k', source, waited(), answered.signal));
  cancelled.abort();
  expect(await first).toContain('E_CANCELLED');
  await vi.advanceTimersByTimeAsync(25_000);
  expect(await second).toContain('E_SETTING_UP');
  answered.abort();
  expect(seen.aborted).toBe(1);
});

it('time in the queue counts, and leaves enough for a sandbox that is ready', async () => {
  const { source } = setUp();
  const patience = new SoftTimeout(25_000);
  const call = outcomeOf(patience.take('k', source, waited(performance.now() - 100_000), NEVER));
  await vi.advanceTimersByTimeAsync(4_999);
  expect(await Promise.race([call, 'waits'])).toBe('waits');
  await vi.advanceTimersByTimeAsync(1);
  expect(await call).toContain('after 105 s');
});

it('what needs no source is waited for as long, and goes on', async () => {
  const { promise, resolve } = withResolvers<string>();
  const patience = new SoftTimeout(25_000);
  const call = outcomeOf(patience.wait(promise, waited()));
  await vi.advanceTimersByTimeAsync(25_000);
  expect(await call).toContain('E_SETTING_UP');
  resolve('open');
  expect(await patience.wait(promise, waited())).toBe('open');
  const failing = Promise.reject<string>(
    new BridgeError('E_SERVER_UNAVAILABLE', 'No.', { fault: 'downstream' }),
  );
  expect(await outcomeOf(patience.wait(failing, waited()))).toContain('No.');
});

it('the command line waits for as long as it takes', async () => {
  const { source, resolve } = setUp();
  const call = outcomeOf(new SoftTimeout(undefined).take('k', source, waited(), NEVER));
  await vi.advanceTimersByTimeAsync(1_000_000);
  resolve('sandbox');
  expect(await call).toBe('sandbox');
});
