// `install` and `uninstall` as a person types them, in a home of its own.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { install } from '../../../src/hosts/install/registration.js';
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
const bytes = (file: string) => readFileSync(at(file));

const HOSTS: Record<string, { file: string; pointer: string; before: string }> = {
  'claude-code': { file: '.claude.json', pointer: 'mcpServers', before: '{\n  "numStartups": 3\n}' },
  codex: { file: '.codex/config.toml', pointer: 'mcp_servers', before: '# mine\nmodel = "m"\n' },
  gemini: { file: '.gemini/settings.json', pointer: 'mcpServers', before: '{ "ui": {} /* x */ }\n' },
  opencode: { file: '.config/opencode/opencode.json', pointer: 'mcp.servers', before: '{"mcp": {}}' },
  'claude-desktop': {
    file: '.config/Claude/claude_desktop_config.json',
    pointer: 'mcpServers',
    before: '{}',
  },
  cursor: { file: '.cursor/mcp.json', pointer: 'mcpServers', before: '{\r\n\t"mcpServers": {\r\n\t}\r\n}' },
  vscode: { file: '.config/Code/User/mcp.json', pointer: 'servers', before: '// c\n{ "inputs": [], }\n' },
  windsurf: { file: '.codeium/windsurf/mcp_config.json', pointer: 'mcpServers', before: '' },
  zed: { file: '.config/zed/settings.json', pointer: 'context_servers', before: '{\n  // z\n  "a": 1,\n}\n' },
  cline: {
    file: '.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    pointer: 'mcpServers',
    before: '\uFEFF{\n  "mcpServers": {\n    "x": { "command": "x" }\n  }\n}\n',
  },
};

describe.each(Object.entries(HOSTS))('%s', (id, { file, before }) => {
  it('is registered in, found by our own discovery as ourselves, and left byte for byte as it was', async () => {
    home.write(file, before, 0o640);
    const [done] = await json('install', id);
    expect(done).toMatchObject({ host: id, result: 'registered', file: at(file), name: 'sandbox' });
    expect(done.undo).toMatch(new RegExp(`uninstall ${id}$`));
    expect(statSync(at(file)).mode & 0o777).toBe(0o640);
    expect(home.discover().skipped).toContainEqual(
      expect.objectContaining({ name: 'sandbox', reason: { kind: 'this-bridge' } }),
    );
    const written = bytes(file);
    const [again] = await json('install', id);
    expect(again).toMatchObject({ result: 'already registered', name: 'sandbox' });
    expect(bytes(file)).toEqual(written);
    const [undone] = await json('uninstall', id);
    expect(undone).toMatchObject({
      result: 'removed',
      files: [{ file: at(file), result: 'restored', notes: [] }],
    });
    expect(bytes(file)).toEqual(Buffer.from(before));
    expect(statSync(at(file)).mode & 0o777).toBe(0o640);
    expect(readdirSync(at('.local/state/mcp-sandbox-bridge/host-changes'))).toEqual([]);
  });

  it('gets a file of its own where there is none, which goes again with the folders made for it', async () => {
    const [done] = await json('install', id);
    expect(done.result).toBe('registered');
    expect(statSync(done.file).mode & 0o777).toBe(0o600);
    const [undone] = await json('uninstall', id);
    expect(undone.files).toMatchObject([{ result: 'removed' }]);
    const left = readdirSync(home.path, { recursive: true }).map(String);
    expect(left.filter((one) => !one.startsWith('.local') && one !== 'project')).toEqual([]);
  });

  it('keeps what was written since, and loses only our entry', async () => {
    home.write(file, before);
    await json('install', id);
    const text = bytes(file).toString();
    const later = file.endsWith('.toml')
      ? `${text}\n[later]\nx = 1\n`
      : text.replace(/,?\s*\}\s*$/, ',\n  "later": 1\n}\n');
    writeFileSync(at(file), later);
    const [undone] = await json('uninstall', id);
    expect(undone).toMatchObject({ result: 'removed', files: [{ result: 'edited', notes: [] }] });
    expect(bytes(file).toString()).toContain('later');
    expect(bytes(file).toString()).not.toContain('sandbox');
    expect(home.discover()).toMatchObject({ problems: [] });
  });

  it('is named with what would be written by --dry-run, which writes nothing', async () => {
    home.write(file, before);
    const [done] = await json('install', id, '--dry-run');
    expect(done).toMatchObject({ result: 'would register', name: 'sandbox' });
    expect(bytes(file)).toEqual(Buffer.from(before));
    expect(existsSync(at('.local'))).toBe(false);
  });
});

