// The entries in one parsed configuration file: where its source says that they are, or, in files that belong to
// no host, in one of the forms that people write there. Judges shapes only, not the entries.

import { isObject } from '../../base/json/records.js';
import { type Format, formatOf } from '../../settings/files/file-formats.js';
import { type HostFacts, pathRules } from '../../settings/files/host-facts.js';
import { keyOfProject } from '../records/claude-code.js';
import type { ServerSkipReason } from '../skip-reason.js';
import { PROJECT, type Source } from '../terms/host.js';

/** The value that was written under a name, and the JSON pointer to it. */
export type WrittenEntry = {
  readonly name: string;
  readonly value: unknown;
  readonly pointer: string;
  /** The keys that lead to the value, where it is a member of an object in the file itself. */
  readonly path?: readonly string[];
  /** The file that has the value, where it is another than the one that led there. */
  readonly file?: string;
  /** Why no entry can be read from the value. */
  readonly refusal?: ServerSkipReason | undefined;
  /** Why the server may not start, whatever the value says. */
  readonly trouble?: ServerSkipReason | undefined;
};

export function entriesOf(
  value: unknown,
  source: Source,
  file: string,
  host: HostFacts,
): {
  readonly entries: readonly WrittenEntry[];
  /** Description of the whole file; an empty string when it has none. */
  readonly description: string;
  readonly problem: string | undefined;
} {
  if (!isObject(value)) return noEntries(NO_OBJECT[formatOf(file)]);
  const keys: string[] = [];
  let found: unknown = value;
  for (const part of source.pointer) {
    const key = part === PROJECT && isObject(found) ? (keyOfProject(found, host) ?? part) : part;
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
    keys.push(key);
  }
  const description = typeof value['description'] === 'string' ? value['description'] : '';
  if (isObject(found)) return { entries: serversIn(found, keys, source), description, problem: undefined };
  if (Array.isArray(found) && source.shape === 'list') {
    return { entries: items(found, keys), description, problem: undefined };
  }
  if (found !== undefined && found !== null) {
    return noEntries(`${pointerOf(keys)} must be ${source.shape === 'list' ? 'a list' : 'an object'}`);
  }
  if (source.shape !== 'servers') return noEntries(undefined);
  if (looksLikeServer(value)) {
    const name = pathRules(host).parse(file).name;
    return { entries: [{ name, value, pointer: '' }], description, problem: undefined };
  }
  const entries = members(value, []).filter((entry) => looksLikeServer(entry.value));
  if (entries.length > 0) return { entries, description: '', problem: undefined };
  return noEntries('has no servers; expected {"mcpServers": {"NAME": {"command": …}}}');
}

/** The servers under `keys`, in the form in which the file has them. */
function serversIn(
  found: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  source: Source,
): readonly WrittenEntry[] {
  const moved = movedIn(found, source);
  if (moved === undefined) return members(found, keys);
  const { [moved.key]: _moved, timeout, ...others } = found;
  const entries = members(moved.servers, [...keys, moved.key]).map((entry) =>
    timeout !== undefined && isObject(entry.value) && entry.value['timeout'] === undefined
      ? { ...entry, value: { ...entry.value, timeout } }
      : entry,
  );
  return [...entries, ...members(others, keys)];
}

/** A server may have had that name in the earlier form. */
function movedIn(found: unknown, { movedTo }: Source) {
  const servers = movedTo !== undefined && isObject(found) ? found[movedTo] : undefined;
  return movedTo === undefined || !isObject(servers) || typeof servers['type'] === 'string'
    ? undefined
    : { key: movedTo, servers };
}

/** Whether a new server is to be written in the earlier form: where others stand in it. */
export function isEarlierForm(found: unknown, source: Source): boolean {
  if (source.movedTo === undefined || movedIn(found, source) !== undefined) return false;
  return (
    isObject(found) && Object.values(found).some((one) => isObject(one) && typeof one['type'] === 'string')
  );
}

/** Keys under which files list their servers, whichever program reads the files: letters only. */
const SERVERS_WORDS: ReadonlySet<string> = new Set(['mcp', 'mcpservers', 'servers', 'contextservers']);
/** Every spelling of an address that some host has; a command may be a list. */
const SERVER_FIELDS = ['command', 'url', 'serverUrl', 'httpUrl'];

/** Pointers to servers, by their looks, in the first two levels of a file; those in `read` were read. */
export function unreadServers(value: unknown, read: ReadonlySet<string>): string[] {
  const inside = (found: unknown, keys: readonly string[]): string[] =>
    Object.entries(isObject(found) ? found : {}).flatMap(([key, below]) => {
      const here = [...keys, key];
      const word = key.toLowerCase().replace(/[^a-z]/g, '');
      if (SERVERS_WORDS.has(word) && !read.has(pointerOf(here)) && holdsServers(below))
        return [pointerOf(here)];
      return keys.length === 0 ? inside(below, here) : [];
    });
  return inside(value, []);
}

const holdsServers = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).some(
    (one) =>
      isObject(one) &&
      SERVER_FIELDS.some((field) => typeof one[field] === 'string' || Array.isArray(one[field])),
  );

const noEntries = (problem: string | undefined) => ({ entries: [], description: '', problem });

const NO_OBJECT: Readonly<Record<Format, string>> = {
  JSON: 'must hold a JSON object',
  TOML: 'must hold a TOML table',
  YAML: 'must hold a YAML mapping',
};

const looksLikeServer = (value: unknown): boolean =>
  isObject(value) && ['command', 'url', 'serverUrl', 'httpUrl'].some((key) => typeof value[key] === 'string');

/** Entries of a list carry their names; one without is shown by what it uses, or by an empty name. */
function items(list: readonly unknown[], keys: readonly string[]): WrittenEntry[] {
  return list.map((value, index) => {
    const { name, uses } = isObject(value) ? value : {};
    const shown = typeof name === 'string' ? name : typeof uses === 'string' ? uses : '';
    return { name: shown, value, pointer: pointerOf([...keys, String(index)]) };
  });
}

function members(map: Readonly<Record<string, unknown>>, keys: readonly string[]): WrittenEntry[] {
  return Object.entries(map).map(([name, value]) => {
    const path = [...keys, name];
    return { name, value, pointer: pointerOf(path), path };
  });
}

// RFC 6901.
export const pointerOf = (keys: readonly string[]): string =>
  keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
