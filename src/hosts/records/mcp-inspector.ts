// MCP Inspector.

import { MS } from '../terms/dialect.js';
import type { Host } from '../terms/host.js';
import { GENERIC } from './no-host.js';

export const mcpInspector: Host = {
  title: 'MCP Inspector',
  dialect: {
    ...GENERIC,
    callTimes: [{ at: ['requestTimeout'], unitMs: MS }],
    startTimes: [{ at: ['connectionTimeout'], unitMs: MS }],
  },
  expansion: 'none',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way
  sources: [{ scope: 'user', files: { any: ['${MCP_CATALOG_PATH:-~/.mcp-inspector/mcp.json}'] } }],
};
