// Flags that clients of engines know, for tests: test/fixtures/client-flags.mjs, with types.

/** Flags by command, where '' is before any; `--name=` where a value follows. */
export type FlagLists = Readonly<Record<string, readonly string[]>>;

const module = (await import(new URL('../fixtures/client-flags.mjs', import.meta.url).href)) as {
  /** Lists of flags by client and version. */
  clientFlags(): Readonly<Record<string, FlagLists>>;
  flagsIn(help: string): string[];
  refusal(lists: FlagLists, args: readonly string[]): string | undefined;
};

export const { clientFlags, flagsIn, refusal } = module;
