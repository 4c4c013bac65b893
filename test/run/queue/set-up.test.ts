// What a run hears while it waits for its start.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SetUp } from '../../../src/run/queue/set-up.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('tells how far a pull is, and how long it usually takes', () => {
  const setUp = new SetUp();
  expect(setUp.goingOn([])).toMatch(/^Now: starting a sandbox\. This usually takes some seconds/);
  setUp.observe({ type: 'setup.step', step: 'looking for the image python:3.14-slim' });
  vi.advanceTimersByTime(2_000);
  setUp.observe({ type: 'image.progress', image: 'python:3.14-slim', message: 'Trying to pull' });
  setUp.observe({ type: 'image.progress', image: 'python:3.14-slim', message: 'Copying blob a' });
  setUp.observe({ type: 'image.received', image: 'python:3.14-slim', bytes: 34 * 1024 ** 2 });
  vi.advanceTimersByTime(21_000);
  expect(setUp.goingOn([])).toBe(
    'Now: python:3.14-slim: Copying blob a (34 MB so far, step 2, for 21 s). A pull usually takes ten seconds to three minutes.',
  );
});

it('tells that an image is built, and why', () => {
  const setUp = new SetUp();
  const own = { image: 'localhost/own', instead: 'python:3.14-slim', why: 'no registry answered' };
  setUp.observe({ type: 'image.progress', image: 'python:3.14-slim', message: 'Trying to pull' });
  setUp.observe({ type: 'image.building', ...own });
  expect(setUp.goingOn([])).toMatch(/^Now: building localhost\/own, since python:3.14-slim cannot be pulled/);
  setUp.observe({ type: 'image.progress', image: 'localhost/own', message: 'installing packages' });
  vi.advanceTimersByTime(8_000);
  expect(setUp.goingOn(['slow'])).toBe(
    'Now: localhost/own: installing packages (step 1, for 8 s). A build usually takes one to three minutes.',
  );
});

it('tells the step, the pull and the servers that this run waits for', () => {
  const setUp = new SetUp();
  expect(setUp.waitsFor([])).toBe('Setting up: starting a sandbox.');
  setUp.observe({ type: 'setup.step', step: 'looking for podman or docker' });
  expect(setUp.waitsFor([])).toBe('Setting up: looking for podman or docker.');
  setUp.observe({ type: 'image.progress', image: 'python:3.14-slim', message: 'Copying\u0007 blob 1 of 4 ' });
  expect(setUp.waitsFor([])).toBe('Setting up: python:3.14-slim: Copying\\x07 blob 1 of 4.');
  for (const server of ['github', 'other']) setUp.observe({ type: 'downstream.connecting', server });
  setUp.observe({ type: 'sandbox.started', container: 'c', durationMs: 1 });
  expect(setUp.waitsFor(['github'])).toBe('Setting up: starting github.');
  setUp.observe({ type: 'downstream.ready', server: 'github', tools: 1, durationMs: 1 });
  expect(setUp.waitsFor(['github'])).toBe('Setting up: starting a sandbox.');
});
