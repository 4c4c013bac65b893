// biome-ignore-all lint/suspicious/noTemplateCurlyInString: hosts write variables this way

import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Discovery } from '../../src/hosts/discovery/discover.js';
import { explainSkip } from '../../src/hosts/discovery/explain-skip.js';
import { growth, LINEAR } from '../support/cpu-time.js';
import { Home, stdio } from './home.js';

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => {
  home[Symbol.dispose]();
});

const server = (command = 'srv', more: object = {}) => ({ command, ...more });
const names = (discovery: Discovery) => discovery.ready.map((spec) => spec.name);
const reasons = (discovery: Discovery) =>
  Object.fromEntries(discovery.skipped.map((one) => [one.name, explainSkip(one).text]));

/** Claude Code's state, with servers of the user and what it knows of the current project. */
const claude = (user: object, project: object = {}) =>
  home.write('.claude.json', { numStartups: 3, mcpServers: user, projects: { [home.cwd]: project } });

it('nothing configured is an empty answer', () => {
  expect(home.discover()).toEqual({ ready: [], skipped: [], problems: [], files: [] });
  expect(home.events).toEqual([{ type: 'config.discovered', ready: 0, skipped: 0 }]);
});

it('one look asks for each folder once, however many hosts want to know', () => {
  const asked: string[] = [];
  home.discover({
    exists: (file) => {
      asked.push(file);
      return existsSync(file);
    },
  });
  expect(asked).toContain(join(home.cwd, '.git'));
  expect(asked).toEqual([...new Set(asked)]);
});

it('an entry becomes a spec that remembers where it stands', () => {
  const file = claude({
    'git/hub~1': {
      type: 'stdio',
      command: 'npx',
      args: ['-y', 'server', 8080],
      env: { PORT: 3000, DEBUG: true },
      cwd: '~/data',
      timeout: 5000,
      description: 'Issues',
    },
  });
  expect(home.discover().ready).toEqual([
    {
      name: 'git/hub~1',
      transport: 'stdio',
      command: 'npx',
      args: ['-y', 'server', '8080'],
      env: { PORT: '3000', DEBUG: 'true' },
      cwd: join(home.path, 'data'),
      description: 'Issues',
      callTimeoutMs: 5000,
      startTimeoutMs: undefined,
      toolFilter: { only: undefined, except: [] },
      source: { host: 'Claude Code', scope: 'user', file, pointer: '/mcpServers/git~1hub~01' },
    },
  ]);
});

