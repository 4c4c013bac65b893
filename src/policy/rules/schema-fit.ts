// Whether arguments are of the types that a tool's schema says. A value of another type is what readers convert, each in its own
// way. No validator: bounds, patterns and what is required are left to the server, which takes none of them for something
// else; what is not understood fits. Schemas are a server's word, so that nothing in them is compiled.

import { isDeepStrictEqual } from 'node:util';
import { doubt, doubtPresence, kindOf, othersLike } from './either-reading.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A schema of a schema of a schema… in a value of 64 levels; a circle is deeper. */
const MAX_DEPTH = 400;
/** Several for each value that may be there. */
const MAX_STEPS = 100_000;
const VALUES_A_STEP = 100;

type Walk = { readonly root: JsonSchema; steps: number };

/** Notes each value that does not fit. Throws a sentence where the whole does not, or where it takes too long to tell. */
export function doubtWhatFitsNot(args: unknown, schema: JsonSchema): void {
  const found = (why: string) => {
    throw new Error(`the whole ${why}`);
  };
  look(args, schema, { root: schema, steps: MAX_STEPS }, 0, found);
}

function look(value: unknown, said: unknown, walk: Walk, depth: number, found: (why: string) => void): void {
  const schema = resolved(said, walk);
  if (schema === undefined || depth > MAX_DEPTH) return;
  count(walk, schema);
  const why = misfit(value, schema);
  if (why !== undefined) return found(why);
  for (const choices of [schema['anyOf'], schema['oneOf']]) {
    if (!isList(choices) || choices.length === 0) continue;
    if (!choices.some((choice) => fits(value, choice, walk, depth + 1)))
      return found("fits nothing of what the tool's schema offers");
  }
  for (const all of listOf(schema['allOf'])) look(value, all, walk, depth + 1, found);
  for (const [name, inner, ofInner] of innerOf(value, schema))
    look(inner, ofInner, walk, depth + 1, (reason) => doubt(value as object, name, reason));
  doubtUnlisted(value, schema);
}

/** A member that is none of the schema's: some readers take it for one that is, and some do not see it. */
function doubtUnlisted(value: unknown, { properties, additionalProperties = false }: JsonSchema): void {
  if (!isObject(value) || !isObject(properties)) return;
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(properties, name)) continue;
    const [meant] = othersLike(properties, name);
    if (meant !== undefined) doubt(value, name, `is to some readers what the tool's schema calls '${meant}'`);
    else if (additionalProperties === false) doubtPresence(value, name);
  }
}

function fits(value: unknown, said: unknown, walk: Walk, depth: number): boolean {
  if (said === false) return false;
  const schema = resolved(said, walk);
  if (schema === undefined || depth > MAX_DEPTH) return true;
  count(walk, schema);
  if (misfit(value, schema) !== undefined) return false;
  const deeper = (inner: unknown, choice: unknown) => fits(inner, choice, walk, depth + 1);
  for (const choices of [schema['anyOf'], schema['oneOf']])
    if (isList(choices) && choices.length > 0 && !choices.some((choice) => deeper(value, choice)))
      return false;
  return (
    listOf(schema['allOf']).every((all) => deeper(value, all)) &&
    innerOf(value, schema).every(([, inner, ofInner]) => deeper(inner, ofInner))
  );
}

function count(walk: Walk, schema: JsonSchema): void {
  walk.steps -= 1 + listOf(schema['enum']).length / VALUES_A_STEP;
  if (walk.steps < 0) throw new Error("the arguments and the tool's schema are too much to compare");
}

/** Says why the value itself does not fit, without the values in it. */
function misfit(value: unknown, schema: JsonSchema): string | undefined {
  const { type } = schema;
  const types = typeof type === 'string' ? [type] : listOf(type).filter((one) => typeof one === 'string');
  const isNullable = schema['nullable'] === true && value === null;
  if (types.length > 0 && !isNullable && !types.some((one) => isOfType(value, one)))
    return `is ${nameOf(value)}, and the tool's schema says ${types.join(' or ')}`;
  const { enum: values } = schema;
  const isListed = !isList(values) || values.length === 0 || isNullable || isOneOf(value, values);
  const isConstant = !Object.hasOwn(schema, 'const') || isOneOf(value, [schema['const']]);
  return isListed && isConstant ? undefined : "is none of the values that the tool's schema lists";
}

const isOneOf = (value: unknown, values: readonly unknown[]): boolean =>
  Object(value) === value ? values.some((one) => isDeepStrictEqual(one, value)) : values.includes(value);

const nameOf = (value: unknown): string =>
  typeof value === 'number' && !Number.isInteger(value) ? 'a number with a fraction' : kindOf(value);

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      return true;
  }
}

/** Values in a value, each with its name there and its schema. */
function innerOf(value: unknown, schema: JsonSchema): ReadonlyArray<readonly [string, unknown, unknown]> {
  if (isList(value)) {
    const { items } = schema;
    const first = [schema['prefixItems'], items].find(isList) ?? [];
    const rest = isList(items) ? schema['additionalItems'] : items;
    return value.map((item, index) => [String(index), item, index < first.length ? first[index] : rest]);
  }
  if (!isObject(value)) return [];
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  // By which of them a name is meant would have to be tried, and they are patterns of the server's.
  const rest = schema['patternProperties'] === undefined ? schema['additionalProperties'] : undefined;
  return Object.entries(value).map(([name, inner]) => {
    if (Object.hasOwn(properties, name)) return [name, inner, properties[name]];
    // A member that may not be there is read by nobody.
    return [name, inner, rest === false ? undefined : rest];
  });
}

/** The schema that is meant; undefined where it says nothing. */
function resolved(said: unknown, { root }: Walk): JsonSchema | undefined {
  if (!isObject(said)) return undefined;
  const { $ref: reference } = said;
  if (typeof reference !== 'string') return said;
  const pointer = /^#(?:\/.*)?$/.test(reference) ? reference.slice(2) : undefined;
  if (pointer === undefined) return undefined;
  const steps = pointer === '' ? [] : pointer.split('/');
  const target = steps.reduce<unknown>((inner, step) => {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    return (isObject(inner) || isList(inner)) && Object.hasOwn(inner, name)
      ? Reflect.get(inner, name)
      : undefined;
  }, root);
  if (!isObject(target)) return undefined;
  // One that leads to another is followed where it is looked at.
  const { $ref: _followed, ...beside } = said;
  return { ...beside, allOf: [...listOf(said['allOf']), target] };
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (isList(value) ? value : []);
const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
