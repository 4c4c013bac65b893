// Where editors, their extensions and desktop programs keep their MCP servers.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import {
  CLAUDE_DESKTOP,
  CLINE,
  CONTINUE,
  CURSOR,
  INSPECTOR,
  KIRO,
  LM_STUDIO,
  OPENCODE,
  VS_CODE,
  WINDSURF,
  ZED,
} from './dialects.js';
import type { Source } from './source.js';

const byName = { pointer: ['mcpServers'], shape: 'map', approval: 'none', exclusive: false } as const;

/** Files in the user folders of VS Code, of its daily build, and of editors that grew out of it. */
function inUserFolders(editors: readonly string[], ...names: readonly string[]): Source['files'] {
  const under = (root: string) =>
    editors.flatMap((editor) => names.map((name) => `${root}/${editor}/User/${name}`));
  return {
    darwin: under('~/Library/Application Support'),
    linux: [
      ...under('${XDG_CONFIG_HOME:-~/.config}'),
      // Where VS Code works on this machine for a window on another.
      ...names.map((name) => `~/.vscode-server/data/User/${name}`),
    ],
    win32: under('${APPDATA:-~/AppData/Roaming}'),
  };
}
const VS_CODES = ['Code', 'Code - Insiders'];
/** Extensions are at home in these as well. */
const WITH_EXTENSIONS = [...VS_CODES, 'Cursor', 'Windsurf', 'VSCodium'];

const cursor = { ...byName, host: 'Cursor', dialect: CURSOR, expansion: 'editor' } as const;
const vscode = {
  ...byName,
  host: 'VS Code',
  pointer: ['servers'],
  dialect: VS_CODE,
  expansion: 'editor',
} as const;
const cline = { ...byName, host: 'Cline', dialect: CLINE, expansion: 'cline' } as const;
const roo = { ...byName, host: 'Roo Code', dialect: CLINE, expansion: 'editor' } as const;
const kilo = { ...roo, host: 'Kilo Code' } as const;
/** Kilo Code as it is now has OpenCode's words. */
const newKilo = {
  ...kilo,
  pointer: ['mcp'],
  movedTo: 'servers',
  dialect: OPENCODE,
  expansion: 'opencode',
} as const;
const KILO_FILES = ['kilo.jsonc', 'kilo.json'];
const zed = {
  ...byName,
  host: 'Zed',
  pointer: ['context_servers'],
  dialect: ZED,
  expansion: 'none',
} as const;
const continued = {
  ...byName,
  host: 'Continue',
  shape: 'list',
  dialect: CONTINUE,
  expansion: 'continue',
} as const;
const kiro = { ...byName, host: 'Kiro', dialect: KIRO, expansion: 'claude-code' } as const;

/** The last resort: what stands anywhere else under the same name comes before it. */
export const CLAUDE_DESKTOP_APP: Source = {
  ...byName,
  host: 'Claude Desktop',
  dialect: CLAUDE_DESKTOP,
  expansion: 'none',
  scope: 'user',
  files: {
    darwin: ['~/Library/Application Support/Claude/claude_desktop_config.json'],
    linux: ['${XDG_CONFIG_HOME:-~/.config}/Claude/claude_desktop_config.json'],
    win32: [
      '${APPDATA:-~/AppData/Roaming}/Claude/claude_desktop_config.json',
      // As installed from a store, when Windows keeps its files apart.
      '${LOCALAPPDATA:-~/AppData/Local}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json',
    ],
  },
};

