// Where hosts on the command line keep their MCP servers: Codex, Gemini CLI, Copilot CLI, OpenCode, Antigravity.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { ANTIGRAVITY, CODEX, COPILOT_CLI, GEMINI_CLI, OPENCODE } from './dialects.js';
import type { Source } from './source.js';

const byName = { pointer: ['mcpServers'], shape: 'map', approval: 'none', exclusive: false } as const;

export const CODEX_CONFIG = '${CODEX_HOME:-~/.codex}/config.toml';
const codex = {
  ...byName,
  host: 'Codex',
  pointer: ['mcp_servers'],
  dialect: CODEX,
  expansion: 'none',
} as const;

/** Where Gemini CLI keeps the user's side. */
export const GEMINI_HOME = '${GEMINI_CLI_HOME:-~}/.gemini';
const gemini = { ...byName, host: 'Gemini CLI', dialect: GEMINI_CLI, expansion: 'gemini-cli' } as const;
/** The administrator's, which comes before all others. */
export const GEMINI_SYSTEM: Source = {
  ...gemini,
  scope: 'managed',
  files: {
    darwin: ['${GEMINI_CLI_SYSTEM_SETTINGS_PATH:-/Library/Application Support/GeminiCli/settings.json}'],
    linux: ['${GEMINI_CLI_SYSTEM_SETTINGS_PATH:-/etc/gemini-cli/settings.json}'],
    win32: ['${GEMINI_CLI_SYSTEM_SETTINGS_PATH:-C:\\ProgramData\\gemini-cli\\settings.json}'],
  },
};
export const GEMINI_USER: Source = {
  ...gemini,
  scope: 'user',
  files: { any: [`${GEMINI_HOME}/settings.json`] },
};

/** Where Copilot CLI keeps the user's side. */
export const COPILOT_HOME = '${COPILOT_HOME:-~/.copilot}';
const copilot = { ...byName, host: 'Copilot CLI', dialect: COPILOT_CLI, expansion: 'claude-code' } as const;

const opencode = {
  ...byName,
  host: 'OpenCode',
  pointer: ['mcp'],
  movedTo: 'servers',
  dialect: OPENCODE,
  expansion: 'opencode',
} as const;
// When both are in one folder, OpenCode uses the one with comments.
const OPENCODE_FILES = ['opencode.jsonc', 'opencode.json'];
const opencodeIn = (...folders: readonly string[]): string[] =>
  folders.flatMap((folder) => OPENCODE_FILES.map((name) => `${folder}/${name}`));

const antigravity = { ...byName, host: 'Antigravity', dialect: ANTIGRAVITY, expansion: 'none' } as const;

export const COMMAND_LINES: readonly Source[] = [
  { ...codex, scope: 'project', files: { any: ['^/.codex/config.toml'] }, approval: 'project' },
  { ...codex, scope: 'user', files: { any: [CODEX_CONFIG] } },
  GEMINI_SYSTEM,
  { ...gemini, scope: 'project', files: { any: ['./.gemini/settings.json'] }, approval: 'project' },
  GEMINI_USER,
  // The other file that it reads of a project, `.mcp.json`, stands in the table as Claude Code's.
  { ...copilot, scope: 'project', files: { any: ['./.github/mcp.json'] }, approval: 'project' },
  { ...copilot, scope: 'user', files: { any: [`${COPILOT_HOME}/mcp-config.json`] } },
  { ...opencode, scope: 'user', files: { any: opencodeIn('${OPENCODE_CONFIG_DIR}') } },
  {
    ...opencode,
    scope: 'project',
    files: { any: opencodeIn('^/.opencode', '^') },
    approval: 'project',
  },
  { ...opencode, scope: 'user', files: { any: ['${OPENCODE_CONFIG}'] } },
  { ...opencode, scope: 'user', files: { any: opencodeIn('${XDG_CONFIG_HOME:-~/.config}/opencode') } },
  // Its documents disagree about the place, and each has been seen.
  {
    ...antigravity,
    scope: 'project',
    files: { any: ['.agents', '.agent', '_agents', '_agent'].map((folder) => `./${folder}/mcp_config.json`) },
    approval: 'project',
  },
  {
    ...antigravity,
    scope: 'user',
    files: {
      any: [
        '~/.gemini/config/mcp_config.json',
        '~/.gemini/antigravity/mcp_config.json',
        '~/.gemini/antigravity-cli/mcp_config.json',
      ],
    },
  },
];
