// Facts that an expression may learn of arguments: those that every reader of JSON takes alike. Go's encoding/json matches
// names without case, and takes null for what is left out; pydantic takes "true", 1 and "42" for what they look like;
// JavaScript converts anything to anything. Where two readers could differ, the functions here throw a sentence about it.

import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { foldName, isPlain, looksLike } from '../../base/text/name-pattern.js';
import { clipHarmless } from '../../base/text/text.js';

const MAX_SHOWN_CHARS = 60;
/** Folding takes long where a name is made for it; a person would write no condition about an object with a longer name. */
const MAX_NAME_CHARS = 250;
/** Limit for the names that are not plain, in one object together. */
const MAX_FOLDED_CHARS = 10_000;

/** Why members of an object, or items of a list, are not taken alike, by their names. */
const doubts = new WeakMap<object, Map<string, string>>();

/** Remembers that readers differ over a value, for as long as the object or list that holds it lives. */
export function doubt(holder: object, name: string, why: string): void {
  const all = doubts.get(holder) ?? new Map<string, string>();
  doubts.set(holder, all.set(name, `${quoteName(name)} ${why}`));
}

/** Members that no schema names: one reader keeps them, and to another they are not there. */
const unlisted = new WeakMap<object, Set<string>>();

function doubtPresence(holder: object, name: string): void {
  unlisted.set(holder, (unlisted.get(holder) ?? new Set()).add(name));
}

/** Whether all readers see a member that is there. */
const isSeen = (map: JsonObject, name: string): boolean =>
  map[name] !== null && unlisted.get(map)?.has(name) !== true;

const keepClear = (holder: object, name: string): void => {
  const why = doubts.get(holder)?.get(name);
  if (why !== undefined) throw new Error(why);
};

const keepAllClear = (holder: object): void => {
  for (const why of doubts.get(holder)?.values() ?? []) throw new Error(why);
};

/** A name as the loosest reader compares it: some leave out dashes and underscores besides (Go's json/v2). */
const foldedMember = (name: string): string => foldName(name).trim().replace(/[-_]/g, '');

/** Names of an object's members, by what they fold to. */
const indexes = new WeakMap<object, ReadonlyMap<string, readonly string[]>>();

function indexOf(map: JsonObject): ReadonlyMap<string, readonly string[]> {
  const known = indexes.get(map);
  if (known !== undefined) return known;
  const index = new Map<string, string[]>();
  let chars = 0;
  for (const name of Object.keys(map)) {
    if (!isPlain(name)) chars += name.length;
    if (name.length > MAX_NAME_CHARS || chars > MAX_FOLDED_CHARS)
      throw new Error('the names of an object are too long to compare');
    // Object.assign makes it the prototype of what it fills, so that its members seem to be there.
    if (name === '__proto__') throw new Error("'__proto__' is a member, which gives some readers others");
    const seen = foldedMember(name);
    const alike = index.get(seen);
    if (alike === undefined) index.set(seen, [name]);
    else alike.push(name);
  }
  indexes.set(map, index);
  return index;
}

/** Names of `map` that some readers take for `name`, without itself. Throws where they cannot be compared. */
const othersLike = (map: JsonObject, name: string): readonly string[] =>
  (indexOf(map).get(foldedMember(name)) ?? []).filter((other) => other !== name);

/** Whether the member is there. */
export function has(value: unknown, name: unknown): boolean {
  if (!isMap(value)) throw new Error(`${kindOf(value)} has no members`);
  // To some readers {"0": 1} is a list.
  if (typeof name !== 'string') throw new Error(`an object has no item ${displayValue(name)}`);
  const [other] = othersLike(value, name);
  if (!Object.hasOwn(value, name)) {
    if (other === undefined) return false;
    throw new Error(
      `there is ${quoteName(other)} and no ${quoteName(name)}, and some readers take one for the other`,
    );
  }
  if (other !== undefined)
    throw new Error(`${quoteName(name)} has ${quoteName(other)} beside it, which some readers take for it`);
  keepClear(value, name);
  if (value[name] === null)
    throw new Error(`${quoteName(name)} is null, which some readers take for left out`);
  return true;
}

/** A member, or an item of a list. */
export function member(value: unknown, at: unknown): unknown {
  if (Array.isArray(value)) {
    const index = Number(at);
    const isIndex = isNumber(at) && Number.isInteger(index) && index >= 0 && index < value.length;
    if (!isIndex) throw new Error(`a list of ${value.length} has no item ${displayValue(at)}`);
    keepClear(value, String(index));
    return value[index];
  }
  // Who compares null is told, and who asks whether it is null may know.
  if (isMap(value) && typeof at === 'string' && Object.hasOwn(value, at) && value[at] === null) {
    if (othersLike(value, at).length === 0) {
      keepClear(value, at);
      return null;
    }
  }
  if (has(value, at)) return (value as JsonObject)[String(at)];
  throw new Error(`there is no ${quoteName(String(at))}, which has(…) would tell`);
}

