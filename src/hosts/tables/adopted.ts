// The bridge's own folder of servers: those that `adopt` has taken out of a host, a file for each host, in the host's own
// words and in its place in the order of precedence, so that a moved server means and outranks what it did before.

import type { HostDialect } from '../terms/dialect.js';
import type { Source } from '../terms/source.js';
import { ALL_HOSTS } from './all-hosts.js';

/**
 * Not below XDG_CONFIG_HOME nor in the state directory: many hosts hand no variables to the servers that they start, and
 * the bridge must find the same folder under each of them.
 */
export const ADOPTED_FOLDER = '~/.config/mcp-sandbox-bridge/servers';

/** By the host's title, the name of its file there, without the ending. */
export const ADOPTABLE: Readonly<Record<string, string>> = Object.fromEntries(
  ALL_HOSTS.flatMap(({ title, install }) => (install === undefined ? [] : [[title, install.id]])),
);

/** How an entry says there which tools it is for: as its host does, or by a name of ours where the host has none. */
export const adoptedFields = ({ fields }: HostDialect) => ({
  only: fields.only ?? 'onlyTools',
  except: fields.except ?? 'exceptTools',
});

/** The record of the file that a host's servers are moved to. */
export function adoptedSource(source: Source): Source | undefined {
  const name = ADOPTABLE[source.host];
  if (name === undefined || source.scope !== 'user') return undefined;
  const dialect = {
    ...source.dialect,
    fields: { ...source.dialect.fields, ...adoptedFields(source.dialect) },
  };
  const { movedTo: _movedTo, ...record } = source;
  return {
    ...record,
    files: { any: [`${ADOPTED_FOLDER}/${name}.json`] },
    pointer: ['mcpServers'],
    shape: 'map',
    dialect,
  };
}

const made = new WeakMap<readonly Source[], readonly Source[]>();

/**
 * The table with the record of each host's moved servers behind the last of the user's own; the same records for the same
 * table, since what was read of each is remembered.
 */
export function withAdopted(table: readonly Source[]): readonly Source[] {
  const known = made.get(table) ?? table.flatMap((source, index) => [source, ...adoptedBehind(table, index)]);
  made.set(table, known);
  return known;
}

function adoptedBehind(table: readonly Source[], index: number): Source[] {
  const source = table[index];
  const isLast = !table.slice(index + 1).some(({ host, scope }) => host === source?.host && scope === 'user');
  const adopted = source !== undefined && isLast ? adoptedSource(source) : undefined;
  return adopted === undefined ? [] : [adopted];
}
