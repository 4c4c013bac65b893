// A value that was parsed from JSON and is an object: the one question that every reader of a server's words asks.

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
