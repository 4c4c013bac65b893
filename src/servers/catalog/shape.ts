// The shape of an answer: its types and the names of its keys as a small JSON Schema, never a value of it. Two shapes
// make one that both fit. Pure; bounded in depth, keys and size, whatever is looked at.

import { isObject } from '../../base/json/records.js';

/** A JSON Schema of few words; `{}` is anything. `required` are the keys that were there every time. */
export type Shape = {
  readonly type?: 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  /** The type of all values of an object whose keys are data. */
  readonly additionalProperties?: Shape;
  readonly anyOf?: readonly Shape[];
};

/** Below it a signature in one line shows nothing anyway. */
const MAX_DEPTH = 5;
/** An object with more keys is a collection. So is one of many keys whose values are all alike objects. */
const MAX_KEYS = 40;
const MANY_KEYS = 8;
/** The members of a list are nearly always alike. */
const MAX_ITEMS = 20;
/** As JSON; what is larger loses depth. */
const MAX_SHAPE_CHARS = 4_000;

// No spaces and no punctuation that a sentence needs, since a model will read it. Digits first, or many of them, are
// an id, a date or a hash: a value that is used as a key.
const KEY = /^[\p{L}_$@][\p{L}\p{M}\p{N}_$-]{0,47}$/u;
const MOST_DIGITS = 4;

/** The shape of a value that was parsed from JSON. */
export function shapeOf(value: unknown): Shape {
  return fitShape(look(value, MAX_DEPTH));
}

/** A shape that fits what either fits. The same object when `more` adds nothing to `known`. */
export function merge(known: Shape, more: Shape): Shape {
  const merged = fitShape(join(known, more));
  return JSON.stringify(merged) === JSON.stringify(known) ? known : merged;
}

/** Takes a shape from a file: undefined for what `shapeOf` and `merge` would not have made. */
export function readShape(value: unknown): Shape | undefined {
  if (JSON.stringify(value ?? null).length > MAX_SHAPE_CHARS) return undefined;
  return isShape(value, 2 * MAX_DEPTH) ? value : undefined;
}

function look(value: unknown, depth: number): Shape {
  if (value === null) return { type: 'null' };
  // `1.0` is an integer here: a parsed number no longer tells.
  if (typeof value === 'number') return { type: Number.isInteger(value) ? 'integer' : 'number' };
  if (typeof value === 'string') return { type: 'string' };
  if (typeof value === 'boolean') return { type: 'boolean' };
  if (depth === 0) return { type: Array.isArray(value) ? 'array' : 'object' };
  if (Array.isArray(value)) {
    const items = all(value.slice(0, MAX_ITEMS).map((item) => look(item, depth - 1)));
    return items === undefined ? { type: 'array' } : { type: 'array', items };
  }
  const members = Object.entries(isObject(value) ? value : {}).slice(0, MAX_KEYS + 1);
  const shapes = members.map(([key, member]): [string, Shape] => [key, look(member, depth - 1)]);
  return objectOf(
    new Map(shapes),
    shapes.map(([key]) => key),
  );
}

function join(a: Shape, b: Shape): Shape {
  if (isAny(a) || isAny(b)) return {};
  const parts = [...(a.anyOf ?? [a])];
  for (const one of b.anyOf ?? [b]) {
    const at = parts.findIndex((part) => kindOf(part) === kindOf(one));
    const same = parts[at];
    if (same === undefined) parts.push(one);
    else parts[at] = joinAlike(same, one);
  }
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { anyOf: parts };
}

/** Joins two shapes of the same kind into one that allows both. */
function joinAlike(a: Shape, b: Shape): Shape {
  if (a.type === 'array') {
    const items = all([a.items, b.items].filter((shape) => shape !== undefined));
    return items === undefined ? { type: 'array' } : { type: 'array', items };
  }
  if (a.type !== 'object') return a.type === b.type ? a : { type: 'number' };
  if (a.additionalProperties !== undefined || b.additionalProperties !== undefined) {
    return collection([...valuesOf(a), ...valuesOf(b)]);
  }
  const members = new Map(Object.entries(a.properties ?? {}));
  for (const [key, shape] of Object.entries(b.properties ?? {})) {
    const known = members.get(key);
    members.set(key, known === undefined ? shape : join(known, shape));
  }
  const required = (a.required ?? []).filter((key) => b.required?.includes(key));
  // Two objects of one kind of value without a key in common: the keys are data.
  const haveNoneInCommon = members.size === valuesOf(a).length + valuesOf(b).length;
  const areNotEmpty = valuesOf(a).length > 0 && valuesOf(b).length > 0;
  if (areNotEmpty && haveNoneInCommon && kindsOf([...members.values()]) === 1)
    return collection([...members.values()]);
  return objectOf(members, required);
}

