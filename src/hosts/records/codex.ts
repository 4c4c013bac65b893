// Codex, as codex-rs/config/src/mcp_types.rs has it. It trusts single projects: only of these it reads the project's own file.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { z } from 'zod';
import { keyOfPath } from '../../settings/files/host-facts.js';
import { mistaken } from '../skip-reason.js';
import { MS, PROGRAM, SECOND_MS } from '../terms/dialect.js';
import { type Host, PROGRAM_FIELDS, plainEntry, type ReadDecisions } from '../terms/host.js';
import { checkoutRoot, locate, realPath, workspaceOf } from '../terms/source-files.js';

const TITLE = 'Codex';
const CONFIG = '${CODEX_HOME:-~/.codex}/config.toml';

const config = z.looseObject({ projects: z.record(z.string(), z.unknown()).catch({}) });
const project = z.looseObject({ trust_level: z.string() });

const decisions: ReadDecisions = (env, host, open) => {
  const [file = ''] = locate(CONFIG, env, host);
  const found = open(file);
  const said = found.state === 'parsed' ? config.safeParse(found.value).data : undefined;
  const projects = said?.projects ?? {};
  const levelOf = (folder: string) => {
    const key = keyOfPath(projects, folder, host);
    return key === undefined ? undefined : project.safeParse(projects[key]).data?.trust_level;
  };
  return {
    approval: (_name, source) => {
      // Codex notes the root of the checkout where there is one, and paths without symbolic links.
      const folders = [workspaceOf(source.file, host), checkoutRoot(host)].filter((one) => one !== undefined);
      const levels = folders.flatMap((folder) => [levelOf(folder), levelOf(realPath(folder))]);
      if (levels.includes('untrusted')) return 'refused';
      return levels.includes('trusted') ? 'approved' : undefined;
    },
    reasonOff: () => undefined,
  };
};

export const codex: Host = {
  title: TITLE,
  /** No `type`: an address is Streamable HTTP. */
  dialect: {
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
        ? mistaken({ kind: 'command-and-address', host: TITLE })
        : undefined,
  },
  expansion: 'none',
  sources: [
    { scope: 'project', pointer: ['mcp_servers'], files: { any: ['^/.codex/config.toml'] } },
    { scope: 'user', pointer: ['mcp_servers'], files: { any: [CONFIG] } },
  ],
  decisions,
  client: {
    name: 'codex-mcp-client',
    // Has read_mcp_resource. Keeps 12,000 bytes, head and tail, with 34 of its own ahead.
    view: { roomBytes: 11_500, paths: true, links: false, showsStructured: true },
    patience: { silent: 300 },
    needsEveryText: true,
  },
  install: {
    id: 'codex',
    programs: ['codex'],
    isDesktop: false,
    entry: plainEntry,
    adopt: {
      fields: [
        ...[...PROGRAM_FIELDS, 'url', 'type', 'name', 'enabled', 'required'],
        ...['startup_timeout_sec', 'startup_timeout_ms', 'tool_timeout_sec'],
        ...['env_vars', 'bearer_token_env_var', 'http_headers', 'env_http_headers', 'http_headers_helper'],
        ...['enabled_tools', 'disabled_tools', 'tools', 'default_tools_approval_mode'],
        'supports_parallel_tool_calls',
      ],
      handsOnVariables: false,
    },
  },
};
