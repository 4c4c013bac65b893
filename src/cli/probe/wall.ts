// One row of the table of walls: what is asked for, the attempt in Python, and when its answer means that the wall held.

import { isGvisor } from '../../engine/oci-runtime.js';
import type { Canaries } from './canaries.js';
import type { Cage } from './control.js';

export type Wall = {
  readonly control: string;
  readonly required: boolean;
  readonly requested: (cage: Cage) => string;
  readonly how: string;
  /** The body of a function that returns a line. An OSError is answered with its name, so EPERM needs no code. */
  readonly python: (canaries: Canaries, cage: Cage) => string;
  readonly held: (seen: string, cage: Cage) => boolean;
  /** What of the answer is shown; without it, all. */
  readonly shown?: (seen: string, cage: Cage) => string;
  /** Why nothing can be seen of it here; then it is not asked. */
  readonly unseen?: (cage: Cage) => string | undefined;
  readonly remedy?: string;
};

/** Why a wall of the host's kernel is not asked about where the guest has another one. */
export const underGvisor = ({ choice }: Cage): string | undefined =>
  isGvisor(choice.ociRuntime) ? "gVisor's own kernel stands in for it" : undefined;
