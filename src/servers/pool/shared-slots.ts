// Servers that several pools use. Windows of one user whose entry, environment, folder and roots are the same have one process;
// any other difference gives a window a process of its own. What one learns of the server, all learn. Principals have one
// process, or one session, of what the operator has named as shared; it can ask nobody, since what it asks after the call of one
// principal could be put to another.

import { isDeepStrictEqual } from 'node:util';
import { BridgeError, messageOf } from '../../base/errors.js';
import type { BridgeEvent } from '../../base/log/events.js';
import { shownName } from '../../base/text/shown-name.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { type AgentCapabilities, Callers, NO_AGENT } from '../asking/agent-capabilities.js';
import type { ServerContext } from '../server/connect.js';
import type { Downstream } from '../server/downstream.js';
import { type DownstreamState, describe, type OnListed, type ServerSlot, Slot } from './slot.js';

/** An agent that says nothing for so long is taken for one with roots of its own. */
const ROOTS_WITHIN_MS = 5_000;

/** Parts that a pool brings. */
export type SlotParts = {
  readonly spec: DownstreamSpec;
  readonly context: ServerContext;
  readonly onListed: OnListed;
};

/** One live server, and its users, which are pools. */
type Shared = { key: string; readonly slot: Slot; readonly users: Set<PoolSlot> };

/** All servers of one process that several pools use. */
export class SharedSlots implements AsyncDisposable {
  readonly #shared = new Map<string, Shared>();
  /** Entries of servers that stay where nobody uses them. */
  #kept: readonly DownstreamSpec[] = [];
  /** Used by nobody, until their last call has ended and their processes are gone. */
  readonly #retired = new Set<Slot>();

  /**
   * The place of a server for the window of this number, or for a principal; nothing is started. What a principal brings must be
   * everybody's, since the server is started with what one of them brings.
   */
  slotFor(parts: SlotParts, window?: number): ServerSlot {
    return new PoolSlot(window, parts, this);
  }

