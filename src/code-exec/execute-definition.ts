// The tool `execute` as everybody sees it who offers it: what hosts are told, its arguments, and their check. Pure: the code
// here runs nothing, and does not know where commands run.

import { z } from 'zod';
import { type ArgumentsOf, type ArgumentTable, argumentsReader, propertiesOf } from './tool-arguments.js';

/** Limits and folder of `execute`, which differ between the programs that offer the tool. */
export type ExecuteLimits = {
  /** Where a call does not say. */
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** The folder that relative paths start from, and the only one whose files stay. */
  readonly workdir: string;
  /** Limit for stdout and stderr together, in bytes. */
  readonly maxOutputBytes: number;
};

/** No NUL, which would end a text for the kernel; a name that is empty names nothing. */
const word = () => z.string().refine((text) => !text.includes('\0'));

/** Without limits, of a server that nobody has asked for them. */
const executeArguments = ({
  timeoutMs,
  maxTimeoutMs = Number.MAX_SAFE_INTEGER,
  workdir,
}: Partial<ExecuteLimits>) =>
  ({
    command: {
      told: { type: 'string', description: 'Program name or path' },
      allowed: 'the name or path of a program',
      check: () => word().refine((text) => text !== ''),
    },
    args: {
      told: { type: 'array', items: { type: 'string' } },
      allowed: 'a list of texts without NUL characters',
      check: () => z.array(word()).default([]),
    },
    stdin: {
      told: { type: 'string' },
      allowed: 'a text',
      check: () => z.string().default(''),
    },
    timeout_ms: {
      told: {
        type: 'integer',
        minimum: 1,
        ...(timeoutMs === undefined ? {} : { maximum: maxTimeoutMs, default: timeoutMs }),
      },
      allowed: `a whole number of milliseconds from 1 to ${maxTimeoutMs}`,
      check: () =>
        z
          .int()
          .min(1)
          .max(maxTimeoutMs)
          .default(timeoutMs ?? maxTimeoutMs),
    },
    cwd: {
      told: {
        type: 'string',
        ...(workdir === undefined ? {} : { description: `Relative to ${workdir}` }),
      },
      allowed: 'a path',
      check: () => word().default(''),
    },
    env: {
      told: { type: 'object', additionalProperties: { type: 'string' }, description: 'Further variables' },
      allowed: 'an object of texts, by variable names',
      check: () => z.record(z.string().regex(/^[^=\0]+$/), word()).default({}),
    },
  }) satisfies ArgumentTable;

export type CommandArguments = ArgumentsOf<ReturnType<typeof executeArguments>>;

/** Reads the arguments of calls, whoever offers the tool. */
export const commandReader = (limits: ExecuteLimits) =>
  argumentsReader(executeArguments(limits), 'an object with command and args');

/** Without limits, of a server that nobody has asked for them. */
export const definitionFor = (limits?: ExecuteLimits) => ({
  name: 'execute',
  title: 'Run a command',
  description: `Run a program in an isolated machine. Its arguments are handed on as they are: no shell (for pipes: command "sh", args ["-c", "..."]). ${outputSentence(limits)}`,
  inputSchema: {
    type: 'object' as const,
    properties: propertiesOf(executeArguments(limits ?? {})),
    required: ['command'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
});

const outputSentence = (limits: ExecuteLimits | undefined): string =>
  limits === undefined
    ? 'Of long output, head and tail come back.'
    : `Files in ${limits.workdir} stay; everything else may go. Of stdout and stderr, head and tail of ${limits.maxOutputBytes} bytes come back.`;
