// Whose doing an end was: every way to be killed or to exit is told apart, and named after the limit that was met.

import { describe, expect, it } from 'vitest';
import { type Cage, conclude } from '../../src/run/conclude.js';
import { Transcript } from '../../src/run/transcript.js';
import type { SandboxEnd } from '../../src/sandbox/sandbox.js';

const MB = 1024 ** 2;
const cage = (memoryKills: number | undefined): Cage => ({
  spec: {
    image: 'python:3.14-slim',
    network: 'none',
    memoryBytes: 512 * MB,
    pids: 128,
    tmpfs: [{ target: '/workspace', sizeMb: 128, executable: false }],
    shmMb: 16,
    ulimits: [
      { name: 'nofile', limit: 1024 },
      { name: 'fsize', limit: 128 * MB },
    ],
  },
  memoryKills,
  hasRun: true,
  waitingFor: '',
});
const exit = (code: number | null, signal: string | null): SandboxEnd => ({
  how: 'exited',
  report: { type: 'exited', code, signal },
});
const errorOf = (end: SandboxEnd, kills: number | undefined, transcript = new Transcript()) =>
  conclude(end, undefined, 30, transcript, cage(kills)).error;

describe('ends', () => {
  it.each<[string, SandboxEnd, number | undefined, string, RegExp]>([
    ['the kernel, for memory', exit(null, 'SIGKILL'), 1, 'E_MEMORY', /^Memory limit 512 MB exceeded\.$/],
    ['its own SIGKILL', exit(null, 'SIGKILL'), 0, 'E_SIGNAL', /ended by SIGKILL\.$/],
    ['a crash beside a kill', exit(null, 'SIGSEGV'), 1, 'E_SIGNAL', /SIGSEGV/],
    ['the whole container, for memory', { how: 'lost', detail: 'gone' }, 1, 'E_MEMORY', /512 MB/],
    ['the container, by somebody', { how: 'lost', detail: 'gone' }, 0, 'E_SANDBOX_LOST', /vanished/],
    ['exit status', exit(3, null), 0, 'E_EXIT', /exit status 3/],
    [
      'the watchdog, for memory',
      { how: 'limit', breach: { limit: 'memory', allowed: 64 * MB, seen: 80 * MB } },
      0,
      'E_MEMORY',
      /^Memory limit 64 MB exceeded\.$/,
    ],
    [
      'the watchdog, for files',
      { how: 'limit', breach: { limit: 'inodes', allowed: 200_000, seen: 200_001 } },
      0,
      'E_FILES',
      /200000 files/,
    ],
    [
      'the watchdog, for the host',
      { how: 'limit', breach: { limit: 'host memory', allowed: 256 * MB, seen: 100 * MB } },
      0,
      'E_HOST_MEMORY',
      /100 MB were left/,
    ],
  ])('%s', (_name, end, kills, type, message) => {
    expect(errorOf(end, kills)).toMatchObject({ type, message: expect.stringMatching(message) });
  });

  it('guesses memory only where nobody can know', () => {
    expect(errorOf(exit(null, 'SIGKILL'), 0)?.remedy).not.toContain('512 MB');
    expect(errorOf(exit(null, 'SIGKILL'), undefined)).toMatchObject({
      type: 'E_SIGNAL',
      remedy: expect.stringContaining('512 MB'),
    });
  });

  it('a worker that was killed explains a later failure', () => {
    expect(errorOf(exit(1, null), 1)?.remedy).toContain('512 MB exceeded');
    const timeout = conclude(undefined, 'timeout', 30, new Transcript(), cage(1));
    expect(timeout.error).toMatchObject({ type: 'E_TIMEOUT', remedy: expect.stringContaining('512 MB') });
  });
});

describe('exceptions', () => {
  const hint = (type: string, message: string, line = 'x = 1') => {
    const transcript = new Transcript();
    transcript.add({ type: 'raised', error: { type, message, traceback: [line] }, exitCode: 1 }, '');
    return errorOf(exit(1, null), 0, transcript)?.remedy;
  };

  it.each([
    ['MemoryError', '', '', /512 MB/],
    ['RuntimeError', "can't start new thread", '', /128 processes/],
    ['BlockingIOError', '[Errno 11] Resource temporarily unavailable', '    os.fork()', /128 processes/],
    ['OSError', '[Errno 28] No space left on device', '', /\/workspace holds 128 MB, \/dev\/shm holds 16 MB/],
    ['OSError', '[Errno 24] Too many open files', '', /1024 files/],
    ['OSError', '[Errno 27] File too large', '', /128 MB/],
  ])('%s %s names the limit', (type, message, line, sentence) => {
    expect(hint(type, message, line)).toMatch(sentence);
  });

  it('one that has nothing to do with a limit gets none', () => {
    expect(hint('ValueError', 'no')).toBeUndefined();
    expect(
      hint('BlockingIOError', '[Errno 11] Resource temporarily unavailable', 's.recv(1)'),
    ).toBeUndefined();
  });
});
