// Two spellings of one path: of keys, of projects that hosts have noted, and of configuration files, on systems that do not
// mind case, that do, and that decide it for each disk.

import { expect, it } from 'vitest';
import {
  type HostFacts,
  isSamePath,
  keyOfPath,
  pathKey,
  spelledByDisk,
} from '../../src/settings/files/host-facts.js';
import { Home, reasonsIn } from '../hosts/home.js';
import { PlayedMachine } from '../hosts/played-machine.js';

const facts = (platform: NodeJS.Platform, spelling?: HostFacts['spelling']): HostFacts => ({
  home: platform === 'win32' ? 'C:\\Users\\ann' : '/Users/ann',
  platform,
  cores: 1,
  cwd: platform === 'win32' ? 'C:\\Users\\ann\\Work' : '/Users/ann/Work',
  uid: undefined,
  exists: () => false,
  ...(spelling && { spelling }),
});
const linux = facts('linux');
const windows = facts('win32');
/** A disk that does not mind case, with this one folder. */
const mac = facts('darwin', (path) => (path.toLowerCase() === '/users/ann/work' ? '/Users/ann/Work' : path));
/** One that does. */
const strictMac = facts('darwin', (path) => path);

it.each<[HostFacts, string, string, boolean]>([
  [windows, 'C:\\Users\\Ann\\Work', 'c:/users/ann/WORK', true],
  [windows, 'C:\\work\\', 'C:\\work\\.\\', true],
  [windows, 'C:\\a\\..\\work', 'c:\\work', true],
  [windows, '\\\\Server\\Share\\x', '//server/share/X', true],
  [windows, 'C:\\Übung', 'c:\\übung', true],
  [windows, 'C:\\work', 'D:\\work', false],
  [windows, 'C:\\work', 'C:\\work2', false],
  // What NTFS keeps apart although Unicode folds it: the Kelvin sign, a long s, a sharp s.
  [windows, 'C:\\k', 'C:\\\u212a', false],
  [windows, 'C:\\s', 'C:\\ſ', false],
  [windows, 'C:\\ss', 'C:\\ß', false],
  [mac, '/Users/ann/Work', '/users/Ann/work', true],
  [mac, '/Users/ann/Work', '/Users/ann/Works', false],
  [strictMac, '/Users/ann/Work', '/Users/ann/work', false],
  [linux, '/home/ann/Work', '/home/ann/work', false],
  [linux, '/home/ann/Work', '/home/ann/Work', true],
])('%#: %s', (host, one, other, expected) => {
  expect([isSamePath(one, other, host), isSamePath(other, one, host)]).toEqual([expected, expected]);
  expect(pathKey(one, host) === pathKey(other, host)).toBe(expected);
});

it('a key is taken as it is first, and otherwise where it means the same', () => {
  const record = { 'c:/users/ann/work': 1, 'C:/Users/ann/Work': 2 };
  expect(keyOfPath(record, 'C:/Users/ann/Work', windows)).toBe('C:/Users/ann/Work');
  expect(keyOfPath(record, 'C:\\USERS\\ann\\work', windows)).toBe('c:/users/ann/work');
  expect(keyOfPath(record, 'C:\\USERS\\ann', windows)).toBeUndefined();
  expect(keyOfPath({ '/users/ann/work': 1 }, '/Users/ann/Work', mac)).toBe('/users/ann/work');
  expect(keyOfPath({ '/users/ann/work': 1 }, '/Users/ann/Work', strictMac)).toBeUndefined();
});

it('on Linux neither the disk nor other keys are looked at', () => {
  const record = new Proxy<Record<string, unknown>>({}, { ownKeys: () => expect.unreachable() });
  expect(keyOfPath(record, '/home/ann', linux)).toBeUndefined();
  expect(pathKey('/home/ann/./x', linux)).toBe('/home/ann/./x');
});

it('the disk corrects the case of a path and follows no link for it', () => {
  expect(spelledByDisk('/users/ANN', () => '/Users/ann')).toBe('/Users/ann');
  expect(spelledByDisk('/Users/cafe\u0301', () => '/Users/caf\u00e9')).toBe('/Users/caf\u00e9');
  expect(spelledByDisk('/tmp/x', () => '/private/tmp/x')).toBe('/tmp/x');
  expect(spelledByDisk('/gone')).toBe('/gone');
});

it('Windows: a project that was approved under another spelling of its folder is the same project', () => {
  using machine = new PlayedMachine('win32');
  machine.write('./.mcp.json', { mcpServers: { yes: { command: 'a' }, no: { command: 'b' } } });
  const key = machine.cwd.replaceAll('\\', '/').replace('C:/Users', 'c:/USERS');
  machine.write('~/.claude.json', {
    projects: { [key]: { enabledMcpjsonServers: ['yes'] }, [`${key}2`]: { enabledMcpjsonServers: ['no'] } },
  });
  const { ready, skipped } = machine.discover();
  expect(ready.map(({ name }) => name)).toEqual(['yes']);
  expect(skipped.map(({ name }) => name)).toEqual(['no']);
});

it.each([
  ['win32', true],
  ['darwin', false],
] as const)('%s: a folder that Codex trusts in another case is trusted there: %s', (platform, expected) => {
  using machine = new PlayedMachine(platform);
  machine.write('./.codex/config.toml', '[mcp_servers.a]\ncommand = "a"\n');
  machine.write(
    '~/.codex/config.toml',
    `[projects.'${machine.cwd.toUpperCase()}']\ntrust_level = "trusted"\n`,
  );
  expect(machine.discover().ready.map(({ name }) => name)).toEqual(expected ? ['a'] : []);
});

it('Windows: the same configuration file under two spellings is one', () => {
  using machine = new PlayedMachine('win32');
  const file = machine.write('~/.cursor/mcp.json', { mcpServers: { a: { command: 'a' } } });
  machine.settings = { ...machine.settings, serversConfig: [file, file.replace('C:\\Users', 'c:\\USERS')] };
  const { ready, skipped, files } = machine.discover();
  expect(ready.map(({ name }) => name)).toEqual(['a']);
  expect([skipped, files]).toEqual([[], [file]]);
});

it('Windows: started in the home folder under another spelling, its files are the user’s', () => {
  using machine = new PlayedMachine('win32');
  machine.write('~/.cursor/mcp.json', { mcpServers: { a: { command: 'a' } } });
  const { ready } = machine.discover('c:\\users\\ANN');
  expect(ready.map(({ name, source }) => [name, source.scope])).toEqual([['a', 'user']]);
});

it('Linux: another case is another project', () => {
  using home = new Home();
  home.write('project/.mcp.json', { mcpServers: { a: { command: 'a' } } });
  home.write('.claude.json', { projects: { [home.cwd.toUpperCase()]: { enabledMcpjsonServers: ['a'] } } });
  expect(reasonsIn(home.discover())['a']).toContain('not approved');
});
