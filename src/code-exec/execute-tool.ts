// Arguments that the tool `execute` takes, whoever offers it; execute-definition.ts is what hosts are told of the tool. Pure:
// the code here runs nothing, and does not know where commands run.

import { z } from 'zod';
import { didYouMean } from '../base/text/closest.js';
import type { ExecuteLimits } from './execute-definition.js';
import { shown } from './execute-result.js';

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

/** Describes what is wrong with `args`: the first field, what was got, what is allowed. */
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
