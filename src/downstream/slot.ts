// One configured server's place in the pool: idle -> opening -> ready, and back to idle when it crashes or is not
// used, or to resting when it does not start. Everyone who asks while it opens shares that one attempt.

import { BridgeError, messageOf } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import type { Redactor } from '../base/redact.js';
import type { DownstreamSpec } from '../config/downstream-spec.js';
import type { AgentFace } from './asking/agent-face.js';
import { type Downstream, type OpenDownstream, openDownstream } from './downstream.js';
import { WaitsForUser } from './link.js';
import type { LoginFor } from './remote/server-login.js';

/** What is known of a server without starting it. */
export type DownstreamState = {
  readonly name: string;
  readonly state: 'idle' | 'opening' | 'ready' | 'resting';
  /** Their number; undefined unless it is ready. */
  readonly tools: number | undefined;
  readonly problems: readonly string[];
  /** How it last ended or why it did not start; undefined when neither has happened. */
  readonly reason: string | undefined;
  /** While it rests: how long until a call tries again. */
  readonly retryInMs: number | undefined;
};

export type SlotOptions = {
  readonly env: Readonly<Record<string, string>>;
  readonly connectTimeoutMs: number;
  readonly silenceMs: number;
  readonly idleMs: number;
  /** The first rest after a failed start; each further failure doubles it, up to `maxRestMs`. */
  readonly restMs: number;
  readonly maxRestMs: number;
  readonly observer: Observer;
  readonly redactor: Redactor;
  readonly loginFor?: LoginFor | undefined;
  readonly agent: AgentFace;
  /** Called before anybody is given the server, and whenever it has listed its tools anew; it must not throw. */
  readonly onListed: (downstream: Downstream) => void;
};

/** A server that crashes at every call is not started again for each: after so many it rests, longer each time. */
const MAX_CRASHES = 3;

export class Slot {
  readonly spec: DownstreamSpec;
  readonly #options: SlotOptions;
  readonly #ending = new AbortController();
  #open: OpenDownstream | undefined;
  #opening: Promise<Downstream> | undefined;
  #closing: Promise<void> = Promise.resolve();
  #inFlight = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #failures = 0;
  /** How often in a row it crashed in a call without having answered any; see MAX_CRASHES. */
  #crashes = 0;
  #reason: string | undefined;
  /** Of the reason, as long as it rests for that. */
  #remedy: string | undefined;
  #retryAt = 0;
  #retired = false;
  /** Runs that have been given this server and have not ended. */
  #holders = 0;

  constructor(spec: DownstreamSpec, options: SlotOptions) {
    this.spec = spec;
    this.#options = options;
  }

  /** The live server, started if need be. Throws E_SERVER_UNAVAILABLE at once while it rests. */
  get(): Promise<Downstream> {
    if (this.#open !== undefined) {
      this.#watchIdle();
      return Promise.resolve(this.#open.downstream);
    }
    if (this.#opening === undefined) {
      const restMs = this.#retryAt - performance.now();
      if (restMs > 0) return Promise.reject(this.#restingError(restMs));
      this.#opening = this.#start().finally(() => {
        this.#opening = undefined;
        this.#releaseIfRetired();
      });
      // All who asked may have gone by the time it fails.
      this.#opening.catch(() => {});
    }
    return this.#opening;
  }

  get state(): DownstreamState {
    const live = this.#open?.downstream;
    const restMs = this.#retryAt - performance.now();
    const state = live ? 'ready' : this.#opening ? 'opening' : restMs > 0 ? 'resting' : 'idle';
    return {
      name: this.spec.name,
      state,
      tools: live?.tools().length,
      problems: live?.problems() ?? [],
      reason: live ? undefined : this.#reason,
      retryInMs: state === 'resting' ? Math.ceil(restMs) : undefined,
    };
  }

  get isAsking(): boolean {
    return this.#open?.isAsking() ?? false;
  }

  rootsChanged(): void {
    this.#open?.rootsChanged();
  }

  /** Ends it when nobody holds it and its last call has ended; only its holders may still ask for it. */
  retire(): void {
    this.#retired = true;
    this.#releaseIfRetired();
  }

  /** Keeps it from being ended by a new configuration, until what is given back is called. */
  hold(): () => void {
    this.#holders++;
    return () => {
      this.#holders--;
      this.#releaseIfRetired();
    };
  }

