// One configured MCP server in normal form, remembering the file that it came from. Read by discover and the
// downstream floor; knows nothing of how a host spells it.

/** Who wrote an entry: the user for everything or for one project (`local`), the project's own files, an administrator, or the operator of this bridge. */
export type Scope = 'user' | 'local' | 'project' | 'managed' | 'explicit';

/** Where an entry was found: the host's name, its scope, the file, and the JSON pointer within it. */
export type SpecSource = {
  readonly host: string;
  readonly scope: Scope;
  readonly file: string;
  readonly pointer: string;
};

/** A server that may be started. `command` and `args` are an argv; nothing is ever parsed by a shell. */
export type DownstreamSpec = {
  readonly name: string;
  readonly transport: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly description: string;
  /** Hard limit of one call in ms, from the host's own field; undefined means the bridge's default. */
  readonly callTimeoutMs: number | undefined;
  readonly source: SpecSource;
};

/** An entry that is not started, and why, in words for the person who wrote it. */
export type SkippedSpec = {
  readonly name: string;
  readonly reason: string;
  readonly source: SpecSource;
};
