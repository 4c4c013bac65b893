// What `servers` shows of each server, as text for people and as JSON.

import picocolors from 'picocolors';
import { describe, expect, it } from 'vitest';
import { publicUrl, serverLines, serversText } from '../../src/cli/servers/server-list.js';
import { serverTroubles } from '../../src/cli/servers/server-trouble.js';
import type { Discovery } from '../../src/hosts/discovery/discover.js';
import type { DownstreamSpec, SpecSource } from '../../src/hosts/downstream-spec.js';
import { mistaken } from '../../src/hosts/skip-reason.js';

const SECRET = 's3cret-0123456789abcdef';
const style = { paint: picocolors.createColors(false), width: undefined, home: '/home/ann' };
const at = (file: string, host = 'Cursor'): SpecSource => ({ host, scope: 'user', file, pointer: '/x' });
const base = {
  description: '',
  callTimeoutMs: undefined,
  startTimeoutMs: undefined,
  toolFilter: { only: undefined, except: [] },
};
const program = (
  name: string,
  command: string,
  source = at('/home/ann/.cursor/mcp.json'),
): DownstreamSpec => ({
  ...base,
  name,
  source,
  transport: 'stdio',
  command,
  args: [`--token=${SECRET}`],
  env: { TOKEN: SECRET },
  cwd: undefined,
});
const remote = (name: string, transport: 'http' | 'sse' | 'auto', url: string): DownstreamSpec => ({
  ...base,
  name,
  source: at('/home/ann/.cursor/mcp.json'),
  transport,
  url,
  headers: { Authorization: `Bearer ${SECRET}` },
  headersHelper: `print ${SECRET}`,
  oauth: {
    clientId: 'a',
    clientSecret: SECRET,
    scopes: [],
    callbackPort: undefined,
    authServerMetadataUrl: undefined,
  },
});
const found = (more: Partial<Discovery>): Discovery => ({
  ready: [],
  skipped: [],
  problems: [],
  files: [],
  ...more,
});

const MIXED = found({
  ready: [
    program('files', 'npx'),
    program('line', `npx -y server --key ${SECRET}`),
    program('spaced', 'C:\\Program Files\\nodejs\\node.exe'),
    remote('issues', 'auto', `https://ann:${SECRET}@mcp.example.com/v1/mcp?key=${SECRET}#${SECRET}`),
    remote('events', 'sse', `https://mcp.example.com/s/${SECRET}/sse`),
    program('other', '/home/ann/bin/other', at('/home/ann/.codex/config.toml', 'Codex')),
  ],
  skipped: [
    { name: 'off', reason: { kind: 'disabled-in-file' }, source: at('/home/ann/.cursor/mcp.json') },
    {
      name: 'pending',
      reason: { kind: 'unapproved-project', host: undefined },
      source: { ...at('/home/ann/project/.cursor/mcp.json'), scope: 'project' },
      spec: program('pending', 'bash'),
    },
  ],
  problems: [
    {
      file: '/home/ann/.continue/config.yaml',
      message: '/home/ann/.continue/config.yaml:3:10: no YAML',
      place: { line: 3, column: 10 },
    },
    {
      file: '/home/ann/x.json',
      message: "can be written by other users; run: chmod go-w '/home/ann/x.json'",
    },
  ],
});

it('servers stand below their file, with what is started or reached, and why not', () => {
  expect(serversText(MIXED, style)).toBe(`Cursor user  ~/.cursor/mcp.json
  ready    files    npx
  ready    line     npx
  ready    spaced   C:\\Program Files\\nodejs\\node.exe
  ready    issues   https://mcp.example.com/v1/mcp
  ready    events   sse https://mcp.example.com/s/…/sse
  skipped  off      disabled in its file. Switch it on in Cursor.

Codex user  ~/.codex/config.toml
  ready    other    ~/bin/other

Cursor project  ~/project/.cursor/mcp.json
  skipped  pending  bash  not approved: it comes with the project; set MCP_BRIDGE_TRUST_PROJECT=1

problem  /home/ann/.continue/config.yaml:3:10: no YAML
problem  /home/ann/x.json: can be written by other users; run: chmod go-w '/home/ann/x.json'

6 ready, 2 skipped, 2 files have a problem
`);
});

it('neither text nor JSON holds arguments, variables, headers or queries', () => {
  for (const shown of [serversText(MIXED, style), JSON.stringify(serverLines(MIXED))]) {
    expect(shown).not.toContain('s3cret');
    expect(shown).not.toContain('--');
  }
  expect(serverLines(MIXED).slice(3, 5)).toMatchObject([
    { name: 'issues', state: 'ready', transport: 'auto', url: 'https://mcp.example.com/v1/mcp' },
    { name: 'events', state: 'ready', transport: 'sse', url: 'https://mcp.example.com/s/…/sse' },
  ]);
  expect(serverLines(MIXED).at(-1)).toMatchObject({ name: 'pending', state: 'skipped', command: 'bash' });
});

