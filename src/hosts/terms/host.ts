// The record of a host. Each host is one file in records/; the tables that the rest of the bridge goes by are lists over these
// records. Types, and what most hosts have in common. Pure.

import type { Environment } from '../../base/process/environment.js';
import type { ConfigFile } from '../../settings/files/config-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import type { SpecSource } from '../downstream-spec.js';
import type { ServerSkipReason } from '../skip-reason.js';
import { type HostDialect, PROGRAM } from './dialect.js';
import type { Expansion } from './expansions.js';

export type Host = {
  /** Name of the host in messages and lists. */
  readonly title: string;
  /** How the host spells an entry, in the words of its documentation or source. */
  readonly dialect: HostDialect;
  /** How the host replaces variables. */
  readonly expansion: Expansion;
  /**
   * Where the host's servers stand; the first entry of a name wins. Where left out, dialect and expansion are the host's, the
   * pointer is `mcpServers`, and a map of servers stands there. Files of the scope `project` need an approval.
   */
  readonly sources: ReadonlyArray<
    Pick<Source, 'scope' | 'files'> &
      Partial<Pick<Source, 'pointer' | 'shape' | 'movedTo' | 'dialect' | 'expansion' | 'exclusive'>>
  >;
  /** Reads what its user has decided about servers; absent where no file says it. */
  readonly decisions?: ReadDecisions;
  /** Facts about the host as a client of the bridge; absent where nobody has looked. */
  readonly client?: {
    /** The name under which it greets (clientInfo.name). */
    readonly name: string;
    /** The parts of an answer that the host shows its model. */
    readonly view: HostView;
    /** How long it waits for the answer of a call; absent where that has not been tried. */
    readonly patience?: {
      /** Seconds until it gives a call up that says nothing. */
      readonly silent: number;
      /** Seconds for a call that tells of its progress, where the host wants to be told; absent where that changes nothing. */
      readonly told?: number;
    };
    /** In its dialogs nobody gets past a text field that is empty, even if the field is optional. */
    readonly needsEveryText?: true;
    /** Arguments that it adds to the schema of every tool. */
    readonly addedArguments?: readonly string[];
  };
  /** How the bridge is registered in it and servers are moved out of it; absent where a person does that by hand. */
  readonly install?: {
    /** The name by which a person asks for the host; also that of its file in the bridge's own folder. */
    readonly id: string;
    /** Names under which its program is found on PATH. */
    readonly programs: readonly string[];
    /** Files or folders that only this host makes; without any, the folder of its file is one. */
    readonly signs?: readonly string[];
    /** Started from a desktop, with a PATH that has little more than the system's programs. */
    readonly isDesktop: boolean;
    /** An entry of ours in this host's words. */
    readonly entry: (launch: HostLaunch) => Record<string, unknown>;
    /** An entry of ours for a file in the form that the host had before. */
    readonly earlierEntry?: (launch: HostLaunch) => Record<string, unknown>;
    /** Facts needed about a host before a server is moved out of it. Its rules for single tools are in install/known-rules.ts. */
    readonly adopt: {
      /**
       * Fields of its entries that adopt understands. An entry with any other stays where it is: a field of tomorrow, such as one
       * that confines a server, would otherwise be lost with nobody noticing.
       */
      readonly fields: readonly string[];
      /** Whether the servers that it starts, and so the bridge, get all variables of its own environment. */
      readonly handsOnVariables: boolean;
      /** Decisions of the host that nobody can read; undefined where its files say all. */
      readonly unseen?: string;
    };
  };
};

/** Reads only files that the user's own hosts keep, never a project's, except where the user has said to trust the project. */
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
  /** Whether the host shows the model `structuredContent`, instead of the text or beside it. */
  readonly showsStructured: boolean;
};

// Where some of a host's servers stand, and how they are written: one row of the table of sources.

/** Stands for the project's folder in a pointer. */
export const PROJECT = '<project>';

export type Source = {
  readonly host: string;
  readonly scope: SpecSource['scope'];
  /**
   * File patterns with forward slashes: `~/` is the home folder, `./` the current one, `.../` the current one and every
   * parent, `^/` those up to the root of the git checkout, `${NAME:-default}` an environment variable; without a
   * default, an unset one means no file. A `*` stands for
   * any part of one name: all that are there, in order of name. The name's ending says the format.
   */
  readonly files: { readonly [platform in 'any' | 'darwin' | 'linux' | 'win32']?: readonly string[] };
  /** Keys that lead to the servers. */
  readonly pointer: readonly string[];
  /**
   * Form of the servers at the pointer: a `map` by name, or a `list` of entries with names. `servers` also takes a file that is
   * itself the map, or a single server named by its file.
   */
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

// How the bridge is registered in a host, and what `adopt` knows of its entries.

/** The command line and the variables that a host starts us with. */
export type HostLaunch = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

export const withEnv = (env: HostLaunch['env'], name = 'env') =>
  Object.keys(env).length === 0 ? {} : { [name]: env };
export const plainEntry = ({ command, args, env }: HostLaunch) => ({ command, args, ...withEnv(env) });
export const typedEntry = (launch: HostLaunch) => ({ type: 'stdio', ...plainEntry(launch) });

export const PROGRAM_FIELDS: readonly string[] = Object.values(PROGRAM);
export const REMOTE_FIELDS: readonly string[] = ['url', 'headers'];

export const unseenInWindows = (host: string): string =>
  `Which tools are switched off or approved is in ${host}'s own database, which cannot be read. If you have switched tools off there, name them in the file's list below.`;
