// Facts that an expression may learn of arguments: those that every reader of JSON takes alike. Go's encoding/json matches
// names without case, and takes null for what is left out; pydantic takes "true", 1 and "42" for what they look like;
// JavaScript converts anything to anything. Where two readers could differ, the functions here throw a sentence about it.

import { folded, isPlain, looksLike } from '../../base/text/folded-name.js';
import { clipHarmless } from '../../base/text/text.js';

const MAX_SHOWN_CHARS = 60;
/** Folding takes long where a name is made for it; of an object that a person would write a condition about no name is longer. */
const MAX_NAME_CHARS = 250;
/** Limit for the names that are not plain, in one object together. */
const MAX_FOLDED_CHARS = 10_000;

/** Why members of an object, or items of a list, are not taken alike, by their names. */
const doubts = new WeakMap<object, Map<string, string>>();

/** Remembers that readers differ over a value, for as long as the object or list that holds it lives. */
export function doubt(holder: object, name: string, why: string): void {
  const all = doubts.get(holder) ?? new Map<string, string>();
  doubts.set(holder, all.set(name, `${quoted(name)} ${why}`));
}

/** Members that no schema names: one reader keeps them, and to another they are not there. */
const unlisted = new WeakMap<object, Set<string>>();

export function doubtPresence(holder: object, name: string): void {
  unlisted.set(holder, (unlisted.get(holder) ?? new Set()).add(name));
}

/** Whether all readers see a member that is there. */
const isSeen = (map: ObjectMembers, name: string): boolean =>
  map[name] !== null && unlisted.get(map)?.has(name) !== true;

const keepClear = (holder: object, name: string): void => {
  const why = doubts.get(holder)?.get(name);
  if (why !== undefined) throw new Error(why);
};

const keepAllClear = (holder: object): void => {
  for (const why of doubts.get(holder)?.values() ?? []) throw new Error(why);
};

/** A name as the loosest reader compares it: some leave out dashes and underscores besides (Go's json/v2). */
const foldedMember = (name: string): string => folded(name).trim().replace(/[-_]/g, '');

type ObjectMembers = Readonly<Record<string, unknown>>;
/** Names of an object's members, by what they fold to. */
type FoldedIndex = ReadonlyMap<string, readonly string[]>;
const indexes = new WeakMap<object, FoldedIndex>();

function indexOf(map: ObjectMembers): FoldedIndex {
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
export const othersLike = (map: ObjectMembers, name: string): readonly string[] =>
  (indexOf(map).get(foldedMember(name)) ?? []).filter((other) => other !== name);

/** Whether the member is there. */
export function has(value: unknown, name: unknown): boolean {
  if (!isMap(value)) throw new Error(`${kindOf(value)} has no members`);
  // To some readers {"0": 1} is a list.
  if (typeof name !== 'string') throw new Error(`an object has no item ${shown(name)}`);
  const [other] = othersLike(value, name);
  if (!Object.hasOwn(value, name)) {
    if (other === undefined) return false;
    throw new Error(
      `there is ${quoted(other)} and no ${quoted(name)}, and some readers take one for the other`,
    );
  }
  if (other !== undefined)
    throw new Error(`${quoted(name)} has ${quoted(other)} beside it, which some readers take for it`);
  keepClear(value, name);
  if (value[name] === null) throw new Error(`${quoted(name)} is null, which some readers take for left out`);
  return true;
}

/** A member, or an item of a list. */
export function member(value: unknown, at: unknown): unknown {
  if (Array.isArray(value)) {
    const index = Number(at);
    const isIndex = isNumber(at) && Number.isInteger(index) && index >= 0 && index < value.length;
    if (!isIndex) throw new Error(`a list of ${value.length} has no item ${shown(at)}`);
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
  if (has(value, at)) return (value as ObjectMembers)[String(at)];
  throw new Error(`there is no ${quoted(String(at))}, which has(…) would tell`);
}

/** Whether two values are the same. */
export function same(one: unknown, other: unknown): boolean {
  const verdict = compared(one, other);
  if (typeof verdict === 'string') throw new Error(verdict);
  return verdict;
}

/** Whether two names of a server, tool or principal are the same. Throws for look-alikes: either may be meant. */
export function named(one: unknown, other: unknown): boolean {
  if (typeof one !== 'string' || typeof other !== 'string') return same(one, other);
  if (one !== other && looksLike(one, other)) throw new Error(`${shown(one)} and ${shown(other)} look alike`);
  return one === other;
}

/** Whether a list has the item, or an object the name. */
export const within = (item: unknown, whole: unknown): boolean => isWithin(item, whole, same);
export const namedWithin = (item: unknown, whole: unknown): boolean => isWithin(item, whole, named);

function isWithin(item: unknown, whole: unknown, isSame: typeof same): boolean {
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
export function each(value: unknown, mentioned: readonly string[]): readonly unknown[] {
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
    if (!isSeen(value, name)) throw new Error(`${quoted(name)} is not there to some readers`);
  }
  return Object.keys(value);
}

/** Whether all readers take them for the same, or for different ones; else why they differ over it. */
function compared(one: unknown, other: unknown): boolean | string {
  const [kind, otherKind] = [kindOf(one), kindOf(other)];
  if (kind === 'null' && otherKind === 'null') return true;
  if (kind === 'null' || otherKind === 'null') return 'null stands where some readers take what is left out';
  if (kind !== otherKind)
    return `${shown(one)} is ${kind} and ${shown(other)} ${otherKind}, and some readers take one for the other`;
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
    one.map((item, index) => doubtAt([one, other], String(index)) ?? compared(item, other[index])),
  );
}

function comparedMaps(one: ObjectMembers, other: ObjectMembers): boolean | string {
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
    if (beside !== undefined) return `${quoted(name)} has ${quoted(beside)} beside it`;
    return doubtAt([one, other], name) ?? compared(one[name], other[name]);
  });
  return conclusion(alike);
}

const doubtAt = (holders: readonly object[], name: string): string | undefined =>
  holders.map((holder) => doubts.get(holder)?.get(name)).find((why) => why !== undefined);

/** Verdict on values from their parts: a difference in one part decides, whatever the others are. */
const conclusion = (parts: ReadonlyArray<boolean | string>): boolean | string =>
  !parts.includes(false) && (parts.find((part) => typeof part === 'string') ?? true);

const isMap = (value: unknown): value is ObjectMembers => kindOf(value) === 'an object';

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

function shown(value: unknown): string {
  const text = JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'bigint' ? Number(inner) : inner,
  );
  return clipHarmless(text ?? String(value), MAX_SHOWN_CHARS);
}

const quoted = (name: string): string => `'${clipHarmless(name, MAX_SHOWN_CHARS)}'`;