export const EDITORS: readonly Source[] = [
  { ...cursor, scope: 'project', files: { any: ['./.cursor/mcp.json'] }, approval: 'project' },
  { ...cursor, scope: 'user', files: { any: ['~/.cursor/mcp.json'] } },
  { ...vscode, scope: 'project', files: { any: ['./.vscode/mcp.json'] }, approval: 'project' },
  { ...vscode, scope: 'user', files: inUserFolders(VS_CODES, 'mcp.json', 'profiles/*/mcp.json') },
  // Where VS Code kept them once.
  {
    ...vscode,
    pointer: ['mcp', 'servers'],
    scope: 'project',
    files: { any: ['./.vscode/settings.json'] },
    approval: 'project',
  },
  { ...vscode, pointer: ['mcp', 'servers'], scope: 'user', files: inUserFolders(VS_CODES, 'settings.json') },
  {
    ...byName,
    host: 'Windsurf',
    dialect: WINDSURF,
    expansion: 'windsurf',
    scope: 'user',
    // The second one is that of its plugins for other editors.
    files: { any: ['~/.codeium/windsurf/mcp_config.json', '~/.codeium/mcp_config.json'] },
  },
  { ...zed, scope: 'project', files: { any: ['./.zed/settings.json'] }, approval: 'project' },
  {
    ...zed,
    scope: 'user',
    files: {
      darwin: ['~/.config/zed/settings.json'],
      linux: ['${XDG_CONFIG_HOME:-~/.config}/zed/settings.json'],
      win32: ['${APPDATA:-~/AppData/Roaming}/Zed/settings.json'],
    },
  },
  { ...cline, scope: 'user', files: { any: ['${CLINE_MCP_SETTINGS_PATH}'] } },
  {
    ...cline,
    scope: 'user',
    files: inUserFolders(
      WITH_EXTENSIONS,
      'globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    ),
  },
  { ...cline, scope: 'user', files: { any: ['~/.cline/data/settings/cline_mcp_settings.json'] } },
  { ...roo, scope: 'project', files: { any: ['./.roo/mcp.json'] }, approval: 'project' },
  {
    ...roo,
    scope: 'user',
    files: inUserFolders(
      WITH_EXTENSIONS,
      'globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json',
    ),
  },
  {
    ...newKilo,
    scope: 'project',
    files: { any: ['./.kilo/', './'].flatMap((folder) => KILO_FILES.map((name) => folder + name)) },
    approval: 'project',
  },
  { ...kilo, scope: 'project', files: { any: ['./.kilocode/mcp.json'] }, approval: 'project' },
  {
    ...newKilo,
    scope: 'user',
    files: { any: KILO_FILES.map((name) => `\${XDG_CONFIG_HOME:-~/.config}/kilo/${name}`) },
  },
  {
    ...kilo,
    scope: 'user',
    files: inUserFolders(WITH_EXTENSIONS, 'globalStorage/kilocode.kilo-code/settings/mcp_settings.json'),
  },
  { ...kilo, scope: 'user', files: { any: ['~/.kilocode/cli/global/settings/mcp_settings.json'] } },
  {
    ...continued,
    scope: 'project',
    files: { any: ['./.continue/mcpServers/*.yaml', './.continue/mcpServers/*.yml'] },
    approval: 'project',
  },
  {
    ...continued,
    shape: 'servers',
    scope: 'project',
    files: { any: ['./.continue/mcpServers/*.json'] },
    approval: 'project',
  },
  {
    ...continued,
    scope: 'user',
    files: { any: ['~/.continue/config.yaml', '~/.continue/mcpServers/*.yaml'] },
  },
  { ...continued, shape: 'servers', scope: 'user', files: { any: ['~/.continue/mcpServers/*.json'] } },
  { ...kiro, scope: 'project', files: { any: ['./.kiro/settings/mcp.json'] }, approval: 'project' },
  { ...kiro, scope: 'user', files: { any: ['~/.kiro/settings/mcp.json'] } },
  {
    ...byName,
    host: 'LM Studio',
    dialect: LM_STUDIO,
    expansion: 'none',
    scope: 'user',
    files: { any: ['~/.lmstudio/mcp.json', '~/.cache/lm-studio/mcp.json'] },
  },
  {
    ...byName,
    host: 'MCP Inspector',
    dialect: INSPECTOR,
    expansion: 'none',
    scope: 'user',
    files: { any: ['${MCP_CATALOG_PATH:-~/.mcp-inspector/mcp.json}'] },
  },
];
