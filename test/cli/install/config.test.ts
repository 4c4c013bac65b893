// `config` as a person types it, in a home of its own: settings in the entries that `install` has written, and in others'.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

const FILES: Record<string, { file: string; before: string }> = {
  'claude-code': { file: '.claude.json', before: '{\n  "numStartups": 3\n}' },
  codex: { file: '.codex/config.toml', before: '# mine\nmodel = "m" # why\n\n[tui]\nx = 1\n' },
  gemini: { file: '.gemini/settings.json', before: '{ "ui": {} /* x */ }\n' },
  opencode: { file: '.config/opencode/opencode.json', before: '{"mcp": {}}' },
  'claude-desktop': { file: '.config/Claude/claude_desktop_config.json', before: '{}' },
  cursor: { file: '.cursor/mcp.json', before: '{\r\n\t"mcpServers": {\r\n\t}\r\n}' },
  vscode: { file: '.config/Code/User/mcp.json', before: '// c\n{ "inputs": [], }\n' },
  windsurf: { file: '.codeium/windsurf/mcp_config.json', before: '' },
  zed: { file: '.config/zed/settings.json', before: '{\n  // z\n  "a": 1,\n}\n' },
  cline: {
    file: '.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    before: '\uFEFF{\n  "mcpServers": {\n    "x": { "command": "x" }\n  }\n}\n',
  },
};

describe.each(Object.entries(FILES))('in %s', (id, { file, before }) => {
  const shownIn = async (name: string) => (await json('config', 'get', name)).values[0].value;

  it('a setting is set, changed and taken away, and uninstall still leaves the file byte for byte as it was', async () => {
    home.write(file, before);
    await json('install', id);
    const registered = text(file);
    const { entries } = await json('config', 'set', 'MCP_BRIDGE_IMAGE=data', 'MCP_BRIDGE_TIMEOUT=60');
    expect(entries).toMatchObject([{ host: id, file: at(file), result: 'changed' }]);
    expect(await shownIn('MCP_BRIDGE_IMAGE')).toBe('data');
    await json('config', 'set', 'MCP_BRIDGE_IMAGE', 'base', '--host', id);
    expect(await shownIn('MCP_BRIDGE_IMAGE')).toBe('base');
    expect(await shownIn('MCP_BRIDGE_TIMEOUT')).toBe('60');
    expect(home.discover()).toMatchObject({ problems: [] });
    await json('config', 'unset', 'MCP_BRIDGE_IMAGE', 'MCP_BRIDGE_TIMEOUT');
    expect(await shownIn('MCP_BRIDGE_IMAGE')).toBeNull();
    expect(text(file)).toBe(registered);
    await json('config', 'set', 'MCP_BRIDGE_SESSIONS=2');
    const [undone] = await json('uninstall', id);
    expect(undone).toMatchObject({ result: 'removed', files: [{ result: 'restored', notes: [] }] });
    expect(text(file)).toBe(before);
    expect(readdirSync(at('.local/state/mcp-sandbox-bridge/host-changes'))).toEqual([]);
  });
});

it('keeps comments, order and every other byte of an entry that was written by hand', async () => {
  const toml = `model = "m"

[mcp_servers.py] # ours
command = "npx"
args = ["-y", "mcp-sandbox-bridge"]

[mcp_servers.py.env]
# for charts
MCP_BRIDGE_IMAGE = "data" # not base
OTHER = 'kept'

[tui]
x = 1
`;
  home.write('.codex/config.toml', toml);
  await json('config', 'set', 'MCP_BRIDGE_IMAGE=base', 'MCP_BRIDGE_TIMEOUT=60');
  expect(text('.codex/config.toml')).toBe(
    toml
      .replace('"data" # not', '"base" # not')
      .replace("OTHER = 'kept'\n", 'OTHER = \'kept\'\nMCP_BRIDGE_TIMEOUT = "60"\n'),
  );
  await json('config', 'unset', 'MCP_BRIDGE_TIMEOUT');
  expect(text('.codex/config.toml')).toBe(toml.replace('"data" # not', '"base" # not'));
});

