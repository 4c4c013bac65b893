// Takes out of a call's arguments what hosts write there and no model has chosen, once for all tools: the server cleans the
// arguments of every call, and a tool's own parser sees only what is meant for it. Pure; it refuses nothing.

import { isObject } from '../../base/json/json-object.js';

/**
 * Arguments that a host adds to the schema of every tool, by host. They are left out whoever calls, since programs that
 * were made from one of these hosts do the same under names of their own.
 */
const ADDED_BY_HOST: Readonly<Record<string, readonly string[]>> = {
  // It tells its model to set this, heeds it when it orders the calls of one turn, and passes it on.
  'Gemini CLI': ['wait_for_previous'],
};
const ADDED: ReadonlySet<string> = new Set(Object.values(ADDED_BY_HOST).flat());

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
    Object.entries(given).filter(([name]) => !ADDED.has(name) || Object.hasOwn(own, name)),
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
