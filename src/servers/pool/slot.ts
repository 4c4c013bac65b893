// One configured server's place in the pool: idle -> opening -> ready, and back to idle when it crashes or is not
// used, or to resting when it does not start, until its time is over. Everyone who asks while it opens shares that one
// attempt. One that waits for its user's login is idle.

import { BridgeError, messageOf } from '../../base/errors.js';
import { shownName } from '../../base/text/shown-name.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { type AgentCapabilities, Callers } from '../asking/agent-capabilities.js';
import { WaitsForUser } from '../connection/link.js';
import type { ServerContext } from '../server/connect.js';
import { type Downstream, type OpenDownstream, openDownstream } from '../server/downstream.js';

/** A server that crashes at every call is not started again for each: after so many it rests, longer each time. */
const MAX_CRASHES = 3;

/** A server's place as a pool and its leases know it. */
export interface ServerSlot {
  readonly spec: DownstreamSpec;
  readonly state: DownstreamState;
  /** Whether a question of the server is put to a person just now. */
  readonly isAsking: boolean;
  /** A sentence about what came while calls of `agent` waited for their answers; empty where nothing came. */
  insteadSentence(agent: AgentCapabilities): string;
  /** The live server for `agent`, started if need be; no promise where it is there. Throws E_SERVER_UNAVAILABLE at once while it rests. */
  get(agent: AgentCapabilities): Downstream | Promise<Downstream>;
  rootsChanged(agent: AgentCapabilities): void;
  /**
   * Ends it when nobody holds it and its last call has ended; only its holders may still ask for it. `onGone` hears that
   * nothing of it runs any more for this pool.
   */
  retire(onGone: () => void): void;
  /** Keeps it from being ended by a new configuration for a run of `agent`, until what is given back is called. */
  hold(agent: AgentCapabilities): () => void;
  /** Ends it now, whatever it is doing; resolves when its processes are gone. */
  close(): Promise<void>;
}

/**
 * Called before anybody is given the server, and whenever it has listed its tools anew, or has said that it has other
 * `prompts`. It must not throw.
 */
export type OnListed = (downstream: Downstream, of?: 'tools' | 'prompts') => void;

export class Slot implements ServerSlot {
  readonly spec: DownstreamSpec;
  readonly #context: ServerContext;
  readonly #onListed: OnListed;
  readonly #ending = new AbortController();
  #state: SlotState = { at: 'idle', reason: undefined };
  /** Settles when every released server has ended; the next one may be open by then. */
  #closing: Promise<void> = Promise.resolve();
  #failures = 0;
  /** How often in a row it crashed in a call without having answered any; see MAX_CRASHES. */
  #crashes = 0;
  /** Runs that have been given this server and have not ended. */
  #holders = 0;
  readonly #callers: Callers;
  /** The last problems of the server's list of tools, so that a list that is read again and again is told of once. */
  #problemsTold = '';
  /** Once it is retired: who hears that nothing of it runs any more. */
  #onGone: (() => void) | undefined;

  constructor(spec: DownstreamSpec, context: ServerContext, onListed: OnListed, callers = new Callers()) {
    this.spec = spec;
    this.#callers = callers;
    this.#context = context;
    this.#onListed = onListed;
  }

