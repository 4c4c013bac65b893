// The engine that the container tests run against: the one of this machine, or, where TEST_REMOTE_ENGINE names a kind, one
// that runs elsewhere, which global-setup.ts starts for the suite, or the cluster that scripts/test-cluster.mjs has started. Whoever starts a bridge, or asks what is left, asks here.

import { execFileSync } from 'node:child_process';
import type { RemoteKind } from './remote-engine.js';

/** Facts that the global set-up tells the workers, in TEST_ENGINE. */
export type EngineUnderTest = {
  readonly kind: 'local' | RemoteKind | 'kubernetes';
  /** The argument vector of its client, less the command. */
  readonly client: readonly string[];
  /** Environment of a bridge that is to use the engine. */
  readonly environment: Readonly<Record<string, string>>;
  /** The one folder that both sides see; undefined where all of them are. */
  readonly shared: string | undefined;
  /** Before a command that is to be run as root where the engine runs. */
  readonly inside: readonly string[];
  /** User id of the account that the engine runs as. */
  readonly uid: number;
};

const LOCAL: EngineUnderTest = {
  kind: 'local',
  client: ['podman'],
  environment: {},
  shared: undefined,
  inside: [],
  uid: process.getuid?.() ?? 0,
};

const told = process.env['TEST_ENGINE'];
export const engineUnderTest: EngineUnderTest = told === undefined ? LOCAL : JSON.parse(told);

/** Runs one command of the engine's client and returns what it printed; throws where that fails. */
export function engineCommand(...args: readonly string[]): string {
  const [program = '', ...flags] = engineUnderTest.client;
  return execFileSync(program, [...flags, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}
