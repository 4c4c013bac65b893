// Where hosts keep their MCP servers, as one table in order of precedence: the first entry of a name wins.

import { explicit, generic, homeManager } from '../records/no-host.js';
import type { Host } from '../terms/host.js';
import type { Source } from '../terms/source.js';
import { ALL_HOSTS } from './all-hosts.js';

/** The name under which files go that belong to no host. */
export const NO_HOST = generic.title;
const NO_PROGRAMS = [explicit, homeManager, generic].map(({ title }) => title);

/** Whether a host of the table is a program, in which a server can be switched on, and not only a name for files. */
export const isProgram = (host: string): boolean => !NO_PROGRAMS.includes(host);

export const SOURCES: readonly Source[] = ALL_HOSTS.flatMap(sourcesOf);

function sourcesOf({ title, dialect, expansion, sources }: Host): Source[] {
  return sources.map((source) => ({
    host: title,
    dialect,
    expansion,
    pointer: ['mcpServers'],
    shape: 'map',
    exclusive: false,
    approval: source.scope === 'project' ? 'project' : 'none',
    ...source,
  }));
}