  get(agent: AgentCapabilities): Downstream | Promise<Downstream> {
    this.#callers.noteAgent(agent);
    const state = asOfNow(this.#state);
    switch (state.at) {
      case 'ready':
        this.#serve(state.open, state.inFlight);
        return refreshFirst(state.open);
      case 'opening':
        return state.downstream;
      case 'resting':
        return Promise.reject(restingError(state));
      case 'idle':
        return this.#begin(state);
    }
  }

  get state(): DownstreamState {
    return describe(this.spec.name, asOfNow(this.#state));
  }

  get isAsking(): boolean {
    return this.#open?.isAsking() ?? false;
  }

  insteadSentence(agent: AgentCapabilities): string {
    return this.#open?.insteadSentence(agent) ?? '';
  }

  rootsChanged(agent: AgentCapabilities): void {
    this.#open?.rootsChanged(agent);
  }

  retire(onGone: () => void): void {
    this.#onGone = onGone;
    this.#releaseIfRetired();
  }

  hold(agent: AgentCapabilities): () => void {
    this.#holders++;
    const letGo = this.#callers.hold(agent);
    return () => {
      this.#holders--;
      letGo();
      this.#releaseIfRetired();
    };
  }

  async close(): Promise<void> {
    this.#ending.abort('shutdown');
    const state = this.#state;
    // Opening rejects with E_SHUTDOWN, after it has ended what it had started.
    if (state.at === 'opening') await state.downstream.catch(() => {});
    this.#release();
    await this.#closing;
  }

  get #open(): OpenDownstream | undefined {
    const state = this.#state;
    return state.at === 'ready' ? state.open : undefined;
  }

  #begin(idle: Idle): Promise<Downstream> {
    const downstream = this.#start(idle);
    // All who asked may have gone by the time it fails.
    downstream.catch(() => {});
    this.#state = { at: 'opening', reason: idle.reason, downstream };
    return downstream;
  }

  async #start(idle: Idle): Promise<Downstream> {
    const startedAt = performance.now();
    try {
      const open = await this.#connect();
      this.#onOpen(open, startedAt);
      return open.downstream;
    } catch (thrown) {
      if (this.#state.at === 'opening') this.#onFailed(thrown, idle);
      throw thrown;
    } finally {
      this.#releaseIfRetired();
    }
  }

  async #connect(): Promise<OpenDownstream> {
    const { observer } = this.#context;
    const server = this.spec.name;
    observer({ type: 'downstream.connecting', server });
    const open = await openDownstream(
      this.spec,
      this.#context,
      this.#callers,
      {
        onActivity: (inFlight) => this.#onActivity(open, inFlight),
        onAnswer: () => {
          this.#crashes = 0;
        },
        onListed: () => {
          this.#onListed(open.downstream);
          this.#tellProblems(open.downstream);
        },
        onPromptsChanged: () => this.#onListed(open.downstream, 'prompts'),
        onRefreshFailed: (message) =>
          observer({
            type: 'downstream.failed',
            server,
            message: `The earlier list of tools stays in use: ${message}`,
          }),
      },
      this.#ending.signal,
    );
    return open;
  }

  #onOpen(open: OpenDownstream, startedAt: number): void {
    const { downstream } = open;
    this.#serve(open, 0);
    this.#onListed(downstream);
    this.#failures = 0;
    void downstream.closed.then((reason) => this.#onClosed(open, reason));
    this.#context.observer({
      type: 'downstream.ready',
      server: this.spec.name,
      tools: downstream.tools().length,
      durationMs: performance.now() - startedAt,
    });
    this.#tellProblems(downstream);
  }

  #tellProblems(downstream: Downstream): void {
    const problems = downstream.problems();
    const said = problems.join('\n');
    if (said === this.#problemsTold) return;
    this.#problemsTold = said;
    if (said !== '')
      this.#context.observer({ type: 'downstream.unusable', server: this.spec.name, problems });
  }

  #onFailed(thrown: unknown, idle: Idle): void {
    if (this.#ending.signal.aborted) {
      this.#state = idle;
      return;
    }
    const reason = thrown instanceof BridgeError ? thrown.message : messageOf(thrown);
    const remedy = thrown instanceof BridgeError ? thrown.remedy : undefined;
    // The user's next run may come right after the login.
    this.#state =
      thrown instanceof WaitsForUser
        ? { at: 'idle', reason }
        : { at: 'resting', reason, remedy, until: this.#restUntil(this.#failures++) };
    this.#context.observer({ type: 'downstream.failed', server: this.spec.name, message: reason });
    this.#context.onStartFailed?.(this.spec, reason, remedy);
  }

  #restUntil(earlier: number): number {
    const { restMs, maxRestMs } = this.#context.times;
    return performance.now() + Math.min(maxRestMs, restMs * 2 ** earlier);
  }

  #onClosed(open: OpenDownstream, reason: string): void {
    this.#context.observer({ type: 'downstream.closed', server: this.spec.name, reason });
    const state = this.#state;
    if (state.at !== 'ready' || state.open !== open) return;
    // The calls under way are told after this, so they are still counted here.
    const mustRest = state.inFlight > 0 && ++this.#crashes >= MAX_CRASHES;
    this.#release(
      mustRest
        ? {
            at: 'resting',
            reason: `Server '${shownName(this.spec.name)}' ${reason}, ${this.#crashes} times in a row.`,
            remedy: undefined,
            until: this.#restUntil(this.#crashes - MAX_CRASHES),
          }
        : { at: 'idle', reason: `Server '${shownName(this.spec.name)}' ${reason}.` },
    );
  }

  #onActivity(open: OpenDownstream, inFlight: number): void {
    // Calls of one that has crashed end after the next one has taken its place.
    if (this.#open !== open) return;
    this.#serve(open, inFlight);
    this.#releaseIfRetired();
  }

  /** Starts the idle clock anew; it stands still while calls are under way. */
  #serve(open: OpenDownstream, inFlight: number): void {
    this.#stopClock();
    const { idleMs } = this.#context.times;
    const isTimed = inFlight === 0 && idleMs !== Number.POSITIVE_INFINITY;
    const idleTimer = isTimed ? setTimeout(() => this.#release(), idleMs).unref() : undefined;
    this.#state = { at: 'ready', open, inFlight, idleTimer };
  }

  #stopClock(): void {
    if (this.#state.at === 'ready') clearTimeout(this.#state.idleTimer);
  }

  #releaseIfRetired(): void {
    const state = this.#state;
    const isBusy = state.at === 'opening' || (state.at === 'ready' && state.inFlight > 0);
    if (this.#onGone !== undefined && this.#holders === 0 && !isBusy) this.#release();
  }

  /** Lets go of the live one, if there is one, and has it ended; `#closing` tells when that is done. */
  #release(
    next: Idle | Extract<SlotState, { readonly at: 'resting' }> = { at: 'idle', reason: undefined },
  ): void {
    const state = this.#state;
    if (state.at === 'ready') {
      this.#stopClock();
      this.#state = next;
      this.#closing = Promise.all([this.#closing, state.open.close()]).then(() => {});
    }
    // A run that holds it may have it started again.
    if (this.#onGone !== undefined && this.#holders === 0)
      void this.#closing.then(this.#onGone, this.#onGone);
  }
}

