// Where each host keeps its MCP servers, as a table in order of precedence: the first entry of a name wins. A new host
// is one more record here or in sources/. Data only.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { INSTALLED_PLUGINS } from './claude-plugins.js';
import { COMMAND_LINES } from './command-lines.js';
import { CLAUDE_CODE, CLAUDE_MANAGED, GENERIC } from './dialects.js';
import { CLAUDE_DESKTOP_APP, EDITORS } from './editors.js';
import { PROJECT, type Source } from './source.js';

const claudeCode = {
  host: 'Claude Code',
  pointer: ['mcpServers'],
  shape: 'map',
  dialect: CLAUDE_CODE,
  expansion: 'claude-code',
  approval: 'none',
  exclusive: false,
} as const;
const CLAUDE_STATE = '${CLAUDE_CONFIG_DIR:-~}/.claude.json';
/** Claude Code's own settings of the user, where project servers may be approved. */
export const CLAUDE_SETTINGS = '${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json';
/** The name under which files go that belong to no host. */
export const NO_HOST = 'generic';
const generic = {
  host: NO_HOST,
  pointer: ['mcpServers'],
  shape: 'servers',
  dialect: GENERIC,
  expansion: 'claude-code',
  approval: 'none',
  exclusive: false,
} as const;

/** The explicit record, whose files are named by a setting. */
export const EXPLICIT: Source = { ...generic, host: 'MCP_SERVERS_CONFIG', scope: 'explicit', files: {} };

/** Claude Code's record of the user's choices for a project. */
export const CLAUDE_LOCAL: Source = {
  ...claudeCode,
  scope: 'local',
  files: { any: [CLAUDE_STATE] },
  pointer: ['projects', PROJECT, 'mcpServers'],
};

/** Where home-manager writes the servers of all hosts. */
const HOME_MANAGER = 'home-manager';
const NO_PROGRAMS: readonly string[] = [NO_HOST, EXPLICIT.host, HOME_MANAGER];

/** Whether a host of the table is a program, in which a server can be switched on, and not only a name for files. */
export const isProgram = (host: string): boolean => !NO_PROGRAMS.includes(host);

function managedSettings(folder: string): string[] {
  return [`${folder}/managed-settings.json`, `${folder}/managed-settings.d/*.json`];
}

export const SOURCES: readonly Source[] = [
  EXPLICIT,
  {
    ...claudeCode,
    scope: 'managed',
    files: {
      darwin: ['/Library/Application Support/ClaudeCode/managed-mcp.json'],
      linux: ['/etc/claude-code/managed-mcp.json'],
      win32: ['C:\\Program Files\\ClaudeCode\\managed-mcp.json'],
    },
    exclusive: true,
  },
  {
    ...claudeCode,
    scope: 'managed',
    pointer: ['managedMcpServers'],
    dialect: CLAUDE_MANAGED,
    expansion: 'none',
    files: {
      darwin: managedSettings('/Library/Application Support/ClaudeCode'),
      linux: managedSettings('/etc/claude-code'),
      win32: managedSettings('C:/Program Files/ClaudeCode'),
    },
  },
  CLAUDE_LOCAL,
  { ...claudeCode, scope: 'project', files: { any: ['.../.mcp.json'] }, approval: 'project' },
  { ...claudeCode, scope: 'user', files: { any: [CLAUDE_STATE] } },
  { ...claudeCode, scope: 'plugin', files: { any: [INSTALLED_PLUGINS] } },
  // Where Claude Code kept them once.
  {
    ...claudeCode,
    scope: 'user',
    files: {
      darwin: [
        '~/Library/Application Support/Claude Code/claude_code_config.json',
        '~/Library/Application Support/Claude/claude_code_config.json',
      ],
    },
  },
  ...EDITORS,
  ...COMMAND_LINES,
  {
    ...generic,
    host: HOME_MANAGER,
    expansion: 'home-manager',
    scope: 'user',
    files: { any: ['${XDG_CONFIG_HOME:-~/.config}/mcp/mcp.json'] },
  },
  { ...generic, scope: 'user', files: { any: ['${XDG_CONFIG_HOME:-~/.config}/mcp/servers/*.json'] } },
  { ...generic, scope: 'user', files: { any: ['~/MCPs/*.json'] } },
  { ...generic, scope: 'project', files: { any: ['./mcp-servers/*.json'] }, approval: 'project' },
  CLAUDE_DESKTOP_APP,
];
