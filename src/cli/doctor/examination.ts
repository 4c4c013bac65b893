// The examination that `doctor` makes, for all its checks. Everything that costs time is asked for by the check that needs it
// first, and only once; a failure is a value, since several checks look at it.

import { asBridgeError, type BridgeError } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import type { Environment } from '../../base/process/environment.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { outcomeOf } from '../../code-exec/execute-result.js';
import type { chooseEngine } from '../../engine/detect.js';
import type { SandboxSpec } from '../../engine/engine.js';
import type { DiscoverContext, Discovery } from '../../hosts/discovery/discover.js';
import type { PolicyBook } from '../../policy/rules/policy-book.js';
import { byCommandLine } from '../../run/calls/call-context.js';
import type { Outcome, OutcomeError } from '../../run/outcome/outcome.js';
import type { LaunchSetUp } from '../../sandbox/launch/launch-set-up.js';
import { pythonProfile } from '../../sandbox/spec/profile.js';
import { WORK } from '../../sandbox/spec/promises.js';
import type { Settings } from '../../settings/environment/settings.js';
import { Bridge } from '../../tenant/bridge.js';

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
  /** The reason why no sandbox is started from a template, where that is the operator's wish; undefined where one is. */
  readonly whyNoTemplate: () => Promise<string | undefined>;
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

// Runs that doctor makes to see rather than believe: the real path, with a real container, under settings of its own.

type Trial = {
  readonly outcome: Outcome;
  /** The interpreter's version as the code printed it; empty when it did not run. */
  readonly python: string;
  /** Whether the kernel filtered the code's calls, as the code read it. */
  readonly isFiltered: boolean;
};

/** Small enough that a machine without enforcement does not notice. */
export const MEMORY_PROBE = { limitMib: 64, useMib: 160 } as const;
const TRIAL_SECONDS = 20;
/** A command that does nothing writes nothing. */
const TRIAL_OUTPUT_BYTES = 1_000;

/** The kernel's word for a process whose calls go through a filter. */
const FILTERED = 'Seccomp:\t2';
const HELLO = `
import sys
print(sys.version.split()[0])
print(*(line for line in open("/proc/self/status") if line.startswith("Seccomp:")))
`;
// Every page is written, so that memory is really taken; the code then lives on only where nothing limits it.
const TAKE_MEMORY = `import time; taken = b"x" * ${MEMORY_PROBE.useMib * MB_BYTES}; time.sleep(0.5)`;

/** A first run, in `bridge`. */
export function firstTrial(bridge: Bridge, signal: AbortSignal): Promise<Trial> {
  return tryOut(bridge, HELLO, signal);
}

/** A run that takes more memory than its container may have: an error is the good news. */
export async function memoryTrial(
  settings: Settings,
  discovery: DiscoverContext,
  observer: Observer,
  signal: AbortSignal,
): Promise<Trial> {
  const small = { ...settings, memoryBytes: MEMORY_PROBE.limitMib * MB_BYTES };
  await using bridge = new Bridge({ settings: small, discovery, observer });
  return await tryOut(bridge, TAKE_MEMORY, signal);
}

/** Outcome of a command that does nothing: `error` where the command did not end well. */
type CommandTrial = Pick<Outcome, 'status' | 'durationMs'> & {
  readonly error?: Pick<OutcomeError, 'message' | 'remedy'> | undefined;
};

/** A command that does nothing, as `execute` runs it. */
export async function commandTrial(bridge: Bridge, signal: AbortSignal): Promise<CommandTrial> {
  const command = {
    argv: ['true'],
    stdin: undefined,
    cwd: WORK,
    env: {},
    maxOutputBytes: TRIAL_OUTPUT_BYTES,
    shownBytes: TRIAL_OUTPUT_BYTES,
  } as const;
  const outcome = await bridge.runCommand({ command, timeoutSeconds: TRIAL_SECONDS }, byCommandLine(signal));
  if ('failed' in outcome) return outcome.failed;
  const { end } = outcome;
  if (end.exitCode === 0) return { status: 'success', durationMs: end.durationMs };
  const message = `The command \`true\` ended like this: ${outcomeOf(end, TRIAL_SECONDS * 1000)}.`;
  return { status: 'error', durationMs: end.durationMs, error: { message, remedy: undefined } };
}

/** Means that carry a network here, seen in a sandbox that has one and runs nothing. Throws why there is none. */
export async function networkTrial(bridge: Bridge, signal: AbortSignal): Promise<SandboxSpec['network']> {
  const sandbox = await bridge.launcher.start(
    { ...pythonProfile(bridge.settings), network: 'outbound' },
    signal,
  );
  bridge.launcher.retire(sandbox);
  return sandbox.spec.network;
}

async function tryOut(bridge: Bridge, code: string, signal: AbortSignal): Promise<Trial> {
  const timeoutSeconds = Math.min(TRIAL_SECONDS, bridge.settings.maxTimeoutSeconds);
  const outcome = await bridge.run(
    { task: { type: 'cell', code }, servers: [], files: [], timeoutSeconds },
    byCommandLine(signal),
  );
  const [python = '', seccomp = ''] = outcome.stdout.text.trim().split('\n');
  return { outcome, python, isFiltered: seccomp.trim() === FILTERED };
}
