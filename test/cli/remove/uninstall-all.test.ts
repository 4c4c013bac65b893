// `uninstall --all` as a person types it, in a home of its own: everything is as before, to the byte, and nothing of ours is left.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { argvOf } from '../../../src/base/process/own-command.js';
import { programText } from '../../../src/cli/remove/uninstall-all.js';
import { Home } from '../../hosts/home.js';
import { typed, typedJson } from '../install/typed.js';

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => {
  home[Symbol.dispose]();
});

const cli = (...args: string[]) => typed(home, args);
const json = (...args: string[]) => typedJson(home, args);

/** Every file below the home with its bytes and mode, and every folder. */
function everything(folder = home.path): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    const path = join(folder, name);
    const stats = statSync(path);
    found[name] = stats.isDirectory() ? 'folder' : `${stats.mode} ${readFileSync(path, 'base64')}`;
  }
  return found;
}

const CLAUDE = '{\n  "n": 1,\n  "mcpServers": {\n    "x": { "command": "x", "args": ["1"] }\n  }\n}\n';
const CODEX = '# top\n[mcp_servers.y] # mine\ncommand = "y"\n\n[tui] # last\nv = 1';
const CURSOR = '{\r\n\t"mcpServers": {}\r\n}';

function twoHosts(): void {
  home.write('.claude.json', CLAUDE);
  home.write('.codex/config.toml', CODEX);
  home.write('.cursor/mcp.json', CURSOR);
}

it('after install and adopt, every file of the home is as before, and the state is gone', async () => {
  twoHosts();
  const before = everything();
  await cli('install', 'claude-code', 'cursor');
  await cli('adopt', 'claude-code');
  await cli('adopt', 'codex');
  expect(everything()).not.toEqual(before);
  const { stdout, stderr, exitCode } = await cli('uninstall', '--all', '--yes');
  expect([stderr, exitCode]).toEqual(['', 0]);
  for (const words of ['Claude Code: would remove', 'Codex', 'Cursor', 'Put servers back', 'host-changes'])
    expect(stdout).toContain(words);
  const after = everything();
  // Folders of the system's kind, which others may have used meanwhile, stay.
  for (const folder of ['.local', '.local/state']) delete after[folder];
  for (const folder of ['.local', '.local/state']) delete before[folder];
  expect(after).toEqual(before);
});

it.each([
  ['/usr/lib/node_modules/mcp-sandbox-bridge/dist/cli/main.js', /^the program itself: npm uninstall -g /],
  ['/home/ann/.npm/_npx/1/node_modules/.bin/mcp-sandbox-bridge', /^the program itself, in \//],
  ['/home/ann/checkout/dist/cli/main.js', /^the program itself, in \//],
])('what stays is named as it was started: %s', (script, words) => {
  expect(programText(argvOf(script))).toMatch(words);
});

it('--dry-run lists everything and changes nothing', async () => {
  twoHosts();
  await cli('install', 'claude-code');
  await cli('adopt', 'codex');
  const before = everything();
  const listed = await json('uninstall', '--all', '--dry-run');
  expect(listed).toMatchObject({
    dryRun: true,
    hosts: [
      { restored: { host: 'codex', result: 'would restore' } },
      { uninstalled: { host: 'claude-code', result: 'would remove' } },
    ],
    bridges: [],
    images: [],
    problems: [expect.stringContaining('Images were not looked for')],
  });
  expect(everything()).toEqual(before);
});

it('without a terminal and without --yes it removes nothing, and says so', async () => {
  twoHosts();
  await cli('install', 'claude-code');
  const before = everything();
  const { stdout, stderr, exitCode } = await cli('uninstall', '--all');
  expect(stdout).toContain('Take the bridge out of:');
  expect(stderr).toContain('Nothing was removed: it asks first, and there is no terminal to ask at.');
  expect(exitCode).toBe(2);
  expect((await json('uninstall', '--all')).error).toMatchObject({ code: 'E_ARGUMENTS' });
  expect(everything()).toEqual(before);
});

it('what the user has put beside our state stays', async () => {
  home.write('MCPs/mine.json', '{"mcpServers":{}}');
  home.write('MCPs/snippets/a.py', '1');
  home.write('.claude.json', CLAUDE);
  await cli('install', 'claude-code');
  expect(existsSync(join(home.path, 'MCPs/host-changes'))).toBe(true);
  const { stdout } = await cli('uninstall', '--all', '--yes');
  expect(stdout).toMatch(/MCPs: our state is removed; mine\.json, snippets stays/);
  expect(readdirSync(join(home.path, 'MCPs')).sort()).toEqual(['mine.json', 'snippets']);
});

it('a file of a host that cannot be read keeps the backups, and the exit code is 1', async () => {
  twoHosts();
  await cli('install', 'claude-code');
  await cli('install', 'cursor');
  writeFileSync(join(home.path, '.cursor/mcp.json'), '{ oops');
  const { stdout, exitCode } = await cli('uninstall', '--all', '--yes');
  expect(stdout).toContain('Cannot be looked at:');
  expect(exitCode).toBe(1);
  expect(readFileSync(join(home.path, '.claude.json'), 'utf8')).toBe(CLAUDE);
  const backups = join(home.path, '.local/state/mcp-sandbox-bridge/host-changes');
  expect(readdirSync(backups)).toHaveLength(1);
});

it('nothing to remove is said', async () => {
  const { stdout, exitCode } = await cli('uninstall', '--all');
  expect(stdout).toContain('There is nothing to remove.');
  expect(exitCode).toBe(0);
  mkdirSync(join(home.path, 'x'));
  expect(await cli('uninstall', 'codex', '--all')).toMatchObject({ exitCode: 2 });
});