it('writes variables that stand in one line of TOML anew as a table', async () => {
  const toml =
    '[mcp_servers.py]\ncommand = "npx"\nargs = ["-y", "mcp-sandbox-bridge"]\nenv = { A = "1" }\n\n[tui]\nx = 1\n';
  home.write('.codex/config.toml', toml);
  await json('config', 'set', 'MCP_BRIDGE_IMAGE=base');
  expect(text('.codex/config.toml')).toBe(
    `${toml.replace('env = { A = "1" }\n', '')}\n[mcp_servers.py.env]\nA = "1"\nMCP_BRIDGE_IMAGE = "base"\n`,
  );
});

describe('a wrong setting is refused before anything is written:', () => {
  const BEFORE = '{"mcpServers": {"py": {"command": "npx", "args": ["-y", "mcp-sandbox-bridge"]}}}';
  it.each([
    ['a misspelt name', ['MCP_BRIGE_IMAGE=data'], "Did you mean 'MCP_BRIDGE_IMAGE'?"],
    [
      'a name without its prefix',
      ['image=data'],
      "image is not a setting of this version. Did you mean 'MCP_BRIDGE_IMAGE'?",
    ],
    [
      'a value that is not allowed',
      ['MCP_BRIDGE_TIMEOUT=soon'],
      "MCP_BRIDGE_TIMEOUT is 'soon'; allowed: whole seconds",
    ],
    ['a misspelt value', ['MCP_BRIDGE_APPROVE=destrucive'], "Did you mean 'destructive'?"],
    ['half a certificate', ['MCP_BRIDGE_HTTP_CERT=/c.pem'], 'MCP_BRIDGE_HTTP_KEY is not set'],
    ['a setting of the command server', ['MCP_EXEC_ALLOW=git'], 'is for `code-exec`'],
    ['a file that is not there', ['MCP_SERVERS_CONFIG=/nowhere.json'], 'does not exist'],
    ['an empty value', ['MCP_BRIDGE_IMAGE='], 'config unset MCP_BRIDGE_IMAGE'],
    ['no pair', ['MCP_BRIDGE_IMAGE'], 'is no NAME=VALUE'],
    [
      'one wrong among several',
      ['MCP_BRIDGE_IMAGE=data', 'MCP_BRIDGE_PIDS=many'],
      "MCP_BRIDGE_PIDS is 'many'",
    ],
  ])('%s', async (_what, pairs, words) => {
    home.write('.cursor/mcp.json', BEFORE);
    const { exitCode, stderr } = await cli('config', 'set', ...pairs);
    expect(stderr).toContain(words);
    expect(exitCode).toBe(2);
    expect(text('.cursor/mcp.json')).toBe(BEFORE);
    if (pairs[0]?.includes('=') && !pairs[0].endsWith('=')) {
      const env = pairs.flatMap((pair) => ['--env', pair]);
      const installed = await cli('install', 'codex', ...env);
      expect(installed.stderr).toContain(words);
      expect(installed.exitCode).toBe(2);
    }
  });

  it('taking away what no host has, under a misspelt name', async () => {
    home.write('.cursor/mcp.json', BEFORE);
    const { exitCode, stderr } = await cli('config', 'unset', 'MCP_BRIDGE_IMGE');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("Did you mean 'MCP_BRIDGE_IMAGE'?")]);
  });
});

it('takes variables of servers, which are no settings', async () => {
  home.write(
    '.cursor/mcp.json',
    '{"mcpServers": {"py": {"command": "npx", "args": ["mcp-sandbox-bridge"]}}}',
  );
  await json('config', 'set', 'HTTPS_PROXY=http://proxy:3128');
  expect(JSON.parse(text('.cursor/mcp.json')).mcpServers.py.env).toEqual({
    HTTPS_PROXY: 'http://proxy:3128',
  });
});

