// Settings that the configuration of another program has for running code, in our units and without that program's name: an
// adapter reads the configuration (isolator-file.ts), and says in `source` what sentences call it.

/** Undefined where it says nothing. */
export type ImportedSettings = {
  /** Name of the configuration in a sentence, such as `isolator's file`. */
  readonly source: string;
  readonly file: string;
  readonly timeoutSeconds: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly cpus: number | undefined;
  readonly pids: number | undefined;
  readonly network: 'none' | 'outbound' | undefined;
  readonly workdir: string | undefined;
  /** By a language's own name. */
  readonly images: ReadonlyMap<string, string>;
  /** Absolute. */
  readonly snippetsDir: string | undefined;
  /** A sentence for each thing that it says in vain, or that is better known. */
  readonly warnings: readonly string[];
};
