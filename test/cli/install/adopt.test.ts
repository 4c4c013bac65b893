// `adopt` and `restore` as a person types them: servers move with their meaning and no more rights, or stay with a reason,
// and one command puts everything back.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: hosts write variables this way

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DownstreamSpec } from '../../../src/hosts/downstream-spec.js';
import { ADOPTABLE_HOSTS } from '../../../src/hosts/install/known-rules.js';
import { ADOPTABLE, HOSTS, SOURCES, withAdopted } from '../../../src/hosts/records/all-hosts.js';
import { policyOf } from '../../../src/policy/rules/policy.js';
import { KeptCatalog } from '../../../src/servers/catalog/kept-catalog.js';
import type { ServerTool } from '../../../src/servers/server/tool-list.js';
import { Home } from '../../hosts/home.js';
import { typed, typedJson } from './typed.js';

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => {
  home[Symbol.dispose]();
});

const cli = (...args: string[]) => typed(home, args);
const json = (...args: string[]) => typedJson(home, args);
const at = (file: string) => join(home.path, file);
const text = (file: string) => readFileSync(at(file), 'utf8');
const ownFile = (id: string) => `.config/mcp-sandbox-bridge/servers/${id}.json`;

type Moved = { readonly name: string };
const namesOf = (list: readonly Moved[]) => list.map(({ name }) => name);
const reasonsOf = (left: ReadonlyArray<{ name: string; reason: string }>): Record<string, string> =>
  Object.fromEntries(left.map(({ name, reason }) => [name, reason]));

/** Which of these tools of a server may be called, by what is discovered now. */
function allowed(server: string, tools: readonly string[]): string[] {
  const policy = policyOf({ allow: undefined, deny: [], file: undefined }, home.discover().ready);
  return tools.filter((name) => policy.tool(server, { name, changed: null }).allowed);
}

it('knows every host that it registers in', () => {
  const ids = HOSTS.map(({ id }) => id);
  expect(HOSTS.map(({ title }) => ADOPTABLE[title])).toEqual(ids);
  expect(Object.keys(ADOPTABLE_HOSTS)).toEqual(ids);
});

const FILES: Record<string, { file: string; content: string }> = {
  'claude-code': {
    file: '.claude.json',
    content:
      '{\n  "n": 1,\n  "mcpServers": {\n    "x": { "type": "stdio", "command": "x", "args": ["${A:-b}"], "timeout": 5000 }\n  }\n}\n',
  },
  codex: {
    file: '.codex/config.toml',
    content:
      '# top\n[mcp_servers.x] # ours\ncommand = "x"\ntool_timeout_sec = 7\n[mcp_servers.x.env]\nK = "${A}"\n\n[tui] # last\nv = 1',
  },
  gemini: {
    file: '.gemini/settings.json',
    content: '{"mcpServers":{"x":{"command":"x","args":["$HOME"]}},"ui":{}}',
  },
  opencode: {
    file: '.config/opencode/opencode.jsonc',
    content:
      '{\n  // mine\n  "mcp": {\n    "x": { "type": "local", "command": ["x", "1"], "environment": { "K": "{env:HOME}" } },\n  },\n}\n',
  },
  'claude-desktop': {
    file: '.config/Claude/claude_desktop_config.json',
    content: '{"mcpServers": {"x": {"command": "x", "env": {"K": "${A}"}}}}',
  },
  cursor: {
    file: '.cursor/mcp.json',
    content: '{\r\n\t"mcpServers": {\r\n\t\t"x": {\r\n\t\t\t"command": "${userHome}/x"\r\n\t\t}\r\n\t}\r\n}',
  },
  vscode: {
    file: '.config/Code/User/mcp.json',
    content: '{\n  "servers": {\n    // x\n    "x": { "command": "x" } // y\n  }\n}',
  },
  windsurf: {
    file: '.codeium/windsurf/mcp_config.json',
    content: '{"mcpServers": {"x": {"command": "x"}}}\n',
  },
  zed: {
    file: '.config/zed/settings.json',
    content: '// zed\n{\n  "context_servers": {\n    "x": { "source": "custom", "command": "x" },\n  },\n}\n',
  },
  cline: {
    file: '.cline/data/settings/cline_mcp_settings.json',
    content: '{"mcpServers": {"x": {"command": "x", "disabled": false, "autoApprove": []}}}',
  },
};

