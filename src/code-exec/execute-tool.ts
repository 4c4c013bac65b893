// Checks the arguments of a call of `execute`, whoever offers it; execute-definition.ts has a record of each. Pure:
// the code here runs nothing, and does not know where commands run.

import type { z } from 'zod';
import { didYouMean } from '../base/text/closest.js';
import { type ExecuteLimits, executeArguments } from './execute-definition.js';
import { clipText } from './execute-result.js';
import { type ArgumentsOf, type ArgumentTable, checkOf } from './tool-arguments.js';

export const commandSchema = (limits: ExecuteLimits) => checkOf(executeArguments(limits));
export type CommandArguments = ArgumentsOf<ReturnType<typeof executeArguments>>;

/** Describes what is wrong with `args`: the first field, what was got, what is allowed. */
export function complaintOf({ issues }: z.ZodError, args: unknown, limits: ExecuteLimits): string {
  const table: ArgumentTable = executeArguments(limits);
  // First, since a name that is mistyped is missing as well.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  if (issue?.code === 'unrecognized_keys') {
    const [field = ''] = issue.keys;
    const names = Object.keys(table);
    return `${clipText(field)}: there is no such argument.${didYouMean(field, names)} Allowed: ${names.join(', ')}.`;
  }
  const field = String(issue?.path[0] ?? 'arguments');
  const got = (args as Readonly<Record<string, unknown>> | null | undefined)?.[field];
  const echo = got === undefined ? 'nothing' : clipText(JSON.stringify(got));
  return `${field}: got ${echo}, expected ${table[field]?.allowed ?? 'an object with command and args'}.`;
}
