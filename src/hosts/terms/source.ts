// Where some of a host's servers stand, and how they are written: one row of the table of sources. Types only.

import type { Scope } from '../downstream-spec.js';
import type { HostDialect } from './dialect.js';
import type { Expansion } from './expansions.js';

/** Stands for the project's folder in a pointer. */
export const PROJECT = '<project>';

export type Source = {
  readonly host: string;
  readonly scope: Scope;
  /**
   * File patterns with forward slashes: `~/` is the home folder, `./` the current one, `.../` the current one and every
   * parent, `^/` those up to the root of the git checkout, `${NAME:-default}` an environment variable; without a
   * default, an unset one means no file. A `*` stands for
   * any part of one name: all that are there, in order of name. The name's ending says the format.
   */
  readonly files: { readonly [platform in 'any' | 'darwin' | 'linux' | 'win32']?: readonly string[] };
  /** Keys that lead to the servers. */
  readonly pointer: readonly string[];
  /** At the pointer stands a `map` by name, or a `list` of entries with names. `servers` also takes a file that is itself the map, or a single server named by its file. */
  readonly shape: 'map' | 'list' | 'servers';
  /**
   * The key below the pointer that has the servers since the host's format changed; beside them stands a `timeout` of all of
   * them. Files of the earlier form are read as they were.
   */
  readonly movedTo?: string;
  readonly dialect: HostDialect;
  readonly expansion: Expansion;
  /** `project`: may start only when the user has approved it in the host, or trusts projects; such files can be anybody's. */
  readonly approval: 'none' | 'project';
  /** When its file exists, other scopes of the same host are not read. */
  readonly exclusive: boolean;
};
