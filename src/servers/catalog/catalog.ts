// Facts about the servers for code in the sandbox: Python names for them and their tools, and their documentation. Pure: starts
// nothing and keeps nothing. Words of a server are data; they are capped and made harmless.

import { clip, clipHarmless, makeHarmless } from '../../base/text/text.js';
import type { ServerDoc } from '../../wire/frames.js';
import type { Downstream } from '../server/downstream.js';
import type { Shape } from './shape.js';

export const PYTHON_KEYWORDS: ReadonlySet<string> = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global ' +
    'if import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** A Python identifier for each server, all lower case, none twice; the same for the same set of names. */
export function serverAliases(names: Iterable<string>): ReadonlyMap<string, string> {
  return aliases(names, (name) => identifier(name.toLowerCase(), 'server'));
}

/** A Python identifier for each tool of one server, none twice; the same for the same set of names. */
export function toolAliases(names: Iterable<string>): ReadonlyMap<string, string> {
  return aliases(names, (name) => identifier(name, 'tool'));
}

/** A name for each prompt of one server, of letters that every host takes in a menu, none twice; stays as it is if it can. */
export function promptNames(names: Iterable<string>): ReadonlyMap<string, string> {
  return aliases(names, (name) => name.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, MAX_PROMPT_NAME_CHARS));
}

/** With the server ahead of it, it still fits into a line of a menu. */
const MAX_PROMPT_NAME_CHARS = 100;

/** ASCII only: Python itself folds other letters together (NFKC), so that two of them could be one name. */
function identifier(name: string, whenEmpty: string): string {
  const ascii = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9_]/gu, '_');
  if (ascii === '') return whenEmpty;
  if (/^\d/.test(ascii)) return `_${ascii}`;
  return PYTHON_KEYWORDS.has(ascii) ? `${ascii}_` : ascii;
}

// A name that is an identifier already keeps it, whatever other names become; the rest are numbered in sorted order,
// so that a server which lists its tools in another order next time changes nothing.
function aliases(names: Iterable<string>, aliasOf: (name: string) => string): ReadonlyMap<string, string> {
  const all = [...new Set(names)].sort();
  const byName = new Map(all.filter((name) => aliasOf(name) === name).map((name) => [name, name]));
  const taken = new Set(byName.values());
  for (const name of all) {
    if (byName.has(name)) continue;
    const wanted = aliasOf(name);
    let alias = wanted;
    for (let number = 2; taken.has(alias); number++) alias = `${wanted}_${number}`;
    taken.add(alias);
    byName.set(name, alias);
  }
  return byName;
}

/** Some servers put a whole manual into a description; beyond this a reader learns nothing more about a call. */
const MAX_TEXT_CHARS = 20_000;
const MAX_SUMMARY_CHARS = 200;

/** Facts about a tool that its maker did not state, but the bridge has seen; both by the tool's real name. */
export type ToolNotes = {
  /** The shape of its answers, for a tool that declares none. */
  readonly observed: (tool: string) => Shape | undefined;
  /** Changes since the tool was first seen, in words. */
  readonly changed: (tool: string) => string | undefined;
};

/**
 * The whole documentation of a server, live or as it is kept, for the guest; without a configured description, its instructions'
 * first line.
 */
export function toServerDoc(
  downstream: Pick<Downstream, 'spec' | 'serverVersion' | 'instructions' | 'tools'>,
  alias: string,
  observed: ToolNotes['observed'],
  changed: ToolNotes['changed'] = () => undefined,
): ServerDoc {
  const { spec, serverVersion, instructions } = downstream;
  const tools = downstream.tools();
  const names = toolAliases(tools.map(({ name }) => name));
  return {
    name: spec.name,
    alias,
    description: clipText(spec.description || firstLine(instructions ?? '')),
    version: serverVersion === undefined ? null : clipText(serverVersion),
    instructions: instructions === undefined ? null : clipText(instructions),
    tools: tools.map(({ name, description, inputSchema, outputSchema }) => ({
      name,
      alias: names.get(name) ?? name,
      description: clipText(description),
      inputSchema,
      outputSchema: outputSchema ?? null,
      observed: outputSchema === undefined ? (observed(name) ?? null) : null,
      changed: changed(name) ?? null,
    })),
  };
}

function clipText(text: string): string {
  return clipHarmless(text, MAX_TEXT_CHARS);
}

/** A server in one line, for lists: of its configuration's description, else of its instructions. */
export function summaryOf(description: string, instructions: string | undefined): string {
  return firstLine(makeHarmless(description.trim() || (instructions ?? '').slice(0, MAX_TEXT_CHARS)));
}

function firstLine(text: string): string {
  return clip(
    text
      .slice(0, MAX_TEXT_CHARS)
      .trim()
      .replace(/^#+\s*/, '')
      .split('\n', 1)[0] ?? '',
    MAX_SUMMARY_CHARS,
  );
}
