// One tool as the fields that search weighs, each a list of words. Pure; what a server wrote is data, and only the
// beginning of it is read.

import { isObject } from '../../base/json/json-object.js';
import type { ServerDoc, ToolDoc } from '../../wire/frames.js';
import { type FIELD_BOOSTS, MAX_FIELD_CHARS, MAX_SERVER_CHARS } from './search-tables.js';
import { searchWords, type TextKind } from './search-words.js';

export type SearchFields = Readonly<Record<keyof typeof FIELD_BOOSTS, readonly string[]>>;

/** Objects within objects that are looked into: nobody asks for what is deeper. */
const MAX_LEVEL = 4;

/** The words of one of a server's tools, by field. */
export function searchFields(server: ServerDoc, tool: ToolDoc): SearchFields {
  const room = Math.min(MAX_FIELD_CHARS, Math.floor(MAX_SERVER_CHARS / server.tools.length));
  const words = (text: string, kind: TextKind) => searchWords(text.slice(0, room), kind);
  const details: string[] = [];
  collect(tool.inputSchema, details, 0);
  return {
    name: [...words(tool.name, 'names'), ...joined(tool.name)],
    description: words(tool.description, 'prose'),
    parameters: words(topNames(tool.inputSchema).join(' '), 'names'),
    details: words(details.join(' '), 'prose'),
    server: [...words(server.name, 'names'), ...joined(server.name), ...words(server.description, 'prose')],
  };
}

/** `create_issue` may be asked for as `createissue`. */
function joined(name: string): string[] {
  const letters = name.replace(/[^\p{L}\p{N}]+/gu, '');
  return letters === name ? [] : [letters.toLowerCase()];
}

function topNames(schema: unknown): string[] {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  return isObject(properties) ? Object.keys(properties) : [];
}

/** What a schema says of its parameters: descriptions, values, and the names within them. */
function collect(schema: unknown, found: string[], level: number): void {
  if (!isObject(schema) || level > MAX_LEVEL) return;
  if (level > 0 && typeof schema['description'] === 'string') found.push(schema['description']);
  if (Array.isArray(schema['enum']))
    found.push(...schema['enum'].filter((value) => typeof value === 'string'));
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  if (level > 0) found.push(...Object.keys(properties));
  for (const member of [...Object.values(properties), schema['items']]) collect(member, found, level + 1);
}
