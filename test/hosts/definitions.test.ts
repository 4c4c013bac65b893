// Which entries are one server: by what they start or reach, and by whose account.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { growth, LINEAR } from '../support/cpu-time.js';
import { Home, reasonsIn, stdio } from './home.js';

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => {
  home[Symbol.dispose]();
});

it('thousands of accounts at one address are told apart in time that grows with their number', () => {
  const entry = (_: unknown, n: number) => [
    `a${n}`,
    { url: 'https://x.example', headers: { Authorization: `${n}` } },
  ];
  const toldApart = (length: number) => {
    home.write('.cursor/mcp.json', { mcpServers: Object.fromEntries(Array.from({ length }, entry)) });
    expect(home.discover().ready).toHaveLength(length);
  };
  expect(growth(toldApart, 64, 32)).toBeLessThan(LINEAR);
});

it('several hosts name one server; the first wins, the others say which', () => {
  const claude = home.write('.claude.json', {
    mcpServers: { github: { command: 'npx', args: ['gh'], env: { TOKEN: 'one' } } },
  });
  home.write('.cursor/mcp.json', {
    mcpServers: {
      GitHub: { command: 'npx', args: ['gh'], env: { TOKEN: 'one' } },
      'gh-debug': { command: 'npx', args: ['gh'], env: { TOKEN: 'one', DEBUG: '1' } },
      'gh-plain': { command: 'npx', args: ['gh'] },
      'gh-work': { command: 'npx', args: ['gh'], env: { TOKEN: 'two' } },
      'gh-other': { command: 'npx', args: ['gh', '--all'] },
    },
  });
  home.write('.config/opencode/opencode.json', {
    mcp: { hub: { type: 'local', command: ['npx', 'gh'], environment: { TOKEN: 'two' } } },
  });
  const found = home.discover();
  expect(found.ready.map((spec) => spec.name)).toEqual([
    'github',
    'gh-debug',
    'gh-plain',
    'gh-work',
    'gh-other',
  ]);
  expect(reasonsIn(found)).toEqual({
    GitHub: `same server as 'github' in ${claude}`,
    hub: `same server as 'gh-work' in ${home.path}/.cursor/mcp.json`,
  });
});

it('one that leaves out tools is another server', () => {
  home.write('.gemini/settings.json', {
    mcpServers: { db: { command: 'db' }, safe: { command: 'db', excludeTools: ['drop'] } },
  });
  expect(home.discover().ready.map(({ name }) => name)).toEqual(['db', 'safe']);
});

it('of one name the first counts, whatever the others say', () => {
  const claude = home.write('.claude.json', { mcpServers: { db: { command: 'db' } } });
  home.write('.cursor/mcp.json', { mcpServers: { db: { command: 'db', env: { READ_ONLY: '1' } } } });
  const found = home.discover();
  expect(found.ready.map((spec) => stdio(spec).env)).toEqual([{}]);
  expect(reasonsIn(found)).toEqual({ db: `has the name of a server in ${claude}` });
});

it.each([
  ['all the same', { command: 'x', env: { A: '1', B: '2' } }, { command: 'x', env: { B: '2', A: '1' } }, 1],
  ['a switch more', { command: 'x' }, { command: 'x', env: { READ_ONLY: '1' } }, 2],
  ['a switch less', { command: 'x', env: { READ_ONLY: '1' } }, { command: 'x' }, 2],
  [
    'a header more',
    { url: 'https://x.example' },
    { url: 'https://x.example', headers: { 'X-Read-Only': '1' } },
    2,
  ],
  ['a helper more', { url: 'https://x.example' }, { url: 'https://x.example', headersHelper: 'a' }, 2],
  ['an argument more', { command: 'x' }, { command: 'x', args: ['--read-only'] }, 2],
  ['a folder more', { command: 'x' }, { command: 'x', cwd: '/a' }, 2],
  [
    'fewer scopes',
    { url: 'https://x.example', oauth: { scopes: 'read write' } },
    { url: 'https://x.example', oauth: { scopes: 'read' } },
    2,
  ],
  ['another folder', { command: 'x', cwd: '/a' }, { command: 'x', cwd: '/b' }, 2],
  ['the same address', { url: 'https://x.example' }, { type: 'sse', url: 'https://X.example:443/' }, 1],
  ['another path', { url: 'https://x.example/a' }, { url: 'https://x.example/b' }, 2],
  [
    'headers by another name’s case',
    { url: 'https://x.example', headers: { Authorization: 'a' } },
    { url: 'https://x.example', headers: { authorization: 'a' } },
    1,
  ],
  [
    'another token',
    { url: 'https://x.example', headers: { Authorization: 'a' } },
    { url: 'https://x.example', headers: { authorization: 'b' } },
    2,
  ],
  [
    'another helper',
    { url: 'https://x.example', headersHelper: 'a' },
    { url: 'https://x.example', headersHelper: 'b' },
    2,
  ],
  [
    'another client',
    { url: 'https://x.example', oauth: { clientId: 'a' } },
    { url: 'https://x.example', oauth: { clientId: 'b' } },
    2,
  ],
  ['a program and an address', { command: 'https://x.example/' }, { url: 'https://x.example/' }, 2],
])('%s', (_what, one, other, count) => {
  home.write('.claude.json', { mcpServers: { one, other } });
  expect(home.discover().ready).toHaveLength(count);
});
