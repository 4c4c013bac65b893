// Whose doing an end was: every way to be killed or to exit is told apart, and named after the limit that was met.

import { describe, expect, it } from 'vitest';
import { endingOf } from '../../../src/run/outcome/command-ending.js';
import { conclude, concludeRefused } from '../../../src/run/outcome/conclude.js';
import type { SandboxFacts } from '../../../src/run/outcome/ending-errors.js';
import { Transcript } from '../../../src/run/outcome/transcript.js';
import type { Task } from '../../../src/run/programs/task.js';
import type { SandboxEnd } from '../../../src/sandbox/conversation/sandbox.js';
import { languageNamed } from '../../../src/settings/languages/records.js';

const MB = 1024 ** 2;
const facts = (memoryKills: number | undefined, calls = 0): SandboxFacts => ({
  calls,
  spec: {
    image: 'python:3.14-slim',
    network: 'none',
    memoryBytes: 512 * MB,
    pids: 128,
    tmpfs: [{ target: '/workspace', sizeMb: 128, executable: false }],
    data: [],
    shmMb: 16,
    ulimits: [
      { name: 'nofile', limit: 1024 },
      { name: 'fsize', limit: 128 * MB },
    ],
  },
  memoryKills,
  hasRun: true,
  waitingFor: '',
  instead: '',
  isElsewhere: false,
});
const exit = (code: number | null, signal: string | null): SandboxEnd => ({
  how: 'exited',
  report: { code, signal },
});
const CELL: { readonly task: Task; readonly timeoutSeconds: number } = {
  task: { type: 'cell', code: '' },
  timeoutSeconds: 30,
};
const errorOf = (end: SandboxEnd, kills: number | undefined, transcript = new Transcript()) =>
  conclude(end, undefined, CELL, transcript, facts(kills)).error;