it('takes out what was registered by hand, under any name', async () => {
  const before =
    '{"mcpServers":{"ours":{"command":"npx","args":["-y","mcp-sandbox-bridge"]},"x":{"command":"x"}}}';
  home.write('.cursor/mcp.json', before);
  expect((await json('install', 'cursor'))[0]).toMatchObject({ result: 'already registered', name: 'ours' });
  expect((await json('uninstall', 'cursor'))[0]).toMatchObject({ result: 'removed' });
  expect(JSON.parse(bytes('.cursor/mcp.json').toString())).toEqual({ mcpServers: { x: { command: 'x' } } });
  expect((await json('uninstall', 'cursor'))[0]).toMatchObject({ result: 'not registered' });
});

it('writes through links, and leaves them', async () => {
  const target = home.write('dotfiles/codex.toml', 'model = "m"\n');
  mkdirSync(at('.codex'));
  symlinkSync('../dotfiles/codex.toml', at('.codex/config.toml'));
  await json('install', 'codex');
  expect(lstatSync(at('.codex/config.toml')).isSymbolicLink()).toBe(true);
  expect(readFileSync(target, 'utf8')).toContain('[mcp_servers.sandbox]');
  await json('uninstall', 'codex');
  expect(lstatSync(at('.codex/config.toml')).isSymbolicLink()).toBe(true);
  expect(readFileSync(target, 'utf8')).toBe('model = "m"\n');
});

it('keeps backups to the user', async () => {
  home.write('.cursor/mcp.json', '{"mcpServers": {"x": {"command": "x", "env": {"TOKEN": "secret"}}}}');
  const [{ backup }] = await json('install', 'cursor');
  expect(statSync(backup).mode & 0o777).toBe(0o700);
  expect(statSync(dirname(backup)).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(backup)) expect(statSync(join(backup, name)).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(backup, '0-mcp.json'), 'utf8')).toContain('secret');
});

it('hands variables to the bridge, and takes another name', async () => {
  await json('install', 'opencode', '--name', 'py', '--env', 'MCP_BRIDGE_IMAGE=data', '--env', 'A=b=c');
  const { mcp } = JSON.parse(bytes('.config/opencode/opencode.json').toString());
  expect(mcp).toMatchObject({
    servers: { py: { type: 'local', environment: { MCP_BRIDGE_IMAGE: 'data', A: 'b=c' } } },
  });
});

it.each([
  ['of its own', '{"mcp": {"timeout": {"startup": 9000}}}', true],
  ['of V2', '{"mcp": {"servers": {"a": {"type": "local", "command": ["a"]}}}}', true],
  ['of before', '{"mcp": {"a": {"type": "local", "command": ["a"], "enabled": false}}}', false],
])('OpenCode is given an entry in the form of the file: %s', async (_form, before, isNew) => {
  const file = '.config/opencode/opencode.json';
  home.write(file, before);
  await json('install', 'opencode');
  const { mcp } = JSON.parse(bytes(file).toString());
  const [command] = isNew ? [mcp.servers.sandbox] : [mcp.sandbox];
  expect(command).toMatchObject(
    isNew ? { type: 'local', codemode: false } : { type: 'local', enabled: true },
  );
  expect(command).not.toHaveProperty(isNew ? 'enabled' : 'codemode');
  expect((await json('install', 'opencode'))[0]).toMatchObject({ result: 'already registered' });
  await json('uninstall', 'opencode');
  expect(bytes(file).toString()).toBe(before);
});

it.each([
  [
    'a broken file',
    '{"mcpServers": {\n  oops',
    [],
    /mcp\.json:2:3: cannot be read|mcp\.json:2:\d+ cannot be read/,
  ],
  [
    'a name that is taken',
    '{"mcpServers": {"sandbox": {"command": "x"}}}',
    [],
    /another server called 'sandbox'/,
  ],
  ['servers that are a list', '{"mcpServers": []}', [], /no object at mcpServers/],
  ['bytes that are no text', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), [], /UTF-8/],
  ['a wrong name', '{}', ['--name', 'a b'], /--name is 'a b'/],
  ['a wrong variable', '{}', ['--env', '1A=x'], /--env got '1A=x'/],
])('refuses %s and writes nothing', async (_what, content, args, words) => {
  const file = home.write('.cursor/mcp.json', '');
  writeFileSync(file, content);
  const { stderr, exitCode } = await cli('install', 'cursor', ...args);
  expect(stderr).toMatch(words);
  expect(exitCode).not.toBe(0);
  expect(readFileSync(file)).toEqual(Buffer.from(content));
});