describe('precedence', () => {
  it('the first source of a name wins, and the others say which', () => {
    const explicit = home.write('explicit.json', { mcpServers: { a: server('explicit') } });
    home.settings = { ...home.settings, serversConfig: [explicit] };
    const local = {
      mcpServers: { a: server('local'), b: server('b-local') },
      enabledMcpjsonServers: ['b', 'c'],
    };
    const state = claude({ b: server('b-user'), c: server('c-user'), d: server('d-user') }, local);
    const project = home.write('project/.mcp.json', {
      mcpServers: { b: server('b-mcp'), c: server('c-mcp') },
    });
    home.write('.config/Claude/claude_desktop_config.json', {
      mcpServers: { d: server('d-desktop'), e: server('e-desktop'), h: server('h-desktop') },
    });
    home.write('.config/mcp/servers/x.json', { mcpServers: { e: server('e-xdg'), f: server('f') } });
    home.write('MCPs/y.json', { mcpServers: { f: server('f-mcps'), g: server('g') } });
    const found = home.discover();
    expect(found.ready.map((spec) => [spec.name, stdio(spec).command])).toEqual([
      ['a', 'explicit'],
      ['b', 'b-local'],
      ['c', 'c-mcp'],
      ['d', 'd-user'],
      ['e', 'e-xdg'],
      ['f', 'f'],
      ['g', 'g'],
      ['h', 'h-desktop'],
    ]);
    expect(found.skipped.map((one) => `${one.name} ${explainSkip(one).text}`)).toEqual([
      `a has the name of a server in ${explicit}`,
      `b has the name of a server in ${state}`,
      `b has the name of a server in ${state}`,
      `c has the name of a server in ${project}`,
      `f has the name of a server in ${join(home.path, '.config/mcp/servers/x.json')}`,
      `d has the name of a server in ${state}`,
      `e has the name of a server in ${join(home.path, '.config/mcp/servers/x.json')}`,
    ]);
  });

  it('takes several explicit files in their order', () => {
    const one = home.write('1.json', { mcpServers: { a: server('one') } });
    const two = home.write('2.json', { mcpServers: { a: server('two'), b: server('b') } });
    home.settings = { ...home.settings, serversConfig: [one, two] };
    expect(home.discover().ready.map((spec) => stdio(spec).command)).toEqual(['one', 'b']);
  });

  it('a file found in two ways counts once', () => {
    const state = claude({ a: server() });
    home.settings = { ...home.settings, serversConfig: [state] };
    const found = home.discover();
    expect(found.ready.map((spec) => spec.source.scope)).toEqual(['explicit']);
    expect(found.skipped).toEqual([]);
  });

  it('the same definition under another name is started once', () => {
    const file = claude({
      a: server('srv', { args: ['x'], env: { A: '1', B: '2' } }),
      b: server('srv', { args: ['x'], env: { B: '2', A: '1' } }),
      c: server('srv', { args: ['y'] }),
    });
    const found = home.discover();
    expect(names(found)).toEqual(['a', 'c']);
    expect(reasons(found)).toEqual({ b: `same server as 'a' in ${file}` });
  });

  it('an administrator’s file excludes the rest of its host and nothing else', () => {
    home.write('etc/managed-mcp.json', { mcpServers: { a: server() } });
    claude({ b: server('b') });
    home.write('MCPs/c.json', server('c'));
    const found = home.discover();
    expect(names(found)).toEqual(['a', 'c']);
    expect(reasons(found)['b']).toBe(`Claude Code takes its servers from ${home.managedFile} only`);
  });

  it('an administrator’s file that is malformed still excludes', () => {
    home.write('etc/managed-mcp.json', '{');
    claude({ b: server('b') });
    expect(names(home.discover())).toEqual([]);
  });
});

describe('Claude Code', () => {
  it('CLAUDE_CONFIG_DIR moves its state', () => {
    claude({ old: server() });
    home.write('elsewhere/.claude.json', { mcpServers: { moved: server() } });
    home.env = { CLAUDE_CONFIG_DIR: join(home.path, 'elsewhere') };
    expect(names(home.discover())).toEqual(['moved']);
  });

  it('the key of a project is the root of its checkout', () => {
    mkdirSync(join(home.cwd, '.git'));
    mkdirSync(join(home.cwd, 'deep/er'), { recursive: true });
    claude({}, { mcpServers: { a: server() } });
    expect(names(home.discover({ cwd: join(home.cwd, 'deep/er') }))).toEqual(['a']);
  });

  it('outside a checkout the key is the folder itself', () => {
    mkdirSync(join(home.cwd, 'deep'));
    claude({}, { mcpServers: { a: server() } });
    expect(names(home.discover({ cwd: join(home.cwd, 'deep') }))).toEqual([]);
  });

  it('what is switched off for the project stays off', () => {
    claude({ a: server('a'), b: server('b') }, { disabledMcpServers: 'a' });
    home.write('MCPs/a.json', server('another'));
    const found = home.discover();
    expect(names(found)).toEqual(['b']);
    expect(found.skipped.map((one) => explainSkip(one).text)).toEqual([
      'disabled in Claude Code for this project',
      `has the name of a server in ${join(home.path, '.claude.json')}`,
    ]);
  });

  it('reads the older places on macOS', () => {
    home.write('Library/Application Support/Claude Code/claude_code_config.json', {
      mcpServers: { a: server('a') },
    });
    home.write('Library/Application Support/Claude/claude_code_config.json', {
      mcpServers: { b: server('b') },
    });
    home.write('Library/Application Support/Claude/claude_desktop_config.json', {
      mcpServers: { c: server('c') },
    });
    expect(names(home.discover({ platform: 'darwin' }))).toEqual(['a', 'b', 'c']);
    expect(names(home.discover())).toEqual([]);
  });
});

