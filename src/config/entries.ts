// The entries in one parsed configuration file: where its source says that they are, or, in files that belong to
// no host, in one of the forms that people write there. Judges shapes only, not the entries.

import { claudeProject } from './claude-code.js';
import { type HostFacts, pathRules } from './host-facts.js';
import { isRecord } from './server-entry.js';
import { PROJECT, type Source } from './sources.js';

/** What was written under a name, and the JSON pointer to it. */
export type WrittenEntry = { readonly name: string; readonly value: unknown; readonly pointer: string };

export type Entries = {
  readonly entries: readonly WrittenEntry[];
  /** Of the file as a whole; empty when it says nothing. */
  readonly description: string;
  readonly problem: string | undefined;
};

export function entriesOf(value: unknown, source: Source, file: string, host: HostFacts): Entries {
  if (!isRecord(value)) return none('must hold a JSON object');
  const keys = source.pointer.map((key) => (key === PROJECT ? claudeProject(host) : key));
  let found: unknown = value;
  for (const key of keys) found = isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  const description = typeof value['description'] === 'string' ? value['description'] : '';
  if (isRecord(found)) return { entries: members(found, keys), description, problem: undefined };
  if (found !== undefined && found !== null) return none(`${pointerOf(keys)} must be an object`);
  if (source.shape === 'pointer') return none(undefined);
  if (looksLikeServer(value)) {
    const name = pathRules(host).basename(file, '.json');
    return { entries: [{ name, value, pointer: '' }], description, problem: undefined };
  }
  const entries = members(value, []).filter((entry) => looksLikeServer(entry.value));
  if (entries.length > 0) return { entries, description: '', problem: undefined };
  return none('holds no servers; expected {"mcpServers": {"NAME": {"command": …}}}');
}

const none = (problem: string | undefined): Entries => ({ entries: [], description: '', problem });

const looksLikeServer = (value: unknown): boolean =>
  isRecord(value) && ['command', 'url'].some((key) => typeof value[key] === 'string');

function members(map: Readonly<Record<string, unknown>>, keys: readonly string[]): WrittenEntry[] {
  return Object.entries(map).map(([name, value]) => ({ name, value, pointer: pointerOf([...keys, name]) }));
}

// RFC 6901.
const pointerOf = (keys: readonly string[]): string =>
  keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
