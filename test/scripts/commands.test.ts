// Every command that nobody need run knows --help, answers a wrong option with its usage before it has done anything, and,
// where it needs no container, works in its smallest form. Those that do need one: containers.test.ts beside this.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runHere } from '../support/in-this-process.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  walls: ['node', 'scripts/walls.mjs'],
  faults: ['node', 'scripts/faults.mjs'],
  soak: ['node', 'scripts/faults.mjs', '--soak'],
  fuzz: ['node', 'scripts/fuzz.mjs'],
  load: ['node', 'scripts/load.mjs'],
  bench: ['node', 'scripts/bench.mjs'],
  peers: ['node', 'scripts/peers.mjs'],
  context: ['node', 'scripts/context-cost.mjs'],
  'search-quality': ['node', 'scripts/search-quality.mjs'],
  'test:host': ['node', 'scripts/test-host.mjs'],
  'test:agents': ['node', 'scripts/test-agents.mjs'],
  'test:clients': ['node', 'scripts/test-clients.mjs'],
  'test:conformance': ['node', 'scripts/test-conformance.mjs'],
  'test:page': ['node', 'scripts/test-page.mjs'],
  'test:install': ['node', 'scripts/test-install.mjs'],
  'pack:mcpb': ['node', 'scripts/pack-mcpb.mjs'],
  'image:bridge': ['node', 'scripts/bridge-image.mjs'],
  'fixture-homes': ['node', 'scripts/fixture-homes.mjs'],
  demo: ['scripts/demo'],
  'test:remote': ['node', 'scripts/test-remote.mjs'],
  'remote-engine': ['node', 'scripts/remote-engine.mjs'],
  'windows:kills': ['node', 'scripts/windows-kills.mjs'],
};
const run = (name: string, ...args: readonly string[]) => {
  const [program = '', ...first] = COMMANDS[name] ?? [];
  return spawnSync(program, [...first, ...args], { cwd: ROOT, encoding: 'utf8' });
};
/** The same in this process, where it is a script of Node; bench loads more than a process of its own takes. */
const here = async (name: string, ...args: readonly string[]) => {
  const [program, script = '', ...first] = COMMANDS[name] ?? [];
  if (program !== 'node' || name === 'bench') return run(name, ...args);
  const { exitCode, ...said } = await runHere(join(ROOT, script), [...first, ...args], { folder: ROOT });
  return { ...said, status: exitCode };
};

describe.each(Object.keys(COMMANDS))('%s', (name) => {
  it('says how it is used', async () => {
    const { status, stdout, stderr } = await here(name, '--help');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: /);
  });

  it('answers a wrong option with its usage', async () => {
    const { status, stdout, stderr } = await here(name, '--nonsense');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain("'--nonsense'");
    expect(stderr).toContain('Usage: ');
    expect(stderr).not.toMatch(/^ +at /m);
  });
});

it.each([
  ['faults', '--kills', 'many'],
  ['soak', '--calls', '0'],
  ['fuzz', '--inputs', '1.5'],
  ['test:host', '--suite', 'sarge'],
  ['test:clients', '--over', 'pigeon'],
  ['test:conformance', '--side', 'middle'],
  ['test:conformance', '--suite', '0.0.1'],
  ['test:page', '--browser', '/nonexistent/browser'],
  ['test:install', '--suite', 'sarge'],
  ['test:install', '--node', '18'],
  ['context', '--only', 'nothing'],
  ['peers', '--only', 'nothing'],
  ['peers', '--seconds', 'none'],
  ['search-quality', '--only', 'no question has this in it'],
  ['walls', '--only', '('],
  ['fixture-homes', '--only', 'nobody'],
  ['remote-engine', '--engine', 'nowhere'],
  ['test:remote', '--engine', 'nowhere'],
  ['test:remote', '--only', '('],
])('%s %s %s is refused with what was wrong', async (name, option, value) => {
  const { status, stderr } = await here(name, option, value);
  expect([status, stderr.includes(`${option}: `)]).toEqual([2, true]);
  expect(stderr).toContain(value);
});

// It starts a runner of tests of its own.
it('fuzz works in its smallest form', () => {
  const { status, stdout } = run('fuzz', '--inputs', '1', '--seed', '7');
  expect(stdout).toContain('seed 7, 1 inputs');
  expect(status).toBe(0);
});