it('refuses a file that others may write, or that is read-only', async () => {
  const file = home.write('.cursor/mcp.json', '{}');
  chmodSync(file, 0o666);
  expect((await cli('install', 'cursor')).stderr).toContain('chmod go-w');
  chmodSync(file, 0o444);
  expect((await cli('install', 'cursor')).stderr).toContain('chmod u+w');
  expect(readFileSync(file, 'utf8')).toBe('{}');
});

it('says where a folder cannot be made, and leaves nothing behind', async () => {
  home.write('.cursor', 'a file');
  const { stderr, exitCode } = await cli('install', 'cursor');
  expect(stderr).toMatch(/\.cursor\/mcp\.json cannot be written/);
  expect(exitCode).toBe(1);
  expect(readdirSync(at('.local/state/mcp-sandbox-bridge/host-changes'))).toEqual([]);
});

it('does not register where only an administrator may', async () => {
  const managed = { ...home.facts, exists: (file: string) => file === '/etc/claude-code/managed-mcp.json' };
  const place = { env: { HOME: home.path }, host: managed, stateDir: at('state') };
  expect(() => install('claude-code', {}, place)).toThrow(
    /takes its servers from \/etc\/claude-code\/managed-mcp\.json only/,
  );
});

it('names the host that was meant', async () => {
  const { stderr, exitCode } = await cli('install', 'claud-code');
  expect(stderr).toContain("Did you mean 'claude-code'?");
  expect(stderr).toContain('opencode');
  expect(exitCode).toBe(2);
});

it('lists the hosts that are here, and what to type', async () => {
  home.write('.codex/config.toml', '');
  home.write('.cursor/mcp.json', '{');
  const { stdout } = await cli('install');
  expect(stdout).toMatch(/codex +Codex +not registered/);
  expect(stdout).toMatch(/cursor +Cursor +cannot be read/);
  expect(stdout).toMatch(/mcp-sandbox-bridge install codex|main\.ts install codex/);
  expect(await json('install')).toMatchObject([{ id: 'codex', found: { kind: 'file' } }, { id: 'cursor' }]);
  rmSync(at('.codex'), { recursive: true });
  rmSync(at('.cursor'), { recursive: true });
  expect((await cli('install')).stdout).toContain('No host was found');
});

it('undoes what it did in this home only, where several share a state directory', async () => {
  using other = new Home();
  const state = { MCP_BRIDGE_STATE_DIR: at('state') };
  home.env = state;
  await json('install', 'codex');
  other.env = state;
  const { stdout } = await typed(other, ['uninstall', 'codex']);
  expect(stdout).toContain('not registered');
  expect(existsSync(at('.codex/config.toml'))).toBe(true);
});

describe('Claude Code with our plugin', () => {
  const installed = (isOn: boolean) => {
    const root = '.claude/plugins/cache/bridge/mcp-sandbox-bridge/0.1.0';
    const files = {
      '.claude.json': {},
      '.claude/settings.json': { enabledPlugins: { 'mcp-sandbox-bridge@bridge': isOn } },
      '.claude/plugins/installed_plugins.json': {
        version: 2,
        plugins: { 'mcp-sandbox-bridge@bridge': [{ scope: 'user', installPath: at(root) }] },
      },
      [`${root}/.claude-plugin/plugin.json`]: { name: 'mcp-sandbox-bridge' },
      [`${root}/.mcp.json`]: JSON.parse(readFileSync('plugins/claude-code/.mcp.json', 'utf8')),
    };
    for (const [file, content] of Object.entries(files)) {
      mkdirSync(dirname(at(file)), { recursive: true });
      writeFileSync(at(file), JSON.stringify(content));
    }
  };

  it('is not registered a second time', async () => {
    installed(true);
    expect(await json('install', 'claude-code')).toMatchObject([
      {
        result: 'already registered',
        name: 'plugin:mcp-sandbox-bridge:sandbox',
        undo: 'claude plugin uninstall mcp-sandbox-bridge',
      },
    ]);
    expect((await cli('uninstall', 'claude-code')).stdout).toBe(
      'Claude Code: registered by its plugin; nothing was changed. To remove the plugin: claude plugin uninstall mcp-sandbox-bridge\n',
    );
    expect(bytes('.claude.json').toString()).toBe('{}');
  });

  it('counts only while the plugin is switched on', async () => {
    installed(false);
    expect(await json('install', 'claude-code')).toMatchObject([{ result: 'registered', name: 'sandbox' }]);
  });
});
