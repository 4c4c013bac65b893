// One row of the table of walls: what is asked for, the attempt in walls.py, and when its answer means that the wall held.

import type { Canaries } from './canaries.js';
import type { ProbedSandbox } from './control.js';

/** Values of JSON, by the names of a function's parameters. */
export type Arguments = Readonly<Record<string, unknown>>;

export type Wall = {
  readonly control: string;
  readonly required: boolean;
  readonly requested: (probed: ProbedSandbox) => string;
  readonly how: string;
  /** The name of its function in walls.py, and the arguments of that where it takes any. */
  readonly attempt: string;
  readonly given?: (canaries: Canaries, probed: ProbedSandbox) => Arguments;
  readonly held: (seen: string, probed: ProbedSandbox) => boolean;
  /** Takes the part of the answer that is to be shown; without this function, the whole answer is shown. */
  readonly shown?: (seen: string, probed: ProbedSandbox) => string;
  /** Why nothing can be seen of the wall here; then the wall is not asked about. */
  readonly unseen?: (probed: ProbedSandbox) => string | undefined;
  readonly remedy?: string;
};

/** Why a wall of the host's kernel is not asked about where the guest has another one. */
export const underOwnKernel = ({ engine: { traits } }: ProbedSandbox): string | undefined =>
  traits.ownKernel === undefined ? undefined : `${traits.ownKernel}'s own kernel stands in for it`;
