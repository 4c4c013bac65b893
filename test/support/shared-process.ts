// Unit tests share a process with the files before and after them. Whatever of the process a file has changed and not put
// back fails it here, since the file that would suffer from it is another one.

import { afterAll, expect, vi } from 'vitest';

const facts = () => ({
  environment: { ...process.env },
  folder: process.cwd(),
  umask: process.umask(),
  exitCode: process.exitCode,
  hasFakeTimers: vi.isFakeTimers(),
});

const before = facts();

afterAll(() => {
  const after = facts();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  expect(after).toEqual(before);
});