describe('servers of a project', () => {
  beforeEach(() => {
    home.write('project/.mcp.json', { mcpServers: { mine: server('mine') } });
    home.write('.mcp.json', { mcpServers: { above: server('above') } });
    home.write('project/mcp-servers/tool.json', server('tool'));
  });

  it('are not started without approval, and say how to approve', () => {
    const found = home.discover();
    expect(names(found)).toEqual([]);
    const claudeWay = 'approve it in Claude Code, or set MCP_BRIDGE_TRUST_PROJECT=1';
    expect(reasons(found)).toEqual({
      mine: `not approved: it comes with the project; ${claudeWay}`,
      above: `not approved: it comes with the project; ${claudeWay}`,
      tool: 'not approved: it comes with the project; set MCP_BRIDGE_TRUST_PROJECT=1',
    });
  });

  it('are started when the setting trusts them', () => {
    home.settings = { ...home.settings, trustProject: true };
    expect(names(home.discover())).toEqual(['mine', 'above', 'tool']);
  });

  it('are started when Claude Code has approved them by name', () => {
    claude({}, { enabledMcpjsonServers: ['mine', 'tool'] });
    expect(names(home.discover())).toEqual(['mine']);
  });

  it.each(['.claude.json', '.claude/settings.json'])('are started when %s approves all', (file) => {
    const approval = { enableAllProjectMcpServers: true };
    home.write(file, file === '.claude.json' ? { projects: { [home.cwd]: approval } } : approval);
    expect(names(home.discover())).toEqual(['mine', 'above']);
  });

  it('are not started when Claude Code has refused them, whatever the setting says', () => {
    home.settings = { ...home.settings, trustProject: true };
    home.write('.claude/settings.json', {
      enableAllProjectMcpServers: true,
      disabledMcpjsonServers: ['mine'],
    });
    const found = home.discover();
    expect(names(found)).toEqual(['above', 'tool']);
    expect(reasons(found)['mine']).toBe('not approved: refused in Claude Code');
  });

  it('cannot approve themselves by settings that come with the project', () => {
    const approval = { enableAllProjectMcpServers: true };
    home.write('project/.claude/settings.json', approval);
    home.write('project/.claude/settings.local.json', approval);
    expect(names(home.discover())).toEqual([]);
  });

  it('are started when the local settings of a trusted folder approve them', () => {
    const trusted = { projects: { [home.cwd]: { hasTrustDialogAccepted: true } } };
    const local = 'project/.claude/settings.local.json';
    home.write('.claude.json', trusted);
    home.write('project/.claude/settings.json', { enableAllProjectMcpServers: true });
    expect(names(home.discover())).toEqual([]);
    home.write(local, { enabledMcpjsonServers: ['mine'], disabledMcpjsonServers: ['above'] });
    expect(names(home.discover())).toEqual(['mine']);
    expect(reasons(home.discover())['above']).toBe('not approved: refused in Claude Code');
    chmodSync(join(home.path, local), 0o666);
    expect(names(home.discover())).toEqual([]);
    chmodSync(join(home.path, local), 0o644);
    home.write('.claude.json', { projects: { [home.path]: { hasTrustDialogAccepted: true } } });
    expect(names(home.discover())).toEqual([]);
  });

  it('are the user’s own where the project is the home folder', () => {
    home.write('.cursor/mcp.json', { mcpServers: { a: server('a') } });
    home.write('.codex/config.toml', '[mcp_servers.b]\ncommand = "b"');
    home.write('.gemini/settings.json', { mcpServers: { c: server('c') } });
    const found = home.discover({ cwd: home.path });
    expect(names(found)).toEqual(['a', 'b', 'c']);
    expect(found.ready.map((spec) => spec.source.scope)).toEqual(['user', 'user', 'user']);
  });

  it('neither replace nor switch off a server of the user before they are approved', () => {
    claude({ mine: server('the-user') });
    home.write('.mcp.json', { mcpServers: { mine: server('x', { disabled: true }) } });
    expect(home.discover().ready.map((spec) => stdio(spec).command)).toEqual(['the-user']);
  });
});

