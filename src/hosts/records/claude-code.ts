// Claude Code. Its user's decisions about servers (which are switched off, which of a project's own file may start) stand in
// files that the user's own Claude Code writes: in the project, only in its settings.local.json, and that file counts only
// where the user has said to trust the folder, since a stranger's repository may bring one along.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { z } from 'zod';
import { namesOf } from '../../base/json/records.js';
import { type HostFacts, keyOfPath } from '../../settings/files/host-facts.js';
import { mistaken } from '../skip-reason.js';
import { type HostDialect, MS, PROGRAM, REMOTE, SECOND_MS, timeout } from '../terms/dialect.js';
import {
  type Host,
  PROGRAM_FIELDS,
  PROJECT,
  REMOTE_FIELDS,
  type ReadDecisions,
  typedEntry,
} from '../terms/host.js';
import { checkoutRoot, locate, withinCheckout } from '../terms/source-files.js';

const TITLE = 'Claude Code';
const STATE = '${CLAUDE_CONFIG_DIR:-~}/.claude.json';
/** Where Claude Code keeps the user's settings and plugins. */
export const CLAUDE_FOLDER = '${CLAUDE_CONFIG_DIR:-~/.claude}';
/** Claude Code's own settings of the user, where project servers may be approved. */
export const CLAUDE_SETTINGS = `${CLAUDE_FOLDER}/settings.json`;
export const INSTALLED_PLUGINS = `${CLAUDE_FOLDER}/plugins/installed_plugins.json`;

/** Also for files that belong to no host. Claude Code ignores a timeout below a second: one in the wrong unit. */
export const CLAUDE_CODE: HostDialect = {
  types: { stdio: 'stdio', http: 'http', 'streamable-http': 'http', sse: 'sse' },
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE, headersHelper: 'headersHelper' },
  callTimes: timeout(MS, SECOND_MS),
  startTimes: [],
};

const isHttps = (url: unknown): boolean => typeof url === 'string' && /^https:\/\//i.test(url);
const hasVariable = (value: unknown): boolean => JSON.stringify(value ?? '').includes('${');

/** How an administrator's settings describe servers. */
const MANAGED: HostDialect = {
  ...CLAUDE_CODE,
  types: { http: 'http', 'streamable-http': 'http', sse: 'sse' },
  refuse: ({ url, headers }) => {
    const setting = 'managedMcpServers';
    if (!isHttps(url)) return mistaken({ kind: 'not-https', setting });
    return hasVariable([url, headers]) ? mistaken({ kind: 'names-variable', setting }) : undefined;
  },
};

function managedSettings(folder: string): string[] {
  return [`${folder}/managed-settings.json`, `${folder}/managed-settings.d/*.json`];
}

const names = z.array(z.string()).catch([]);
const namesOff = z.unknown().optional().transform(namesOf);
const decided = z.looseObject({
  enabledMcpjsonServers: names,
  disabledMcpjsonServers: namesOff,
  disabledMcpServers: namesOff,
  enableAllProjectMcpServers: z.boolean().catch(false),
});
const trust = z.looseObject({ hasTrustDialogAccepted: z.boolean().catch(false) });
const state = z.looseObject({ projects: z.record(z.string(), z.unknown()).catch({}) });

const decisions: ReadDecisions = (env, host, open) => {
  const read = (file: string): unknown => {
    const found = open(file);
    return found.state === 'parsed' ? found.value : undefined;
  };
  const [stateFile = ''] = locate(STATE, env, host);
  const [settingsFile = ''] = locate(CLAUDE_SETTINGS, env, host);
  const projects = state.safeParse(read(stateFile)).data?.projects ?? {};
  const key = keyOfProject(projects, host);
  const entry = key === undefined ? undefined : projects[key];
  // A user who trusts the home folder has not thereby read what is cloned below it.
  const isTrusted = withinCheckout(host).some((folder) => {
    const known = keyOf(projects, folder, host);
    return known !== undefined && trust.safeParse(projects[known]).data?.hasTrustDialogAccepted;
  });
  const local = isTrusted ? locate('./.claude/settings.local.json', env, host).map(read) : [];
  const said = [entry, read(settingsFile), ...local].flatMap((value) => decided.safeParse(value).data ?? []);
  return {
    approval: (name) => {
      if (said.some((one) => one.disabledMcpjsonServers.includes(name))) return 'refused';
      const approved = said.some(
        (one) => one.enableAllProjectMcpServers || one.enabledMcpjsonServers.includes(name),
      );
      return approved ? 'approved' : undefined;
    },
    reasonOff: (name) =>
      said.some((one) => one.disabledMcpServers.includes(name))
        ? { kind: 'disabled-for-project', host: TITLE }
        : undefined,
  };
};

/**
 * The key of the current project in Claude Code's state: the root of the git checkout, else the folder itself, on Windows
 * with slashes; undefined when it knows nothing of the project.
 */
export function keyOfProject(
  projects: Readonly<Record<string, unknown>>,
  host: HostFacts,
): string | undefined {
  return keyOf(projects, checkoutRoot(host) ?? host.cwd, host);
}

/** When a folder is there in both spellings, the one that Claude Code writes today comes first. */
function keyOf(
  projects: Readonly<Record<string, unknown>>,
  folder: string,
  host: HostFacts,
): string | undefined {
  const written = host.platform === 'win32' ? folder.replaceAll('\\', '/') : folder;
  return keyOfPath(projects, written, host);
}

export const claudeCode: Host = {
  title: TITLE,
  dialect: CLAUDE_CODE,
  expansion: 'claude-code',
  sources: [
    {
      scope: 'managed',
      files: {
        darwin: ['/Library/Application Support/ClaudeCode/managed-mcp.json'],
        linux: ['/etc/claude-code/managed-mcp.json'],
        win32: ['C:\\Program Files\\ClaudeCode\\managed-mcp.json'],
      },
      exclusive: true,
    },
    {
      scope: 'managed',
      pointer: ['managedMcpServers'],
      dialect: MANAGED,
      expansion: 'none',
      files: {
        darwin: managedSettings('/Library/Application Support/ClaudeCode'),
        linux: managedSettings('/etc/claude-code'),
        win32: managedSettings('C:/Program Files/ClaudeCode'),
      },
    },
    { scope: 'local', pointer: ['projects', PROJECT, 'mcpServers'], files: { any: [STATE] } },
    { scope: 'project', files: { any: ['.../.mcp.json'] } },
    { scope: 'user', files: { any: [STATE] } },
    { scope: 'plugin', files: { any: [INSTALLED_PLUGINS] } },
    // Where Claude Code kept them once.
    {
      scope: 'user',
      files: {
        darwin: [
          '~/Library/Application Support/Claude Code/claude_code_config.json',
          '~/Library/Application Support/Claude/claude_code_config.json',
        ],
      },
    },
  ],
  decisions,
  client: {
    name: 'claude-code',
    // Has ReadMcpResourceTool.
    view: { paths: true, links: false, showsStructured: true },
    // Half an hour without a word over stdio, five minutes over HTTP, which is not told apart here.
    patience: { silent: 300, told: 27 * 3_600 },
  },
  install: {
    id: 'claude-code',
    programs: ['claude'],
    signs: [STATE, CLAUDE_FOLDER],
    isDesktop: false,
    entry: typedEntry,
    adopt: {
      fields: [...PROGRAM_FIELDS, ...REMOTE_FIELDS, 'type', 'headersHelper', 'timeout', 'alwaysLoad'],
      handsOnVariables: true,
    },
  },
};
