// Servers of one user whose bridge several windows share. Windows whose entry, environment, folder and roots are the same have
// one process; any other difference gives a window a process of its own. What one learns of the server, all learn.

import { messageOf } from '../../base/errors.js';
import type { BridgeEvent } from '../../base/log/events.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { type AgentCapabilities, Callers, NO_AGENT } from '../asking/agent-capabilities.js';
import type { ServerContext } from '../server/connect.js';
import type { Downstream } from '../server/downstream.js';
import { type DownstreamState, describe, type ServerSlot, Slot } from './slot.js';

/** An agent that says nothing for so long is taken for one with roots of its own. */
const ROOTS_WITHIN_MS = 5_000;

/** Parts that a window brings. */
export type SlotParts = {
  readonly spec: DownstreamSpec;
  readonly context: ServerContext;
  readonly onListed: (downstream: Downstream) => void;
};

/** One live server, and the windows that use it. */
type Shared = { key: string; readonly slot: Slot; readonly users: Set<WindowSlot> };

/** `windows` are the numbers of those that use it. */
type SharedServerState = DownstreamState & { readonly windows: readonly number[] };

/** All servers of all windows of one process. */
export class SharedSlots {
  readonly #shared = new Map<string, Shared>();

  /** The place of a server for the window of this number; nothing is started. */
  slotFor(window: number, parts: SlotParts): ServerSlot {
    return new WindowSlot(window, parts, this);
  }

  /** Servers that are open, opening or resting. */
  states(): readonly SharedServerState[] {
    return [...this.#shared.values()].map(({ slot, users }) => ({
      ...slot.state,
      windows: [...users].map(({ window }) => window).sort((one, other) => one - other),
    }));
  }

  /** The server of this key, with `user` among its users. */
  join(key: string, user: WindowSlot): Shared {
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      shared = this.#make(key, user.parts);
      this.#shared.set(key, shared);
    }
    shared.users.add(user);
    return shared;
  }

  /** `user` uses it no more. The last one ends it: `end` says how. */
  leave(shared: Shared, user: WindowSlot, end: (slot: Slot) => void): void {
    shared.users.delete(user);
    if (shared.users.size > 0) return;
    if (this.#shared.get(shared.key) === shared) this.#shared.delete(shared.key);
    end(shared.slot);
  }

  /** Renames a server whose only user has become another, unless a server has the new key already; says whether it did. */
  renameKey(shared: Shared, key: string): boolean {
    if (shared.users.size > 1 || this.#shared.has(key)) return false;
    this.#shared.delete(shared.key);
    shared.key = key;
    this.#shared.set(key, shared);
    return true;
  }

  #make(key: string, { spec, context }: SlotParts): Shared {
    const users = new Set<WindowSlot>();
    // Windows come and go: whoever uses it when something happens is told.
    const observer = (event: BridgeEvent) => {
      for (const { parts } of users) parts.context.observer(event);
    };
    const onListed = (downstream: Downstream) => {
      for (const { parts } of users) parts.onListed(downstream);
    };
    return { key, slot: new Slot(spec, { ...context, observer }, onListed, new Callers()), users };
  }
}

/** One window's place for one of its servers. */
class WindowSlot implements ServerSlot {
  readonly window: number;
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

  constructor(window: number, parts: SlotParts, all: SharedSlots) {
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
    let closing: Promise<void> | undefined;
    this.#leave((slot) => {
      closing = slot.close();
    });
    await closing;
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
    const before = this.#shared;
    if (before !== undefined && (before.key === key || this.#all.renameKey(before, key))) return before;
    this.#leave((slot) => slot.retire(() => {}));
    const shared = this.#all.join(key, this);
    this.#shared = shared;
    for (const holder of this.#holders.values()) holder.letGo = shared.slot.hold(holder.agent);
    if (this.#isClosed) await this.close();
    return shared;
  }

  #leaveIfRetired(): void {
    const onGone = this.#onGone;
    if (onGone === undefined || this.#holders.size > 0) return;
    if (this.#shared === undefined) return onGone();
    let isLast = false;
    this.#leave((slot) => {
      isLast = true;
      slot.retire(onGone);
    });
    if (!isLast) onGone();
  }

  #leave(end: (slot: Slot) => void): void {
    const shared = this.#shared;
    if (shared === undefined) return;
    this.#shared = undefined;
    for (const holder of this.#holders.values()) {
      holder.letGo?.();
      holder.letGo = undefined;
    }
    this.#all.leave(shared, this, end);
  }
}

/** All that has to be the same: the whole entry, with its arguments and headers, the environment, folder and roots. */
const keyOf = ({ spec, context }: SlotParts, roots: string): string =>
  JSON.stringify([spec, Object.entries(context.env).sort(), context.cwd, roots]);

/**
 * The roots of an agent as one text. A client that is asked by an answer only (2026-07-28) is not asked ahead of its calls:
 * where it has roots, nobody knows them, and they are taken for its own.
 */
async function rootsOf(agent: AgentCapabilities, window: number): Promise<string> {
  if (agent === NO_AGENT || !agent.hasRoots()) return 'none';
  if (agent.client !== undefined) return `those of window ${window}`;
  try {
    return JSON.stringify(await agent.listRoots(AbortSignal.timeout(ROOTS_WITHIN_MS)));
  } catch (thrown) {
    return `those of window ${window}: ${messageOf(thrown)}`;
  }
}