describe.each(Object.entries(FILES))('%s', (id, { file, content }) => {
  it('has a server moved with the same meaning, and put back byte for byte', async () => {
    home.write(file, content, 0o600);
    const [before] = home.discover().ready;
    const done = await json('adopt', id);
    expect(done).toMatchObject({ result: 'moved', left: [], registers: true, file: at(ownFile(id)) });
    expect(namesOf(done.servers)).toEqual(['x']);
    const { ready, skipped } = home.discover();
    expect(ready).toEqual([
      { ...before, source: { ...before?.source, file: at(ownFile(id)), pointer: '/mcpServers/x' } },
    ]);
    expect(skipped).toMatchObject([{ name: 'sandbox', reason: { kind: 'this-bridge' } }]);
    expect(statSync(at(ownFile(id))).mode & 0o777).toBe(0o600);
    for (const folder of ['.config/mcp-sandbox-bridge/servers', '.config/mcp-sandbox-bridge'])
      expect(statSync(at(folder)).mode & 0o777).toBe(0o700);
    expect((await json('adopt', id)).result).toBe('nothing to move');
    const back = await json('restore', id);
    expect(back.files).toMatchObject([{ result: 'restored' }, { result: 'removed' }]);
    expect(text(file)).toBe(content);
    expect(existsSync(at('.config/mcp-sandbox-bridge'))).toBe(false);
    expect(readdirSync(at('.local/state/mcp-sandbox-bridge/host-changes'))).toEqual([]);
    expect((await json('restore', id)).result).toBe('nothing to restore');
  });

  it('gets its server back where the file was changed since', async () => {
    home.write(file, content, 0o600);
    const before = home.discover().ready;
    await json('install', id);
    await json('adopt', id);
    const now = text(file);
    const later = file.endsWith('.toml')
      ? `${now}\n[later]\nx = 1\n`
      : now.replace(/,?\s*\}\s*$/, ',\n  "later": 1\n}\n');
    writeFileSync(at(file), later);
    expect((await json('restore', id)).files).toMatchObject([
      { result: 'edited', notes: [] },
      { result: 'removed' },
    ]);
    expect(home.discover().ready).toEqual(before);
    expect(text(file)).toContain('later');
    if (id === 'vscode') expect(text(file)).toContain('// x');
    expect((await json('uninstall', id))[0].files).toMatchObject([{ result: 'edited', notes: [] }]);
    expect(home.discover()).toMatchObject({ ready: before, skipped: [], problems: [] });
  });
});

it('writes nothing with --dry-run, and says the same', async () => {
  const { file, content } = FILES['codex'] ?? { file: '', content: '' };
  home.write(file, content);
  expect(await json('adopt', 'codex', '--dry-run')).toMatchObject({
    result: 'would move',
    servers: [{ name: 'x' }],
  });
  expect(text(file)).toBe(content);
  expect(existsSync(at('.config'))).toBe(false);
});

it('says where moved servers are when the bridge is taken out', async () => {
  home.write('.cursor/mcp.json', { mcpServers: { one: { command: '1' } } });
  await json('adopt', 'cursor');
  const { stdout } = await cli('uninstall', 'cursor');
  expect(stdout).toContain('restore cursor');
  expect(JSON.parse(text('.cursor/mcp.json'))).toEqual({ mcpServers: {} });
  await json('restore', 'cursor');
  expect(JSON.parse(text('.cursor/mcp.json'))).toEqual({ mcpServers: { one: { command: '1' } } });
});