/** Whether two values are the same. */
export function areSame(one: unknown, other: unknown): boolean {
  const verdict = compareValues(one, other);
  if (typeof verdict === 'string') throw new Error(verdict);
  return verdict;
}

/** Whether two names of a server, tool or principal are the same. Throws for look-alikes: either may be meant. */
export function isSameName(one: unknown, other: unknown): boolean {
  if (typeof one !== 'string' || typeof other !== 'string') return areSame(one, other);
  if (one !== other && looksLike(one, other))
    throw new Error(`${displayValue(one)} and ${displayValue(other)} look alike`);
  return one === other;
}

/** Whether a list has the item, or an object the name. */
export const isSameWithin = (item: unknown, whole: unknown): boolean => isWithin(item, whole, areSame);
export const namedWithin = (item: unknown, whole: unknown): boolean => isWithin(item, whole, isSameName);

function isWithin(item: unknown, whole: unknown, isSame: typeof areSame): boolean {
  if (!Array.isArray(whole)) {
    if (typeof item === 'string') return has(whole, item);
    throw new Error(`${kindOf(item)} is no name of a member`);
  }
  let trouble: unknown;
  for (const [index, each] of whole.entries()) {
    try {
      keepClear(whole, String(index));
      if (isSame(item, each)) return true;
    } catch (thrown) {
      trouble ??= thrown;
    }
  }
  if (trouble !== undefined) throw trouble;
  return false;
}

export function size(value: unknown): bigint {
  if (typeof value === 'string') return BigInt([...value].length);
  if (Array.isArray(value) || value instanceof Uint8Array) return BigInt(value.length);
  return BigInt(namesOf(value).length);
}

/** The items of a list, or the names of an object. `mentioned` are the texts of the expression, which may be such names. */
export function itemsOf(value: unknown, mentioned: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) {
    keepAllClear(value);
    return value;
  }
  const names = namesOf(value);
  for (const text of mentioned) if (!names.includes(text)) has(value, text);
  return names;
}

/** All names of an object, where readers agree over them. */
function namesOf(value: unknown): readonly string[] {
  if (!isMap(value)) throw new Error(`${kindOf(value)} is neither a list nor an object`);
  keepAllClear(value);
  for (const [name = '', beside] of indexOf(value).values()) {
    if (beside !== undefined) has(value, name);
    if (!isSeen(value, name)) throw new Error(`${quoteName(name)} is not there to some readers`);
  }
  return Object.keys(value);
}

/** Whether all readers take them for the same, or for different ones; else why they differ over it. */
function compareValues(one: unknown, other: unknown): boolean | string {
  const [kind, otherKind] = [kindOf(one), kindOf(other)];
  if (kind === 'null' && otherKind === 'null') return true;
  if (kind === 'null' || otherKind === 'null') return 'null stands where some readers take what is left out';
  if (kind !== otherKind)
    return `${displayValue(one)} is ${kind} and ${displayValue(other)} ${otherKind}, and some readers take one for the other`;
  if (Array.isArray(one) && Array.isArray(other)) return comparedLists(one, other);
  if (isMap(one) && isMap(other)) return comparedMaps(one, other);
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other) === 0;
  const [value, otherValue] = [one?.valueOf(), other?.valueOf()];
  // biome-ignore lint/suspicious/noDoubleEquals: 1n and 1 are one number.
  return kind === 'a number' ? value == otherValue : value === otherValue;
}

function comparedLists(one: readonly unknown[], other: readonly unknown[]): boolean | string {
  if (one.length !== other.length) return false;
  return conclusion(
    one.map((item, index) => doubtAt([one, other], String(index)) ?? compareValues(item, other[index])),
  );
}

function comparedMaps(one: JsonObject, other: JsonObject): boolean | string {
  const names = Object.keys(one);
  const isSameShape =
    names.length === Object.keys(other).length && names.every((name) => Object.hasOwn(other, name));
  if (!isSameShape) {
    const [seen, otherSeen] = [one, other].map((map) =>
      [...indexOf(map)]
        .filter(([, [name = '']]) => isSeen(map, name))
        .map(([folding]) => folding)
        .sort()
        .join('\n'),
    );
    return seen === otherSeen ? 'the names of two objects are the same to some readers' : false;
  }
  const alike = names.map((name) => {
    const [beside] = othersLike(one, name);
    if (beside !== undefined) return `${quoteName(name)} has ${quoteName(beside)} beside it`;
    return doubtAt([one, other], name) ?? compareValues(one[name], other[name]);
  });
  return conclusion(alike);
}

