// Messages about wrong arguments of a call, as the agent reads them: the field, what was got, what is allowed. All tools share
// these messages.

import type { z } from 'zod';
import { didYouMean } from '../../base/text/closest.js';
import { clipHarmless } from '../../base/text/text.js';
import type { CallProblem } from '../../run/outcome/outcome.js';

/** Longest part of a wrong word that is repeated to the caller. */
const MAX_ECHO_CHARS = 80;

export const complaint = (message: string, remedy?: string): CallProblem => ({
  type: 'E_ARGUMENTS',
  message,
  remedy,
});

/** A value of the agent's, as it is repeated to it; of a long one is said how long it is. */
export function described(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  const shown = echo(text);
  if (text.length <= MAX_ECHO_CHARS) return shown;
  if (typeof value === 'string') return `${shown} of ${value.length} characters`;
  return Array.isArray(value) ? `${shown} of ${value.length} items` : shown;
}

/** A word of the agent's, likewise. */
export const echo = (word: string): string => clipHarmless(word, MAX_ECHO_CHARS);

/** Arguments that a tool takes: what each of them may be, as the end of a sentence. */
export type Allowed = {
  readonly fields: Readonly<Record<string, string>>;
  /** All of them. */
  readonly whole: string;
  /** Words that are used for an argument elsewhere. */
  readonly otherNames?: Readonly<Record<string, string>>;
};

/** The first thing that a schema has found wrong with `args`. */
export function shapeComplaint(
  error: z.ZodError,
  args: unknown,
  { fields, whole, otherNames = {} }: Allowed,
): CallProblem {
  const issue = error.issues[0];
  if (issue?.code === 'unrecognized_keys') {
    const [unknown = ''] = issue.keys;
    const names = Object.keys(fields);
    const meant = Object.hasOwn(otherNames, unknown) ? otherNames[unknown] : undefined;
    const suggestion = meant === undefined ? didYouMean(unknown, names) : ` Did you mean '${meant}'?`;
    return complaint(
      `${echo(unknown)}: there is no such argument.${suggestion}`,
      `Allowed: ${names.join(', ')}.`,
    );
  }
  const field = issue?.path[0] === undefined ? undefined : String(issue.path[0]);
  if (field === undefined) return complaint(`arguments: got ${described(args)}, expected ${whole}.`);
  const got = described((args as Record<string, unknown> | null | undefined)?.[field]);
  return complaint(`${echo(field)}: got ${got}, expected ${fields[field] ?? whole}.`);
}
