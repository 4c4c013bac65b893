// The arguments of a call: cleaned of what hosts write there and no model has chosen, once for all tools, and checked by the
// table of one tool (definitions.ts). The server cleans the arguments of every call; cleaning refuses nothing.

import type { z } from 'zod';
import { isObject } from '../../base/json/records.js';
import { didYouMean } from '../../base/text/closest.js';
import { type ArgumentsOf, type ArgumentTable, checkOf } from '../../code-exec/tool-arguments.js';
import { ADDED_ARGUMENTS } from '../../hosts/records/all-hosts.js';
import type { CallProblem } from '../../run/outcome/outcome.js';
import { complaint, describeValue, echo } from '../requests/complaint.js';

/**
 * The arguments that the model means: without those that a host adds, unless `schema`, the tool's own, has them, and
 * without `null` wherever the schema does not require a value, also in the items of its lists. No arguments are `{}`; what
 * is wrong stays as it is, for the tool to refuse.
 */
export function cleanArguments(args: unknown, schema: Readonly<Record<string, unknown>>): unknown {
  const given = withoutNulls(args ?? {}, schema);
  if (!isObject(given)) return given;
  const own = isObject(schema['properties']) ? schema['properties'] : {};
  return Object.fromEntries(
    Object.entries(given).filter(([name]) => !ADDED_ARGUMENTS.has(name) || Object.hasOwn(own, name)),
  );
}

/** Some hosts write null for each optional value that their model leaves out. */
function withoutNulls(value: unknown, schema: unknown): unknown {
  if (!isObject(schema)) return value;
  const { items, properties, required } = schema;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, items));
  // A schema without properties is a map, such as `env`: whoever calls has chosen each of its names.
  if (!isObject(value) || !isObject(properties)) return value;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => member !== null || isRequired(name))
      .map(([name, member]) => [
        name,
        withoutNulls(member, Object.hasOwn(properties, name) ? properties[name] : undefined),
      ]),
  );
}

/**
 * Reads the arguments of calls by their table: their values, or the first thing that is wrong with them. `whole` says in
 * words what all of them are.
 */
export function argumentsReader<T extends ArgumentTable>(
  table: T,
  whole = allOf(Object.keys(table)),
): (args: unknown) => { readonly values: ArgumentsOf<T> } | { readonly problem: CallProblem } {
  const check = checkOf(table);
  return (args) => {
    const parsed = check.safeParse(args);
    if (parsed.success) return { values: parsed.data };
    return { problem: problemOf(parsed.error.issues[0], args, table, whole) };
  };
}

function problemOf(
  issue: z.core.$ZodIssue | undefined,
  args: unknown,
  table: ArgumentTable,
  whole: string,
): CallProblem {
  if (issue?.code === 'unrecognized_keys') {
    const [unknown = ''] = issue.keys;
    const names = Object.keys(table);
    const meant = names.find((name) => table[name]?.otherNames?.includes(unknown));
    const suggestion = meant === undefined ? didYouMean(unknown, names) : ` Did you mean '${meant}'?`;
    return complaint(
      `${echo(unknown)}: there is no such argument.${suggestion}`,
      `Allowed: ${names.join(', ')}.`,
    );
  }
  const field = issue?.path[0] === undefined ? undefined : String(issue.path[0]);
  if (field === undefined) return complaint(`arguments: got ${describeValue(args)}, expected ${whole}.`);
  const got = describeValue((args as Record<string, unknown> | null | undefined)?.[field]);
  return complaint(`${echo(field)}: got ${got}, expected ${table[field]?.allowed ?? whole}.`);
}

const allOf = (names: readonly string[]): string =>
  `an object with ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