it('says how many characters leave the context, of what was learned before', async () => {
  home.write('.cursor/mcp.json', { mcpServers: { known: { command: 'k' }, unknown: { command: 'u' } } });
  const spec = home.discover().ready.find(({ name }) => name === 'known') as DownstreamSpec;
  const tool = { name: 'read', description: 'Reads.', inputSchema: { type: 'object' as const } };
  const chars = JSON.stringify(tool).length;
  const catalog = new KeptCatalog(at('.local/state/mcp-sandbox-bridge'), () => {});
  const tools = () => [{ ...tool, outputSchema: undefined, needsTask: false } as ServerTool];
  catalog.learn({ spec, serverVersion: '1', instructions: undefined, tools });
  const done = await json('adopt', 'cursor', '--dry-run');
  expect(done.servers).toMatchObject([{ name: 'known', tools: 1, chars }, { name: 'unknown' }]);
  const { stdout } = await cli('adopt', 'cursor');
  expect(stdout).toContain(`${chars} characters of 1 tools`);
  expect(stdout).toMatch(/servers refresh unknown/);
});

it('moves only what it is asked for, and names what it does not know', async () => {
  home.write('.cursor/mcp.json', { mcpServers: { one: { command: '1' }, two: { command: '2' } } });
  const { stderr, exitCode } = await cli('adopt', 'cursor', 'twoo');
  expect(stderr).toContain("Did you mean 'two'?");
  expect(exitCode).toBe(2);
  expect(namesOf((await json('adopt', 'cursor', 'two')).servers)).toEqual(['two']);
  expect(Object.keys(JSON.parse(text('.cursor/mcp.json')).mcpServers)).toEqual(['one', 'sandbox']);
});

it('keeps both files as they are where one of them cannot be written', async () => {
  home.write('.cursor/mcp.json', { mcpServers: { one: { command: '1' } } }, 0o444);
  const before = text('.cursor/mcp.json');
  const { stderr, exitCode } = await cli('adopt', 'cursor');
  expect(stderr).toContain('read-only');
  expect(exitCode).toBe(1);
  expect(text('.cursor/mcp.json')).toBe(before);
  expect(existsSync(at(ownFile('cursor')))).toBe(false);
  expect(readdirSync(at('.local/state/mcp-sandbox-bridge/host-changes'))).toEqual([]);
});

it('keeps a server here whose place in the host was taken, and says so', async () => {
  home.write('.cursor/mcp.json', { mcpServers: { one: { command: '1' }, two: { command: '2' } } });
  await json('adopt', 'cursor');
  const now = JSON.parse(text('.cursor/mcp.json'));
  home.write('.cursor/mcp.json', { mcpServers: { ...now.mcpServers, one: { command: 'another' } } });
  const { files } = await json('restore', 'cursor');
  expect(files[0].notes.join()).toContain('mcpServers.one could not be put back');
  expect(JSON.parse(text('.cursor/mcp.json')).mcpServers).toEqual({
    one: { command: 'another' },
    two: { command: '2' },
  });
  expect(JSON.parse(text(ownFile('cursor'))).mcpServers).toEqual({ one: { command: '1' } });
});

it('leaves alone what would not mean the same, with the reason', async () => {
  home.env = { TOKEN: 't' };
  home.write('.cursor/mcp.json', {
    mcpServers: {
      workspace: { command: 'x', args: ['${workspaceFolder}'] },
      unset: { command: 'x', args: ['${env:NOT_SET}'] },
      login: { url: 'https://a.example.com/mcp', auth: { CLIENT_ID: 'x' } },
      'perhaps-login': { url: 'https://b.example.com/mcp' },
      keyed: { url: 'https://c.example.com/mcp', headers: { Authorization: 'Bearer ${env:TOKEN}' } },
      new: { command: 'x', confinement: 'strict' },
      beside: { command: 'x', envFile: './x.env' },
      us: { command: 'npx', args: ['-y', 'mcp-sandbox-bridge'] },
    },
  });
  home.write('.cursor/x.env', 'A=1');
  home.write('project/.cursor/mcp.json', { mcpServers: { shared: { command: 's' } } });
  const { servers, left, registers } = await json('adopt', 'cursor');
  expect(namesOf(servers)).toEqual(['keyed']);
  expect(registers).toBe(false);
  expect(reasonsOf(left)).toMatchObject({
    shared: expect.stringContaining("project's file"),
    workspace: expect.stringContaining('variable of the workspace'),
    unset: expect.stringContaining('NOT_SET'),
    login: expect.stringContaining("'auth'"),
    'perhaps-login': expect.stringContaining('servers refresh'),
    new: expect.stringContaining("'confinement'"),
    beside: expect.stringContaining('path'),
    us: 'this bridge itself',
  });
});

