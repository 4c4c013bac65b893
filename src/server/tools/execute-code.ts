// The tool `execute_code`: what the model is told about it. program-arguments.ts checks what
// it is called with.

import { callsTools, isFileOf, type Language } from '../../config/languages/language.js';
import { networkedLanguages, offeredLanguages } from '../../config/languages/plan.js';
import type { Settings } from '../../config/settings.js';
import { type Outcome, outcomeWithoutRun } from '../../run/outcome/outcome.js';
import type { Task } from '../../run/programs/task.js';
import type { BridgeTool } from '../tool.js';
import { ANNOTATIONS, metaFor } from './definition.js';
import { hooksFor } from './hooks.js';
import { ADDITIONAL_FILES_SCHEMA } from './input-files.js';
import { programSchema, readProgram } from './program-arguments.js';

export function executeCode(settings: Settings): BridgeTool<Outcome> {
  const { timeoutSeconds, maxTimeoutSeconds } = settings;
  const offered = offeredLanguages(settings);
  const schema = programSchema(settings);
  const withTools = offered.filter(callsTools).map(({ name }) => name);
  return {
    definition: {
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
              }),
          timeout: {
            type: 'integer',
            minimum: 1,
            maximum: maxTimeoutSeconds,
            description: 'Seconds',
          },
        },
        additionalProperties: false,
      },
      annotations: ANNOTATIONS,
      _meta: metaFor('execute code'),
    },
    outputMode: 'sections',
    call: async (args, context, signal) => {
      const { bridge } = context;
      const input = await readProgram(args, schema, { settings, offered, snippets: bridge.snippets });
      if ('message' in input) return outcomeWithoutRun('validation_error', input, timeoutSeconds);
      return noted(await bridge.run(input, context.caller, hooksFor(context), signal), input.task);
    },
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

/** Whoever goes by the ending, such as Go's compiler, may have failed for no other reason. */
function noted(outcome: Outcome, task: Task): Outcome {
  if (task.type !== 'program' || outcome.status !== 'error') return outcome;
  const { file, language } = task;
  if (isFileOf(language, file)) return outcome;
  const hint = `${language.title} files end in ${language.extensions.join(' or ')}; this one is named ${file}.`;
  return { ...outcome, note: outcome.note === undefined ? hint : `${outcome.note}\n${hint}` };
}
