// A container between its creation and its start. crun 1.8 (Debian 12) starts it by opening a pipe that its first process
// reads: where that one has been killed, it waits for good, and its client with it, which holds the engine's lock.

import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readText } from '../../src/base/files/read-text.js';
import { CliContainer, type ClientCommand } from '../../src/engine/client/cli-container.js';
import { CliEngine } from '../../src/engine/client/cli-engine.js';
import { isAlive } from '../support/processes.js';
import { eventually, NEVER, pause, until } from '../support/time.js';

/** Makes a first process below a monitor that has the pid file in its arguments, and starts it when it is let. */
const PODMAN = `#!/bin/sh
for word in "$@"; do
  case "$word" in --pidfile=*) file=\${word#--pidfile=};; run|rm|ps) command=$word;; esac
done
[ "$command" = run ] || exit 0
echo $$ > "$file.client"
setsid sh -c 'sleep 600 & echo $! > "$1.new"; mv "$1.new" "$1"; wait' monitor "$file" <&- >&- 2>&- &
while [ ! -e "$file" ]; do sleep 0.02; done
while [ ! -e "$file.go" ]; do sleep 0.02; done
kill -0 "$(cat "$file")" || exec sleep 600
touch "$file.started"
`;

let dir: string;
let pidFile: string;
let plan: ClientCommand;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'being-made-'));
  pidFile = join(dir, 'a.pid');
  const binary = join(dir, 'podman');
  writeFileSync(binary, PODMAN);
  chmodSync(binary, 0o755);
  plan = {
    binary,
    argv: ['run', `--pidfile=${pidFile}`],
    launch: 'detached',
    name: 'a',
    cidFile: join(dir, 'a.cid'),
    pidFile,
    runDir: dir,
    env: {},
    remove: () => Promise.resolve(),
    removeCommand: ['true'],
  };
});
afterEach(() => {
  for (const name of ['a.pid', 'a.pid.client']) end(Number(readText(join(dir, name))));
  rmSync(dir, { recursive: true, force: true });
});

function end(pid: number): void {
  try {
    if (pid > 1) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
const letStart = () => writeFileSync(`${pidFile}.go`, '');

it('one that is killed then is killed when it has started, and its client leaves', async () => {
  const container = new CliContainer(plan);
  await until(() => existsSync(pidFile));
  const first = Number(readText(pidFile));
  const client = Number(readText(`${pidFile}.client`));
  container.kill();
  await pause(200);
  letStart();
  await container.exited;
  expect(existsSync(`${pidFile}.started`)).toBe(true);
  expect([isAlive(first), isAlive(client)]).toEqual([false, false]);
  await container[Symbol.asyncDispose]();
  expect(existsSync(pidFile)).toBe(false);
});

it('one whose client does not leave is ended with its client', async () => {
  const container = new CliContainer(plan);
  await until(() => existsSync(pidFile));
  const first = Number(readText(pidFile));
  const client = Number(readText(`${pidFile}.client`));
  await container[Symbol.asyncDispose]();
  expect(await eventually(() => !isAlive(first) && !isAlive(client))).toBe(true);
});

it('one whose bridge exits then is started, for its input has ended, and so will it', async () => {
  const module = pathToFileURL(join(import.meta.dirname, '../../dist/engine/client/cli-container.js')).href;
  const code = `const { CliContainer } = await import(${JSON.stringify(module)});
    const { existsSync } = await import('node:fs');
    const plan = ${JSON.stringify(plan)};
    new CliContainer({ ...plan, remove: async () => {} });
    setInterval(() => existsSync(plan.pidFile) && process.exit(0), 5);`;
  const bridge = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' });
  await new Promise((resolve) => bridge.once('exit', resolve));
  letStart();
  const client = Number(readText(`${pidFile}.client`));
  expect(await eventually(() => !isAlive(client))).toBe(true);
  expect(existsSync(`${pidFile}.started`)).toBe(true);
});

it('one of a bridge that was killed then is left alone by the next one until it has started', async () => {
  const stateDir = join(dir, 'state');
  const runDir = join(stateDir, 'run', 'dead');
  pidFile = join(runDir, 'a.pid');
  mkdirSync(runDir, { recursive: true });
  writeFileSync(
    join(runDir, 'owner.json'),
    JSON.stringify({ pid: 2 ** 22 - 1, startTime: '1', bootId: 'b' }),
  );
  const client = spawn(plan.binary, ['run', `--pidfile=${pidFile}`], { stdio: 'ignore' });
  const left = new Promise((resolve) => client.once('exit', resolve));
  await until(() => existsSync(pidFile));
  const first = Number(readText(pidFile));
  const engine = new CliEngine({
    binary: plan.binary,
    instance: 'i',
    stateDir,
    observer: () => {},
    facts: { mode: 'rootless', ids: 'rootless', architecture: 'amd64' },
  } as unknown as ConstructorParameters<typeof CliEngine>[0]);
  await engine.sweep(NEVER);
  expect(isAlive(first)).toBe(true);
  letStart();
  await left;
  expect(existsSync(`${pidFile}.started`)).toBe(true);
  await engine.sweep(NEVER);
  expect(await eventually(() => !isAlive(first))).toBe(true);
  expect(readdirSync(join(stateDir, 'run'))).not.toContain('dead');
});