/** The server, with a list that is as good as it says; one that cannot be read again stays. */
function refreshFirst({ downstream, refreshIfStale }: OpenDownstream): Downstream | Promise<Downstream> {
  return refreshIfStale()?.then(() => downstream) ?? downstream;
}

// Where one configured server is: idle, opening, ready or resting, each with the data that it has there. Pure.

/** `reason` is how the server last ended or why it did not start; undefined when neither has happened. */
type Idle = { readonly at: 'idle'; readonly reason: string | undefined };
type SlotState =
  | Idle
  | {
      readonly at: 'opening';
      /** The reason that the idle state before had. */
      readonly reason: string | undefined;
      /** The one attempt that everyone shares who asks meanwhile. */
      readonly downstream: Promise<Downstream>;
    }
  | {
      readonly at: 'ready';
      readonly open: OpenDownstream;
      /** Calls under way. */
      readonly inFlight: number;
      /** Ends it; undefined while calls are under way. */
      readonly idleTimer: NodeJS.Timeout | undefined;
    }
  | {
      readonly at: 'resting';
      readonly reason: string;
      readonly remedy: string | undefined;
      /** End of the rest, by performance.now(). */
      readonly until: number;
    };

/** Facts about a server that are known without starting it. */
export type DownstreamState = {
  readonly name: string;
  readonly state: SlotState['at'];
  /** Their number; undefined unless it is ready. */
  readonly tools: number | undefined;
  readonly problems: readonly string[];
  /** How it last ended or why it did not start; undefined when neither has happened. */
  readonly reason: string | undefined;
  /** While it rests: how long until a call tries again. */
  readonly retryInMs: number | undefined;
};

/** A rest ends by itself: one that is over has become idleness. */
function asOfNow(state: SlotState): SlotState {
  if (state.at !== 'resting' || state.until > performance.now()) return state;
  return { at: 'idle', reason: state.reason };
}

export function describe(name: string, state: SlotState): DownstreamState {
  const live = state.at === 'ready' ? state.open.downstream : undefined;
  return {
    name,
    state: state.at,
    tools: live?.tools().length,
    problems: live?.problems() ?? [],
    reason: state.at === 'ready' ? undefined : state.reason,
    retryInMs: state.at === 'resting' ? msLeft(state.until) : undefined,
  };
}

/** The error for those who ask for the server while it rests. */
function restingError({
  reason,
  remedy: known,
  until,
}: Extract<SlotState, { readonly at: 'resting' }>): BridgeError {
  const later = `It is not tried again at once: retry in ${Math.ceil(msLeft(until) / 1000)} s.`;
  const remedy = known === undefined ? later : `${known} ${later}`;
  return new BridgeError('E_SERVER_UNAVAILABLE', reason, { fault: 'operator', remedy });
}

const msLeft = (until: number): number => Math.max(1, Math.ceil(until - performance.now()));
