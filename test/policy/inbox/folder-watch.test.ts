// A change is noticed by the system's word, and by looking where the system has none.

import { rmSync, type watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FolderWatch } from '../../../src/policy/inbox/inbox-folder.js';
import { PATIENTLY, pause } from '../../support/time.js';
import { newStateDir } from './questions.js';

const NEVER_MS = 3_600_000;
let folder: string;
beforeEach(() => {
  folder = newStateDir();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("learns of a new file by the system's word", async () => {
  const look = vi.fn();
  using _watch = new FolderWatch(folder, look, NEVER_MS);
  writeFileSync(join(folder, 'x'), '');
  await vi.waitFor(() => expect(look).toHaveBeenCalled(), PATIENTLY);
});

it('by looking, where the system refuses to watch', async () => {
  const look = vi.fn();
  const refuses = (() => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  }) as typeof watch;
  using _watch = new FolderWatch(folder, look, 10, refuses);
  await vi.waitFor(() => expect(look.mock.calls.length).toBeGreaterThan(2), PATIENTLY);
});

it('not after its end', async () => {
  const look = vi.fn();
  const watching = new FolderWatch(folder, look, 10);
  writeFileSync(join(folder, 'x'), '');
  watching[Symbol.dispose]();
  await pause(100);
  expect(look).not.toHaveBeenCalled();
});
