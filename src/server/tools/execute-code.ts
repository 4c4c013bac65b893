// The tool `execute_code`: a program in one of several languages, as isolator's users know it.

import { z } from 'zod';
import { planFor } from '../../config/languages/plan.js';
import { languageNamed } from '../../config/languages/records.js';
import type { Settings } from '../../config/settings.js';
import { outcomeWithoutRun } from '../../run/outcome.js';
import type { Tool } from '../tool.js';
import { hooksFor } from './hooks.js';

export function executeCode(settings: Settings): Tool {
  const { maxTimeoutSeconds } = settings;
  const schema = z.strictObject({
    language: z.string(),
    entrypoint_code: z.string(),
    entrypoint_filename: z.string().optional(),
    args: z.array(z.string()).default([]),
    stdin: z.string().optional(),
    timeout: z.int().min(1).max(maxTimeoutSeconds).optional(),
    servers: z.array(z.string()).default([]),
  });
  return {
    definition: {
      name: 'execute_code',
      title: 'Run a program',
      description: 'Run a program in a fresh, isolated container.',
      inputSchema: {
        type: 'object',
        properties: { language: { type: 'string' }, entrypoint_code: { type: 'string' } },
      },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      _meta: {},
    },
    outputMode: 'sections',
    call: async (args, context, signal) => {
      const parsed = schema.safeParse(args);
      const language = parsed.success ? languageNamed(parsed.data.language) : undefined;
      if (!parsed.success || language === undefined) {
        const message = 'arguments: language and entrypoint_code are wanted.';
        const objection = { type: 'E_ARGUMENTS', message, remedy: undefined };
        return outcomeWithoutRun('validation_error', objection, settings.timeoutSeconds);
      }
      const {
        entrypoint_code: code,
        entrypoint_filename: file = language.file,
        stdin,
        timeout,
        servers,
      } = parsed.data;
      const task = {
        type: 'program',
        language,
        code,
        file,
        args: parsed.data.args,
        stdin: stdin === undefined ? undefined : Buffer.from(stdin),
      } as const;
      const timeoutSeconds = timeout ?? planFor(language, settings).timeoutSeconds;
      return context.bridge.run({ task, servers, files: [], timeoutSeconds }, hooksFor(context), signal);
    },
  };
}
