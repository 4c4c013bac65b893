// Every host on one machine: each gives its server, none starts this bridge again, and a bridge inside a bridge is
// offered nothing by any of them.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: hosts write variables this way

import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseEntry } from '../../src/hosts/entries/server-entry.js';
import { SOURCES } from '../../src/hosts/records/all-hosts.js';
import { growth, LINEAR } from '../support/cpu-time.js';
import { Home, reasonsIn } from './home.js';

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => {
  home[Symbol.dispose]();
});

const US = { command: 'npx', args: ['-y', 'mcp-sandbox-bridge'] };
const storage = '.config/Code/User/globalStorage';

/** By host, a user's file with a server of the host's name and this bridge. */
const FILES: Record<string, readonly [string, (name: string) => unknown]> = {
  'Claude Code': ['.claude.json', map('mcpServers')],
  'Claude Desktop': ['.config/Claude/claude_desktop_config.json', map('mcpServers')],
  Cursor: ['.cursor/mcp.json', map('mcpServers')],
  'VS Code': ['.config/Code/User/mcp.json', map('servers')],
  Windsurf: ['.codeium/windsurf/mcp_config.json', map('mcpServers')],
  Zed: [
    '.config/zed/settings.json',
    (name) => ({
      context_servers: {
        [name]: { command: { path: name, args: [] } },
        [`us ${name}`]: { command: { path: US.command, args: US.args } },
      },
    }),
  ],
  Cline: [`${storage}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`, map('mcpServers')],
  'Roo Code': [`${storage}/rooveterinaryinc.roo-cline/settings/mcp_settings.json`, map('mcpServers')],
  'Kilo Code': ['.config/kilo/kilo.jsonc', lists],
  Continue: [
    '.continue/config.yaml',
    (name) =>
      `mcpServers:\n  - { name: ${name}, command: ${name} }\n  - { name: us ${name}, command: npx, args: [-y, mcp-sandbox-bridge] }\n`,
  ],
  Kiro: ['.kiro/settings/mcp.json', map('mcpServers')],
  'LM Studio': ['.lmstudio/mcp.json', map('mcpServers')],
  'MCP Inspector': ['.mcp-inspector/mcp.json', map('mcpServers')],
  Codex: [
    '.codex/config.toml',
    (name) =>
      `[mcp_servers."${name}"]\ncommand = "${name}"\n[mcp_servers."us ${name}"]\ncommand = "npx"\nargs = ["-y", "mcp-sandbox-bridge"]\n`,
  ],
  'Gemini CLI': ['.gemini/settings.json', map('mcpServers')],
  'Copilot CLI': ['.copilot/mcp-config.json', map('mcpServers')],
  OpenCode: ['.config/opencode/opencode.json', lists],
  Antigravity: ['.gemini/antigravity/mcp_config.json', map('mcpServers')],
  'home-manager': ['.config/mcp/mcp.json', map('mcpServers')],
  generic: ['MCPs/servers.json', map('mcpServers')],
};

function map(pointer: string): (name: string) => unknown {
  return (name) => ({ [pointer]: { [name]: { command: name }, [`us ${name}`]: US } });
}

function lists(name: string): unknown {
  const entry = (...command: string[]) => ({ type: 'local', command });
  return { mcp: { [name]: entry(name), [`us ${name}`]: entry(US.command, ...US.args) } };
}

function writeAll(): string[] {
  for (const [host, [file, content]] of Object.entries(FILES)) home.write(file, content(host));
  return Object.keys(FILES);
}

it('every host of the table is here', () => {
  const hosts = new Set(SOURCES.map((source) => source.host));
  hosts.delete('MCP_SERVERS_CONFIG');
  expect(Object.keys(FILES).sort()).toEqual([...hosts].sort());
});

it('each gives its own server, and none gives us', () => {
  const hosts = writeAll();
  const found = home.discover();
  expect(found.problems).toEqual([]);
  expect(found.ready.map((spec) => [spec.name, spec.source.host])).toEqual(
    expect.arrayContaining(hosts.map((host) => [host, host])),
  );
  expect(found.ready).toHaveLength(hosts.length);
  expect(reasonsIn(found)).toEqual(
    Object.fromEntries(hosts.map((host) => [`us ${host}`, 'this bridge itself'])),
  );
});

it('none gives anything to a bridge inside a bridge', () => {
  const hosts = writeAll();
  home.settings = { ...home.settings, depth: 1 };
  const found = home.discover();
  expect(found.ready).toEqual([]);
  for (const host of hosts) expect(reasonsIn(found)[host]).toBe('this bridge runs inside another bridge');
});

