// The words of a probe: what a control is, what was seen of it, and what that comes to. Data and types only.

import type { Engine, SandboxSpec } from '../../engine/engine.js';
import type { LaunchSetUp } from '../../sandbox/launch/launch-set-up.js';
import type { Settings } from '../../settings/environment/settings.js';

/**
 * ENFORCED: the attack was made and did not get through. WATCHDOG: it was ended, by the host's looking and not by the
 * kernel, hence late. NOT ENFORCED: it got through. UNKNOWN: the probe could not tell.
 */
export type WallVerdict = 'ENFORCED' | 'WATCHDOG' | 'NOT ENFORCED' | 'UNKNOWN';

/** A judge's conclusion from what was seen. */
export type Judgement = {
  readonly observed: string;
  /** How the probe acted, or where it looked. */
  readonly how: string;
  readonly verdict: WallVerdict;
  /** With WATCHDOG: megabytes (2^20 bytes) seen beyond the limit before the end. */
  readonly overshootMb?: number;
};

/** One line of the report. */
export type ProbedControl = Judgement & {
  readonly control: string;
  readonly requested: string;
  /** Whether NOT ENFORCED is a failure of the probe as a whole. */
  readonly required: boolean;
  /** Only where the verdict calls for one. */
  readonly remedy?: string;
};

/** The sandbox that was asked for, and where it runs: the measure of what is seen. */
export type ProbedSandbox = {
  readonly spec: SandboxSpec;
  readonly settings: Settings;
  readonly choice: LaunchSetUp['choice'];
  readonly engine: Pick<Engine, 'name' | 'traits'>;
  /** Names of the variables that the bridge itself has. */
  readonly hostEnvNames: readonly string[];
};
