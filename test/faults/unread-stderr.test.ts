// A host that does not read our stderr: the log waits for nobody, says afterwards what it has dropped, and the bridge
// still works and still ends. Needs no container: what floods the log is loaded into the bridge.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { eventually, HANGS_MS, until } from '../support/time.js';
import { RawBridge } from './raw-bridge.js';

/** Several times what a pipe and our queue hold together. */
const LINES = 20_000;

/** What of Node and of its packages writes to stderr, each flooding it when the bridge is sent SIGUSR2. */
const WRITERS = {
  'the log itself': "void Promise.reject(new Error('injected '.repeat(30)))",
  'console.error': "console.error('injected '.repeat(30))",
  'process.emitWarning': "process.emitWarning('injected '.repeat(30), { code: 'X' + i })",
};

function flooding(statement: string): Record<string, string> {
  const file = join(mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'flood-')), 'flood.mjs');
  const loop = `for (let i = 0; i < ${LINES}; i++) ${statement};`;
  writeFileSync(file, `process.on('SIGUSR2', () => { ${loop} });\n`);
  return { NODE_OPTIONS: `--import=${file}` };
}

const open: RawBridge[] = [];
afterEach(async () => {
  for (const bridge of open.splice(0)) await bridge[Symbol.asyncDispose]();
});

async function unread(statement: string): Promise<RawBridge> {
  const bridge = await RawBridge.open({ env: flooding(statement) });
  open.push(bridge);
  bridge.child.stderr.pause();
  process.kill(bridge.pid, 'SIGUSR2');
  return bridge;
}

/** Rejects where the bridge does not end. */
async function ends({ child, exited }: RawBridge) {
  await until(() => child.exitCode !== null || child.signalCode !== null, 'the end of the bridge');
  return await exited;
}

describe.each(Object.entries(WRITERS))('stderr that nobody reads, flooded by %s', (_title, statement) => {
  it('holds up no request and no SIGTERM', async () => {
    const bridge = await unread(statement);
    expect(await bridge.answer(bridge.request('tools/list'))).toHaveProperty('result.tools');
    process.kill(bridge.pid, 'SIGTERM');
    expect(await ends(bridge)).toEqual({ code: 0, signal: null });
  });

  it('is told how much was dropped when it is read again', async () => {
    const bridge = await unread(statement);
    await bridge.answer(bridge.request('ping'));
    bridge.child.stderr.resume();
    const told = () => /(\d+) lines of the log were dropped/.exec(bridge.stderr)?.[1];
    expect(await eventually(() => told() !== undefined)).toBe(true);
    expect(Number(told())).toBeGreaterThan(LINES / 4);
    expect(Number(told())).toBeLessThan(LINES + 1_000);
  });
});

it('the end of stdin ends a bridge whose stderr nobody reads', async () => {
  const bridge = await unread(WRITERS['the log itself']);
  await bridge.answer(bridge.request('ping'));
  bridge.child.stdin.end();
  expect(await ends(bridge)).toEqual({ code: 0, signal: null });
});

it('a terminal that is stopped holds up no SIGTERM', async () => {
  // The script makes a terminal, never reads it, and prints the exit code of the bridge that writes to it.
  const script = `
import os, pty, signal, subprocess, sys, time
_, terminal = pty.openpty()
bridge = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=terminal)
bridge.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n'); bridge.stdin.flush()
bridge.stdout.readline()
os.kill(bridge.pid, signal.SIGUSR2); time.sleep(1)
os.kill(bridge.pid, signal.SIGTERM)
try: print(bridge.wait(${HANGS_MS / 1000}))
except subprocess.TimeoutExpired: bridge.kill(); print("hung")
`;
  const env = bridgeEnv(tempHome(), flooding(WRITERS['the log itself']));
  const argv = ['-c', script, process.execPath, MAIN];
  expect(execFileSync('python3', argv, { env, encoding: 'utf8' }).trim()).toBe('0');
});

it('a file takes every line', async () => {
  const home = tempHome();
  const file = join(home, 'log');
  const env = bridgeEnv(home, flooding(WRITERS['the log itself']));
  const argv = ['-c', 'exec "$0" "$1" 2>"$2"', process.execPath, MAIN, file];
  const child = spawn('/bin/sh', argv, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await new Promise((resolve) => child.stdout.once('data', resolve));
  child.kill('SIGUSR2');
  const count = () => readFileSync(file, 'utf8').split('injected injected').length;
  expect(await eventually(() => count() > LINES)).toBe(true);
  child.stdin.end();
  expect(await exited).toBe(0);
  expect(readFileSync(file, 'utf8')).not.toContain('dropped');
});