it('one malformed file after the other costs only its own host', () => {
  const hosts = writeAll();
  for (const [host, [file, content]] of Object.entries(FILES)) {
    home.write(file, ']] {');
    const found = home.discover();
    expect(found.problems.map((problem) => problem.file)).toEqual([`${home.path}/${file}`]);
    expect(found.ready.map((spec) => spec.name).sort()).toEqual(hosts.filter((one) => one !== host).sort());
    home.write(file, content(host));
  }
});

it.each<[string, (chars: number) => unknown]>([
  ['references without an end', (chars) => ({ command: 'x', args: ['${A:-'.repeat(chars / 5)] })],
  [
    'references without a name',
    (chars) => ({ command: 'x', args: ['${{ ${%A'.repeat(chars / 16), `${'${{'.repeat(chars / 8)}}x`] }),
  ],
  ['a shell with options only', (chars) => ({ command: 'sh', args: Array(chars / 8).fill('-x') })],
  ['wrappers in wrappers', (chars) => ({ command: 'env', args: Array(chars / 8).fill('env') })],
  ['a long package', (chars) => ({ command: 'npx', args: ['/mcp-sandbox-bridge-1.0'.repeat(chars / 24)] })],
  ['more than a project has', (chars) => ({ command: 'x'.repeat(chars) })],
])('a project’s file with %s costs no exception, and time that grows with its length', (_what, entryOf) => {
  home.write('MCPs/fine.json', { command: 'fine' });
  const discovered = (chars: number) => {
    const entry = entryOf(chars);
    home.write('project/.mcp.json', { mcpServers: { a: entry } });
    home.write('project/.vscode/mcp.json', { servers: { a: entry } });
    home.write('project/.gemini/settings.json', { mcpServers: { a: entry } });
    home.write('project/opencode.json', { mcp: { a: { ...Object(entry), type: 'local' } } });
    expect(home.discover().ready.map((spec) => spec.name)).toEqual(['fine']);
  };
  expect(growth(discovered, 17_280)).toBeLessThan(LINEAR);
});

it.each([...new Map(SOURCES.map(({ host, dialect }) => [host, dialect]))])(
  'a switch of the wrong type never counts as on in %s',
  (host, dialect) => {
    const source = { host, file: '/f', scope: 'user', pointer: '/x' } as const;
    const context = {
      ...({ dialect, source, description: '', expansion: 'none', env: {}, host: home.facts } as const),
      ...{ workspace: home.cwd, folder: home.cwd, mayRead: true },
    };
    const stateOf = (switches: object) =>
      parseEntry('x', { command: 'x', args: [], ...switches }, context as never).state;
    for (const off of [true, 'true', 'TRUE', 1, 1n, 'yes', 'on', 'y', '', {}, []])
      expect(stateOf({ disabled: off }), `disabled: ${typeof off}`).toBe('off');
    for (const off of [false, 'false', 'False', 0, 'no', 'off', 'n', '', {}, []])
      expect(stateOf({ enabled: off }), `enabled: ${typeof off}`).toBe('off');
    for (const on of [{ disabled: 'false' }, { disabled: 0 }, { enabled: 'true' }, { disabled: null }, {}])
      expect(stateOf(on), JSON.stringify(on)).toBe('ready');
  },
);

it.each([...new Map(SOURCES.map(({ host, dialect }) => [host, dialect]))])(
  'a transport that is nested in an entry is read in %s',
  (host, dialect) => {
    const source = { host, file: '/f', scope: 'user', pointer: '/x' } as const;
    const context = {
      ...({ dialect, source, description: '', expansion: 'none', env: {}, host: home.facts } as const),
      ...{ workspace: home.cwd, folder: home.cwd, mayRead: true },
    };
    const specOf = (entry: object) => {
      const parsed = parseEntry('x', entry, context as never);
      return parsed.state === 'ready' ? parsed.spec : parsed.reason;
    };
    const stdio = Object.entries(dialect.types).find(([, transport]) => transport === 'stdio')?.[0];
    // OpenCode has a command and its arguments in one list.
    const command = dialect.fields.env === 'environment' ? ['c', 'a'] : 'c';
    expect(specOf({ transport: { type: stdio, command } })).toMatchObject({
      transport: 'stdio',
      command: 'c',
    });
    expect(specOf({ command, transport: { type: stdio, command: 'other' } })).toMatchObject({ command: 'c' });
    const [address] = Object.keys(dialect.addresses);
    const sse = Object.entries(dialect.types).find(([, transport]) => transport === 'sse')?.[0];
    if (address === undefined || sse === undefined) return;
    const remote = { transport: 'sse', url: 'https://x.example/mcp' };
    expect(specOf({ transport: { type: sse, [address]: remote.url } })).toMatchObject(remote);
    expect(specOf({ transport: sse, [address]: remote.url })).toMatchObject(remote);
    expect(specOf({ transport: 'pigeon', [address]: remote.url })).toMatchObject({ url: remote.url });
  },
);
