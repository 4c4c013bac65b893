// Whether a tool is still what it was when it was first seen: a digest of each part that a model reads. Pure; compares
// what was listed, before anything is cut or made harmless for showing.

import { createHash } from 'node:crypto';
import { isObject } from '../../base/json/json-object.js';
import type { ServerTool } from '../server/tool-list.js';

/** The parts of a tool that a change can be in, as they are called in sentences. */
export const TOOL_PARTS = ['description', 'input schema', 'output schema'] as const;
export type ToolPart = (typeof TOOL_PARTS)[number];

/** 32 hex digits for each part. */
export type ToolDigest = Readonly<Record<ToolPart, string>>;
/** Members of a tool that its digest covers. */
type ToolText = Pick<ServerTool, 'description' | 'inputSchema' | 'outputSchema'>;

export function digestOf({ description, inputSchema, outputSchema }: ToolText): ToolDigest {
  return {
    description: digest(description),
    'input schema': digest(canonicalJson(inputSchema)),
    'output schema': digest(canonicalJson(outputSchema ?? null)),
  };
}

/** The parts that are not the same, in the order of TOOL_PARTS. */
export function changedParts(first: ToolDigest, now: ToolDigest): readonly ToolPart[] {
  return TOOL_PARTS.filter((part) => first[part] !== now[part]);
}

/** In JSON Schema their order means nothing, and servers that keep them as sets list them differently at each start. */
const UNORDERED = new Set(['required', 'enum', 'type']);

/**
 * Gives the same text for the same value, in whatever order the keys of its objects stand. For JSON values that are no deeper
 * than SCHEMA_LIMITS allows, since the function is recursive.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalMember(key, value[key])}`);
  return `{${members.join(',')}}`;
}

function canonicalMember(key: string, value: unknown): string {
  if (!Array.isArray(value) || !UNORDERED.has(key)) return canonicalJson(value);
  return `[${value.map(canonicalJson).sort().join(',')}]`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
