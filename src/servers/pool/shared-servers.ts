// Servers of which one process, or one session, serves all principals, because the operator has named them so. They can ask
// nobody: what they ask after the call of one principal could be put to another.

import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { type AgentCapabilities, NO_AGENT } from '../asking/agent-capabilities.js';
import type { Downstream } from '../server/downstream.js';
import type { DownstreamPoolOptions } from './pool.js';
import { type DownstreamPool, openDownstreamPool } from './pool.js';
import type { ServerLease } from './server-lease.js';
import type { DownstreamState } from './slot.js';

export class SharedServers implements AsyncDisposable {
  readonly pool: DownstreamPool;
  readonly #names: () => readonly string[];
  #shared: ReadonlySet<string> = new Set();

  constructor({
    names,
    pool,
  }: {
    /** Names of those that are shared, as the operator says now. */
    readonly names: () => readonly string[];
    readonly pool: Omit<DownstreamPoolOptions, 'specs' | 'isShared'>;
  }) {
    this.#names = names;
    this.pool = openDownstreamPool({ ...pool, specs: [], isShared: true });
  }

  /** Takes what is configured now, as the entries say it: no principal's headers are in it. */
  adopt(specs: readonly DownstreamSpec[]): void {
    const taken = new Set(specs.filter(({ takesName }) => takesName).map(({ name }) => name));
    this.#shared = new Set(this.#names().filter((name) => !taken.has(name)));
    this.pool.adopt(specs.filter(({ name }) => this.has(name)));
  }

  has(name: string): boolean {
    return this.#shared.has(name);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.pool[Symbol.asyncDispose]();
  }
}

/** The servers of one principal: its own, and those of the shared ones that exist for it. */
export class RoutedPool implements DownstreamPool {
  readonly #own: DownstreamPool;
  readonly #shared: SharedServers;
  /** Names of the shared ones that it has. */
  #visible: ReadonlySet<string> = new Set();

  constructor(own: DownstreamPool, shared: SharedServers) {
    this.#own = own;
    this.#shared = shared;
  }

  get(name: string, signal: AbortSignal, agent = NO_AGENT): Promise<Downstream> {
    return this.#poolOf(name).get(name, signal, agent);
  }

  states(): readonly DownstreamState[] {
    const shared = this.#shared.pool.states().filter(({ name }) => this.#visible.has(name));
    return [...this.#own.states(), ...shared];
  }

  adopt(specs: readonly DownstreamSpec[]): void {
    this.#visible = new Set(specs.map(({ name }) => name).filter((name) => this.#shared.has(name)));
    this.#own.adopt(specs.filter(({ name }) => !this.#visible.has(name)));
  }

  lease(names: readonly string[], agent = NO_AGENT): ServerLease {
    const isVisible = (name: string) => this.#visible.has(name);
    const own = this.#own.lease(
      names.filter((name) => !isVisible(name)),
      agent,
    );
    const shared = this.#shared.pool.lease(names.filter(isVisible), agent);
    // Whichever of the two has it, also where the operator has changed that since.
    const of = (name: string) => {
      if (own.specOf(name) !== undefined) return own;
      return shared.specOf(name) !== undefined || isVisible(name) ? shared : own;
    };
    return {
      get: (name, signal) => of(name).get(name, signal),
      specOf: (name) => of(name).specOf(name),
      isAsking: (name) => of(name).isAsking(name),
      insteadSentence: (name) => of(name).insteadSentence(name),
      [Symbol.dispose]: () => {
        own[Symbol.dispose]();
        shared[Symbol.dispose]();
      },
    };
  }

  rootsChanged(agent: AgentCapabilities): void {
    this.#own.rootsChanged(agent);
  }

  /** Ends its own ones only. */
  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#own[Symbol.asyncDispose]();
  }

  #poolOf(name: string): DownstreamPool {
    return this.#visible.has(name) ? this.#shared.pool : this.#own;
  }
}
