// `scripts/test` itself, in a checkout of its own that has other parts, a set-up that does nothing, and no engine. One file at a
// time, as with containers, since it looks for what is left on the machine.

import { spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { beforeEach, expect, it } from 'vitest';
import { processesWith } from '../support/nothing-left.js';
import { tempHome } from '../support/start-bridge.js';
import { eventually, until } from '../support/time.js';

type Run = (
  argv: readonly string[],
  options: { readonly silentMs?: number; readonly quiet?: boolean; readonly sign?: () => unknown },
) => Promise<{ readonly exitCode: number; readonly output: string; readonly stopped: boolean }>;
const { run } = (await import(new URL('../../scripts/suite/processes.mjs', import.meta.url).href)) as {
  run: Run;
};

/** Parts whose files pass or fail as a plan says: `{ part: { file: [first time, second time, …] } }`, true for passed. */
const PARTS = `
import { readFileSync } from 'node:fs';
import { run } from './processes.mjs';
const plan = JSON.parse(readFileSync('.cache/plan.json', 'utf8'));
const lookedAt = new Map();
const looked = (name, file) => {
  const times = lookedAt.get(file) ?? 0;
  lookedAt.set(file, times + 1);
  const ok = plan[name][file][Math.min(times, plan[name][file].length - 1)];
  const failures = ok ? [] : [{ title: 'a test', message: 'time ' + (times + 1) }];
  return { file, passed: ok ? 2 : 1, failed: ok ? 0 : 1, skipped: 0, failures };
};
const hang = () => run(['sh', '-c', 'setsid sleep 98765 & sleep 98765']);
export const partsOf = () => [
  ...Object.keys(plan).map((name) => ({
    name,
    run: async (files = Object.keys(plan[name])) => files.map((file) => looked(name, file)),
  })),
  { name: 'hanging', inAll: true, run: hang },
];
`;
const STUBS = {
  'scripts/setup': 'echo set up',
  'scripts/test-user': 'echo root',
  'bin/podman': 'exit 0',
};

let home = '';
let checkout = '';
beforeEach(async () => {
  home = tempHome();
  checkout = await makeCheckout('checkout');
});

async function makeCheckout(name: string): Promise<string> {
  const folder = join(home, name);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  for (const part of [
    'scripts/suite',
    'scripts/remote',
    'scripts/options.mjs',
    'scripts/free-port.mjs',
    'scripts/test',
  ])
    cpSync(part, join(folder, part), { recursive: true });
  writeFileSync(join(folder, 'scripts/suite/parts.mjs'), PARTS);
  writeFileSync(join(folder, '.gitignore'), '.cache/\nnode_modules\n');
  for (const [file, command] of Object.entries(STUBS)) {
    writeFileSync(join(folder, file), `#!/bin/sh\n${command}\n`);
    chmodSync(join(folder, file), 0o755);
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const git = (...args: readonly string[]) => execa('git', args, { cwd: folder });
  await git('init', '--quiet');
  await git('add', '--all');
  await git('-c', 'user.name=t', '-c', 'user.email=t@localhost', 'commit', '--quiet', '--message=all');
  return folder;
}

const environment = (folder: string) => ({
  XDG_CACHE_HOME: join(home, 'cache'),
  PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
  TEST_NODE_START_MS: '50',
  TEST_COLD_SANDBOX_MS: '500',
});

type Plan = Readonly<Record<string, Readonly<Record<string, readonly boolean[]>>>>;

/** Runs `scripts/test` there. */
async function suite(plan: Plan, args: readonly string[] = [], folder = checkout) {
  mkdirSync(join(folder, '.cache'), { recursive: true });
  writeFileSync(join(folder, '.cache/plan.json'), JSON.stringify(plan));
  const { exitCode, stdout } = await execa('bash', ['scripts/test', ...args], {
    cwd: folder,
    env: environment(folder),
    reject: false,
    stderr: 'inherit',
  });
  return { exitCode, stdout, last: stdout.trimEnd().split('\n').at(-1) };
}

const unsteadyFile = () =>
  JSON.parse(readFileSync(join(checkout, '.cache/suite/unsteady.json'), 'utf8')).unsteady;

it('passes, and keeps in mind which tree has', async () => {
  expect((await suite({}, ['--was-green'])).exitCode).toBe(1);
  const all = await suite({ one: { 'test/a': [true], 'test/b': [true] } });
  expect([all.exitCode, all.last]).toEqual([0, '8 passed, 0 failed, 0 skipped']);
  expect((await suite({}, ['--was-green'])).exitCode).toBe(0);
  // What is known goes by what is in the tree, whichever clone it is in.
  const other = await makeCheckout('other');
  expect((await suite({}, ['--was-green'], other)).exitCode).toBe(0);
  writeFileSync(join(other, 'file'), '');
  await execa('git', ['add', '--all'], { cwd: other });
  await execa('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', 'commit', '--message=more'], {
    cwd: other,
  });
  expect((await suite({}, ['--was-green'], other)).exitCode).toBe(1);
});

it('keeps nothing in mind of a part alone, and of a red run', async () => {
  const plan = { one: { 'test/a': [true] }, two: { 'test/b': [false] } };
  const one = await suite(plan, ['--only', 'one']);
  expect([one.exitCode, one.last]).toEqual([0, '6 passed, 0 failed, 0 skipped']);
  const red = await suite(plan);
  expect([red.exitCode, red.last]).toEqual([1, '7 passed, 1 failed, 0 skipped']);
  expect(red.stdout).toContain('failed in two: test/b');
  expect((await suite({}, ['--was-green'])).exitCode).toBe(1);
});

it('looks once more at a file that failed, and names it when it passes then', async () => {
  const { exitCode, stdout, last } = await suite({ one: { 'test/a': [false, true], 'test/b': [true] } });
  expect([exitCode, last]).toEqual([0, '8 passed, 0 failed, 0 skipped']);
  expect(stdout).toMatch(/one +4 +0 +1 +0 /);
  expect(stdout).toContain('unsteady in one: test/a');
  expect(unsteadyFile()).toEqual([
    { part: 'one', file: 'test/a', failures: [{ title: 'a test', message: 'time 1' }] },
  ]);
});

it('is red with an unsteady wall, and with four unsteady files', async () => {
  const wall = await suite({ one: { 'test/walls/walls.test.ts': [false, true] } });
  expect([wall.exitCode, wall.last]).toEqual([1, '6 passed, 1 failed, 0 skipped']);
  const files = ['a', 'b', 'c', 'd'].map((name) => [`test/${name}`, [false, true]] as const);
  const four = await suite({ one: Object.fromEntries(files) });
  expect([four.exitCode, four.last]).toEqual([1, '12 passed, 4 failed, 0 skipped']);
  expect(unsteadyFile()).toHaveLength(4);
});

it('names its parts where one does not exist', async () => {
  const { exitCode, stdout } = await execa('bash', ['scripts/test', '--only', 'three'], {
    cwd: checkout,
    env: environment(checkout),
    reject: false,
    all: true,
    input: '',
    ...planned({ one: { 'test/a': [true] } }),
  }).then((ended) => ({ exitCode: ended.exitCode, stdout: ended.all }));
  expect(exitCode).toBe(2);
  expect(stdout).toContain("--only: there is no part 'three'. There are: one, hanging.");
});

function planned(plan: Plan): object {
  mkdirSync(join(checkout, '.cache'), { recursive: true });
  writeFileSync(join(checkout, '.cache/plan.json'), JSON.stringify(plan));
  return {};
}

it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends what it has started at %s', async (signal) => {
  planned({});
  const child = spawn('bash', ['scripts/test', '--only', 'hanging'], {
    cwd: checkout,
    env: { ...process.env, ...environment(checkout) },
    stdio: 'ignore',
  });
  const ended = new Promise((done) => child.once('exit', (code) => done(code)));
  await until(() => processesWith('sleep 98765').length >= 2);
  child.kill(signal);
  expect(await ended).toBe({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[signal]);
  expect(await eventually(() => processesWith('sleep 98765').length === 0)).toBe(true);
});

it('stops what is silent, and not what gives a sign of life', async () => {
  const silent = await run(['sleep', '98766'], { silentMs: 100, quiet: true });
  expect(silent).toMatchObject({ exitCode: 137, stopped: true });
  expect(silent.output).toContain('sleep was stopped: nothing was heard of it for 0.1 s');
  const file = join(home, 'sign');
  const code = `for n in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; touch '${file}'-$n; done`;
  const signs = () => Array.from({ length: 10 }, (_, at) => existsSync(`${file}-${at + 1}`)).join();
  const alive = await run(['sh', '-c', code], { silentMs: 100_000, quiet: true, sign: signs });
  expect(alive).toMatchObject({ exitCode: 0, stopped: false });
});