describe('forms of a file', () => {
  it.each([
    ['mcpServers', { mcpServers: { a: server() } }, 'a'],
    ['a bare map', { a: server(), $schema: 'x' }, 'a'],
    ['a single server', server(), 'my.tool'],
  ])('%s is accepted in files of no host', (_form, content, name) => {
    home.write('.config/mcp/servers/my.tool.json', content);
    const found = home.discover();
    expect(names(found)).toEqual([name]);
    expect(found.problems).toEqual([]);
  });

  it('a description of the file serves its entries', () => {
    home.write('MCPs/a.json', {
      description: 'Shared',
      mcpServers: { a: server('a'), b: server('b', { description: 'Own' }) },
    });
    expect(home.discover().ready.map((spec) => spec.description)).toEqual(['Shared', 'Own']);
  });

  it('XDG_CONFIG_HOME moves the folder', () => {
    home.write('xdg/mcp/servers/a.json', server());
    home.env = { XDG_CONFIG_HOME: join(home.path, 'xdg') };
    expect(names(home.discover())).toEqual(['a']);
  });

  it('comments, trailing commas and a byte order mark are read', () => {
    home.write('MCPs/a.json', '\uFEFF{ // note\n "mcpServers": { "a": { "command": "srv", }, }, /* end */ }');
    expect(names(home.discover())).toEqual(['a']);
  });

  it('names of the prototype are ordinary names, with and without comments', () => {
    home.write('MCPs/a.json', '{"mcpServers":{"__proto__":{"command":"a"},"constructor":{"command":"b"}}}');
    home.write('MCPs/b.json', '{"mcpServers":{/**/"toString":{"command":"c"},"__proto__":{"command":"d"}}}');
    const found = home.discover();
    expect(names(found)).toEqual(['__proto__', 'constructor', 'toString']);
    expect(reasons(found)).toEqual({
      ['__proto__']: `has the name of a server in ${join(home.path, 'MCPs/a.json')}`,
    });
  });
});

describe('a file with a problem costs only itself', () => {
  const messageFor = (file: string) => {
    home.write('MCPs/good.json', server());
    const found = home.discover();
    expect(names(found)).toEqual(['good']);
    expect(found.files).not.toContain(file);
    expect(home.events).toContainEqual({ type: 'config.problem', ...found.problems[0] });
    expect(found.problems.map((problem) => problem.file)).toEqual([file]);
    return found.problems[0]?.message;
  };

  it('a malformed file is told with line and column', () => {
    const file = home.write('MCPs/bad.json', '{\n  "mcpServers": {\n    "a": oops\n  }\n}');
    expect(messageFor(file)).toBe(`${file}:3:10: invalid symbol`);
  });

  it('a file that others may write is told with the command that mends it', () => {
    const file = home.write('MCPs/bad.json', server('evil'));
    chmodSync(file, 0o664);
    expect(messageFor(file)).toContain(`run: chmod go-w '${file}'`);
  });

  // Only root can give a file away.
  it.runIf(process.getuid?.() === 0)('a file that somebody else owns is not read', () => {
    const file = home.write('MCPs/bad.json', server('evil'));
    chownSync(file, 4711, 4711);
    expect(messageFor(file)).toContain('belongs to user 4711');
  });

  it('a fifo is not waited for', () => {
    const file = home.write('MCPs/good.json', server());
    execFileSync('mkfifo', [join(home.path, 'MCPs/bad.json')]);
    expect(messageFor(file.replace('good', 'bad'))).toBe('is not a regular file');
  });

  it('UTF-16, as PowerShell writes it', () => {
    const file = join(home.path, 'MCPs/bad.json');
    home.write('MCPs/bad.json', '');
    writeFileSync(file, Buffer.from(`\uFEFF${JSON.stringify(server())}`, 'utf16le'));
    expect(messageFor(file)).toBe('is in UTF-16; save it in UTF-8');
  });

  it('an explicit file that is absent', () => {
    const file = join(home.path, 'absent.json');
    home.settings = { ...home.settings, serversConfig: [file] };
    expect(messageFor(file)).toBe('does not exist, but MCP_SERVERS_CONFIG names it');
  });
});

