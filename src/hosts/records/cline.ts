// Cline.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { type HostDialect, PROGRAM, REMOTE, SECOND_MS, timeout } from '../terms/dialect.js';
import { type Host, PROGRAM_FIELDS, REMOTE_FIELDS, typedEntry } from '../terms/host.js';
import { ofExtension } from './vscode.js';

/** Seconds, unlike most. Also of Roo Code and Kilo Code, which grew out of it. */
export const CLINE: HostDialect = {
  types: { stdio: 'stdio', sse: 'sse', streamableHttp: 'http', 'streamable-http': 'http', http: 'http' },
  addresses: { url: 'auto' },
  fields: { ...PROGRAM, ...REMOTE, except: 'disabledTools' },
  callTimes: timeout(SECOND_MS),
  startTimes: [],
};

export const cline: Host = {
  title: 'Cline',
  dialect: CLINE,
  expansion: 'cline',
  sources: [
    { scope: 'user', files: { any: ['${CLINE_MCP_SETTINGS_PATH}'] } },
    { scope: 'user', files: ofExtension('saoudrizwan.claude-dev/settings/cline_mcp_settings.json') },
    { scope: 'user', files: { any: ['~/.cline/data/settings/cline_mcp_settings.json'] } },
  ],
  install: {
    id: 'cline',
    programs: ['cline'],
    isDesktop: true,
    entry: typedEntry,
    adopt: {
      fields: [
        ...[...PROGRAM_FIELDS, ...REMOTE_FIELDS, 'type', 'transport', 'disabled', 'timeout'],
        ...['autoApprove', 'alwaysAllow', 'disabledTools'],
      ],
      handsOnVariables: false,
    },
  },
};
