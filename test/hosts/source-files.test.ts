// Where each host keeps its servers, on each operating system.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SOURCES } from '../../src/hosts/records/all-hosts.js';
import { filesOf, locate } from '../../src/hosts/terms/source-files.js';
import type { HostFacts } from '../../src/settings/files/host-facts.js';
import { Home } from './home.js';

const machine = (platform: NodeJS.Platform): HostFacts => ({
  home: platform === 'win32' ? 'C:\\Users\\ann' : platform === 'darwin' ? '/Users/ann' : '/home/ann',
  platform,
  cores: 4,
  cwd: platform === 'win32' ? 'D:\\work' : '/work',
  uid: platform === 'win32' ? undefined : 1000,
  exists: () => false,
});
const files = (platform: NodeJS.Platform, host: string, env = {}) =>
  SOURCES.filter((source) => source.host === host).flatMap((source) =>
    filesOf(source, env, machine(platform)),
  );

it.each<[NodeJS.Platform, string, string[]]>([
  ['darwin', 'Claude Desktop', ['/Users/ann/Library/Application Support/Claude/claude_desktop_config.json']],
  ['linux', 'Claude Desktop', ['/home/ann/.config/Claude/claude_desktop_config.json']],
  ['win32', 'Claude Desktop', ['C:\\Users\\ann\\AppData\\Roaming\\Claude\\claude_desktop_config.json']],
  ['win32', 'Cursor', ['D:\\work\\.cursor\\mcp.json', 'C:\\Users\\ann\\.cursor\\mcp.json']],
  [
    'win32',
    'Windsurf',
    ['C:\\Users\\ann\\.codeium\\windsurf\\mcp_config.json', 'C:\\Users\\ann\\.codeium\\mcp_config.json'],
  ],
  ['win32', 'Zed', ['D:\\work\\.zed\\settings.json', 'C:\\Users\\ann\\AppData\\Roaming\\Zed\\settings.json']],
  ['darwin', 'Zed', ['/work/.zed/settings.json', '/Users/ann/.config/zed/settings.json']],
  ['win32', 'Codex', ['D:\\work\\.codex\\config.toml', 'C:\\Users\\ann\\.codex\\config.toml']],
  [
    'darwin',
    'VS Code',
    [
      '/work/.vscode/mcp.json',
      '/Users/ann/Library/Application Support/Code/User/mcp.json',
      '/Users/ann/Library/Application Support/Code - Insiders/User/mcp.json',
      '/work/.vscode/settings.json',
      '/Users/ann/Library/Application Support/Code/User/settings.json',
      '/Users/ann/Library/Application Support/Code - Insiders/User/settings.json',
    ],
  ],
  [
    'win32',
    'VS Code',
    [
      'D:\\work\\.vscode\\mcp.json',
      'C:\\Users\\ann\\AppData\\Roaming\\Code\\User\\mcp.json',
      'C:\\Users\\ann\\AppData\\Roaming\\Code - Insiders\\User\\mcp.json',
      'D:\\work\\.vscode\\settings.json',
      'C:\\Users\\ann\\AppData\\Roaming\\Code\\User\\settings.json',
      'C:\\Users\\ann\\AppData\\Roaming\\Code - Insiders\\User\\settings.json',
    ],
  ],
  [
    'linux',
    'Gemini CLI',
    ['/etc/gemini-cli/settings.json', '/work/.gemini/settings.json', '/home/ann/.gemini/settings.json'],
  ],
  [
    'darwin',
    'Gemini CLI',
    [
      '/Library/Application Support/GeminiCli/settings.json',
      '/work/.gemini/settings.json',
      '/Users/ann/.gemini/settings.json',
    ],
  ],
  [
    'win32',
    'Gemini CLI',
    [
      'C:\\ProgramData\\gemini-cli\\settings.json',
      'D:\\work\\.gemini\\settings.json',
      'C:\\Users\\ann\\.gemini\\settings.json',
    ],
  ],
])('%s: %s', (platform, host, expected) => {
  expect(files(platform, host)).toEqual(expected);
});