  /** Keeps the servers of these entries from now on, whoever uses them; one of another entry ends when no run holds it. */
  keep(specs: readonly DownstreamSpec[]): void {
    this.#kept = specs;
    for (const [key, shared] of this.#shared) {
      if (this.#isKept(shared)) continue;
      for (const user of shared.users) if (!user.isHeld) user.leave();
      if (shared.users.size > 0) continue;
      this.#shared.delete(key);
      this.retire(shared.slot);
    }
  }

  /** Ends one that nobody uses after its last call; `onGone` hears when its processes are gone. */
  retire(slot: Slot, onGone = () => {}): void {
    this.#retired.add(slot);
    slot.retire(() => {
      this.#retired.delete(slot);
      onGone();
    });
  }

  /** Servers that are open, opening or resting; `windows` are the numbers of those that use it. */
  states(): ReadonlyArray<DownstreamState & { readonly windows: readonly number[] }> {
    return [...this.#shared.values()].map(({ slot, users }) => ({
      ...slot.state,
      windows: [...users].flatMap(({ window }) => window ?? []).sort((one, other) => one - other),
    }));
  }

  /** The server of this key, with `user` among its users. */
  join(key: string, user: PoolSlot): Shared {
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      shared = this.#make(key, user);
      this.#shared.set(key, shared);
    }
    shared.users.add(user);
    return shared;
  }

  /** `user` uses it no more. Gives the slot where that was the last one: it is to be ended then. */
  leave(shared: Shared, user: PoolSlot): Slot | undefined {
    shared.users.delete(user);
    if (shared.users.size > 0 || this.#isKept(shared)) return undefined;
    if (this.#shared.get(shared.key) === shared) this.#shared.delete(shared.key);
    return shared.slot;
  }

  /** Renames a server whose only user has become another, unless a server has the new key already; says whether it did. */
  renameKey(shared: Shared, key: string): boolean {
    if (shared.users.size > 1 || this.#shared.has(key)) return false;
    this.#shared.delete(shared.key);
    shared.key = key;
    this.#shared.set(key, shared);
    return true;
  }

  /** Ends what there is; resolves when it is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    const slots = [...this.#shared.values()].map(({ slot }) => slot);
    await Promise.all([...slots, ...this.#retired].map((slot) => slot.close()));
  }

  #isKept({ slot }: Shared): boolean {
    return this.#kept.some((spec) => isDeepStrictEqual(spec, slot.spec));
  }

  #make(key: string, { window, parts: { spec, context, onListed } }: PoolSlot): Shared {
    const users = new Set<PoolSlot>();
    if (window === undefined)
      return { key, slot: new Slot(spec, context, onListed, new Callers(false)), users };
    // Windows come and go: whoever uses it when something happens is told.
    const observer = (event: BridgeEvent) => {
      for (const { parts } of users) parts.context.observer(event);
    };
    const tellListed: OnListed = (...told) => {
      for (const { parts } of users) parts.onListed(...told);
    };
    return { key, slot: new Slot(spec, { ...context, observer }, tellListed), users };
  }
}

/** One pool's place for one of its servers. */
class PoolSlot implements ServerSlot {
  readonly window: number | undefined;
  readonly parts: SlotParts;
  readonly #all: SharedSlots;
  #shared: Shared | undefined;
  /** Under way: which server it is to be. */
  #placing: Promise<Shared> | undefined;
  /** Whether the window's roots may be others than those under which it was placed. */
  #mustLook = false;
  readonly #holders = new Map<
    object,
    { readonly agent: AgentCapabilities; letGo: (() => void) | undefined }
  >();
  #onGone: (() => void) | undefined;
  #isClosed = false;

  constructor(window: number | undefined, parts: SlotParts, all: SharedSlots) {
    this.window = window;
    this.parts = parts;
    this.#all = all;
  }

  get spec(): DownstreamSpec {
    return this.parts.spec;
  }

  get state(): DownstreamState {
    return this.#shared?.slot.state ?? describe(this.spec.name, { at: 'idle', reason: undefined });
  }

  /** Whether some run has it. */
  get isHeld(): boolean {
    return this.#holders.size > 0;
  }

  get isAsking(): boolean {
    return this.#shared?.slot.isAsking ?? false;
  }

  insteadSentence(agent: AgentCapabilities): string {
    return this.#shared?.slot.insteadSentence(agent) ?? '';
  }

  async get(agent: AgentCapabilities): Promise<Downstream> {
    return await (await this.#place(agent)).slot.get(agent);
  }

  rootsChanged(agent: AgentCapabilities): void {
    this.#mustLook = true;
    // A window that shares its server has another one from the next call on; where it is alone, the server itself is told.
    if (this.#shared?.users.size === 1) this.#shared.slot.rootsChanged(agent);
  }

  hold(agent: AgentCapabilities): () => void {
    const mark = {};
    this.#holders.set(mark, { agent, letGo: this.#shared?.slot.hold(agent) });
    return () => {
      this.#holders.get(mark)?.letGo?.();
      this.#holders.delete(mark);
      this.#leaveIfRetired();
    };
  }

  retire(onGone: () => void): void {
    this.#onGone = onGone;
    this.#leaveIfRetired();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#placing?.catch(() => {});
    await this.leave()?.close();
  }

  #place(agent: AgentCapabilities): Promise<Shared> {
    if (this.#shared !== undefined && !this.#mustLook) return Promise.resolve(this.#shared);
    this.#placing ??= this.#findPlace(agent).finally(() => {
      this.#placing = undefined;
    });
    return this.#placing;
  }

  async #findPlace(agent: AgentCapabilities): Promise<Shared> {
    this.#mustLook = false;
    const key = keyOf(this.parts, await rootsOf(agent, this.window));
    // The close of this slot waits for this, and of one that has left its pool nobody would end what it joins.
    if (this.#isClosed || (this.#onGone !== undefined && !this.isHeld))
      throw new BridgeError(
        'E_SHUTDOWN',
        `Server '${shownName(this.spec.name)}' was not started: whoever asked for it has gone.`,
        { fault: 'bridge' },
      );
    const before = this.#shared;
    if (before !== undefined && (before.key === key || this.#all.renameKey(before, key))) return before;
    const last = this.leave();
    if (last !== undefined) this.#all.retire(last);
    const shared = this.#all.join(key, this);
    this.#shared = shared;
    for (const holder of this.#holders.values()) holder.letGo = shared.slot.hold(holder.agent);
    return shared;
  }

  #leaveIfRetired(): void {
    const onGone = this.#onGone;
    if (onGone === undefined || this.isHeld) return;
    const last = this.leave();
    if (last === undefined) onGone();
    else this.#all.retire(last, onGone);
  }

  /** As SharedSlots.leave. */
  leave(): Slot | undefined {
    const shared = this.#shared;
    if (shared === undefined) return undefined;
    this.#shared = undefined;
    for (const holder of this.#holders.values()) {
      holder.letGo?.();
      holder.letGo = undefined;
    }
    return this.#all.leave(shared, this);
  }
}

/** All that has to be the same: the whole entry, with its arguments and headers, the environment, folder and roots. */
const keyOf = ({ spec, context }: SlotParts, roots: string): string =>
  JSON.stringify([spec, Object.entries(context.env).sort(), context.cwd, roots]);

/**
 * The roots of an agent as one text. A client that is asked by an answer only (2026-07-28) is not asked ahead of its calls:
 * where it has roots, nobody knows them, and they are taken for its own.
 */
async function rootsOf(agent: AgentCapabilities, window: number | undefined): Promise<string> {
  if (window === undefined || agent === NO_AGENT || !agent.hasRoots()) return 'none';
  if (agent.client !== undefined) return `those of window ${window}`;
  try {
    return JSON.stringify(await agent.listRoots(AbortSignal.timeout(ROOTS_WITHIN_MS)));
  } catch (thrown) {
    return `those of window ${window}: ${messageOf(thrown)}`;
  }
}
