// The tool `execute` as agents see it, whether a configured server answers it or a container of its own.

import { definitionFor, type ExecuteLimits } from '../../code-exec/execute-definition.js';
import { WORK } from '../../sandbox/spec/promises.js';
import type { Settings } from '../../settings/environment/settings.js';
import { metaFor } from './definition.js';
import { GO_ON_PROPERTIES } from './go-on-properties.js';
import type { ToolDefinition } from './tool-definition.js';

/** Limits of `execute` where a container of its own runs the command. */
export const limitsOf = ({
  timeoutSeconds,
  maxTimeoutSeconds,
  executeOutputBytes,
}: Settings): ExecuteLimits => ({
  timeoutMs: timeoutSeconds * 1000,
  maxTimeoutMs: maxTimeoutSeconds * 1000,
  workdir: WORK,
  maxOutputBytes: executeOutputBytes,
});

export function executeDefinition(settings: Settings): ToolDefinition {
  const definition = definitionFor(settings.executeServer === undefined ? limitsOf(settings) : undefined);
  const { required: _required, properties, ...schema } = definition.inputSchema;
  return {
    ...definition,
    inputSchema: { ...schema, properties: { ...properties, ...GO_ON_PROPERTIES } },
    _meta: metaFor('run a shell command'),
  };
}
