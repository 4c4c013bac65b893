// The tool `execute` as everybody sees it who offers it: its definition, and what it may be called with. Pure: it runs
// nothing, and does not know where commands run.

import { z } from 'zod';
import { didYouMean } from '../base/closest.js';
import { shown } from './execute-result.js';

/** What differs between those who offer it. */
export type ExecuteLimits = {
  /** Where a call does not say. */
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** The folder that relative paths start from, and the only one whose files stay. */
  readonly workdir: string;
  /** Limit for stdout and stderr together, in bytes. */
  readonly maxOutputBytes: number;
};

/** Without limits, of a server that nobody has asked for them. */
export const definitionFor = (limits?: ExecuteLimits) => ({
  name: 'execute',
  title: 'Run a command',
  description: `Run a program in an isolated machine. Its arguments are handed on as they are: no shell (for pipes: command "sh", args ["-c", "..."]). ${stays(limits)}`,
  inputSchema: {
    type: 'object' as const,
    properties: {
      command: { type: 'string', description: 'Program name or path' },
      args: { type: 'array', items: { type: 'string' } },
      stdin: { type: 'string' },
      timeout_ms: {
        type: 'integer',
        minimum: 1,
        ...(limits === undefined ? {} : { maximum: limits.maxTimeoutMs, default: limits.timeoutMs }),
      },
      cwd: {
        type: 'string',
        ...(limits === undefined ? {} : { description: `Relative to ${limits.workdir}` }),
      },
      env: { type: 'object', additionalProperties: { type: 'string' }, description: 'Further variables' },
    },
    required: ['command'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
});

const stays = (limits: ExecuteLimits | undefined): string =>
  limits === undefined
    ? 'Of long output, head and tail come back.'
    : `Files in ${limits.workdir} stay; everything else may go. Of stdout and stderr, head and tail of ${limits.maxOutputBytes} bytes come back.`;

export type ExecuteDefinition = ReturnType<typeof definitionFor>;

/** No NUL, which would end a text for the kernel; a name that is empty names nothing. */
const word = z.string().refine((text) => !text.includes('\0'));
export const commandSchema = ({ timeoutMs, maxTimeoutMs }: ExecuteLimits) =>
  z.strictObject({
    command: word.refine((text) => text !== ''),
    args: z.array(word).default([]),
    stdin: z.string().default(''),
    timeout_ms: z.int().min(1).max(maxTimeoutMs).default(timeoutMs),
    cwd: word.default(''),
    env: z.record(z.string().regex(/^[^=\0]+$/), word).default({}),
  });
export type CommandSchema = ReturnType<typeof commandSchema>;
export type CommandArguments = z.infer<CommandSchema>;

const FIELDS = ['command', 'args', 'stdin', 'timeout_ms', 'cwd', 'env'] as const;

/** What is wrong with `args`: the first field, what was got, what is allowed. */
export function complaintOf({ issues }: z.ZodError, args: unknown, { maxTimeoutMs }: ExecuteLimits): string {
  // First, since a name that is mistyped is missing as well.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  if (issue?.code === 'unrecognized_keys') {
    const [field = ''] = issue.keys;
    return `${shown(field)}: there is no such argument.${didYouMean(field, FIELDS)} Allowed: ${FIELDS.join(', ')}.`;
  }
  const field = String(issue?.path[0] ?? 'arguments');
  const got = (args as Readonly<Record<string, unknown>> | null | undefined)?.[field];
  const allowed: Readonly<Record<string, string>> = {
    command: 'the name or path of a program',
    args: 'a list of texts without NUL characters',
    stdin: 'a text',
    timeout_ms: `a whole number of milliseconds from 1 to ${maxTimeoutMs}`,
    cwd: 'a path',
    env: 'an object of texts, by variable names',
  };
  const echo = got === undefined ? 'nothing' : shown(JSON.stringify(got));
  return `${field}: got ${echo}, expected ${allowed[field] ?? 'an object with command and args'}.`;
}
