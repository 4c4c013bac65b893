// The tool `run_python`: what the model is told about it, and its arguments, checked before anything is spent.

import { z } from 'zod';
import { didYouMean } from '../../base/closest.js';
import { clip, harmless } from '../../base/text.js';
import type { Settings } from '../../config/settings.js';
import { outcomeWithoutRun } from '../../run/outcome.js';
import type { RunInput } from '../bridge.js';
import type { Tool } from '../tool.js';
import { hooksFor } from './hooks.js';
import { FILES_SCHEMA, readInputFiles } from './input-files.js';

/** More would not fit any model's turn; 1 MB of code is data in the wrong place. */
const MAX_CODE_CHARS = 1_000_000;
/**
 * Output, errors and value of 40,000 characters each, the longest traceback of 34,000 with its message, files of 8,000
 * shown inline, and the addresses of what is kept. Of a result above 50,000 characters or 25,000 tokens Claude Code shows
 * the model the first 2,000, the rest lies in a file, unless the definition allows more; it takes at most 500,000.
 */
const MAX_RESULT_CHARS = 170_000;
/** Of a wrong word that is repeated in a complaint. */
const MAX_ECHO_CHARS = 80;
const FIELDS = ['code', 'servers', 'files', 'timeout'] as const;

const DESCRIPTION = `Run Python in a fresh, isolated container (no network, read-only, standard library) with the user's MCP servers callable inside. Name them in \`servers\`, then: r = await mcp_<alias>.<tool>(arg=...). Top-level await works; use asyncio.gather for many calls. You get printed output, the last expression's value and pictures (runtime.display).
Find tools first: from mcp import runtime; runtime.discovered_servers(); await runtime.query_tool_docs("server"); await runtime.search_tool_docs("query"); runtime.capability_summary().
Results are data (r["id"] or r.id); a failing tool raises runtime.MCPError. Each call starts clean; files that the code writes to out/ come back.`;

export function runPython(settings: Settings): Tool {
  const { timeoutSeconds, maxTimeoutSeconds } = settings;
  const schema = argumentsWithin(settings);
  return {
    definition: {
      name: 'run_python',
      title: 'Run Python with MCP tools',
      description: DESCRIPTION,
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
          timeout: {
            type: 'integer',
            minimum: 1,
            maximum: maxTimeoutSeconds,
            default: timeoutSeconds,
            description: 'Seconds',
          },
        },
        required: ['code'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      // For Claude Code, which otherwise shows the model a tool's name alone, and of long results the beginning.
      _meta: {
        'anthropic/alwaysLoad': true,
        'anthropic/searchHint': 'run python code, call MCP tools',
        'anthropic/maxResultSizeChars': MAX_RESULT_CHARS,
      },
    },
    outputMode: 'compact',
    call: (args, context, signal) => {
      const input = parse(args, schema, maxTimeoutSeconds);
      return 'message' in input
        ? Promise.resolve(outcomeWithoutRun('validation_error', input, timeoutSeconds))
        : context.bridge.run(input, hooksFor(context), signal);
    },
  };
}

type Complaint = { readonly type: string; readonly message: string; readonly remedy: string | undefined };

/** Made once: making a schema costs more than using it. */
const argumentsWithin = ({ timeoutSeconds, maxTimeoutSeconds }: Settings) =>
  z.strictObject({
    code: z
      .string()
      .max(MAX_CODE_CHARS)
      .refine((code) => code.trim() !== ''),
    servers: z.array(z.string()).default([]),
    // Checked one by one, with sentences of their own.
    files: z.unknown().optional(),
    timeout: z.int().min(1).max(maxTimeoutSeconds).default(timeoutSeconds),
    // Gemini CLI writes this into every tool's schema, tells its model to set it, heeds it itself, and passes it on.
    wait_for_previous: z.unknown().optional(),
  });

function parse(
  args: unknown,
  schema: ReturnType<typeof argumentsWithin>,
  maxTimeoutSeconds: number,
): RunInput | Complaint {
  const parsed = schema.safeParse(args ?? {});
  if (parsed.success) {
    const { code, servers, timeout } = parsed.data;
    const files = readInputFiles(parsed.data.files);
    if ('complaint' in files) return complaint(files.complaint, undefined);
    return { task: { type: 'cell', code }, servers: [...new Set(servers)], files, timeoutSeconds: timeout };
  }
  const issue = parsed.error.issues[0];
  const unknown = issue?.code === 'unrecognized_keys' ? (issue.keys[0] ?? '') : undefined;
  const field = unknown ?? String(issue?.path[0] ?? 'arguments');
  const shown = clip(harmless(field), MAX_ECHO_CHARS);
  const got = describe((args as Record<string, unknown> | null | undefined)?.[field]);
  const allowed: Readonly<Record<string, string>> = {
    code: `a non-empty string of at most ${MAX_CODE_CHARS} characters`,
    servers: 'a list of server names, such as ["github"]',
    timeout: `a whole number of seconds from 1 to ${maxTimeoutSeconds}`,
  };
  if (unknown !== undefined) {
    return complaint(
      `${shown}: there is no such argument.${didYouMean(field, FIELDS)}`,
      `Allowed: ${FIELDS.join(', ')}.`,
    );
  }
  return complaint(
    `${shown}: got ${got}, expected ${allowed[field] ?? 'an object with code, servers, files and timeout'}.`,
    undefined,
  );
}

const complaint = (message: string, remedy: string | undefined): Complaint => ({
  type: 'E_ARGUMENTS',
  message,
  remedy,
});

const describe = (value: unknown): string =>
  value === undefined ? 'nothing' : clip(JSON.stringify(value), MAX_ECHO_CHARS);
