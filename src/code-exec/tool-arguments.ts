// An argument of a tool, said once: what hosts are told of it, which values are taken, and the end of the sentence about all
// others. Lists of tools, checks and errors are made from tables of arguments, in their order.

import { z } from 'zod';
import { didYouMean } from '../base/text/closest.js';
import { describeValue, echo } from '../base/text/echo.js';

export type Argument<V = unknown> = {
  /** The argument's JSON schema; undefined where hosts are not told of the argument, although it is accepted. */
  readonly told: Readonly<Record<string, unknown>> | undefined;
  /** Values that are taken, as the end of a sentence. */
  readonly allowed: string;
  /** Makes the check. A list of tools needs none, and making one takes longer than using it. */
  readonly check: () => z.ZodType<V>;
  /** Words that are used for it elsewhere. */
  readonly otherNames?: readonly string[];
};

export type ArgumentTable = Readonly<Record<string, Argument>>;

/** The arguments of a call that are checked by a table. */
export type ArgumentsOf<T extends ArgumentTable> = {
  readonly [K in keyof T]: T[K] extends Argument<infer V> ? V : never;
};

/** The properties of a tool's JSON schema. */
export const propertiesOf = <T extends ArgumentTable>(table: T) =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, { told }]) => (told === undefined ? [] : [[name, told]])),
  ) as { readonly [K in keyof T]: Readonly<Record<string, unknown>> };

/**
 * Reads the arguments of calls by their table: their values, or the first thing that is wrong with them, in a sentence, and what
 * to do where more is to be said. `whole` says in words what all of them are.
 */
export function argumentsReader<T extends ArgumentTable>(
  table: T,
  whole = allOf(Object.keys(table)),
): (
  args: unknown,
) =>
  | { readonly values: ArgumentsOf<T> }
  | { readonly problem: string; readonly remedy?: string | undefined } {
  const check = z.strictObject(
    Object.fromEntries(Object.entries(table).map(([name, { check }]) => [name, check()])),
  );
  return (args) => {
    const parsed = check.safeParse(args);
    // The check is made of the table, which its type cannot say.
    if (parsed.success) return { values: parsed.data as ArgumentsOf<T> };
    return problemOf(parsed.error.issues, args, table, whole);
  };
}

function problemOf(
  issues: readonly z.core.$ZodIssue[],
  args: unknown,
  table: ArgumentTable,
  whole: string,
): { readonly problem: string; readonly remedy?: string } {
  // First, since a name that is mistyped is missing as well.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  if (issue?.code === 'unrecognized_keys') {
    const [unknown = ''] = issue.keys;
    const names = Object.keys(table);
    const meant = names.find((name) => table[name]?.otherNames?.includes(unknown));
    const suggestion = meant === undefined ? didYouMean(unknown, names) : ` Did you mean '${meant}'?`;
    return {
      problem: `${echo(unknown)}: there is no such argument.${suggestion}`,
      remedy: `Allowed: ${names.join(', ')}.`,
    };
  }
  if (issue?.path[0] === undefined)
    return { problem: `arguments: got ${describeValue(args)}, expected ${whole}.` };
  const field = String(issue.path[0]);
  const got = describeValue((args as Readonly<Record<string, unknown>> | null | undefined)?.[field]);
  return { problem: `${echo(field)}: got ${got}, expected ${table[field]?.allowed ?? whole}.` };
}

const allOf = (names: readonly string[]): string =>
  `an object with ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
