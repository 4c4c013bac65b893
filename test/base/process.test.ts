import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import { run, tailOf } from '../../src/base/process.js';

const never = new AbortController().signal;
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

// A dead process that its parent has not fetched yet (state Z) is not alive.
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('run', () => {
  it('gives exit code, both streams and the time, and does not throw for a failing program', async () => {
    const result = await run(
      node('console.log("out"); console.error("err"); process.exit(3)'),
      { timeoutMs: 10_000 },
      never,
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
      { timeoutMs: 10_000, env: { COLOUR: 'blue' }, input: 'hello' },
      never,
    );
    expect(result.stdout).toBe('$(id) "a" * blue hello\n');
  });

  it('names a program that does not exist and what to do', async () => {
    const error = await failure(run(['no-such-program-here'], { timeoutMs: 1_000 }, never));
    expect(error.code).toBe('E_PROCESS');
    expect(error.remedy).toBe('Install no-such-program-here or put it on PATH.');
  });

  it('reports lines of both streams as they come, also those that end in a carriage return', async () => {
    const lines: string[] = [];
    await run(
      node('process.stdout.write("10%\\r20%\\rdone"); console.error("note")'),
      { timeoutMs: 10_000, onLine: (line) => lines.push(line) },
      never,
    );
    expect(lines.sort()).toEqual(['10%', '20%', 'done', 'note']);
  });

  it('keeps the head and the tail of too much output', async () => {
    const result = await run(
      node('process.stdout.write("A".repeat(500_000) + "Z".repeat(500_000))'),
      { timeoutMs: 10_000, maxBytes: 1_000 },
      never,
    );
    expect(result.stdout.length).toBeLessThan(1_100);
    expect(result.stdout).toMatch(/^A+\n.*dropped.*\nZ+$/);
  });

  it('ends the whole group of a stubborn program on timeout', async () => {
    let grandchild = 0;
    const stubborn = `
      const { spawn } = require('node:child_process');
      process.on('SIGTERM', () => {});
      const c = spawn(process.execPath, ['-e', 'process.on("SIGTERM",()=>{}); setInterval(()=>{},1e3)'], { stdio: 'inherit' });
      console.log(c.pid); setInterval(() => {}, 1000);`;
    const error = await failure(
      run(
        node(stubborn),
        { timeoutMs: 700, graceMs: 100, onLine: (line) => (grandchild = Number(line)) },
        never,
      ),
    );
    expect(error.message).toContain('did not end within 1 s');
    expect(grandchild).toBeGreaterThan(0);
    await expect.poll(() => isAlive(grandchild)).toBe(false);
  });

  it('throws E_CANCELLED when the signal aborts, before or while it runs', async () => {
    expect((await failure(run(node(''), { timeoutMs: 1_000 }, AbortSignal.abort()))).code).toBe(
      'E_CANCELLED',
    );
    const pending = run(node('setInterval(()=>{},1e3)'), { timeoutMs: 10_000 }, AbortSignal.timeout(200));
    expect((await failure(pending)).code).toBe('E_CANCELLED');
  });

  it('does not wait for a daemon that keeps the pipes open', async () => {
    const leaver = `
      const { spawn } = require('node:child_process');
      const c = spawn(process.execPath, ['-e', 'setTimeout(()=>{}, 4e3)'], { stdio: 'inherit', detached: true });
      c.unref(); console.log('done');`;
    const result = await run(node(leaver), { timeoutMs: 10_000 }, never);
    expect(result).toMatchObject({ exitCode: 0, stdout: 'done\n' });
    expect(result.durationMs).toBeLessThan(3_000);
  });

  it('reports a death by signal as a shell does', async () => {
    const result = await run(node('process.kill(process.pid, "SIGKILL")'), { timeoutMs: 10_000 }, never);
    expect(result.exitCode).toBe(137);
  });
});