describe('a file that was read but holds nothing usable', () => {
  it.each([
    ['[]', 'must hold a JSON object'],
    ['{"mcpServers": []}', '/mcpServers must be an object'],
    ['{"servers": 1}', 'has no servers; expected {"mcpServers": {"NAME": {"command": …}}}'],
  ])('%s', (content, message) => {
    const file = home.write('MCPs/bad.json', content);
    expect(home.discover().problems).toEqual([{ file, message }]);
  });
});

describe('entries that are passed over', () => {
  it.each<[string, unknown, string]>([
    ['a number', 3, 'is a number; expected: an object with a command'],
    ['no command', {}, 'has no command and no url'],
    ['an empty command', server(''), "field 'command': must not be empty"],
    ['args as text', server('x', { args: '-y' }), "field 'args': expected array, received string"],
    [
      'a nested argument',
      server('x', { args: [[]] }),
      "field 'args.0': expected a string, number or boolean",
    ],
    ['a variable name', server('x', { env: { 'A=B': '1' } }), "field 'env.A=B': is not a variable name"],
    [
      'a protocol',
      server('x', { versionNegotiation: 'newest' }),
      "field 'versionNegotiation': must be auto, legacy, 2026-07-28",
    ],
    ['NUL', server('x\0y'), "field 'command': must not contain a NUL character"],
    ['sdk', { type: 'sdk', command: 'x' }, "is of type 'sdk', which works only in its host"],
    [
      'a type that nobody has',
      { type: 'carrier-pigeon', command: 'x' },
      'field \'type\' is "carrier-pigeon"; allowed: stdio, http, streamable-http, sse',
    ],
    [
      'a type of another shape',
      { type: ['stdio'], command: 'x' },
      "field 'type' is an array; allowed: stdio, http, streamable-http, sse",
    ],
    [
      'ws in capitals',
      { type: 'WS', url: 'wss://x.example' },
      "is of type 'ws'; WebSocket servers are not supported",
    ],
    ['ws', { type: 'ws', url: 'wss://x.example' }, "is of type 'ws'; WebSocket servers are not supported"],
    ['disabled', server('x', { disabled: true }), 'disabled in its file'],
    ['not enabled', server('x', { enabled: false }), 'disabled in its file'],
    ['disabled in quotes', server('x', { disabled: 'true' }), 'disabled in its file'],
    ['disabled by a number', server('x', { disabled: 1 }), 'disabled in its file'],
    ['disabled by a word', server('x', { disabled: ' Yes ' }), 'disabled in its file'],
    ['not enabled in quotes', server('x', { enabled: 'false' }), 'disabled in its file'],
    ['not enabled by a number', server('x', { enabled: 0 }), 'disabled in its file'],
    [
      'disabled by nobody knows what',
      server('x', { disabled: 'maybe' }),
      'field \'disabled\': expected true or false, received "maybe"',
    ],
    [
      'enabled by nobody knows what',
      server('x', { enabled: ['true'] }),
      "field 'enabled': expected true or false, received an array",
    ],
    ['ourselves', server('npx', { args: ['-y', 'mcp-sandbox-bridge'] }), 'this bridge itself'],
    ['a variable', server('${CMD}', { args: ['${A:-x}', '${B}'] }), 'needs environment variable CMD, B'],
  ])('%s', (_what, entry, reason) => {
    claude({ bad: entry, good: server('good') });
    const found = home.discover();
    expect(names(found)).toEqual(['good']);
    expect(reasons(found)).toEqual({ bad: reason });
  });

  it('a slip in a field that is no matter of safety costs the field, not the server', () => {
    claude({
      described: server('a', { description: 5 }),
      timed: server('b', { timeout: '60000' }),
      cased: { type: 'HTTP', url: 'https://x.example' },
    });
    home.write('.copilot/mcp-config.json', { mcpServers: { all: { command: 'c', tools: '*' } } });
    const found = home.discover();
    expect(reasons(found)).toEqual({});
    expect(found.ready).toMatchObject([
      { name: 'described', description: '' },
      { name: 'timed', callTimeoutMs: 60_000 },
      { name: 'cased', transport: 'http' },
      { name: 'all', toolFilter: { only: undefined } },
    ]);
  });

  it('a choice of tools that cannot be read keeps the server from starting with all', () => {
    home.write('.copilot/mcp-config.json', { mcpServers: { one: { command: 'c', tools: 'send' } } });
    expect(reasons(home.discover())).toEqual({ one: "field 'tools': expected array, received string" });
  });

  it('Codex takes no command together with an address', () => {
    home.write('.codex/config.toml', '[mcp_servers.a]\ncommand = "a"\nurl = "https://x.example"\n');
    expect(reasons(home.discover())).toEqual({
      a: "has both 'command' and 'url', which Codex refuses; remove one",
    });
  });

  it.each([
    ['', 'its name is empty'],
    ['x'.repeat(129), 'its name has 129 characters; at most 128 are allowed'],
    ['a\u001b[2Jb', 'its name has invisible characters'],
    ['a\nb', 'its name has invisible characters'],
    ['git\u200bhub', 'its name has invisible characters'],
  ])('passes over an entry with the name %j', (name, reason) => {
    claude({ [name]: server() });
    const shown = name.length > 128 ? `${name.slice(0, 127)}…` : name;
    expect(reasons(home.discover())).toEqual({ [shown]: reason });
  });

  it('a disabled entry of the user keeps later ones of its name from starting', () => {
    claude({ a: server('a', { disabled: true }) });
    home.write('MCPs/a.json', server('a'));
    expect(names(home.discover())).toEqual([]);
  });

  it('but not those of another host, where the user has it on', () => {
    const off = server('a', { disabled: true });
    claude({ a: off });
    home.write('.cursor/mcp.json', { mcpServers: { a: off, b: off } });
    home.write('.kiro/settings/mcp.json', { mcpServers: { a: server('a') } });
    home.write('MCPs/b.json', server('b'));
    const found = home.discover();
    expect(found.ready.map(({ name, source }) => [name, source.host])).toEqual([['a', 'Kiro']]);
    expect(found.skipped.map((one) => `${one.name} ${explainSkip(one).text}`)).toEqual([
      'a disabled in its file',
      'a disabled in its file',
      'b disabled in its file',
      `b has the name of a server in ${join(home.path, '.cursor/mcp.json')}`,
    ]);
  });

  it('an operator’s word counts in every host', () => {
    const explicit = home.write('x.json', { mcpServers: { a: server('a', { enabled: false }) } });
    home.settings = { ...home.settings, serversConfig: [explicit] };
    home.write('.kiro/settings/mcp.json', { mcpServers: { a: server('a') } });
    expect(names(home.discover())).toEqual([]);
  });

  it('an unusable entry does not', () => {
    claude({ a: { type: 'ws', url: 'wss://x.example' } });
    home.write('MCPs/a.json', server('a'));
    expect(names(home.discover())).toEqual(['a']);
  });
});

