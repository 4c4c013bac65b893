// Fields of a host's entry that adopt understands. An entry with any other stays where it is: a field of tomorrow, such as
// one that confines a server, would otherwise be lost with nobody noticing. Also what else must be known of a host.

import { claudeCodeRules } from './claude-code.js';
import { codexRules } from './codex.js';
import { clineRules, cursorRules, zedRules } from './editors.js';
import { geminiRules } from './gemini.js';
import { openCodeRules } from './opencode.js';
import type { ReadRules } from './rules.js';
import { NO_RULES } from './rules.js';

export type Adoptable = {
  readonly fields: readonly string[];
  readonly rules: ReadRules;
  /** Whether the servers that it starts, and so the bridge, get all variables of its own environment. */
  readonly handsOnVariables: boolean;
  /** What the host decides where nobody can read it; undefined where its files say all. */
  readonly unseen?: string;
};

const PROGRAM = ['command', 'args', 'env', 'cwd', 'description'];
const REMOTE = ['url', 'headers'];
const none: ReadRules = () => NO_RULES;
const inWindows = (host: string) =>
  `${host} keeps which tools are switched off or approved in its own database, which cannot be read. If you have switched tools off there, name them in the list of the file below.`;

/** By the host's id. */
export const ADOPTABLE_HOSTS: Readonly<Record<string, Adoptable>> = {
  'claude-code': {
    fields: [...PROGRAM, ...REMOTE, 'type', 'headersHelper', 'timeout', 'alwaysLoad'],
    rules: claudeCodeRules,
    handsOnVariables: true,
  },
  codex: {
    fields: [
      ...PROGRAM,
      ...[
        'url',
        'type',
        'name',
        'enabled',
        'required',
        'startup_timeout_sec',
        'startup_timeout_ms',
        'tool_timeout_sec',
      ],
      ...['env_vars', 'bearer_token_env_var', 'http_headers', 'env_http_headers', 'http_headers_helper'],
      ...[
        'enabled_tools',
        'disabled_tools',
        'tools',
        'default_tools_approval_mode',
        'supports_parallel_tool_calls',
      ],
    ],
    rules: codexRules,
    handsOnVariables: false,
  },
  gemini: {
    fields: [...PROGRAM, ...REMOTE, 'httpUrl', 'type', 'timeout', 'trust', 'includeTools', 'excludeTools'],
    rules: geminiRules,
    handsOnVariables: false,
  },
  opencode: {
    // `codemode` is how the host shows the tools to its model; here code calls them.
    fields: [
      ...[...REMOTE, 'type', 'command', 'environment', 'cwd', 'enabled', 'disabled'],
      ...['timeout', 'oauth', 'codemode'],
    ],
    rules: openCodeRules,
    handsOnVariables: true,
  },
  'claude-desktop': {
    fields: [...PROGRAM, 'type'],
    rules: none,
    handsOnVariables: false,
    unseen: inWindows('Claude Desktop'),
  },
  cursor: {
    fields: [...PROGRAM, ...REMOTE, 'type', 'envFile'],
    rules: cursorRules,
    handsOnVariables: true,
    unseen: inWindows('Cursor'),
  },
  vscode: {
    fields: [...PROGRAM, ...REMOTE, 'type', 'envFile', 'gallery', 'version'],
    rules: none,
    handsOnVariables: true,
    unseen: inWindows('VS Code'),
  },
  windsurf: {
    fields: [...PROGRAM, ...REMOTE, 'serverUrl', 'type', 'disabled', 'disabledTools'],
    rules: none,
    handsOnVariables: true,
  },
  zed: {
    fields: [...PROGRAM, ...REMOTE, 'source', 'enabled', 'timeout'],
    rules: zedRules,
    handsOnVariables: true,
  },
  cline: {
    fields: [
      ...[...PROGRAM, ...REMOTE, 'type', 'transport', 'disabled', 'timeout'],
      ...['autoApprove', 'alwaysAllow', 'disabledTools'],
    ],
    rules: clineRules,
    handsOnVariables: false,
  },
};