  /** Ends it now, whatever it is doing; resolves when its processes are gone. */
  async close(): Promise<void> {
    this.#ending.abort('shutdown');
    this.#release();
    // Opening rejects with E_SHUTDOWN, after it has ended what it had started.
    await this.#opening?.catch(() => {});
    this.#release();
    await this.#closing;
  }

  async #start(): Promise<Downstream> {
    const { observer, env, connectTimeoutMs, silenceMs, redactor, loginFor, agent } = this.#options;
    const server = this.spec.name;
    const startedAt = performance.now();
    observer({ type: 'downstream.connecting', server });
    try {
      const open = await openDownstream(
        this.spec,
        {
          env,
          connectTimeoutMs,
          silenceMs,
          redactor,
          loginFor,
          agent,
          observer,
          onActivity: (inFlight) => this.#onActivity(open, inFlight),
          onAnswer: () => {
            this.#crashes = 0;
          },
          onListed: () => this.#options.onListed(open.downstream),
          onRefreshFailed: (message) =>
            observer({
              type: 'downstream.failed',
              server,
              message: `The earlier list of tools stays: ${message}`,
            }),
        },
        this.#ending.signal,
      );
      this.#open = open;
      this.#options.onListed(open.downstream);
      this.#inFlight = 0;
      this.#failures = 0;
      this.#reason = undefined;
      void open.downstream.closed.then((reason) => this.#onClosed(open, reason));
      this.#watchIdle();
      const tools = open.downstream.tools().length;
      observer({ type: 'downstream.ready', server, tools, durationMs: performance.now() - startedAt });
      return open.downstream;
    } catch (thrown) {
      if (!this.#ending.signal.aborted) this.#rest(thrown);
      throw thrown;
    }
  }

  #rest(thrown: unknown): void {
    const { observer } = this.#options;
    this.#reason = thrown instanceof BridgeError ? thrown.message : messageOf(thrown);
    this.#remedy = thrown instanceof BridgeError ? thrown.remedy : undefined;
    // The user's next run may come right after the login.
    if (!(thrown instanceof WaitsForUser)) this.#restAfter(this.#failures++);
    observer({ type: 'downstream.failed', server: this.spec.name, message: this.#reason });
  }

  #restAfter(earlier: number): void {
    const { restMs, maxRestMs } = this.#options;
    this.#retryAt = performance.now() + Math.min(maxRestMs, restMs * 2 ** earlier);
  }

  #restingError(restMs: number): BridgeError {
    const reason = this.#reason ?? `Server '${this.spec.name}' could not be started.`;
    const later = `It is not tried again at once: retry in ${Math.ceil(restMs / 1000)} s.`;
    const remedy = this.#remedy === undefined ? later : `${this.#remedy} ${later}`;
    return new BridgeError('E_SERVER_UNAVAILABLE', reason, { fault: 'operator', remedy });
  }

  #onClosed(open: OpenDownstream, reason: string): void {
    this.#options.observer({ type: 'downstream.closed', server: this.spec.name, reason });
    if (this.#open !== open) return;
    this.#reason = `Server '${this.spec.name}' ${reason}.`;
    this.#remedy = undefined;
    // The calls under way are told after this, so they are still counted here.
    if (this.#inFlight > 0 && ++this.#crashes >= MAX_CRASHES) {
      this.#reason = `Server '${this.spec.name}' ${reason}, ${this.#crashes} times in a row.`;
      this.#restAfter(this.#crashes - MAX_CRASHES);
    }
    this.#release();
  }

  #onActivity(open: OpenDownstream, inFlight: number): void {
    // Calls of one that has crashed end after the next one has taken its place.
    if (this.#open !== open) return;
    this.#inFlight = inFlight;
    this.#watchIdle();
    this.#releaseIfRetired();
  }

  #releaseIfRetired(): void {
    const isBusy = this.#holders > 0 || this.#inFlight > 0 || this.#opening !== undefined;
    if (this.#retired && !isBusy) this.#release();
  }

  /** Starts the idle clock anew; it stands still while calls are under way. */
  #watchIdle(): void {
    clearTimeout(this.#idleTimer);
    if (this.#inFlight > 0) return;
    this.#idleTimer = setTimeout(() => this.#release(), this.#options.idleMs);
    this.#idleTimer.unref();
  }

  /** Lets go of the live one and has it ended; `#closing` tells when that is done. */
  #release(): void {
    clearTimeout(this.#idleTimer);
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#closing = Promise.all([this.#closing, open.close()]).then(() => {});
  }
}
