// Where each host keeps its MCP servers, as a table in order of precedence: the first entry of a name wins. A new
// host is one more record. Finds files by name only; what is in them is the business of the readers.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { existsSync, readdirSync } from 'node:fs';
import type { Scope } from './downstream-spec.js';
import { expand } from './expand.js';
import { absolutePath, type HostFacts, pathRules } from './host-facts.js';
import type { Environment } from './settings.js';

/** Stands for the project's folder in a pointer. */
export const PROJECT = '<project>';

export type Source = {
  readonly host: string;
  readonly scope: Scope;
  /**
   * File patterns: `~/` is the home folder, `./` the current one, `.../` the current one and every parent,
   * `${NAME:-default}` an environment variable, and a final `*.json` all such files of a folder in order of name.
   */
  readonly files: { readonly [platform in 'any' | 'darwin' | 'linux' | 'win32']?: readonly string[] };
  /** Keys that lead to the map of servers. */
  readonly pointer: readonly string[];
  /** `servers` also takes a file that is itself the map, or a single server named by its file. */
  readonly shape: 'pointer' | 'servers';
  /** How variables in an entry are replaced. */
  readonly expansion: 'claude-code' | 'none';
  /** What has to agree before an entry may start; files that come with a project can be anybody's. */
  readonly approval: 'none' | 'claude-code' | 'trust-project';
  /** When its file exists, other scopes of the same host are not read. */
  readonly exclusive: boolean;
};

const claudeCode = {
  host: 'Claude Code',
  pointer: ['mcpServers'],
  shape: 'pointer',
  expansion: 'claude-code',
  approval: 'none',
  exclusive: false,
} as const;
const CLAUDE_STATE = '${CLAUDE_CONFIG_DIR:-~}/.claude.json';
/** Claude Code's own settings of the user, where project servers may be approved. */
export const CLAUDE_SETTINGS = '${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json';
const generic = {
  host: 'generic',
  pointer: ['mcpServers'],
  shape: 'servers',
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
  CLAUDE_LOCAL,
  { ...claudeCode, scope: 'project', files: { any: ['.../.mcp.json'] }, approval: 'claude-code' },
  { ...claudeCode, scope: 'user', files: { any: [CLAUDE_STATE] } },
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
  {
    ...claudeCode,
    host: 'Claude Desktop',
    scope: 'user',
    expansion: 'none',
    files: {
      darwin: ['~/Library/Application Support/Claude/claude_desktop_config.json'],
      linux: ['${XDG_CONFIG_HOME:-~/.config}/Claude/claude_desktop_config.json'],
      win32: ['${APPDATA:-~/AppData/Roaming}/Claude/claude_desktop_config.json'],
    },
  },
  { ...generic, scope: 'user', files: { any: ['${XDG_CONFIG_HOME:-~/.config}/mcp/servers/*.json'] } },
  { ...generic, scope: 'user', files: { any: ['~/MCPs/*.json'] } },
  { ...generic, scope: 'project', files: { any: ['./mcp-servers/*.json'] }, approval: 'trust-project' },
];

/** The files of a source on this machine, absolute and in order of precedence; most of them need not exist. */
export function filesOf(source: Source, env: Environment, host: HostFacts): string[] {
  const { any = [], darwin = [], linux = [], win32 = [] } = source.files;
  const own = host.platform === 'darwin' ? darwin : host.platform === 'win32' ? win32 : linux;
  return [...any, ...own].flatMap((pattern) => locate(pattern, env, host));
}

/** The files that one pattern stands for. */
export function locate(pattern: string, env: Environment, host: HostFacts): string[] {
  const rules = pathRules(host);
  if (pattern.startsWith('.../')) {
    return ancestors(host).map((folder) => rules.join(folder, pattern.slice('.../'.length)));
  }
  // An empty variable means unset, as XDG asks.
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const file = absolutePath(expand(pattern, set).text, host.cwd, host);
  if (!file.endsWith('*.json')) return [file];
  const folder = rules.dirname(file);
  return jsonNames(folder).map((name) => rules.join(folder, name));
}

function jsonNames(folder: string): string[] {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json') && !name.startsWith('.'))
      .sort();
  } catch {
    // Unreadable or not a folder: nobody put servers there.
    return [];
  }
}

/** The current folder and its parents, nearest first. */
export function ancestors(host: HostFacts): string[] {
  const rules = pathRules(host);
  const folders = [host.cwd];
  for (let folder = host.cwd; rules.dirname(folder) !== folder; ) {
    folder = rules.dirname(folder);
    folders.push(folder);
  }
  return folders;
}
