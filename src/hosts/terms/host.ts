// The record of a host. Each host is one file in records/; the tables that the rest of the bridge goes by are lists over these
// records. Types only.

import type { Environment } from '../../base/process/environment.js';
import type { ConfigFile } from '../../settings/files/config-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import type { SpecSource } from '../downstream-spec.js';
import type { ServerSkipReason } from '../skip-reason.js';
import type { HostDialect } from './dialect.js';
import type { Expansion } from './expansions.js';
import type { HostInstall } from './install.js';
import type { Source } from './source.js';

export type Host = {
  /** As messages and lists call it. */
  readonly title: string;
  /** How it spells an entry, in the words of its documentation or source. */
  readonly dialect: HostDialect;
  /** How it replaces variables. */
  readonly expansion: Expansion;
  /** Where its servers stand; the first entry of a name wins. */
  readonly sources: readonly HostSource[];
  /** Reads what its user has decided about servers; absent where no file says it. */
  readonly decisions?: ReadDecisions;
  /** Facts about the host as a client of the bridge; absent where nobody has looked. */
  readonly client?: HostClient;
  /** How the bridge is registered in it and servers are moved out of it; absent where a person does that by hand. */
  readonly install?: HostInstall;
};

/**
 * Files of a host. Left out, dialect and expansion are the host's, the pointer is `mcpServers`, and a map of servers stands there.
 * Those of the scope `project` need an approval.
 */
export type HostSource = Pick<Source, 'scope' | 'files'> &
  Partial<Pick<Source, 'pointer' | 'shape' | 'movedTo' | 'dialect' | 'expansion' | 'exclusive'>>;

/** Reads only files that the user's own hosts keep, never the project's, but for one where the user has said to trust it. */
export type ReadDecisions = (
  env: Environment,
  host: HostFacts,
  open: (file: string) => ConfigFile,
) => HostDecisions;

/** Decisions that a user can have made in a host about its servers, beside the file that names them. */
export type HostDecisions = {
  /**
   * The user's decision on an entry of a project's own file; undefined when not asked yet. The method is absent where decisions
   * cannot be read.
   */
  approval?(name: string, source: SpecSource): 'approved' | 'refused' | undefined;
  /** Why the entry is switched off; undefined when it is not. */
  reasonOff(name: string): ServerSkipReason | undefined;
};

export type HostClient = {
  /** The name under which it greets (clientInfo.name). */
  readonly name: string;
  /** The parts of an answer that the host shows its model. */
  readonly view: HostView;
  /** How long it waits for the answer of a call; absent where that has not been tried. */
  readonly patience?: HostPatience;
  /** Arguments that it adds to the schema of every tool. */
  readonly addedArguments?: readonly string[];
};

/** The parts of an answer that a host program shows its model. */
export type HostView = {
  /** How much of an answer's text, as UTF-8, reaches the model; undefined where the host cuts nothing that we send. */
  readonly roomBytes?: number;
  /**
   * Whether the text has paths on this machine beside the addresses for `resources/read`: a model with tools for files
   * can search a long output there, and open what its host cannot read as a resource.
   */
  readonly paths: boolean;
  /** Whether `resource_link` blocks are sent. The text has every address, so known hosts would only show it twice. */
  readonly links: boolean;
  /** Whether it shows the model `structuredContent`, instead of the text or beside it. */
  readonly showsStructured: boolean;
};

export type HostPatience = {
  /** Seconds until it gives a call up that says nothing. */
  readonly silent: number;
  /** Seconds for a call that tells of its progress, where the host wants to be told; absent where that changes nothing. */
  readonly told?: number;
};
