// What a run hears while it waits for its start.

import { expect, it } from 'vitest';
import { SetUp } from '../../src/server/set-up.js';

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
