// Files of servers that belong to no host: the one that a setting names, home-manager's, and folders that anybody may fill.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { ANY_TYPE, type HostDialect } from '../terms/dialect.js';
import type { Host } from '../terms/host.js';
import { CLAUDE_CODE } from './claude-code.js';

export const GENERIC: HostDialect = {
  ...CLAUDE_CODE,
  types: ANY_TYPE,
  addresses: { url: 'auto', serverUrl: 'auto', httpUrl: 'http' },
  fields: { ...CLAUDE_CODE.fields, envFile: 'envFile', except: 'disabledTools' },
};

/** Files that a setting names, in the place of a host. */
export const explicit: Host = {
  title: 'MCP_SERVERS_CONFIG',
  dialect: GENERIC,
  expansion: 'claude-code',
  sources: [{ scope: 'explicit', shape: 'servers', files: {} }],
};

/** Where home-manager writes the servers of all hosts. */
export const homeManager: Host = {
  title: 'home-manager',
  dialect: GENERIC,
  expansion: 'home-manager',
  sources: [
    { scope: 'user', shape: 'servers', files: { any: ['${XDG_CONFIG_HOME:-~/.config}/mcp/mcp.json'] } },
  ],
};

export const generic: Host = {
  title: 'generic',
  dialect: GENERIC,
  expansion: 'claude-code',
  sources: [
    { scope: 'user', shape: 'servers', files: { any: ['${XDG_CONFIG_HOME:-~/.config}/mcp/servers/*.json'] } },
    { scope: 'user', shape: 'servers', files: { any: ['~/MCPs/*.json'] } },
    { scope: 'project', shape: 'servers', files: { any: ['./mcp-servers/*.json'] } },
  ],
};
