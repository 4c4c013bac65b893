// What clients of engines know of flags, for tests: test/fixtures/client-flags.mjs, with types.

/** By command, where '' is before any; `--name=` where a value follows. */
export type FlagLists = Readonly<Record<string, readonly string[]>>;

const module = (await import(new URL('../fixtures/client-flags.mjs', import.meta.url).href)) as {
  /** By client and version. */
  clientFlags(): Readonly<Record<string, FlagLists>>;
  flagsIn(help: string): string[];
  refusal(lists: FlagLists, args: readonly string[]): string | undefined;
};

export const { clientFlags, flagsIn, refusal } = module;
