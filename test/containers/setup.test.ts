// `setup` on this machine, with its engine and image: the first time it registers, the second time it changes nothing, and
// what it says of taking back leaves the hosts' files byte for byte as they were.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { command } from '../cli/command.js';
import { tempHome } from '../support/start-bridge.js';

type Report = {
  readonly works: boolean;
  readonly changed: boolean;
  readonly steps: readonly { readonly name: string; readonly status: string; readonly detail: string }[];
  readonly undo: readonly string[];
};

const CODEX = '# mine\nmodel = "m"\n';
const CURSOR = '{\n  // mine\n  "mcpServers": {}\n}\n';

let home: string;
beforeAll(() => {
  home = tempHome();
  mkdirSync(join(home, '.codex'));
  mkdirSync(join(home, '.cursor'));
  writeFileSync(join(home, '.codex/config.toml'), CODEX);
  writeFileSync(join(home, '.cursor/mcp.json'), CURSOR);
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

async function setUp(...options: readonly string[]): Promise<Report> {
  const { stdout, stderr, exitCode } = await command(['setup', '--json', ...options], { home });
  expect([exitCode, stderr], stdout).toEqual([0, '']);
  return JSON.parse(stdout) as Report;
}

const statusesIn = ({ steps }: Report) => Object.fromEntries(steps.map(({ name, status }) => [name, status]));
const hostFiles = () =>
  ['.codex/config.toml', '.cursor/mcp.json'].map((file) => readFileSync(join(home, file), 'utf8'));

it('goes from an engine to an answer, changes nothing the second time, and is taken back whole', async () => {
  const first = await setUp('--yes');
  expect(statusesIn(first)).toMatchObject({ engine: 'ok', walls: 'ok', hosts: 'done', answer: 'ok' });
  expect(first.steps.at(-1)?.detail).toMatch(/^6 \* 7 is 42, says Python 3\.\d+\.\d+; /);
  expect(hostFiles()).not.toEqual([CODEX, CURSOR]);

  const registered = hostFiles();
  const second = await setUp('--yes');
  expect([second.works, second.changed, second.undo]).toEqual([true, false, []]);
  expect(hostFiles()).toEqual(registered);

  const undo = first.undo.filter((line) => / uninstall \S+$/.test(line));
  expect(undo).toHaveLength(2);
  for (const line of undo) await command(line.split(' ').slice(-2), { home });
  expect(hostFiles()).toEqual([CODEX, CURSOR]);
});
