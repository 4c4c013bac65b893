// The launchers of a bridge: one for everything, and one for each other OCI runtime that a kind insists on. What insists
// on a runtime never starts under another one: where that does not start, the caller is told why, and what would change it.

import { asBridgeError, BridgeError } from '../../base/errors.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Sandbox } from '../conversation/sandbox.js';
import type { SandboxProfile } from '../spec/profile.js';
import type { Launcher } from './launcher.js';

export class Launchers implements AsyncDisposable {
  readonly #settings: Settings;
  readonly #main: Launcher;
  readonly #open: (settings: Settings) => Launcher;
  readonly #others = new Map<string, Launcher>();
  readonly #owners = new WeakMap<Sandbox, Launcher>();

  /** `main` launches what asks for no OCI runtime, or for its own; whoever made it ends it. */
  constructor(settings: Settings, main: Launcher, open: (settings: Settings) => Launcher) {
    this.#settings = settings;
    this.#main = main;
    this.#open = open;
  }

  /** As a launcher does. Throws E_OCI_RUNTIME where the one that is insisted on starts nothing. */
  async start(kind: SandboxProfile, signal: AbortSignal): Promise<Sandbox> {
    const launcher = this.#of(kind);
    try {
      const sandbox = await launcher.start(kind, signal);
      this.#owners.set(sandbox, launcher);
      return sandbox;
    } catch (thrown) {
      if (launcher === this.#main || asBridgeError(thrown).code !== 'E_OCI_RUNTIME') throw thrown;
      throw insisted(kind.ociRuntime ?? '', asBridgeError(thrown));
    }
  }

  retire(sandbox: Sandbox): void {
    this.#owners.get(sandbox)?.retire(sandbox);
  }

  onWaits(sandbox: Sandbox, waits: boolean): void {
    this.#owners.get(sandbox)?.onWaits(sandbox, waits);
  }

  isCurrent(sandbox: Sandbox): boolean {
    return this.#owners.get(sandbox)?.isCurrent(sandbox) === true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#others.values()].map((launcher) => launcher[Symbol.asyncDispose]()));
  }

  #of({ ociRuntime }: SandboxProfile): Launcher {
    if (ociRuntime === undefined || ociRuntime === this.#settings.ociRuntime) return this.#main;
    const known = this.#others.get(ociRuntime);
    if (known !== undefined) return known;
    const launcher = this.#open({ ...this.#settings, ociRuntime });
    this.#others.set(ociRuntime, launcher);
    return launcher;
  }
}

const insisted = (ociRuntime: string, cause: BridgeError): BridgeError =>
  new BridgeError(
    'E_OCI_RUNTIME',
    `Commands run under ${ociRuntime} only, which starts no container here. ${cause.message}`,
    {
      fault: 'operator',
      remedy:
        'Install it (gVisor, Debian: apt-get install runsc), hand commands to a server (MCP_BRIDGE_EXECUTE_SERVER), or set MCP_BRIDGE_EXECUTE_OCI_RUNTIME=auto to run them as all other code is run.',
      cause,
    },
  );
