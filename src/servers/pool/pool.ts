// Every configured server, each started by the first call that needs it and shared by all that follow. Starting
// nothing ahead is what makes the bridge answer at once with fifty servers configured and five of them dead.

import { isDeepStrictEqual } from 'node:util';
import { BridgeError } from '../../base/errors.js';
import { hideLatest } from '../../base/secrets/redact.js';
import { didYouMean } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import { type DownstreamSpec, START_TIME_MS, secretsOf } from '../../hosts/downstream-spec.js';
import { type AgentCapabilities, NO_AGENT } from '../asking/agent-capabilities.js';
import { type EraMemory, ErasInMemory } from '../connection/greet.js';
import type { DownstreamTimes, ServerContext } from '../server/connect.js';
import type { Downstream } from '../server/downstream.js';
import { childEnv } from '../stdio/stdio-transport.js';
import { ServerLease } from './server-lease.js';
import type { SlotParts } from './shared-slots.js';
import { type DownstreamState, type OnListed, type ServerSlot, Slot } from './slot.js';

const DEFAULT_TIMES: DownstreamTimes = {
  connectTimeoutMs: START_TIME_MS,
  probeMs: 10_000,
  // Every call also ends with its run; this is for those who allow runs of an hour.
  silenceMs: 5 * 60_000,
  // State that a server holds in memory, such as a page that is open, is gone with the server.
  idleMs: Number.POSITIVE_INFINITY,
  restMs: 1_000,
  maxRestMs: 30_000,
};

/** As the operator has set it; 0 ends none. */
export const idleTimes = ({ serverIdleSeconds }: { readonly serverIdleSeconds: number }) =>
  serverIdleSeconds === 0 ? {} : { idleMs: serverIdleSeconds * 1000 };

export type DownstreamPoolOptions = Pick<
  ServerContext,
  'observer' | 'redactor' | 'loginFor' | 'loginOwner' | 'eras' | 'cwd' | 'onStartFailed'
> & {
  readonly specs: readonly DownstreamSpec[];
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** Variables of `hostEnv` that servers get on top of the allow-list. */
  readonly extraEnvNames: readonly string[];
  /** How many bridges this one runs inside; servers are told one more. */
  readonly depth: number;
  readonly times?: Partial<DownstreamTimes>;
  /** Where a server is that other pools use too; without it, and for undefined, it is this pool's alone. */
  readonly slotFor?: ((parts: SlotParts) => ServerSlot | undefined) | undefined;
  readonly onListed?: OnListed;
};

const MAX_NAMES = 20;

/** Servers of which none runs before somebody needs it. */
export class DownstreamPool implements AsyncDisposable {
  readonly #options: DownstreamPoolOptions;
  readonly #eras: EraMemory;
  #slots = new Map<string, ServerSlot>();
  /** Replaced by `adopt`, until no run holds them, their last call has ended and their processes are gone. */
  readonly #retired = new Set<ServerSlot>();
  #disposing: Promise<void> | undefined;

  constructor(options: DownstreamPoolOptions) {
    this.#options = options;
    this.#eras = options.eras ?? new ErasInMemory();
    this.adopt(options.specs);
  }

  /**
   * The live server, started if need be; ask for every call, since one that crashed or was idle is started anew here.
   * Its calls are those of `agent`, whom the server may ask meanwhile; without one, it may ask nobody. The abort of `signal`
   * ends only this wait. Throws E_SERVER_UNKNOWN, E_SERVER_UNAVAILABLE, E_CANCELLED, E_SHUTDOWN.
   */
  get(name: string, signal: AbortSignal, agent = NO_AGENT): Promise<Downstream> {
    return this.#open(name, this.#slots.get(name), agent, signal);
  }

  /** All configured servers, in the order of the configuration. */
  states(): readonly DownstreamState[] {
    return [...this.#slots.values()].map((slot) => slot.state);
  }

  /** Takes a new configuration: unchanged servers stay as they are, others end after their last call and lease. */
  adopt(specs: readonly DownstreamSpec[]): void {
    const before = this.#slots;
    this.#slots = new Map(specs.map((spec) => [spec.name, this.#slotFor(spec, before.get(spec.name))]));
    for (const [name, slot] of before) {
      if (this.#slots.get(name) === slot) continue;
      this.#retired.add(slot);
      slot.retire(() => this.#retired.delete(slot));
    }
    // Secrets of a shared one are none of a principal's: they are hidden where it is shared.
    for (const spec of specs)
      if (spec.isShared !== true) hideLatest(this.#options.redactor, spec.name, secretsOf(spec));
  }

  /**
   * Holds these servers for a run of `agent` as they are configured now; starts nothing. Names that there are not are left
   * out.
   */
  lease(names: readonly string[], agent = NO_AGENT): ServerLease {
    return new ServerLease(names, {
      agent,
      find: (name) => this.#slots.get(name),
      open: (name, slot, signal) => this.#open(name, slot, agent, signal),
    });
  }

  /** The agent has other roots now; servers that have read them are told. */
  rootsChanged(agent: AgentCapabilities): void {
    for (const slot of [...this.#slots.values(), ...this.#retired]) slot.rootsChanged(agent);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= Promise.all(
      [...this.#slots.values(), ...this.#retired].map((slot) => slot.close()),
    ).then(() => {});
    return this.#disposing;
  }

  async #open(
    name: string,
    slot: ServerSlot | undefined,
    agent: AgentCapabilities,
    signal: AbortSignal,
  ): Promise<Downstream> {
    if (this.#disposing !== undefined) {
      throw new BridgeError('E_SHUTDOWN', 'The bridge is closing.', { fault: 'bridge' });
    }
    if (slot === undefined) throw this.#unknownServerError(name);
    const got = slot.get(agent);
    // Most calls are of a server that runs already.
    if (!(got instanceof Promise) && !signal.aborted) return got.calledBy(agent);
    const waiting = { message: `Waiting for server '${shownName(name)}' was cancelled.` };
    return (await unlessAborted(Promise.resolve(got), signal, waiting)).calledBy(agent);
  }

  #slotFor(spec: DownstreamSpec, before: ServerSlot | undefined): ServerSlot {
    if (before !== undefined && isDeepStrictEqual(before.spec, spec)) return before;
    const { hostEnv, extraEnvNames, depth, times, observer, redactor, loginFor, loginOwner } = this.#options;
    const { onListed = () => {}, onStartFailed, slotFor, cwd } = this.#options;
    const ownEnv = spec.transport === 'stdio' ? spec.env : {};
    const env = childEnv(hostEnv, ownEnv, { depth: depth + 1, extraNames: extraEnvNames });
    const allTimes = { ...DEFAULT_TIMES, ...times };
    const logins = { loginFor, loginOwner };
    const told = { observer, redactor, onStartFailed };
    const context = { env, cwd, times: allTimes, ...told, ...logins, eras: this.#eras };
    return slotFor?.({ spec, context, onListed }) ?? new Slot(spec, context, onListed);
  }

  #unknownServerError(name: string): BridgeError {
    const names = [...this.#slots.keys()];
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
    const remedy =
      names.length === 0
        ? 'No MCP server is configured.'
        : `Configured: ${names.slice(0, MAX_NAMES).join(', ')}${more}.`;
    return new BridgeError(
      'E_SERVER_UNKNOWN',
      `There is no server '${shownName(name)}'.${didYouMean(name, names)}`,
      {
        fault: 'agent',
        remedy,
      },
    );
  }
}
