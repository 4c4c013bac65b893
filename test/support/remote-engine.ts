// Engines that run elsewhere, for tests: scripts/remote, with types.

import type { Readable } from 'node:stream';
import type { Address } from './relay.js';

export type RemoteKind = 'podman-unix' | 'podman-ssh' | 'docker-tls';

type Finished = { readonly exitCode: number; readonly output: string };

/** An engine in a machine of its own; see scripts/remote/engines.mjs. */
export type RemoteEngine = {
  readonly kind: RemoteKind;
  /** The client's program. */
  readonly binary: 'podman' | 'docker';
  /** User id of the account that the engine runs under. */
  readonly uid: number;
  /** Where the engine listens. */
  readonly address: Address;
  readonly machine: {
    /** The one folder that both sides see. */
    readonly shared: string;
    /** Words before a command that is to be run inside as root. */
    argvInside(): string[];
    run(
      argv: readonly string[],
      options?: { readonly asRoot?: boolean; readonly input?: Readable },
    ): Promise<Finished>;
  };
  /** Environment of a bridge that uses the engine; `address` is where the engine is reached. */
  environment(address?: Address): Record<string, string>;
  /** The client's argument vector, less its command. */
  client(address?: Address): string[];
  command(args: readonly string[]): Promise<Finished>;
  /** Gives it an image of this machine's podman. */
  load(image: string): Promise<void>;
  /** Names of the bridge's containers there, in any state. */
  containers(): Promise<string[]>;
  start(): Promise<void>;
  /** Ends the engine and not its containers. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  fillDisk(): Promise<void>;
  emptyDisk(): Promise<void>;
  close(): Promise<void>;
};

const engines = (await import(new URL('../../scripts/remote/engines.mjs', import.meta.url).href)) as {
  readonly REMOTE_KINDS: readonly RemoteKind[];
  whyNoRemoteEngine(kind: RemoteKind): string | undefined;
  openRemoteEngine(kind: RemoteKind, options?: { readonly storeMb?: number }): Promise<RemoteEngine>;
};

export const { REMOTE_KINDS, whyNoRemoteEngine, openRemoteEngine } = engines;
