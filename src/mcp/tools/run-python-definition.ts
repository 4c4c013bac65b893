// The tool `run_python` as agents see it. Apart from what it does, which is loaded when it is first called.

import type { Settings } from '../../settings/environment/settings.js';
import { ANNOTATIONS, metaFor } from './definition.js';
import { GO_ON_PROPERTIES } from './go-on-properties.js';
import { pythonWords } from './python-words.js';
import type { ToolDefinition } from './tool-definition.js';

const describe = (
  python: string,
): string => `Run ${python}, in a fresh, isolated container (no network, read-only) with the user's MCP servers callable inside. Name them in \`servers\`, then: r = await mcp_<alias>.<tool>(arg=...). Top-level await works; use asyncio.gather for many calls. You get printed output, the last expression's value and pictures (runtime.display).
Find tools first: from mcp import runtime; runtime.discovered_servers(); await runtime.query_tool_docs("server"); await runtime.search_tool_docs("query"); runtime.capability_summary().
Results are data (r["id"] or r.id); a failing tool raises runtime.MCPError. Each call starts clean; files written to out/ come back.`;

/** JSON schema of the files that it takes. */
const FILES_SCHEMA = {
  type: 'array',
  description: 'Put into the working directory; text or base64',
  items: {
    type: 'object',
    properties: { name: { type: 'string' }, text: { type: 'string' }, base64: { type: 'string' } },
    required: ['name'],
  },
};

const SESSION_PROPERTIES = {
  session: { type: 'string', description: 'Calls of one name share their state' },
  require_session: { type: 'boolean' },
};

export const runPythonDefinition = (settings: Settings): ToolDefinition => ({
  name: 'run_python',
  title: 'Run Python with MCP tools',
  // Read at each listing, since what the image holds may become known meanwhile.
  get description() {
    return describe(pythonWords(settings));
  },
  inputSchema: {
    type: 'object',
    properties: {
      code: { type: 'string', description: 'Python source' },
      servers: {
        type: 'array',
        items: { type: 'string' },
        description: 'MCP servers to load, by name; "*" for all',
      },
      files: FILES_SCHEMA,
      mode: { enum: ['plan'], description: 'Dry run: lists the first writes' },
      timeout: {
        type: 'integer',
        minimum: 1,
        maximum: settings.maxTimeoutSeconds,
        default: settings.timeoutSeconds,
        description: 'Seconds',
      },
      ...(settings.sessions.most === 0 ? {} : SESSION_PROPERTIES),
      ...GO_ON_PROPERTIES,
    },
    additionalProperties: false,
  },
  annotations: ANNOTATIONS,
  _meta: metaFor('run python code, call MCP tools'),
});