const doubtAt = (holders: readonly object[], name: string): string | undefined =>
  holders.map((holder) => doubts.get(holder)?.get(name)).find((why) => why !== undefined);

/** Verdict on values from their parts: a difference in one part decides, whatever the others are. */
const conclusion = (parts: ReadonlyArray<boolean | string>): boolean | string =>
  !parts.includes(false) && (parts.find((part) => typeof part === 'string') ?? true);

const isMap = (value: unknown): value is JsonObject => kindOf(value) === 'an object';

const isNumber = (value: unknown): boolean => kindOf(value) === 'a number';

/** Kind of a value, as a person calls it. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return KINDS[typeof value] ?? `a ${typeof value}`;
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return 'an object';
  return typeof value.valueOf() === 'bigint' ? 'a number' : `a ${prototype.constructor.name}`;
}

const KINDS: Readonly<Record<string, string>> = { bigint: 'a number' };

function displayValue(value: unknown): string {
  const text = JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'bigint' ? Number(inner) : inner,
  );
  return clipHarmless(text ?? String(value), MAX_SHOWN_CHARS);
}

const quoteName = (name: string): string => `'${clipHarmless(name, MAX_SHOWN_CHARS)}'`;

// Whether arguments are of the types that a tool's schema says. Readers convert a value of another type, each in its own way.
// No validator: bounds, patterns and what is required are left to the server, which takes none of them for something else; what
// is not understood fits. Schemas are a server's word, so that nothing in them is compiled.

/** A schema of a schema of a schema… in a value of 64 levels; a circle is deeper. */
const MAX_DEPTH = 400;
/** Several for each value that may be there. */
const MAX_STEPS = 100_000;
const VALUES_A_STEP = 100;

type Walk = { readonly root: JsonObject; steps: number };

/** Notes each value that does not fit. Throws a sentence where the whole does not, or where it takes too long to tell. */
export function doubtWhatFitsNot(args: unknown, schema: JsonObject): void {
  const found = (why: string) => {
    throw new Error(`the whole ${why}`);
  };
  look(args, schema, { root: schema, steps: MAX_STEPS }, 0, found);
}

function look(value: unknown, said: unknown, walk: Walk, depth: number, found: (why: string) => void): void {
  const schema = resolveReference(said, walk);
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
function doubtUnlisted(value: unknown, { properties, additionalProperties = false }: JsonObject): void {
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
  const schema = resolveReference(said, walk);
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

function count(walk: Walk, schema: JsonObject): void {
  walk.steps -= 1 + listOf(schema['enum']).length / VALUES_A_STEP;
  if (walk.steps < 0) throw new Error("the arguments and the tool's schema are too much to compare");
}

/** Says why the value itself does not fit, without the values in it. */
function misfit(value: unknown, schema: JsonObject): string | undefined {
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
function innerOf(value: unknown, schema: JsonObject): ReadonlyArray<readonly [string, unknown, unknown]> {
  if (isList(value)) {
    const { items } = schema;
    const first = [schema['prefixItems'], items].find(isList) ?? [];
    const rest = isList(items) ? schema['additionalItems'] : items;
    return value.map((item, index) => [String(index), item, index < first.length ? first[index] : rest]);
  }
  if (!isObject(value)) return [];
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  // Only a try of the patterns, which are the server's, would tell by which of them a name is meant.
  const rest = schema['patternProperties'] === undefined ? schema['additionalProperties'] : undefined;
  return Object.entries(value).map(([name, inner]) => {
    if (Object.hasOwn(properties, name)) return [name, inner, properties[name]];
    // A member that may not be there is read by nobody.
    return [name, inner, rest === false ? undefined : rest];
  });
}

/** The schema that is meant; undefined where it says nothing. */
function resolveReference(said: unknown, { root }: Walk): JsonObject | undefined {
  if (!isObject(said)) return undefined;
  const { $ref: reference } = said;
  if (typeof reference !== 'string') return said;
  const pointer = /^#(?:\/.*)?$/.test(reference) ? reference.slice(2) : undefined;
  if (pointer === undefined) return undefined;
  const steps = pointer === '' ? [] : pointer.split('/');
  const target = steps.reduce<unknown>((inner, step) => {
    const name = decodeStep(step).replaceAll('~1', '/').replaceAll('~0', '~');
    return (isObject(inner) || isList(inner)) && Object.hasOwn(inner, name)
      ? Reflect.get(inner, name)
      : undefined;
  }, root);
  if (!isObject(target)) return undefined;
  // One that leads to another is followed where it is looked at.
  const { $ref: _followed, ...beside } = said;
  return { ...beside, allOf: [...listOf(said['allOf']), target] };
}

function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (isList(value) ? value : []);
