// A lock whose holder has died, with every time that its file can have.

import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LOCK_HELD_AT_MOST_MS, lockFile } from '../../src/base/files/file-lock.js';
import { HANGS_MS } from '../support/time.js';

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'file-lock-test-')), 'lock');
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(join(path, '..'), { recursive: true });
});

const heldSince = (agoMs: number) => {
  writeFileSync(path, 'of a dead holder');
  const at = (Date.now() - agoMs) / 1000;
  utimesSync(path, at, at);
};

it.each([
  ['long ago', LOCK_HELD_AT_MOST_MS + 1_000],
  ['in the future, since the clock was set back', -3_600_000],
])('one that was taken %s is broken', async (_title, agoMs) => {
  heldSince(agoMs);
  using _ = await lockFile(path, AbortSignal.timeout(HANGS_MS));
  expect(readFileSync(path, 'utf8')).not.toBe('of a dead holder');
});

it.each([
  ['just now', 0],
  ['a moment ahead, as clocks of file systems differ', -1_000],
])('one that was taken %s is waited for', async (_title, agoMs) => {
  // The lock grows no older, however long the wait takes.
  vi.useFakeTimers({ toFake: ['Date'] });
  heldSince(agoMs);
  await expect(lockFile(path, AbortSignal.timeout(500))).rejects.toThrow();
  expect(readFileSync(path, 'utf8')).toBe('of a dead holder');
});