it.each<[NodeJS.Platform, string]>([
  ['darwin', '/Users/ann/Library/Application Support/Code/User/'],
  ['linux', '/home/ann/.config/Code/User/'],
  ['win32', 'C:\\Users\\ann\\AppData\\Roaming\\Code\\User\\'],
])('%s: extensions of VS Code', (platform, folder) => {
  const slashed = (path: string) => path.replaceAll('\\', '/');
  for (const [host, file] of [
    ['Cline', 'globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'],
    ['Roo Code', 'globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json'],
    ['Kilo Code', 'globalStorage/kilocode.kilo-code/settings/mcp_settings.json'],
  ] as const) {
    expect(files(platform, host).map(slashed)).toContain(slashed(folder + file));
  }
});

it('environment variables move what they move, and none that is unset names a file', () => {
  const env = {
    APPDATA: 'E:\\Roaming',
    CODEX_HOME: 'E:\\codex',
    GEMINI_CLI_HOME: 'E:\\home',
    COPILOT_HOME: '',
    CLINE_MCP_SETTINGS_PATH: 'E:\\cline.json',
  };
  expect(files('win32', 'Claude Desktop', env)).toEqual(['E:\\Roaming\\Claude\\claude_desktop_config.json']);
  expect(files('win32', 'Codex', env)).toContain('E:\\codex\\config.toml');
  expect(files('win32', 'Gemini CLI', env)).toContain('E:\\home\\.gemini\\settings.json');
  expect(files('win32', 'Copilot CLI', env)).toContain('C:\\Users\\ann\\.copilot\\mcp-config.json');
  expect(files('win32', 'Cline', env)[0]).toBe('E:\\cline.json');
  const all = SOURCES.flatMap((source) => filesOf(source, {}, machine('linux')));
  expect(all.filter((file) => file.includes('$'))).toEqual([]);
});

it('a star stands for part of one name, at any depth, but not when a variable brings it', () => {
  using home = new Home();
  for (const folder of ['Claude_abc', 'Claude_def', 'Other_x', '.hidden', 'st*r']) {
    home.write(`Packages/${folder}/LocalCache/x.json`, {});
  }
  home.write('Packages/Claude_file', 'not a folder');
  const found = (pattern: string, env = {}) =>
    locate(pattern, env, home.facts).map((file) => file.slice(home.path.length));
  expect(found('~/Packages/Claude_*/LocalCache/x.json')).toEqual([
    '/Packages/Claude_abc/LocalCache/x.json',
    '/Packages/Claude_def/LocalCache/x.json',
    '/Packages/Claude_file/LocalCache/x.json',
  ]);
  expect(found('~/Packages/*/LocalCache/*.json')).toHaveLength(4);
  expect(found('~/Absent/*.json')).toEqual([]);
  expect(found('${DIR}/x.json', { DIR: join(home.path, 'Packages/*') })).toEqual(['/Packages/*/x.json']);
});

it('finds Claude Desktop where a store has installed it on Windows', () => {
  using home = new Home();
  const file = home.write(
    'AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json',
    { mcpServers: { a: { command: 'a' } } },
  );
  // The paths of this machine, the files of that one.
  const sources = SOURCES.map((source) => ({ ...source, files: { any: source.files.win32 ?? [] } }));
  const found = sources
    .filter((source) => source.host === 'Claude Desktop')
    .flatMap((source) => filesOf(source, {}, home.facts));
  expect(found).toContain(file);
});

it('a file is found anew in another home, in another folder and with other variables', () => {
  const pattern = '${PLACE:-~/.config}/x.json';
  const env = {};
  const ann = machine('linux');
  expect(locate(pattern, env, ann)).toEqual(['/home/ann/.config/x.json']);
  expect(locate(pattern, env, { ...ann, home: '/home/bob' })).toEqual(['/home/bob/.config/x.json']);
  expect(locate('./y.json', env, { ...ann, cwd: '/other' })).toEqual(['/other/y.json']);
  expect(locate('./y.json', env, ann)).toEqual(['/work/y.json']);
  expect(locate(pattern, { PLACE: '/place' }, ann)).toEqual(['/place/x.json']);
  expect(locate(pattern, env, ann)).toEqual(['/home/ann/.config/x.json']);
});