describe('variables', () => {
  const entry = server('${BIN}', { args: ['${A:-b}'], env: { T: '${TOKEN}' }, cwd: '${HERE}/x' });

  it('are replaced as Claude Code does', () => {
    home.env = { BIN: 'srv', TOKEN: '', HERE: '/here' };
    claude({ a: entry });
    expect(home.discover().ready[0]).toMatchObject({
      command: 'srv',
      args: ['b'],
      env: { T: '' },
      cwd: '/here/x',
    });
  });

  it('are left alone where the host leaves them', () => {
    home.write('.config/Claude/claude_desktop_config.json', {
      mcpServers: { a: server('x', { args: ['${A}'] }) },
    });
    expect(stdio(home.discover().ready[0]).args).toEqual(['${A}']);
  });
});

describe('a bridge inside a bridge', () => {
  beforeEach(() => {
    claude({ a: server('a'), self: server('mcp-sandbox-bridge') });
  });

  it('finds no servers of its own to offer', () => {
    home.settings = { ...home.settings, depth: 1 };
    expect(reasons(home.discover())).toEqual({
      a: 'this bridge runs inside another bridge',
      self: 'this bridge itself',
    });
  });

  it('offers everything when the setting allows nesting', () => {
    home.settings = { ...home.settings, depth: 1, allowSelfServer: true };
    expect(names(home.discover())).toEqual(['a', 'self']);
  });
});

