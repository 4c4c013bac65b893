// The tool `execute_code` as agents see it. Apart from what it does, which is loaded when it is first called.

import { networkedLanguages, offeredLanguages } from '../../settings/environment/plan.js';
import type { Settings } from '../../settings/environment/settings.js';
import { callsTools, type Language } from '../../settings/languages/language.js';
import { ANNOTATIONS, metaFor } from './definition.js';
import { GO_ON_PROPERTIES } from './go-on-properties.js';
import type { ToolDefinition } from './tool-definition.js';

/** JSON schema of the files that it takes. */
const ADDITIONAL_FILES_SCHEMA = {
  type: 'array',
  description: 'Beside it; binary as base64',
  items: {
    type: 'object',
    properties: {
      filename: { type: 'string' },
      content: { type: 'string' },
      encoding: { type: 'string', enum: ['utf8', 'base64'] },
    },
    required: ['filename', 'content'],
  },
};

export function executeCodeDefinition(settings: Settings): ToolDefinition {
  const offered = offeredLanguages(settings);
  const withTools = offered.filter(callsTools).map(({ name }) => name);
  return {
    name: 'execute_code',
    title: 'Run a program',
    description: descriptionOf(offered, settings),
    inputSchema: {
      type: 'object',
      properties: {
        language: { type: 'string', enum: offered.map(({ name }) => name) },
        entrypoint_code: { type: 'string', description: 'Main file' },
        entrypoint_filename: { type: 'string' },
        additional_files: ADDITIONAL_FILES_SCHEMA,
        snippet_name: { type: 'string', description: 'Stored program' },
        args: { type: 'array', items: { type: 'string' } },
        env: { type: 'object', additionalProperties: { type: 'string' } },
        stdin: { type: 'string' },
        ...(withTools.length === 0
          ? {}
          : {
              servers: {
                type: 'array',
                items: { type: 'string' },
                description: `MCP servers; only for ${withTools.join(', ')}`,
              },
              mode: { enum: ['plan'] },
            }),
        timeout: {
          type: 'integer',
          minimum: 1,
          maximum: settings.maxTimeoutSeconds,
          description: 'Seconds',
        },
        ...GO_ON_PROPERTIES,
      },
      additionalProperties: false,
    },
    annotations: ANNOTATIONS,
    _meta: metaFor('execute code'),
  };
}

/** How a program calls a tool. */
const CALLS: Readonly<Record<Language['tools'], string>> = {
  none: '',
  python: 'in Python await mcp_<alias>.<tool>(arg=...)',
  javascript: 'in JavaScript await mcp_<alias>.<tool>({arg: ...})',
};

function descriptionOf(offered: readonly Language[], settings: Settings): string {
  const online = networkedLanguages(settings, offered);
  const network = online.length === 0 ? '' : ` but for ${online.join(', ')}`;
  const calls = new Set(offered.map((language) => CALLS[language.tools]).filter((call) => call !== ''));
  const tools = calls.size === 0 ? '' : ` Tools of \`servers\`: ${[...calls].join(', ')}.`;
  return `Run a program of one or more files in a fresh, isolated container (no network${network}, standard library, nothing to install). Pass language and entrypoint_code, or snippet_name alone.
You get stdout, stderr, and the files that the program writes to out/. Each call starts clean.${tools}`;
}