it.each([40, 80, 120])('thirty servers fit into %i columns, wrapped beside their names', (width) => {
  const reason =
    'not approved: it comes with the project; approve it in Claude Code, or set MCP_BRIDGE_TRUST_PROJECT=1';
  const names = Array.from({ length: 30 }, (_, i) => `server-${i}${i % 7 === 0 ? '-of-some-length' : ''}`);
  const discovery = found({
    ready: names.filter((_, i) => i % 3 !== 0).map((name) => program(name, 'npx')),
    skipped: names
      .filter((_, i) => i % 3 === 0)
      .map((name) => ({
        name,
        reason: { kind: 'unapproved-project', host: 'Claude Code' } as const,
        source: at('/home/ann/project/.mcp.json', 'Claude Code'),
      })),
  });
  const lines = serversText(discovery, { ...style, width }).split('\n');
  if (width >= 80) for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
  const column = lines.find((line) => line.includes('npx'))?.indexOf('npx') ?? 0;
  const rest = lines.filter((line) => /^ {4,}\S/.test(line));
  expect(rest.length).toBeGreaterThanOrEqual(10);
  for (const line of rest) expect(line.search(/\S/)).toBe(column);
  expect(lines.join(' ').replace(/\s+/g, ' ').split(reason)).toHaveLength(11);
});

it('what a file says cannot write to the terminal', () => {
  const text = serversText(
    found({
      ready: [program('a\u001b[2Jb', 'x\u001b]0;title\u0007y\nz')],
      skipped: [
        {
          name: 'c',
          reason: mistaken({ kind: 'unknown-type', found: 'field \u001b[31m\r\nready', allowed: [] }),
          source: at('/tmp/\u001b[2J.json'),
        },
      ],
      problems: [{ file: '/x', message: 'a\u0007b\nready  fake' }],
    }),
    style,
  );
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be left
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
  expect(text.split('\n').filter((line) => line.startsWith('ready'))).toEqual([]);
});

it('a command that is not there, and a start that failed, are told from what is ready', () => {
  const ready = [
    program('good', process.execPath),
    program('gone', `no-such-program --key ${SECRET}`),
    program('bad', process.execPath),
  ];
  const troubles = serverTroubles(ready.slice(0, 2), {}, { stateDir: '/nowhere' });
  const failed = { state: 'failed', trouble: 'its last start failed', remedy: 'Try it again.' } as const;
  const all = new Map([...troubles, ['bad', failed]]);
  expect(serverLines(found({ ready }), undefined, all)).toMatchObject([
    { name: 'good', state: 'ready' },
    { name: 'gone', state: 'missing', reason: 'its command no-such-program was not found' },
    { name: 'bad', state: 'failed', reason: 'its last start failed', remedy: 'Try it again.' },
  ]);
  const text = serversText(found({ ready }), style, undefined, all);
  expect(text).toMatch(
    /^ {2}missing {2}gone {2}no-such-program {2}its command no-such-program was not found\. Install/m,
  );
  expect(text).toMatch(/^ {2}failed {3}bad {3}/m);
  expect(text).toContain('\n1 ready, 1 missing, 1 failed, 0 skipped\n');
  expect(text).not.toContain(SECRET);
});

it('nothing found says what to do', () => {
  expect(serversText(found({}), style)).toContain('Name a file in MCP_SERVERS_CONFIG');
});

describe('an address', () => {
  it.each([
    ['https://mcp.example.com/mcp', 'https://mcp.example.com/mcp'],
    ['https://mcp.example.com:8443/a/b?c=d', 'https://mcp.example.com:8443/a/b'],
    ['https://user:pass@mcp.example.com/', 'https://mcp.example.com/'],
    ['https://x.example/2f1c3d9e-0b1a-4c55-9a51-5d1f0a9b7c11/mcp', 'https://x.example/…/mcp'],
    ['nonsense', 'an address that cannot be read'],
  ])('%s is shown as %s', (written, shown) => {
    expect(publicUrl(written)).toBe(shown);
  });
});

it('a server whose tools have changed says so, in its entry and in a line of its own', () => {
  const changes = new Map([['files', { changed: 'not as first seen: read', remedy: 'Accept it.' }]]);
  const [files, line] = serverLines(MIXED, changes);
  expect(files).toMatchObject({ name: 'files', changed: 'not as first seen: read' });
  expect(line).not.toHaveProperty('changed');
  expect(serversText(MIXED, style, changes)).toContain(
    '\n\nchanged  files: not as first seen: read. Accept it.\n',
  );
});
