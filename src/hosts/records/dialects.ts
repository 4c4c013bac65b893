// The dialects that the hosts of the table in sources.ts speak, each from its host's documentation or source. A field
// that a host does not have is not read from its file.

import { isRecord, textsOf } from '../../base/json/records.js';
import { mistaken } from '../skip-reason.js';
import type { HostDialect, RawEntry, TimeField, Transport } from './dialect.js';

const MS = 1;
const SECOND_MS = 1_000;

const PROGRAM = {
  command: 'command',
  args: 'args',
  env: 'env',
  cwd: 'cwd',
  description: 'description',
} as const;
const REMOTE = { headers: 'headers', oauth: 'oauth' } as const;
/** Whatever people call them where no host is known. */
const ANY_TYPE: Readonly<Record<string, Transport>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  sse: 'sse',
  remote: 'auto',
};
const timeout = (unitMs: number, minMs?: number): readonly TimeField[] => [
  { at: ['timeout'], unitMs, ...(minMs === undefined ? {} : { minMs }) },
];

/** Claude Code's, and of files that belong to no host. It ignores a timeout below a second: one in the wrong unit. */
export const CLAUDE_CODE: HostDialect = {
  types: { stdio: 'stdio', http: 'http', 'streamable-http': 'http', sse: 'sse' },
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE, headersHelper: 'headersHelper' },
  callTimes: timeout(MS, SECOND_MS),
  startTimes: [],
};

const isHttps = (url: unknown): boolean => typeof url === 'string' && /^https:\/\//i.test(url);
const hasVariable = (value: unknown): boolean => JSON.stringify(value ?? '').includes('${');

/** How an administrator's settings of Claude Code describe servers. */
export const CLAUDE_MANAGED: HostDialect = {
  ...CLAUDE_CODE,
  types: { http: 'http', 'streamable-http': 'http', sse: 'sse' },
  refuse: ({ url, headers }) => {
    const setting = 'managedMcpServers';
    if (!isHttps(url)) return mistaken({ kind: 'not-https', setting });
    return hasVariable([url, headers]) ? mistaken({ kind: 'names-variable', setting }) : undefined;
  },
};

export const GENERIC: HostDialect = {
  ...CLAUDE_CODE,
  types: ANY_TYPE,
  addresses: { url: 'auto', serverUrl: 'auto', httpUrl: 'http' },
  fields: { ...CLAUDE_CODE.fields, envFile: 'envFile', except: 'disabledTools' },
};

export const INSPECTOR: HostDialect = {
  ...GENERIC,
  callTimes: [{ at: ['requestTimeout'], unitMs: MS }],
  startTimes: [{ at: ['connectionTimeout'], unitMs: MS }],
};

/** Programs only; its remote servers are connectors of the account. */
export const CLAUDE_DESKTOP: HostDialect = {
  types: { stdio: 'stdio' },
  addresses: {},
  fields: PROGRAM,
  callTimes: [],
  startTimes: [],
  refuse: ({ command, url }) =>
    command === undefined && url !== undefined
      ? { kind: 'account-connector', host: 'Claude Desktop' }
      : undefined,
};

export const CURSOR: HostDialect = {
  types: { stdio: 'stdio', http: 'http', 'streamable-http': 'http', streamableHttp: 'http', sse: 'sse' },
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, envFile: 'envFile', headers: 'headers', oauth: 'auth' },
  callTimes: [],
  startTimes: [],
};

/** Its `http` falls back to SSE. */
export const VS_CODE: HostDialect = {
  types: { stdio: 'stdio', http: 'auto', sse: 'sse' },
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE, envFile: 'envFile' },
  callTimes: [],
  startTimes: [],
};

export const COPILOT_CLI: HostDialect = {
  types: { local: 'stdio', stdio: 'stdio', http: 'http', sse: 'sse' },
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE, only: 'tools' },
  callTimes: timeout(MS),
  startTimes: [],
};

export const WINDSURF: HostDialect = {
  types: ANY_TYPE,
  addresses: { serverUrl: 'auto', url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE, except: 'disabledTools' },
  callTimes: [],
  startTimes: [],
};

