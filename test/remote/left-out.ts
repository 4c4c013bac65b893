// Tests that cannot hold against an engine that runs elsewhere, each with the reason. Everything else of the tier is judged
// as it is on this machine. scripts/test-remote.mjs fails where a row here fits no test any more.

import type { RemoteKind } from '../support/remote-engine.js';

export type LeftOut = {
  /** The end of the path of its file. */
  readonly file: string;
  /** Its name with those of its describes, joined by spaces; without one all of the file. */
  readonly name?: RegExp;
  /** Where it cannot hold; without it nowhere. */
  readonly on?: readonly RemoteKind[];
  readonly reason: string;
};

export const LEFT_OUT: readonly LeftOut[] = [];

/** Why a test is left out on an engine of `kind`; undefined where it is not. */
export const whyLeftOut = (kind: string, file: string, name: string): string | undefined =>
  LEFT_OUT.find(
    (row) =>
      file.endsWith(row.file) &&
      (row.name?.test(name) ?? true) &&
      (row.on === undefined || row.on.some((each) => each === kind)),
  )?.reason;
