// When a pull is given up: by a played clock, with a client that says and writes what the test wants.

import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import type { EngineImages } from '../../src/engine/engine.js';
import { pullWhileAlive } from '../../src/engine/images/image-choice.js';
import type { PullTraces } from '../../src/engine/images/pull-traces.js';
import { staleScratch } from '../../src/engine/images/pull-traces.js';
import { NEVER } from '../support/time.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function pulling(isSeen: boolean) {
  const events: BridgeEvent[] = [];
  let say = (_line: string): void => {};
  let end = (): void => {};
  let traces: PullTraces | undefined;
  const pull: EngineImages['pull'] = (_image, onProgress, signal, given) =>
    new Promise((resolve, reject) => {
      traces = given;
      // A process that is not there reads and writes nothing.
      if (isSeen) given?.onStarted(2 ** 30);
      say = onProgress;
      end = resolve;
      signal.addEventListener('abort', () => reject(new Error('cancelled')));
    });
  const pulled = pullWhileAlive('python:x', { pull }, (event) => events.push(event), NEVER).then(
    () => 'pulled',
    (thrown: Error) => thrown.message,
  );
  return {
    events,
    pulled,
    say: (line: string) => say(line),
    end: () => end(),
    write: (bytes: number) => writeFileSync(join(traces?.folder ?? '', 'blob'), Buffer.alloc(bytes)),
    folder: () => traces?.folder,
  };
}

const isOver = (pulled: Promise<string>) => Promise.race([pulled.then(() => true), false]);

it.each([true, false])('a registry that never answers is given up after 20 s (seen: %s)', async (isSeen) => {
  const { pulled, say } = pulling(isSeen);
  say('Trying to pull docker.io/library/python:x...');
  await vi.advanceTimersByTimeAsync(19_000);
  expect(await isOver(pulled)).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await pulled).toBe('no registry answered within 20 s');
});

it('one that stops in the middle of a layer is given up 20 s after the last byte', async () => {
  const { pulled, say, write, events } = pulling(true);
  say('Copying blob sha256:abc');
  await vi.advanceTimersByTimeAsync(15_000);
  write(3 * 1024 ** 2);
  await vi.advanceTimersByTimeAsync(19_000);
  expect(await isOver(pulled)).toBe(false);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await pulled).toBe(
    'its registry stopped sending: 3.0 MB had arrived, and nothing more came for 20 s',
  );
  expect(events).toContainEqual({ type: 'image.received', image: 'python:x', bytes: 3 * 1024 ** 2 });
});

it('one that trickles is waited for, byte by byte', async () => {
  const { pulled, say, write, end } = pulling(true);
  say('Copying blob sha256:abc');
  for (let bytes = 1; bytes < 20; bytes++) {
    write(bytes);
    await vi.advanceTimersByTimeAsync(15_000);
  }
  expect(await isOver(pulled)).toBe(false);
  end();
  expect(await pulled).toBe('pulled');
});

it('a client that shows no bytes is waited for once its registry has answered', async () => {
  const { pulled, say, end } = pulling(false);
  say('3.14-slim: Pulling from library/python');
  await vi.advanceTimersByTimeAsync(300_000);
  expect(await isOver(pulled)).toBe(false);
  end();
  expect(await pulled).toBe('pulled');
});

it('finds what a killed bridge has left, and nothing that may be in use', () => {
  const parent = mkdtempSync(join(tmpdir(), 'stale-'));
  const folders = ['ours-old', 'ours-new', 'others-old'].map((name) => join(parent, name));
  for (const folder of folders) mkdirSync(folder);
  const hourAgo = Date.now() / 1000 - 3_700;
  for (const folder of folders.filter((path) => path.endsWith('old'))) utimesSync(folder, hourAgo, hourAgo);
  expect(staleScratch(parent, 'ours-')).toEqual([join(parent, 'ours-old')]);
  expect(staleScratch(join(parent, 'absent'), 'ours-')).toEqual([]);
  rmSync(parent, { recursive: true });
});

it('leaves nothing of what had arrived', async () => {
  const { pulled, write, folder, end } = pulling(true);
  await vi.advanceTimersByTimeAsync(0);
  write(10);
  const made = folder() ?? '';
  end();
  await pulled;
  expect(made).toMatch(/-pull-/);
  expect(existsSync(made)).toBe(false);
});