it('takes the abort of a JavaScript program whose heap is full for what it is', () => {
  const transcript = new Transcript();
  const words = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n';
  transcript.addOutput('stderr', words);
  expect(errorOf(exit(null, 'SIGABRT'), 0, transcript)).toMatchObject({
    type: 'E_MEMORY',
    message: 'JavaScript heap out of memory: the memory limit is 512 MB.',
    remedy: expect.stringContaining('Use less memory'),
  });
  expect(errorOf(exit(null, 'SIGABRT'), 0)?.type).toBe('E_SIGNAL');
});

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
      /200000 files.*: there were 200001\./,
    ],
    [
      'the watchdog, for the host',
      { how: 'limit', breach: { limit: 'host memory', allowed: 256 * MB, seen: 100 * MB } },
      0,
      'E_HOST_MEMORY',
      /100 MB were left/,
    ],
    [
      'what does not stand still',
      { how: 'limit', breach: { limit: 'wakes', allowed: 3, seen: 4 } },
      0,
      'E_RESTLESS',
      /went on while it was paused, .* while a person is asked\.$/,
    ],
  ])('%s', (_name, end, kills, type, message) => {
    expect(errorOf(end, kills)).toMatchObject({ type, message: expect.stringMatching(message) });
  });

  it('advises to send again only what has done nothing outside of the sandbox', () => {
    const lost: SandboxEnd = { how: 'lost', detail: 'gone' };
    const remedy = (it: SandboxFacts) =>
      conclude(lost, undefined, CELL, new Transcript(), it).error?.remedy ?? '';
    const quiet = facts(0);
    const open = { ...quiet, spec: { ...quiet.spec, network: 'pasta' as const } };
    const ofCommand = (it: SandboxFacts) => {
      const ending = endingOf(lost, undefined, { raised: undefined, stderr: '' }, it);
      return 'failure' in ending ? (ending.failure.error.remedy ?? '') : '';
    };
    expect(remedy(quiet)).toContain('send it again');
    expect(remedy({ ...facts(0, 2), hasRun: false })).toContain('send it again');
    expect(ofCommand({ ...open, hasRun: false })).toContain('send it again');
    for (const said of [remedy(facts(0, 2)), remedy(open), ofCommand(quiet)]) {
      expect(said).not.toMatch(/send it again/);
      expect(said).toContain('would be done twice');
      expect(said).toContain('mcp-sandbox-bridge doctor');
    }
    expect(remedy(facts(0, 2))).toMatch(/^It had made 2 calls\b/);
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
    const timeout = conclude(undefined, 'timeout', CELL, new Transcript(), facts(1));
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

describe('programs', () => {
  const asked = (name: string): { readonly task: Task; readonly timeoutSeconds: number } => {
    const language = languageNamed(name);
    if (language === undefined) throw new Error(name);
    const program = { code: '', file: language.file, args: [], stdin: undefined, env: {} };
    return { task: { type: 'program', language, ...program }, timeoutSeconds: 30 };
  };
  const said = (stderr: string, raised?: { type: string; message: string; traceback?: string[] }) => {
    const transcript = new Transcript();
    transcript.addOutput('stderr', stderr);
    if (raised !== undefined)
      transcript.add({ type: 'raised', error: { traceback: [], ...raised }, exitCode: 1 }, '');
    return transcript;
  };
  const ended = (language: string, end: SandboxEnd, transcript = new Transcript(), kills = 0) =>
    conclude(end, undefined, asked(language), transcript, facts(kills));

  it.each(['python', 'javascript', 'go', 'bash', 'ruby'])('%s: an exit status says it all', (language) => {
    expect(ended(language, exit(3, null))).toMatchObject({
      status: 'error',
      exitCode: 3,
      error: { message: 'The program ended with exit status 3.', type: 'E_EXIT', remedy: undefined },
    });
    expect(ended(language, exit(0, null))).toMatchObject({
      status: 'success',
      exitCode: 0,
      error: undefined,
    });
  });

  it("what a language's own exit status means is said, unless the program says more", () => {
    const unsettled = /^Node ends so when an `await` at the top level can never end/;
    for (const language of ['javascript', 'typescript'])
      expect(ended(language, exit(13, null)).error?.remedy).toMatch(unsettled);
    expect(ended('bash', exit(13, null)).error?.remedy).toBeUndefined();
    expect(ended('javascript', exit(13, null), said('fetch failed\n')).error?.remedy).toMatch(/no network/);
  });

  it('what a program says decides the next step', () => {
    expect(
      ended('bash', exit(127, null), said('./main.sh: line 1: curl: command not found\n')).error,
    ).toMatchObject({
      message: 'The program ended with exit status 127.',
      remedy: 'The image has no program curl, and nothing can be installed here.',
    });
    expect(ended('bash', exit(0, null), said('curl: command not found\n')).error).toBeUndefined();
  });

  it.each([
    ['go', 'SIGSEGV', 'It crashed: the signal did not come from outside.'],
    ['python', 'SIGSEGV', 'Native code crashed (ctypes, or a library in C); stderr names the line.'],
    ['bash', 'SIGTERM', 'The signal came from the program itself, or from one that it started.'],
    ['ruby', 'SIGXFSZ', 'A file may have at most 128 MB: write several files, or less.'],
  ])('%s: %s', (language, signal, remedy) => {
    expect(ended(language, exit(null, signal)).error).toMatchObject({
      message: `The program was ended by ${signal}.`,
      type: 'E_SIGNAL',
      remedy,
    });
  });

  it('SIGTERM, where another machine runs it: that may have been turned off', () => {
    const { error } = conclude(exit(null, 'SIGTERM'), undefined, asked('bash'), new Transcript(), {
      ...facts(0),
      isElsewhere: true,
    });
    expect(error).toMatchObject({ type: 'E_SIGNAL', remedy: expect.stringContaining('being turned off') });
  });

  it('names memory as the end, by the kernel, by a child and by V8', () => {
    expect(ended('go', exit(null, 'SIGKILL'), said(''), 1).error).toMatchObject({ type: 'E_MEMORY' });
    expect(ended('go', exit(1, null), said('go: signal: killed'), 1).error?.remedy).toContain(
      '512 MB exceeded',
    );
    const heap = said('FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n');
    expect(ended('javascript', exit(null, 'SIGABRT'), heap).error).toMatchObject({
      type: 'E_MEMORY',
      message: 'JavaScript heap out of memory: the memory limit is 512 MB.',
    });
  });

  it('one that was not compiled or not started: what the harness says of it, and no traceback', () => {
    const failed = { type: 'StepFailed', message: '`go build` ended with exit status 1.' };
    const stderr = 'main.go:2:8: package foo/bar is not in std (/usr/lib/go/src/foo/bar)\n';
    expect(ended('go', exit(1, null), said(stderr, failed))).toMatchObject({
      status: 'error',
      exitCode: 1,
      error: {
        type: 'CompileError',
        message: 'The program was not compiled: `go build` ended with exit status 1.',
        traceback: [],
        remedy: expect.stringContaining('foo/bar'),
      },
    });
    const absent = { type: 'CannotStart', message: 'The image has no node on its PATH.' };
    expect(ended('javascript', exit(127, null), said('', absent)).error).toMatchObject({
      type: 'StartError',
      message: 'The program was not started. The image has no node on its PATH.',
      remedy: expect.stringContaining('image build javascript'),
    });
  });

  it("a Python program's traceback stands on its stderr, once", () => {
    const traceback = ['Traceback (most recent call last):', 'ValueError: no'];
    const raised = { type: 'ValueError', message: 'no', traceback };
    expect(ended('python', exit(1, null), said(`${traceback.join('\n')}\n`, raised)).error).toEqual({
      type: 'ValueError',
      message: 'ValueError: no',
      traceback: [],
      remedy: undefined,
      isByCode: true,
    });
    // A class of its own by that name.
    const own = { type: 'StepFailed', message: 'no' };
    expect(ended('python', exit(1, null), said('', own)).error?.message).toBe('StepFailed: no');
    const module = { type: 'ModuleNotFoundError', message: "No module named 'requests'" };
    expect(ended('python', exit(1, null), said('', module)).error?.remedy).toMatch(
      /^Nothing can be installed/,
    );
    const input = { type: 'EOFError', message: 'EOF when reading a line' };
    const asking = said('EOFError: EOF when reading a line\n', input);
    expect(ended('python', exit(1, null), asking).error?.remedy).toContain('`stdin`');
  });

  it('a Python program that does not compile ends as `python main.py` would', () => {
    const traceback = ['  File "main.py", line 1', '    x = = 1', '        ^', 'SyntaxError: invalid syntax'];
    const error = { type: 'SyntaxError', message: 'invalid syntax (main.py, line 1)', traceback };
    const { task } = asked('python');
    expect(concludeRefused(error, task, facts(0).spec, new Transcript())).toMatchObject({
      status: 'error',
      exitCode: 1,
      stderr: { text: `${traceback.join('\n')}\n`, dropped: 0 },
      error: { message: 'SyntaxError: invalid syntax (main.py, line 1)', traceback: [], remedy: undefined },
    });
    expect(concludeRefused(error, CELL.task, facts(0).spec, new Transcript())).toMatchObject({
      status: 'validation_error',
      exitCode: undefined,
      error: { traceback, remedy: expect.stringContaining('Nothing was run.') },
    });
  });

  it.each([
    ['go', ['`go build`'], ' It was still being compiled by `go build`.'],
    ['go', [], ''],
    ['javascript', ['main.js:3'], ' It was at main.js:3'],
    ['python', ['main.py:3: time.sleep(9)'], ' It was at main.py:3: time.sleep(9)'],
  ])('%s: a timeout at %j', (language, lines, where) => {
    const transcript = new Transcript();
    transcript.add({ type: 'where', lines }, '');
    expect(conclude(undefined, 'timeout', asked(language), transcript, facts(0))).toMatchObject({
      status: 'timeout',
      error: {
        message: `Timed out after 30 s.${where}`,
        remedy: 'Pass a larger timeout, or do less in one run.',
      },
    });
  });

  it('a timeout says what a server wrote in the place of its answer', () => {
    const instead =
      " Instead 'h' wrote 1 line to its stdout that is not an MCP message. Its last words:\n> oops\n";
    const awaited = { ...facts(0), waitingFor: 'h.slow', instead };
    const { error } = conclude(undefined, 'timeout', CELL, new Transcript(), awaited);
    expect(error).toMatchObject({
      message: `Timed out after 30 s. It was waiting for h.slow.${instead}`,
      remedy: 'Read what it wrote. If that does not help: Pass a larger timeout, or do less in one run.',
    });
    const killed = conclude(undefined, 'timeout', CELL, new Transcript(), { ...awaited, memoryKills: 1 });
    expect(killed.error?.remedy).toContain('512 MB');
  });

  it('only Python makes coroutines that nobody awaits', () => {
    const warned = "RuntimeWarning: coroutine 'f' was never awaited\n";
    expect(ended('go', exit(0, null), said(warned)).note).toBeUndefined();
    expect(ended('python', exit(0, null), said(warned)).note).toMatch(/^A call was not awaited/);
  });
});