it('leaves alone what asks for input, is switched off, or counts for one project', async () => {
  home.write('.config/Code/User/mcp.json', {
    inputs: [{ id: 'key', type: 'promptString' }],
    servers: {
      prompts: { command: 'x', env: { KEY: '${input:key}' } },
      confined: { command: 'x', sandboxEnabled: true },
    },
  });
  home.write('.config/Code/User/profiles/abc/mcp.json', { servers: { profiled: { command: 'x' } } });
  expect(reasonsOf((await json('adopt', 'vscode')).left)).toEqual({
    prompts: expect.stringContaining('input key'),
    confined: expect.stringContaining("'sandboxEnabled'"),
    profiled: expect.stringContaining('profile'),
  });
  home.write('.claude.json', {
    mcpServers: { off: { command: 'x' } },
    projects: { [home.cwd]: { disabledMcpServers: ['off'], mcpServers: { here: { command: 'x' } } } },
  });
  expect(reasonsOf((await json('adopt', 'claude-code')).left)).toEqual({
    off: expect.stringContaining('disabled'),
    here: expect.stringContaining('this project only'),
  });
});

it('leaves alone what needs a variable that the host does not hand to the bridge', async () => {
  home.env = { TOKEN: 't' };
  const server = '[mcp_servers.x]\nurl = "https://x.example.com/mcp"\nbearer_token_env_var = "TOKEN"\n';
  home.write('.codex/config.toml', server);
  expect(reasonsOf((await json('adopt', 'codex')).left)['x']).toContain('TOKEN');
  const us = '[mcp_servers.us]\ncommand = "mcp-sandbox-bridge"\nenv_vars = ["TOKEN"]\n';
  home.write('.codex/config.toml', server + us);
  expect(namesOf((await json('adopt', 'codex')).servers)).toEqual(['x']);
});

