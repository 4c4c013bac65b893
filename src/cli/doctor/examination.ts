// The examination that `doctor` makes, for all its checks. Everything that costs time is asked for by the check that needs it
// first, and only once; a failure is a value, since several checks look at it.

import { asBridgeError, type BridgeError } from '../../base/errors.js';
import type { Environment } from '../../base/process/environment.js';
import type { chooseEngine } from '../../engine/detect.js';
import type { SandboxSpec } from '../../engine/engine.js';
import type { Discovery } from '../../hosts/discovery/discover.js';
import type { PolicyBook } from '../../policy/rules/policy-book.js';
import type { LaunchSetUp } from '../../sandbox/launch/launch-set-up.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { CommandTrial, Trial } from './trial.js';

export type Finding = {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  readonly remedy?: string;
};

export type Attempt<T> = { readonly value: T } | { readonly error: BridgeError };

/** Facts that the checks look at. */
export type Examination = {
  readonly settings: Settings;
  readonly warnings: readonly string[];
  readonly env: Environment;
  /** The servers found, with those that policy denies. */
  readonly discovery: Discovery;
  readonly policyBook: PolicyBook;
  readonly engine: () => Promise<Attempt<Awaited<ReturnType<typeof chooseEngine>>>>;
  readonly pad: () => Promise<Attempt<LaunchSetUp>>;
  readonly trial: () => Promise<Trial>;
  readonly memoryTrial: () => Promise<Trial>;
  /** Means that carry the traffic of a sandbox with a network, seen in a sandbox that was started. */
  readonly networkTrial: () => Promise<Attempt<SandboxSpec['network']>>;
  readonly commandTrial: () => Promise<CommandTrial>;
  readonly signal: AbortSignal;
};

/** An attempt as a value, so that several checks can look at its failure. */
export async function attempt<T>(promise: Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await promise };
  } catch (thrown) {
    return { error: asBridgeError(thrown) };
  }
}

/** Makes it on the first call; every later one gets the same. */
export function memoize<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
