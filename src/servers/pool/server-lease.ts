// The servers of one run. A person may change or remove an entry while the run is under way; the run ends with the
// server that it began with, and the next one gets what is configured then.

import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import type { AgentCapabilities } from '../asking/agent-capabilities.js';
import type { Downstream } from '../server/downstream.js';
import type { ServerSlot } from './slot.js';

/** Each server stays the one that it was when the run got it, until this is disposed. */
export class ServerLease implements Disposable {
  readonly #parts;
  readonly #held = new Map<string, { readonly slot: ServerSlot; readonly letGo: () => void }>();
  #isOver = false;

  /** Names that the pool has not are left out. */
  constructor(
    names: readonly string[],
    parts: {
      /** Whose run it is. */
      readonly agent: AgentCapabilities;
      readonly find: (name: string) => ServerSlot | undefined;
      /** Throws E_SERVER_UNKNOWN without a slot, and what opening it throws. */
      readonly open: (name: string, slot: ServerSlot | undefined, signal: AbortSignal) => Promise<Downstream>;
    },
  ) {
    this.#parts = parts;
    for (const name of names) this.#hold(name);
  }

  /** Gets a server as the pool does; a name that is not held yet is held from now on. */
  get(name: string, signal: AbortSignal): Promise<Downstream> {
    return this.#parts.open(name, this.#hold(name), signal);
  }

  /** The entry of one that is held. */
  specOf(name: string): DownstreamSpec | undefined {
    return this.#held.get(name)?.slot.spec;
  }

  /** Whether a question of this server is put to the person just now. */
  isAsking(name: string): boolean {
    return this.#held.get(name)?.slot.isAsking ?? false;
  }

  /** A sentence about what this server wrote while calls waited for its answers; empty where it wrote nothing amiss. */
  insteadSentence(name: string): string {
    return this.#held.get(name)?.slot.insteadSentence(this.#parts.agent) ?? '';
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const { letGo } of this.#held.values()) letGo();
    this.#held.clear();
  }

  #hold(name: string): ServerSlot | undefined {
    const slot = this.#held.get(name)?.slot ?? this.#parts.find(name);
    if (slot !== undefined && !this.#isOver && !this.#held.has(name))
      this.#held.set(name, { slot, letGo: slot.hold(this.#parts.agent) });
    return slot;
  }
}