function objectOf(members: ReadonlyMap<string, Shape>, required: readonly string[]): Shape {
  const keys = [...members.keys()];
  if (keys.length === 0) return { type: 'object' };
  const shapes = [...members.values()];
  const areAlike = keys.length >= MANY_KEYS && shapes[0]?.type === 'object' && kindsOf(shapes) === 1;
  if (keys.length > MAX_KEYS || areAlike || !keys.every(isKey)) return collection(shapes);
  return { type: 'object', properties: Object.fromEntries(members), required };
}

const collection = (shapes: readonly Shape[]): Shape => ({
  type: 'object',
  additionalProperties: all(shapes) ?? {},
});

function all(shapes: readonly Shape[]): Shape | undefined {
  return shapes.length === 0 ? undefined : shapes.reduce(join);
}

const valuesOf = ({ properties, additionalProperties }: Shape): Shape[] =>
  additionalProperties === undefined ? Object.values(properties ?? {}) : [additionalProperties];

const kindsOf = (shapes: readonly Shape[]): number =>
  new Set(shapes.map((shape) => JSON.stringify(shape))).size;

const isAny = (shape: Shape): boolean => shape.type === undefined && shape.anyOf === undefined;

const kindOf = ({ type }: Shape): string | undefined => (type === 'integer' ? 'number' : type);

const isKey = (key: string): boolean =>
  key !== '__proto__' && KEY.test(key) && (key.match(/\p{N}/gu)?.length ?? 0) <= MOST_DIGITS;

function fitShape(shape: Shape): Shape {
  let fitting = shape;
  for (let depth = MAX_DEPTH - 1; depth >= 0 && JSON.stringify(fitting).length > MAX_SHAPE_CHARS; depth--)
    fitting = cut(fitting, depth);
  return fitting;
}

function cut(shape: Shape, depth: number): Shape {
  if (shape.anyOf !== undefined) return { anyOf: shape.anyOf.map((one) => cut(one, depth)) };
  if (shape.type !== 'array' && shape.type !== 'object') return shape;
  if (depth === 0) return { type: shape.type };
  const { items, properties, additionalProperties, required } = shape;
  return {
    type: shape.type,
    ...(items === undefined ? {} : { items: cut(items, depth - 1) }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: cut(additionalProperties, depth - 1) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, member]) => [key, cut(member, depth - 1)]),
          ),
          required: required ?? [],
        }),
  };
}

const TYPES: ReadonlySet<unknown> = new Set([
  'null',
  'boolean',
  'integer',
  'number',
  'string',
  'array',
  'object',
]);
const WORDS: ReadonlySet<string> = new Set([
  'type',
  'items',
  'properties',
  'required',
  'additionalProperties',
  'anyOf',
]);

function isShape(value: unknown, depth: number): value is Shape {
  if (!isObject(value) || depth < 0 || !Object.keys(value).every((word) => WORDS.has(word))) return false;
  const { type, items, properties, required, additionalProperties, anyOf } = value;
  const inner = (one: unknown) => one === undefined || isShape(one, depth - 1);
  return (
    (type === undefined || TYPES.has(type)) &&
    inner(items) &&
    inner(additionalProperties) &&
    (anyOf === undefined || (Array.isArray(anyOf) && anyOf.every((one) => isShape(one, depth - 1)))) &&
    (properties === undefined ||
      (isObject(properties) && Object.entries(properties).every(([key, one]) => isKey(key) && inner(one)))) &&
    (required === undefined ||
      (Array.isArray(required) && required.every((key) => typeof key === 'string' && isKey(key))))
  );
}
