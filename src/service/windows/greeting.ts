// Messages of a relay and a shared bridge to each other besides MCP, and which of two versions is the newer.

import { statSync } from 'node:fs';

/**
 * A build of this package: what `package.json` says, and when its command line was written, which tells two of a checkout
 * apart.
 */
export type Build = { readonly version: string; readonly builtAtMs: number };

/** Facts of a window, as its relay says them. */
export type WindowGreeting = {
  readonly ask: 'join';
  readonly build: Build;
  readonly pid: number;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether its stderr is a terminal, and takes colours. */
  readonly isTerminal: boolean;
  /**
   * The user's own command line, whose sessions outlive its windows. A bridge of another build never sees this: a newer window
   * does not join an older bridge, so the protocol of relays is the same with it.
   */
  readonly isCommandLine?: boolean;
  /** Whether the window was in a bridge that has ended. A new window stays by itself where its version is the older one. */
  readonly isBack: boolean;
};

/** Messages that may come first on a connection. */
export type Greeting = WindowGreeting | { readonly ask: 'status' } | { readonly ask: 'stop' };

/** Why a window is not let in: this one ends, settings differ, or cannot be used, or the window is older. */
export type WindowRefusal = 'closing' | 'settings' | 'older';

/** Messages of the bridge: the answer to the greeting, and later that the bridge wants to end this connection. */
export type BridgeMessage =
  | { readonly is: 'joined'; readonly window: number; readonly pid: number; readonly version: string }
  | { readonly is: 'refused'; readonly kind: WindowRefusal; readonly pid: number }
  | { readonly is: 'leaving'; readonly why: string };

/** Report of a shared bridge to whoever has started it, as a line of JSON. */
export type StartReport = { readonly is: 'listening' } | { readonly is: 'failed'; readonly why: string };

/** Status of a shared bridge by its own account. Times in milliseconds since 1970, memory in bytes. */
export type SharedStatus = {
  readonly pid: number;
  readonly build: Build;
  readonly socket: string;
  readonly startedAtMs: number;
  readonly isClosing: boolean;
  readonly windows: readonly {
    readonly window: number;
    readonly pid: number;
    /** Name that the agent gives itself; undefined before the agent has. */
    readonly client: string | undefined;
    readonly folder: string;
    readonly sinceMs: number;
    readonly isBusy: boolean;
  }[];
  readonly servers: readonly {
    readonly server: string;
    readonly state: string;
    readonly windows: readonly number[];
  }[];
  readonly sandboxes: { readonly running: number; readonly waiting: number };
  readonly memory: { readonly bridgeBytes: number; readonly processesBytes: number | undefined };
};

/** `script` is the command line that was started. */
export function buildOf(version: string, script: string | undefined): Build {
  return { version, builtAtMs: script === undefined ? 0 : writtenAt(script) };
}

/** Above 0 where `one` is newer than `other`, 0 where they are the same. */
export function compareBuilds(one: Build, other: Build): number {
  const [ones, others] = [one, other].map(({ version }) => version.split(/[.+-]/).map(Number));
  for (const at of [0, 1, 2]) {
    const difference = (ones?.[at] ?? 0) - (others?.[at] ?? 0);
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
  }
  if (one.version !== other.version) return one.version < other.version ? -1 : 1;
  return one.builtAtMs - other.builtAtMs;
}

/** The greeting in a message; undefined where it is none. Whoever can connect is the same user, so this is no wall. */
export function greetingIn(message: Readonly<Record<string, unknown>> | undefined): Greeting | undefined {
  if (message?.['ask'] === 'status' || message?.['ask'] === 'stop') return { ask: message['ask'] };
  const { ask, build, pid, cwd, env, isTerminal, isCommandLine, isBack } = (message ??
    {}) as Partial<WindowGreeting>;
  const isWhole =
    ask === 'join' &&
    typeof build?.version === 'string' &&
    typeof build.builtAtMs === 'number' &&
    typeof pid === 'number' &&
    typeof cwd === 'string' &&
    isTexts(env);
  return isWhole
    ? {
        ...{ ask, build, pid, cwd, env, isTerminal: isTerminal === true, isBack: isBack === true },
        isCommandLine: isCommandLine === true,
      }
    : undefined;
}

const isTexts = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((each) => typeof each === 'string');

function writtenAt(script: string): number {
  try {
    return statSync(script).mtimeMs;
  } catch {
    return 0;
  }
}
