// A configuration file that was read well and cannot be read now keeps what it said, for as long as the bridge lives.

import { chmodSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Discovery, LastGoodFiles } from '../../src/hosts/discovery/discover.js';
import { Home } from './home.js';

let home: Home;
let file: string;
beforeEach(() => {
  home = new Home();
  home.lastGood = new LastGoodFiles();
  file = home.write('.cursor/mcp.json', { mcpServers: { a: { command: 'srv' } } });
});
afterEach(() => {
  home[Symbol.dispose]();
});

const names = (discovery: Discovery) => discovery.ready.map(({ name }) => name);
const problems = ({ problems: all }: Discovery) => all.map(({ message }) => message).join('\n');
const KEPT = 'its last good content stays in use until it can be read';
/** As if the folder had last changed a minute ago: nobody is about to put the file back. */
const settle = (folder: string) => utimesSync(folder, new Date(), new Date(Date.now() - 60_000));

it.each([
  ['half written', '{"mcpServers": {"a": {"comm', /mcp\.json:1:\d+: .*; /],
  ['empty', '', /is empty; delete it if you want no servers from it; /],
  ['blank', ' \n', /is empty; /],
  ['in UTF-16', Buffer.from('\ufeff{}', 'utf16le'), /is in UTF-16; save it in UTF-8; /],
])('a file that is %s keeps what it said before, with a warning', (_what, content, warning) => {
  expect(names(home.discover())).toEqual(['a']);
  writeFileSync(file, content);
  for (const _round of ['first', 'second']) {
    const found = home.discover();
    expect(names(found)).toEqual(['a']);
    expect(found.files).toEqual([file]);
    expect(problems(found)).toMatch(warning);
    expect(problems(found)).toContain(KEPT);
  }
  expect(home.events.filter(({ type }) => type === 'config.problem')).toHaveLength(2);
  writeFileSync(file, '{"mcpServers": {"b": {"command": "srv"}}}');
  expect(home.discover()).toMatchObject({ ready: [{ name: 'b' }], problems: [] });
  writeFileSync(file, '{');
  expect(names(home.discover())).toEqual(['b']);
});

it('without anything that was read before, a broken file is a problem and no more', () => {
  writeFileSync(file, '{');
  const found = home.discover();
  expect(names(found)).toEqual([]);
  expect(problems(found)).toContain('mcp.json:1:2');
  expect(problems(found)).not.toContain(KEPT);
  // Whoever has no memory, as a command that ends at once, says what stands there now.
  writeFileSync(file, '{"mcpServers": {"a": {"command": "srv"}}}');
  home.lastGood = undefined;
  expect(names(home.discover())).toEqual(['a']);
  writeFileSync(file, '{');
  expect(names(home.discover())).toEqual([]);
});

it('what says that it has no servers has none', () => {
  home.discover();
  writeFileSync(file, '{}');
  expect(home.discover()).toMatchObject({ ready: [], problems: [] });
  writeFileSync(file, '');
  expect(names(home.discover())).toEqual([]);
});

it('a file that is empty from the start is no problem', () => {
  writeFileSync(file, '');
  expect(home.discover()).toMatchObject({ ready: [], problems: [] });
});

it('one that others may write is refused at once, and what it said is forgotten', () => {
  home.discover();
  chmodSync(file, 0o666);
  expect(names(home.discover())).toEqual([]);
  chmodSync(file, 0o600);
  writeFileSync(file, '{');
  expect(names(home.discover())).toEqual([]);
});

it('a file that cannot be opened keeps what it said', () => {
  home.discover();
  rmSync(file);
  mkdirSync(file);
  expect(names(home.discover())).toEqual(['a']);
});

describe('a file that is missing', () => {
  it('is waited for while it may be on its way back, and gone after that', () => {
    home.discover();
    renameSync(file, `${file}~`);
    const found = home.discover();
    expect(names(found)).toEqual(['a']);
    expect(problems(found)).toContain('is missing');
    settle(dirname(file));
    expect(home.discover()).toMatchObject({ ready: [], problems: [], files: [] });
    // It does not come back by its folder's being written to.
    writeFileSync(join(dirname(file), 'other'), '');
    expect(names(home.discover())).toEqual([]);
  });

  it('is gone after a while even where its folder is written to all the time', () => {
    let now = 0;
    home.lastGood = new LastGoodFiles(() => now);
    home.discover();
    rmSync(file);
    expect(names(home.discover())).toEqual(['a']);
    now = 1_500;
    writeFileSync(join(dirname(file), 'other'), '');
    expect(names(home.discover())).toEqual([]);
  });

  it('is gone with its folder', () => {
    home.discover();
    rmSync(dirname(file), { recursive: true });
    expect(names(home.discover())).toEqual([]);
  });

  it('is waited for among those of a folder of files too, in its place', () => {
    const first = home.write('.config/mcp/servers/one.json', { command: 'one' });
    home.write('.config/mcp/servers/two.json', { command: 'two' });
    expect(names(home.discover())).toEqual(['a', 'one', 'two']);
    renameSync(first, `${first}~`);
    expect(names(home.discover())).toEqual(['a', 'one', 'two']);
    settle(dirname(first));
    expect(names(home.discover())).toEqual(['a', 'two']);
  });
});

it('decisions of a user stand as well while their file is being written', () => {
  const claude = (disabled: readonly string[]) =>
    home.write('.claude.json', {
      mcpServers: { on: { command: 'on' }, off: { command: 'off' } },
      projects: { [home.cwd]: { disabledMcpServers: disabled } },
    });
  const state = claude(['off']);
  expect(names(home.discover())).toEqual(['on', 'a']);
  writeFileSync(state, '{"mcpServers": {');
  expect(names(home.discover())).toEqual(['on', 'a']);
});

it('what nobody could hold in memory is not kept', () => {
  home.write(
    '.cursor/mcp.json',
    `${JSON.stringify({ mcpServers: { a: { command: 'srv' } } })}${' '.repeat(20 * 1024 ** 2)}`,
  );
  expect(names(home.discover())).toEqual(['a']);
  writeFileSync(file, '{');
  expect(names(home.discover())).toEqual([]);
});
