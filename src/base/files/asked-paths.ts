// The paths that a look at files asks for, so that whoever keeps what it found knows what that depends on. A look is synchronous,
// so one is under way at a time; outside of one, nothing is noted.

export type AskedPaths = {
  /** Paths of which it was asked what is there. */
  readonly paths: ReadonlySet<string>;
  /** Paths of which it was asked where they lead without symbolic links. */
  readonly links: ReadonlySet<string>;
};

let underWay: { readonly paths: Set<string>; readonly links: Set<string> } | undefined;

export function askedBy<T>(look: () => T): { readonly value: T; readonly asked: AskedPaths } {
  const outer = underWay;
  const asked = { paths: new Set<string>(), links: new Set<string>() };
  underWay = asked;
  try {
    return { value: look(), asked };
  } finally {
    underWay = outer;
  }
}

/** Called by whoever asks the file system what is at `path`. */
export function notePath(path: string): void {
  underWay?.paths.add(path);
}

/** Called by whoever asks the file system where `path` leads. */
export function noteLink(path: string): void {
  underWay?.links.add(path);
}
