// A language of `execute_code`, as data. Adding a language is adding a record (records.ts) and, where no recipe of ours holds
// its programs, an image recipe. Nothing here runs anything.

/** A way to run a program, for images in which `needs` are found. */
type Way = {
  /** Programs that must be on the image's PATH. */
  readonly needs: readonly string[];
  /**
   * Argument vectors, run in order in the working directory: each must end with status 0 before the next begins, and the
   * last becomes the program. `{file}` stands for the entry file's path, `{folder}` for that of its folder, both relative
   * and beginning with `./`, `{harness}` for that of our own files; a vector's last element may be `{args}`, for the
   * program's arguments.
   */
  readonly steps: ReadonlyArray<readonly string[]>;
};

/** A further place for files, in memory like all others; only one that is `executable` may hold programs. */
export type Place = { readonly target: string; readonly sizeMb: number; readonly executable: boolean };

export type Language = {
  /** As calls name it. */
  readonly name: string;
  /** As people read it. */
  readonly title: string;
  /** Other names that calls may use. */
  readonly aliases: readonly string[];
  /** Extensions of its files, with the dot; the first is the one of `file`. */
  readonly extensions: readonly string[];
  /** The entry file's name where a call gives none. */
  readonly file: string;
  /** The recipe of its image, as `image build` takes it. */
  readonly profile: string;
  /** In order of preference; empty for Python, which the harness runs itself. */
  readonly ways: readonly Way[];
  /** Run while a sandbox waits, in the working directory; a failure is nobody's. */
  readonly ahead: ReadonlyArray<readonly string[]>;
  /** For the program and its steps. `{heapMb}` stands for what a managed heap may take of its memory. */
  readonly env: Readonly<Record<string, string>>;
  /** On top of it where there is no network. */
  readonly envOffline?: Readonly<Record<string, string>>;
  readonly places: readonly Place[];
  /** Where neither the call nor the operator says otherwise. */
  readonly limits: {
    readonly timeoutSeconds?: number;
    readonly memoryBytes?: number;
    readonly pids?: number;
  };
  /** In what idiom its programs call MCP tools. */
  readonly tools: 'none' | 'python' | 'javascript';
};

/** Whether the harness itself runs its programs, in the image's own Python. */
export const isPython = ({ ways }: Pick<Language, 'ways'>): boolean => ways.length === 0;

/** Whether its programs can call MCP tools. */
export const callsTools = ({ tools }: Pick<Language, 'tools'>): boolean => tools !== 'none';

/** Whether a file of this name is one of its own, by its ending. */
export const isFileOf = ({ extensions }: Pick<Language, 'extensions'>, file: string): boolean =>
  extensions.some((extension) => file.endsWith(extension));
