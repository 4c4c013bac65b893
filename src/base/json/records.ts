// Words for values that a file holds, or a server says, before anybody knows what they are. Pure.

export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Undefined for what is no JSON, which JSON itself never says. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `a number`, `an array`, `null`. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  return `a ${typeof value}`;
}

/** Texts of an array; anything else among them is left out. */
export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];

const ON: ReadonlySet<string> = new Set(['true', 'yes', 'on', '1']);
const OFF: ReadonlySet<string> = new Set(['false', 'no', 'off', '0']);

/** Reads a switch, in any of the ways in which people write one; undefined for a value that says neither on nor off. */
export function switchOf(value: unknown): boolean | undefined {
  if (typeof value === 'object') return undefined;
  const word = String(value).trim().toLowerCase();
  if (ON.has(word)) return true;
  return OFF.has(word) ? false : undefined;
}

/** Whether an `enabled` switches off: one that is there and says neither counts as off. */
export const saysOff = (enabled: unknown): boolean =>
  enabled !== undefined && enabled !== null && switchOf(enabled) !== true;

/** The names of what is switched off: a list of them, a single one, or an object with a switch for each. */
export function namesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (!isObject(value)) return textsOf(value);
  return Object.keys(value).filter((name) => switchOf(value[name]) !== false);
}
