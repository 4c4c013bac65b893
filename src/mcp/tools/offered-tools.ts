// The tools that the operator offers, as tools/list tells of them. tool-calls.ts has what they do.

import type { Settings } from '../../settings/environment/settings.js';
import type { ToolName } from '../../settings/environment/variables.js';
import { executeCodeDefinition } from './execute-code-definition.js';
import { executeDefinition } from './execute-definition.js';
import { runPythonDefinition } from './run-python-definition.js';
import type { ToolDefinition } from './tool-definition.js';

export type OfferedTools = readonly ToolDefinition[];

const DEFINITIONS: Readonly<Record<ToolName, (settings: Settings) => ToolDefinition>> = {
  run_python: runPythonDefinition,
  execute_code: executeCodeDefinition,
  execute: executeDefinition,
};

const made = new WeakMap<Settings, OfferedTools>();

/** In the operator's order; made once for these settings, since each request may ask for them. */
export function offeredTools(settings: Settings): OfferedTools {
  const known = made.get(settings);
  if (known !== undefined) return known;
  const tools = settings.tools.map((name) => DEFINITIONS[name](settings));
  made.set(settings, tools);
  return tools;
}

/** Whether there are snippets to name: a tool runs them, and a folder holds them. */
export const offersSnippets = ({ tools }: Settings, folder: string | undefined): boolean =>
  tools.includes('execute_code') && folder !== undefined;
