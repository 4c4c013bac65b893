// The arguments of a call, cleaned of what hosts write there and no model has chosen, once for all tools. Cleaning refuses
// nothing: each tool checks its own by their table (definitions.ts).

import { isObject } from '../../base/json/records.js';
import { ADDED_ARGUMENTS } from '../../hosts/records/all-hosts.js';

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