/** codex-rs/config/src/mcp_types.rs. No `type`: an address is Streamable HTTP. */
export const CODEX: HostDialect = {
  types: { stdio: 'stdio', streamable_http: 'http' },
  addresses: { url: 'http' },
  fields: {
    ...PROGRAM,
    envNames: 'env_vars',
    headers: 'http_headers',
    headerVariables: 'env_http_headers',
    bearerVariable: 'bearer_token_env_var',
    headersHelper: 'http_headers_helper',
    oauth: 'oauth',
    scopes: 'scopes',
    only: 'enabled_tools',
    except: 'disabled_tools',
  },
  callTimes: [{ at: ['tool_timeout_sec'], unitMs: SECOND_MS }],
  startTimes: [
    { at: ['startup_timeout_sec'], unitMs: SECOND_MS },
    { at: ['startup_timeout_ms'], unitMs: MS },
  ],
  refuse: ({ command, url }) =>
    command !== undefined && url !== undefined
      ? mistaken({ kind: 'command-and-address', host: 'Codex' })
      : undefined,
};

export const GEMINI_CLI: HostDialect = {
  types: { stdio: 'stdio', http: 'http', sse: 'sse' },
  addresses: { httpUrl: 'http', url: 'sse' },
  fields: { ...PROGRAM, ...REMOTE, only: 'includeTools', except: 'excludeTools' },
  callTimes: timeout(MS),
  startTimes: [],
  refuse: ({ authProviderType: provider }) =>
    typeof provider === 'string' && provider !== 'dynamic_discovery'
      ? { kind: 'host-sign-in', host: 'Gemini CLI', provider }
      : undefined,
  // `name(arguments)` allows a tool for certain arguments only, and is the tool's name nevertheless.
  reshape: (entry) =>
    Array.isArray(entry['includeTools'])
      ? { ...entry, includeTools: textsOf(entry['includeTools']).map((name) => name.replace(/\(.*$/s, '')) }
      : entry,
};

export const ANTIGRAVITY: HostDialect = {
  ...WINDSURF,
  refuse: ({ authProviderType: provider }) =>
    typeof provider === 'string' ? { kind: 'host-sign-in', host: 'Antigravity', provider } : undefined,
  // Of both it takes the address.
  reshape: (entry) => {
    const { command: _, ...rest } = entry;
    return typeof entry['serverUrl'] === 'string' ? rest : entry;
  },
};

/** Its time limit was documented as that of fetching the tools; what its V2 calls `execution` was `request` for a while. */
export const OPENCODE: HostDialect = {
  types: { local: 'stdio', remote: 'auto' },
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE, env: 'environment' },
  callTimes: [
    { at: ['timeout', 'execution'], unitMs: MS },
    { at: ['timeout', 'request'], unitMs: MS },
  ],
  startTimes: [...timeout(MS), { at: ['timeout', 'startup'], unitMs: MS }],
  reshape: (entry) => {
    if (!Array.isArray(entry['command'])) return entry;
    const [command, ...args] = entry['command'] as unknown[];
    return { ...entry, command, args };
  },
};

export const ZED: HostDialect = {
  types: ANY_TYPE,
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE },
  callTimes: timeout(SECOND_MS),
  startTimes: [],
  refuse: ({ source, command, url }) =>
    source === 'extension' || (command === undefined && url === undefined)
      ? { kind: 'host-extension', host: 'Zed' }
      : undefined,
  // Once the command was an object with a path.
  reshape: (entry) => {
    const { command } = entry;
    if (!isRecord(command)) return entry;
    return { ...entry, command: command['path'], args: command['args'], env: command['env'] };
  },
};

/** Seconds, unlike most. Also of Roo Code and Kilo Code, which grew out of it. */
export const CLINE: HostDialect = {
  types: { stdio: 'stdio', sse: 'sse', streamableHttp: 'http', 'streamable-http': 'http', http: 'http' },
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE, except: 'disabledTools' },
  callTimes: timeout(SECOND_MS),
  startTimes: [],
};

export const CONTINUE: HostDialect = {
  types: { stdio: 'stdio', sse: 'sse', 'streamable-http': 'http', http: 'http' },
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, headers: 'headers' },
  callTimes: [],
  startTimes: [{ at: ['connectionTimeout'], unitMs: MS }],
  refuse: ({ uses }) => (typeof uses === 'string' ? { kind: 'hub-block', host: 'Continue' } : undefined),
  reshape: (entry) => ({ ...entry, headers: { ...bearerOf(entry), ...headersOf(entry['requestOptions']) } }),
};
const bearerOf = ({ apiKey }: RawEntry) => (apiKey ? { Authorization: `Bearer ${String(apiKey)}` } : {});
const headersOf = (options: unknown) => {
  const headers = isRecord(options) ? options['headers'] : undefined;
  return isRecord(headers) ? headers : {};
};

export const KIRO: HostDialect = {
  types: ANY_TYPE,
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE, except: 'disabledTools' },
  callTimes: timeout(MS),
  startTimes: [],
};

export const LM_STUDIO: HostDialect = { ...CURSOR, fields: { ...PROGRAM, ...REMOTE } };