it('fifty servers beside a large history are found in time that grows with its length', () => {
  const servers = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`s${i}`, server(`srv${i}`)]));
  const found = (chars: number) => {
    home.write('.claude.json', { mcpServers: servers, history: 'x'.repeat(chars) });
    expect(home.discover().ready).toHaveLength(50);
  };
  expect(growth(found, 32_000)).toBeLessThan(LINEAR);
});

describe('servers in a place that is not read', () => {
  const entry = { command: 'x' };

  it.each([
    ['.cursor/mcp.json', { servers: { a: entry } }, "'servers'", "Cursor has its servers in 'mcpServers'"],
    ['.cursor/mcp.json', { mcp: { servers: { a: { url: 'http://x' } } } }, "'mcp.servers'", "'mcpServers'"],
    [
      '.config/Code/User/mcp.json',
      { mcpServers: { a: entry } },
      "'mcpServers'",
      "VS Code has its servers in 'servers'",
    ],
    ['.config/zed/settings.json', { mcp_servers: [entry] }, "'mcp_servers'", "'context_servers'"],
    [
      '.config/opencode/opencode.json',
      { mcp: {}, mcpServers: { a: { command: ['x'] } } },
      "'mcpServers'",
      "OpenCode has its servers in 'mcp.servers'",
    ],
  ])('%s is told by name: %j', (file, content, found, expected) => {
    const path = home.write(file, content);
    const [problem, ...more] = home.discover().problems;
    expect(more).toEqual([]);
    expect(problem).toMatchObject({
      file: path,
      message: expect.stringContaining(`has servers in ${found}, which`),
    });
    expect(problem?.message).toContain(expected);
  });

  it('what only looks like it is left alone', () => {
    home.write('.config/zed/settings.json', {
      agent_servers: { a: entry },
      lsp: { rust: { command: ['x'] } },
    });
    home.write('.config/opencode/opencode.json', {
      lsp: { deno: { command: ['deno'] } },
      mcp: { servers: {} },
    });
    home.write('.config/Code/User/settings.json', {
      servers: 'x',
      mcp: { inputs: [], servers: { a: entry } },
    });
    home.write('.claude.json', { mcpServers: {}, projects: { '/p': { mcpServers: { a: entry } } } });
    expect(home.discover().problems).toEqual([]);
  });
});