describe('nothing becomes looser', () => {
  const TOOLS = ['read', 'write', 'drop'];

  it.each<[string, string, string, unknown, string[]]>([
    [
      'lists of Codex',
      'codex',
      '.codex/config.toml',
      '[mcp_servers.x]\ncommand = "x"\nenabled_tools = ["read", "write"]\ndisabled_tools = ["write"]\n',
      ['read'],
    ],
    [
      'approvals of single tools in Codex',
      'codex',
      '.codex/config.toml',
      '[mcp_servers.x]\ncommand = "x"\n[mcp_servers.x.tools.drop]\napproval_mode = "prompt"\n',
      ['read', 'write'],
    ],
    [
      'approvals of all tools in Codex',
      'codex',
      '.codex/config.toml',
      '[mcp_servers.x]\ncommand = "x"\ndefault_tools_approval_mode = "prompt"\n[mcp_servers.x.tools.read]\napproval_mode = "approve"\n',
      ['read'],
    ],
    [
      'a bridge that runs unasked in Codex',
      'codex',
      '.codex/config.toml',
      '[mcp_servers.x]\ncommand = "x"\n[mcp_servers.x.tools.read]\napproval_mode = "approve"\n[mcp_servers.s]\ncommand = "mcp-sandbox-bridge"\ndefault_tools_approval_mode = "approve"\n',
      ['read'],
    ],
    [
      'lists of Gemini CLI',
      'gemini',
      '.gemini/settings.json',
      { mcpServers: { x: { command: 'x', includeTools: ['read', 'drop'], excludeTools: ['drop'] } } },
      ['read'],
    ],
    [
      'tools excluded for all in Gemini CLI',
      'gemini',
      '.gemini/settings.json',
      { mcpServers: { x: { command: 'x' } }, tools: { exclude: ['mcp_x_drop', 'write'] } },
      ['read'],
    ],
    [
      'disabledTools of Windsurf',
      'windsurf',
      '.codeium/windsurf/mcp_config.json',
      { mcpServers: { x: { command: 'x', disabledTools: ['drop'] } } },
      ['read', 'write'],
    ],
    [
      'autoApprove of Cline',
      'cline',
      '.cline/data/settings/cline_mcp_settings.json',
      { mcpServers: { x: { command: 'x', autoApprove: ['read'] } } },
      ['read'],
    ],
    [
      'alwaysAllow and disabledTools of Cline',
      'cline',
      '.cline/data/settings/cline_mcp_settings.json',
      { mcpServers: { x: { command: 'x', alwaysAllow: ['read', 'drop'], disabledTools: ['drop'] } } },
      ['read'],
    ],
    [
      'tools and permissions of OpenCode',
      'opencode',
      '.config/opencode/opencode.json',
      {
        mcp: { x: { type: 'local', command: ['x'] } },
        tools: { x_drop: false },
        permission: { x_write: 'ask' },
      },
      ['read'],
    ],
    [
      'permissions of Zed',
      'zed',
      '.config/zed/settings.json',
      {
        context_servers: { x: { command: 'x' } },
        agent: {
          profiles: { ask: { context_servers: { x: { tools: { drop: false } } } } },
          tool_permissions: { tools: { 'mcp:x:write': { default: 'confirm' } } },
        },
      },
      ['read'],
    ],
  ])('keeps %s', async (_what, id, file, content, expected) => {
    home.write(file, content);
    expect(namesOf((await json('adopt', id)).servers)).toEqual(['x']);
    expect(allowed('x', TOOLS)).toEqual(expected);
    const { stdout } = await cli('servers');
    expect(stdout).toContain(ownFile(id));
  });

  it('keeps rules of Claude Code that deny a tool or ask before it, of every project', async () => {
    home.write('.claude.json', { mcpServers: { x: { command: 'x' } }, projects: { [at('elsewhere')]: {} } });
    home.write('.claude/settings.json', { permissions: { deny: ['mcp__x__drop', 'Bash(rm:*)'] } });
    home.write('elsewhere/.claude/settings.local.json', { permissions: { ask: ['mcp__x__write'] } });
    const { servers } = await json('adopt', 'claude-code');
    expect(servers[0].denied.map(({ tool }: { tool: string }) => tool)).toEqual(['drop', 'write']);
    expect(allowed('x', TOOLS)).toEqual(['read']);
    await json('restore', 'claude-code');
    const { stdout } = await cli('adopt', 'claude-code');
    expect(stdout).toContain('write is denied here: Claude Code asks before it');
  });

  it.each<[string, string, string, unknown, string]>([
    [
      'Claude Code denies the server',
      '.claude/settings.json',
      'claude-code',
      { permissions: { deny: ['mcp__x'] } },
      'permissions.deny',
    ],
    [
      'Claude Code asks before the server',
      '.claude/settings.json',
      'claude-code',
      { permissions: { ask: ['mcp__x__*'] } },
      'permissions.ask',
    ],
    [
      'Claude Code has a pattern',
      '.claude/settings.json',
      'claude-code',
      { permissions: { deny: ['mcp__x__del*'] } },
      'mcp__x__del*',
    ],
    [
      'Claude Code runs us unasked',
      '.claude/settings.json',
      'claude-code',
      { permissions: { allow: ['mcp__sandbox'] } },
      'without asking',
    ],
    [
      'a hook looks at it',
      '.claude/settings.json',
      'claude-code',
      { hooks: { PreToolUse: [{ matcher: 'mcp__x__.*', hooks: [] }] } },
      'hook',
    ],
    [
      'Cursor denies it',
      '.cursor/cli-config.json',
      'cursor',
      { permissions: { deny: ['Mcp(x:*)'] } },
      'permissions.deny',
    ],
    [
      'a policy of Gemini CLI asks',
      '.gemini/policies/a.toml',
      'gemini',
      '[[rule]]\nmcpName = "x"\ndecision = "ask_user"\npriority = 1\n',
      'rule for it',
    ],
  ])('leaves a server alone where %s', async (_what, rulesFile, id, rules, words) => {
    const { file } = FILES[id] ?? { file: '' };
    home.write(file, { mcpServers: { x: { command: 'x' } } });
    home.write(rulesFile, rules);
    const { result, left } = await json('adopt', id);
    expect(result).toBe('nothing to move');
    expect(reasonsOf(left)['x']).toContain(words);
  });

  it.each<[string, string, string, unknown, string]>([
    [
      'all of Codex is asked about',
      'codex',
      '.codex/config.toml',
      '[mcp_servers.x]\ncommand = "x"\ndefault_tools_approval_mode = "prompt"\n',
      'asks before each',
    ],
    [
      'Gemini CLI allows only some arguments',
      'gemini',
      '.gemini/settings.json',
      { mcpServers: { x: { command: 'x', includeTools: ['read(a)'] } } },
      'arguments',
    ],
    [
      'Gemini CLI trusts only us',
      'gemini',
      '.gemini/settings.json',
      { mcpServers: { x: { command: 'x' }, s: { command: 'mcp-sandbox-bridge', trust: true } } },
      'runs the bridge without asking',
    ],
    [
      'OpenCode has it off',
      'opencode',
      '.config/opencode/opencode.json',
      { mcp: { x: { type: 'local', command: ['x'] } }, tools: { 'x_*': false } },
      'switched off',
    ],
    [
      'OpenCode asks before it',
      'opencode',
      '.config/opencode/opencode.json',
      { mcp: { x: { type: 'local', command: ['x'] } }, permission: { 'x_*': 'ask' } },
      'asks before its tools',
    ],
    [
      'an agent of OpenCode has rules',
      'opencode',
      '.config/opencode/opencode.json',
      { mcp: { x: { type: 'local', command: ['x'] } }, agent: { a: { tools: { x_drop: false } } } },
      'agent',
    ],
    [
      'Cline runs us unasked',
      'cline',
      '.cline/data/settings/cline_mcp_settings.json',
      {
        mcpServers: {
          x: { command: 'x' },
          s: { command: 'mcp-sandbox-bridge', autoApprove: ['run_python'] },
        },
      },
      'without asking',
    ],
  ])('leaves a server alone where %s', async (_what, id, file, content, words) => {
    home.write(file, content);
    const { result, left } = await json('adopt', id);
    expect(result).toBe('nothing to move');
    expect(reasonsOf(left)['x']).toContain(words);
  });

  it('does not put a server before one that other hosts have under its name', async () => {
    home.write('.cursor/mcp.json', { mcpServers: { x: { command: 'theirs' } } });
    home.write('.codex/config.toml', '[mcp_servers.x]\ncommand = "x"\n');
    expect(reasonsOf((await json('adopt', 'codex')).left)['x']).toMatch(
      /the name of a server|same name as another/,
    );
    home.write('.codex/config.toml', '[mcp_servers.x]\ncommand = "theirs"\n');
    expect(namesOf((await json('adopt', 'codex')).servers)).toEqual(['x']);
    expect(home.discover().ready).toMatchObject([
      { name: 'x', command: 'theirs', source: { host: 'Cursor' } },
    ]);
  });
});

it('reads moved servers in the place of their host', () => {
  const order = withAdopted(SOURCES).map(({ host, files }) => `${host} ${files.any?.[0] ?? ''}`);
  const moved = order.indexOf('Cursor ~/.config/mcp-sandbox-bridge/servers/cursor.json');
  expect(order[moved - 1]).toBe('Cursor ~/.cursor/mcp.json');
  expect(withAdopted(SOURCES)).toBe(withAdopted(SOURCES));
});
