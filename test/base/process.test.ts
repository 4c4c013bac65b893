import { afterEach, describe, expect, it, vi } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import { run, tailOf } from '../../src/base/process/process.js';
import { isAlive } from '../support/processes.js';
import { HANGS_MS, NEVER, PATIENTLY } from '../support/time.js';

afterEach(() => vi.useRealTimers());

const node = (code: string, ...args: string[]): [string, ...string[]] => [
  process.execPath,
  '-e',
  code,
  ...args,
];
const failure = (promise: Promise<unknown>): Promise<BridgeError> =>
  promise.then(
    () => Promise.reject(new Error('it did not fail')),
    (thrown) => (thrown instanceof BridgeError ? thrown : Promise.reject(thrown)),
  );

describe('run', () => {
  it('gives exit code, both streams and the time, and does not throw for a failing program', async () => {
    const result = await run(
      node('console.log("out"); console.error("err"); process.exit(3)'),
      { timeoutMs: HANGS_MS },
      NEVER,
    );
    expect(result).toMatchObject({ exitCode: 3, stdout: 'out\n', stderr: 'err\n' });
    expect(result.durationMs).toBeGreaterThan(0);
    expect(tailOf(result)).toBe('err');
  });

  it('passes arguments untouched by any shell, and variables and input through', async () => {
    const code =
      'process.stdin.on("data", (d) => console.log(process.argv[1], process.env.COLOUR, String(d)))';
    const result = await run(
      node(code, '$(id) "a" *'),
      { timeoutMs: HANGS_MS, env: { COLOUR: 'blue' }, input: 'hello' },
      NEVER,
    );
    expect(result.stdout).toBe('$(id) "a" * blue hello\n');
  });

  it('names a program that does not exist and what to do', async () => {
    const error = await failure(run(['no-such-program-here'], { timeoutMs: HANGS_MS }, NEVER));
    expect(error.code).toBe('E_PROCESS');
    expect(error.remedy).toBe('Install no-such-program-here or put it on PATH.');
  });

  it('reports lines of both streams as they come, also those that end in a carriage return', async () => {
    const lines: string[] = [];
    await run(
      node('process.stdout.write("10%\\r20%\\rdone"); console.error("note")'),
      { timeoutMs: HANGS_MS, onLine: (line) => lines.push(line) },
      NEVER,
    );
    expect(lines.sort()).toEqual(['10%', '20%', 'done', 'note']);
  });

  it('keeps the head and the tail of too much output', async () => {
    const result = await run(
      node('process.stdout.write("A".repeat(500_000) + "Z".repeat(500_000))'),
      { timeoutMs: HANGS_MS, maxBytes: 1_000 },
      NEVER,
    );
    expect(result.stdout.length).toBeLessThan(1_100);
    expect(result.stdout).toMatch(/^A+\n.*dropped.*\nZ+$/);
  });

  it('ends the whole group of a stubborn program on timeout', async () => {
    // Both ignore SIGTERM before the time is up, however long they take to start.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const child = 'process.on("SIGTERM",()=>{}); console.log(process.pid); setInterval(()=>{},1e3)';
    const stubborn = `
      process.on('SIGTERM', () => {});
      require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' });
      setInterval(() => {}, 1000);`;
    let onLine = (_line: string) => {};
    const said = new Promise<string>((resolve) => {
      onLine = resolve;
    });
    const failed = failure(run(node(stubborn), { timeoutMs: 700, graceMs: 100, onLine }, NEVER));
    const grandchild = Number(await said);
    expect(grandchild).toBeGreaterThan(0);
    vi.advanceTimersByTime(700 + 100);
    expect((await failed).message).toContain('did not end within 1 s');
    vi.useRealTimers();
    await expect.poll(() => isAlive(grandchild), PATIENTLY).toBe(false);
  });

  it('throws E_CANCELLED when the signal aborts, before or while it runs', async () => {
    const cancelled = async (signal: AbortSignal, options = {}) =>
      (
        await failure(
          run(node('console.log(1); setInterval(()=>{},1e3)'), { timeoutMs: HANGS_MS, ...options }, signal),
        )
      ).code;
    expect(await cancelled(AbortSignal.abort())).toBe('E_CANCELLED');
    const running = new AbortController();
    expect(await cancelled(running.signal, { onLine: () => running.abort() })).toBe('E_CANCELLED');
    const started = new AbortController();
    expect(await cancelled(started.signal, { onStarted: () => started.abort() })).toBe('E_CANCELLED');
    const starting = new AbortController();
    const pending = cancelled(starting.signal);
    starting.abort();
    expect(await pending).toBe('E_CANCELLED');
  });

  it('does not wait for a daemon that keeps the pipes open', async () => {
    const leaver = `
      const { spawn } = require('node:child_process');
      const c = spawn(process.execPath, ['-e', 'setTimeout(()=>{}, 6e5)'], { stdio: 'inherit', detached: true });
      c.unref(); console.log(c.pid);`;
    const { exitCode, stdout } = await run(node(leaver), { timeoutMs: HANGS_MS }, NEVER);
    const daemon = Number(stdout);
    const isLeft = isAlive(daemon);
    process.kill(daemon, 'SIGKILL');
    expect([exitCode, isLeft]).toEqual([0, true]);
  });

  it('reports a death by signal as a shell does', async () => {
    const result = await run(node('process.kill(process.pid, "SIGKILL")'), { timeoutMs: HANGS_MS }, NEVER);
    expect(result.exitCode).toBe(137);
  });
});