it('lists what is set in each host, what differs, what is wrong, and no secret', async () => {
  const entry = (env: object) =>
    JSON.stringify({ mcpServers: { py: { command: 'npx', args: ['mcp-sandbox-bridge'], env } } });
  home.write(
    '.cursor/mcp.json',
    entry({ MCP_BRIDGE_IMAGE: 'data', GITHUB_TOKEN: 'ghp_verysecret1', MCP_BRIDGE_SEED: '1' }),
  );
  home.write('.claude.json', entry({ MCP_BRIDGE_IMAGE: 'base', MCP_BRIDGE_TIMEOUT: 'soon' }));
  const listed = await json('config', 'list');
  expect(listed.differing).toEqual([
    'GITHUB_TOKEN',
    'MCP_BRIDGE_IMAGE',
    'MCP_BRIDGE_SEED',
    'MCP_BRIDGE_TIMEOUT',
  ]);
  expect(JSON.stringify(listed)).not.toContain('verysecret');
  const { stdout } = await cli('config', 'list');
  expect(stdout).toMatch(/MCP_BRIDGE_IMAGE +base +claude-code +differs\n +data +cursor/);
  expect(stdout).toMatch(/wrong {2}Claude Code: MCP_BRIDGE_TIMEOUT is 'soon'; allowed/);
  expect(stdout).toMatch(/wrong {2}Cursor: MCP_BRIDGE_SEED is not a setting of this version/);
  expect(stdout).not.toContain('verysecret');
  expect((await cli('config', 'get', 'GITHUB_TOKEN')).stdout).not.toContain('verysecret');
  // A wrong setting that was there before keeps nobody from mending another one.
  await json('config', 'set', 'MCP_BRIDGE_IMAGE=data');
  expect((await json('config', 'list')).differing).not.toContain('MCP_BRIDGE_IMAGE');
});

it('changes only the host that is named, and says how the host takes it', async () => {
  await json('install', 'codex', 'cursor');
  const { stdout } = await cli('config', 'set', 'MCP_BRIDGE_IMAGE=data', '--host', 'codex');
  expect(stdout).toMatch(/^Codex: MCP_BRIDGE_IMAGE is data now in .*config\.toml \(before: not set\)\n/);
  expect(stdout).toMatch(/config unset MCP_BRIDGE_IMAGE --host codex\n {2}next {2}Restart Codex/);
  expect((await json('config', 'get', 'MCP_BRIDGE_IMAGE')).values).toMatchObject([
    { host: 'codex', value: 'data' },
    { host: 'cursor', value: null },
  ]);
  const again = await cli('config', 'set', 'MCP_BRIDGE_IMAGE=data', '--host', 'codex');
  expect(again.stdout).toContain('already in');
});

it('says where the bridge is not registered', async () => {
  expect((await cli('config', 'set', 'MCP_BRIDGE_IMAGE=data')).stderr).toContain('registered in no host');
  const { exitCode, stderr } = await cli('config', 'list', '--host', 'zed');
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/not registered in Zed[\s\S]*install zed/)]);
});

it('passes over a host whose file cannot be read, and says so', async () => {
  await json('install', 'codex');
  home.write('.cursor/mcp.json', '{"mcpServers": {');
  const { entries, troubles } = await json('config', 'set', 'MCP_BRIDGE_IMAGE=data');
  expect(entries).toMatchObject([{ host: 'codex', result: 'changed' }]);
  expect(troubles).toMatchObject([{ host: 'cursor', message: expect.stringContaining('cannot be read') }]);
});

it('install --env says what differs where the bridge is registered already, and the command that changes it', async () => {
  await json('install', 'codex', '--env', 'MCP_BRIDGE_IMAGE=base');
  const before = text('.codex/config.toml');
  const { stdout } = await cli(
    'install',
    'codex',
    '--env',
    'MCP_BRIDGE_IMAGE=data',
    '--env',
    'MCP_BRIDGE_PIDS=64',
  );
  expect(stdout).toContain('differs MCP_BRIDGE_IMAGE is base there; you gave data.');
  expect(stdout).toContain('differs MCP_BRIDGE_PIDS is not set there; you gave 64.');
  expect(stdout).toMatch(/config set MCP_BRIDGE_IMAGE=data MCP_BRIDGE_PIDS=64 --host codex/);
  expect(text('.codex/config.toml')).toBe(before);
  expect((await cli('install', 'codex', '--env', 'MCP_BRIDGE_IMAGE=base')).stdout).not.toContain('differs');
});

it('install shows no secret that it was given', async () => {
  const { stdout } = await cli('install', 'codex', '--env', 'API_TOKEN=ghp_verysecret1');
  expect(stdout).toContain('API_TOKEN');
  expect(stdout).not.toContain('verysecret');
  expect(text('.codex/config.toml')).toContain('verysecret');
});

it('after a change by hand uninstall loses only our entry', async () => {
  await json('install', 'codex');
  await json('config', 'set', 'MCP_BRIDGE_IMAGE=data');
  writeFileSync(at('.codex/config.toml'), `${text('.codex/config.toml')}\n[later]\nx = 1\n`);
  await json('uninstall', 'codex');
  expect(text('.codex/config.toml')).toBe('[later]\nx = 1\n');
});
