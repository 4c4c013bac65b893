// The entries in one parsed configuration file: where its source says that they are, or, in files that belong to
// no host, in one of the forms that people write there. Judges shapes only, not the entries.

import { type Format, formatOf } from '../file-formats.js';
import { type HostFacts, pathRules } from '../host-facts.js';
import type { ServerSkipReason } from '../skip-reason.js';
import { keyOfProject } from './claude-code.js';
import { isRecord } from './records.js';
import { PROJECT, type Source } from './source.js';

/** What was written under a name, and the JSON pointer to it. */
export type WrittenEntry = {
  readonly name: string;
  readonly value: unknown;
  readonly pointer: string;
  /** Where it stands in another file than the one that led there. */
  readonly file?: string;
  /** Why no entry can be read from the value. */
  readonly refusal?: ServerSkipReason | undefined;
  /** Why it may not start, whatever it says. */
  readonly trouble?: ServerSkipReason | undefined;
};

export type Entries = {
  readonly entries: readonly WrittenEntry[];
  /** Description of the whole file; an empty string when it has none. */
  readonly description: string;
  readonly problem: string | undefined;
};

export function entriesOf(value: unknown, source: Source, file: string, host: HostFacts): Entries {
  if (!isRecord(value)) return none(NO_OBJECT[formatOf(file)]);
  const keys: string[] = [];
  let found: unknown = value;
  for (const part of source.pointer) {
    const key = part === PROJECT && isRecord(found) ? (keyOfProject(found, host) ?? part) : part;
    found = isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined;
    keys.push(key);
  }
  const description = typeof value['description'] === 'string' ? value['description'] : '';
  if (isRecord(found)) return { entries: members(found, keys), description, problem: undefined };
  if (Array.isArray(found) && source.shape === 'list') {
    return { entries: items(found, keys), description, problem: undefined };
  }
  if (found !== undefined && found !== null) {
    return none(`${pointerOf(keys)} must be ${source.shape === 'list' ? 'a list' : 'an object'}`);
  }
  if (source.shape !== 'servers') return none(undefined);
  if (looksLikeServer(value)) {
    const name = pathRules(host).parse(file).name;
    return { entries: [{ name, value, pointer: '' }], description, problem: undefined };
  }
  const entries = members(value, []).filter((entry) => looksLikeServer(entry.value));
  if (entries.length > 0) return { entries, description: '', problem: undefined };
  return none('holds no servers; expected {"mcpServers": {"NAME": {"command": …}}}');
}

const none = (problem: string | undefined): Entries => ({ entries: [], description: '', problem });

const NO_OBJECT: Readonly<Record<Format, string>> = {
  JSON: 'must hold a JSON object',
  TOML: 'must hold a TOML table',
  YAML: 'must hold a YAML mapping',
};

const looksLikeServer = (value: unknown): boolean =>
  isRecord(value) && ['command', 'url', 'serverUrl', 'httpUrl'].some((key) => typeof value[key] === 'string');

/** Entries of a list carry their names; one without is shown by what it uses, or by an empty name. */
function items(list: readonly unknown[], keys: readonly string[]): WrittenEntry[] {
  return list.map((value, index) => {
    const { name, uses } = isRecord(value) ? value : {};
    const shown = typeof name === 'string' ? name : typeof uses === 'string' ? uses : '';
    return { name: shown, value, pointer: pointerOf([...keys, String(index)]) };
  });
}

function members(map: Readonly<Record<string, unknown>>, keys: readonly string[]): WrittenEntry[] {
  return Object.entries(map).map(([name, value]) => ({ name, value, pointer: pointerOf([...keys, name]) }));
}

// RFC 6901.
const pointerOf = (keys: readonly string[]): string =>
  keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
