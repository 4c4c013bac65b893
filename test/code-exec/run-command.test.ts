// Commands as they end: by themselves, by a signal, by their deadline with all that they started, and with more to say
// than is kept.

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ResolvedCommand, runCommand } from '../../src/code-exec/run-command.js';
import { HANGS_MS, NEVER, nodeStarts } from '../support/time.js';

/** A shell that has its first lines behind it by then: it starts many times as fast as Node. */
const deadlineMs = () => nodeStarts(20);

const command = (args: readonly string[], change: Partial<ResolvedCommand> = {}): ResolvedCommand => ({
  path: '/bin/sh',
  args: ['-c', ...args],
  stdin: Buffer.alloc(0),
  cwd: '/',
  env: { PATH: '/usr/bin:/bin' },
  timeoutMs: HANGS_MS,
  limit: undefined,
  ...change,
});
const run = async (
  args: readonly string[],
  change?: Partial<ResolvedCommand>,
  maxBytes = 40_000,
  signal = NEVER,
) => {
  const end = await runCommand(command(args, change), maxBytes, signal);
  return { ...end, ...end.output.result(maxBytes, {}) };
};

/** Processes whose arguments hold `mark`. */
const marked = (mark: string) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark);
      } catch {
        return false;
      }
    });

describe('runCommand', () => {
  it('hands arguments on as they are, and standard input', async () => {
    const args = ['printf "<%s>" "$@"; cat', 'sh', 'a b', "it's", '"', '$HOME', '', '*', 'é\n'];
    const end = await run(args, { stdin: Buffer.from('in\0put') });
    expect(end).toMatchObject({ exitCode: 0, signal: undefined, killedFor: undefined });
    expect(end.stdout.text).toBe(`<a b><it's><"><$HOME><><*><é\n>in\0put`);
  });

  it('tells exit status and signal', async () => {
    expect(await run(['echo no >&2; exit 3'])).toMatchObject({ exitCode: 3, stderr: { text: 'no\n' } });
    expect(await run(['kill -SEGV $$'])).toMatchObject({ exitCode: undefined, signal: 'SIGSEGV' });
  });

  it('says why something did not start', async () => {
    expect(await run([], { path: '/nowhere/at/all' })).toMatchObject({
      notStarted: 'ENOENT',
      exitCode: undefined,
    });
    expect(await run(['x'.repeat(200_000)])).toMatchObject({ notStarted: 'E2BIG' });
  });

  it('kills the whole group at the deadline, also what does not mind SIGTERM', async () => {
    const mark = `exec-test-${process.pid}-${Date.now()}`;
    const end = await run(
      [`trap '' TERM; echo begun; (trap '' TERM; sleep 600; echo ${mark}) & while :; do sleep 600; done`],
      { timeoutMs: deadlineMs() },
    );
    expect(end).toMatchObject({ killedFor: 'timeout', signal: 'SIGKILL', stdout: { text: 'begun\n' } });
    expect(marked(mark)).toEqual([]);
  });

  it('leaves nothing of a command that ended, and does not wait for what holds its pipes', async () => {
    const mark = `exec-test-${process.pid}-${Date.now()}`;
    const end = await run([`(sleep 600; echo ${mark}) & echo done`]);
    expect(end).toMatchObject({ exitCode: 0, stdout: { text: 'done\n' } });
    expect(marked(mark)).toEqual([]);
  });

  it.each([
    ['when it ends', 'echo done', () => HANGS_MS],
    ['at its deadline', 'sleep 600', deadlineMs],
  ])('leaves nothing of what has left its group: %s', async (_when, last, timeoutMs) => {
    const mark = `exec-test-${process.pid}-${Date.now()}`;
    const daemon = `setsid -f sh -c 'trap "" TERM; while :; do sleep 1; done' ${mark}`;
    await run([`${daemon}; setsid ${daemon}; ${last}`], { timeoutMs: timeoutMs() });
    expect(marked(mark)).toEqual([]);
  });

  it('puts a limit before the command, which keeps its arguments', async () => {
    const limit = ['/usr/bin/prlimit', '--nproc=77:77'];
    const args = ['ulimit -p 2>/dev/null || ulimit -u; echo "$@"', '--', '--help', 'a b'];
    expect((await run(args, { limit })).stdout.text).toBe('77\n--help a b\n');
  });

  it('keeps memory bounded, however much comes at once', async () => {
    const before = process.memoryUsage().rss;
    const ends = await Promise.all(
      [1, 2, 3, 4, 5].map(() => run(['head -c 100000000 /dev/zero'], {}, 1_000)),
    );
    expect(ends.map(({ stdout }) => stdout.bytes)).toEqual(Array(5).fill(100_000_000));
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
  });

  it('hands on tens of megabytes, also to what reads slowly or not at all', async () => {
    const stdin = Buffer.alloc(40_000_000, 'x');
    expect((await run(['sleep 0.3; wc -c'], { stdin })).stdout.text.trim()).toBe('40000000');
    expect(await run(['exec true'], { stdin })).toMatchObject({ exitCode: 0 });
  });

  it('ends what nobody waits for any more', async () => {
    const caller = new AbortController();
    setTimeout(() => caller.abort(), 100);
    expect(await run(['sleep 600'], {}, 1_000, caller.signal)).toMatchObject({ killedFor: 'cancelled' });
    expect(await run(['sleep 600'], {}, 1_000, AbortSignal.abort())).toMatchObject({
      killedFor: 'cancelled',
    });
  });

  it('keeps head and tail of 20 MB', async () => {
    const end = await run(
      ['echo first; head -c 20000000 /dev/zero | tr "\\0" x; echo; echo last'],
      {},
      1_000,
    );
    expect(end.stdout.bytes).toBe(20_000_012);
    expect(end.stdout.dropped).toBe(20_000_012 - 1_000);
    expect(end.stdout.text).toMatch(/^first\nx+\n\[… 19999012 of 20000012 bytes left out …\]\nx+\nlast\n$/);
  });
});
