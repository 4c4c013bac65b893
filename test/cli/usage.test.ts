// Mistakes in what was typed, and options that mean the same in every command: told in words and in JSON, with exit code 2.

import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PACKAGE_NAME, VERSION } from '../../src/base/version.js';
import { tempHome } from '../support/start-bridge.js';
import { commandHere } from './command.js';
import { OUTPUTS } from './terminal/outputs.js';

let home: string;
beforeAll(() => {
  home = tempHome();
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

it.each([
  ['docter', "unknown command 'docter'. Did you mean 'doctor'?"],
  ['docter --probe', "unknown command 'docter'. Did you mean 'doctor'?"],
  ['--quiet docter', "unknown command 'docter'. Did you mean 'doctor'?"],
  ['servers refrsh --accept', "unknown command 'refrsh'. Did you mean 'refresh'?"],
  ['approvals shwo q-1', "unknown command 'shwo'. 'approvals' has: show, allow, deny, help."],
  ['sessions ned', "unknown command 'ned'. 'sessions' has: end, help."],
  ['token creat ann', "unknown command 'creat'. Did you mean 'create'?"],
  ['image bild data', "unknown command 'bild'. Did you mean 'build'?"],
  ['kept zebra', "unknown command 'zebra'. 'kept' has: save, open, help."],
])('a mistyped command is told as that: %s', async (words, complaint) => {
  const { stdout, stderr, exitCode } = await commandHere(words.split(' '), { home });
  expect(stderr.split('\n')[0]).toBe(`error: ${complaint}`);
  expect(stderr).toMatch(/next: {2}See `.* --help`\./);
  expect([stdout, exitCode]).toEqual(['', 2]);
});

it.each(['', 'servers refresh', 'image'])(
  'a wrong option of "%s" names the help of that command',
  async (words) => {
    const { stderr } = await commandHere([...words.split(' '), '--nothing'].filter(Boolean), { home });
    expect(stderr).toContain("error: unknown option '--nothing'");
    expect(stderr).toContain([PACKAGE_NAME, words, '--help`.'].filter(Boolean).join(' '));
  },
);

/** Every command that has --json, by its help. */
async function withJson(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of Object.keys(OUTPUTS)) {
    const { stdout } = await commandHere([...name.split(' '), '--help'], { home });
    if (/^ {2}--json /m.test(stdout)) found.push(name);
  }
  return found;
}

it('every command that has --json tells an error in JSON on stdout, and nothing on stderr', async () => {
  const names = await withJson();
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) {
    const words = [...name.split(' '), '--json', '--no-such-option'];
    const { stdout, stderr, exitCode } = await commandHere(words, { home });
    expect(JSON.parse(stdout), name).toEqual({
      error: {
        code: 'E_ARGUMENTS',
        message: expect.stringMatching(/^unknown option '--no-such-option'/),
        next: expect.stringContaining(`${name} --help`),
      },
    });
    expect([stderr, exitCode], name).toEqual(['', 2]);
  }
});

it.each([
  ['run absent.py --json', 'E_ARGUMENTS', 2],
  ['runs --json', 'E_SETTINGS', 2],
  ['install nobody --json', 'E_ARGUMENTS', 2],
  ['approvals allow q-none --json', 'E_ARGUMENTS', 2],
])('%s tells its own error in JSON', async (words, code, exit) => {
  const env = { MCP_BRIDGE_MEMORY: words.startsWith('runs') ? 'lots' : '256m' };
  const { stdout, stderr, exitCode } = await commandHere(words.split(' '), { home, env });
  expect(JSON.parse(stdout).error).toEqual({
    code,
    message: expect.any(String),
    next: expect.any(String),
  });
  expect([stderr, exitCode]).toEqual(['', exit]);
});

it('words after -- are a program’s own, and change nothing here', async () => {
  const { stdout, stderr } = await commandHere(['exec', 'absent.js', '--', '--json'], { home });
  expect([stdout, stderr]).toEqual(['', expect.stringContaining('error: absent.js cannot be read')]);
});

it.each([
  ['--version', '--json'],
  ['--json', '-V'],
])('%s %s says which versions meet here', async (...words) => {
  const env = { MCP_BRIDGE_RUNTIME: '/nowhere/podman', MCP_BRIDGE_PIDS: '1' };
  const { stdout, stderr, exitCode } = await commandHere(words, { home, env });
  expect(JSON.parse(stdout)).toEqual({
    name: PACKAGE_NAME,
    version: VERSION,
    node: process.version,
    system: `${process.platform} ${process.arch}`,
    engine: null,
    image: null,
    problem: expect.stringContaining('/nowhere/podman'),
  });
  expect([stderr, exitCode]).toEqual(['', 0]);
});
