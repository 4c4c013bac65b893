// The sandbox service has what all principals share: the container engine with its images, sandboxes that wait, their set-up,
// and whose turn it is. Nothing of one principal is kept here but its place in the queue.

import { randomBytes } from 'node:crypto';
import { messageOf } from '../base/errors.js';
import { type BridgeEvent, fanOut, type Observer } from '../base/log/events.js';
import { DisposalStack } from '../base/waiting/disposal.js';
import { Scheduler } from '../base/waiting/scheduler.js';
import { canLoad } from '../run/calls/on-demand.js';
import { LATELY_MS } from '../run/queue/run-queue.js';
import { EngineSetUp } from '../run/queue/set-up.js';
import { SoftTimeout } from '../run/queue/soft-timeout.js';
import type { Sandbox } from '../sandbox/conversation/sandbox.js';
import { Launcher, Launchers } from '../sandbox/launch/launcher.js';
import { WarmPools } from '../sandbox/launch/warm-pool.js';
import type { SandboxProfile } from '../sandbox/spec/profile.js';
import { MAX_ASKING_SECONDS } from '../sandbox/spec/spec.js';
import type { AgentCapabilities } from '../servers/asking/agent-capabilities.js';
import type { Settings } from '../settings/environment/settings.js';
import type { HostFacts } from '../settings/files/host-facts.js';
import { type EngineHealth, engineHealth } from './engine-health.js';

/** Time of three runs that each start a container of their own, and of ten. */
const MAX_AHEAD_MS = 1_500;
const MAX_REST_MS = 5_000;
/** Runs that stand still while a person thinks, for each that is under way: each is a container that stays. */
const STANDING_FOR_EACH = 4;

/** Whether some call starts a sandbox; commands that all go to a configured server start none. */
export const startsSandboxes = ({ tools, executeServer }: Settings): boolean =>
  executeServer === undefined || tools.some((name) => name !== 'execute');

export class SandboxService implements AsyncDisposable {
  /** 8 hex digits; no two processes have the same. */
  readonly instance = randomBytes(4).toString('hex');
  readonly launcher: Launcher;
  readonly warm: WarmPools;
  readonly setUp = new EngineSetUp();
  readonly patience: SoftTimeout;
  readonly turns: Scheduler;
  /** Whether sandboxes can be started now. */
  readonly health: EngineHealth;
  /** A sandbox of nobody's pool. */
  readonly start: (kind: SandboxProfile, signal: AbortSignal) => Promise<Sandbox>;
  /** Gets rid of one behind the caller's back. */
  readonly retire: (sandbox: Sandbox) => void;
  readonly #observer: Observer;
  readonly #settings: Settings;
  readonly #owned = new DisposalStack();
  readonly #closing = new AbortController();
  readonly #listeners = new Set<Observer>();
  /** How long, in seconds, the clock of a run of each bridge may stand still until its servers are open. */
  readonly #opensWithin = new Set<() => number>();
  /** Whether a person may be asked for servers while code runs: some agent that calls can. */
  #mayAsk = false;
  /** Whether a person may be asked about single calls. */
  #mayQuestion = false;
  /** Whether servers may have a person asked: some agent that calls can be. */
  #mayElicit = false;
  #hasSwept = false;
  #sweeping: Promise<unknown> | undefined;

  constructor({
    settings,
    host,
    observer,
    setUpSoftTimeoutMs,
  }: {
    readonly settings: Settings;
    readonly host: Pick<HostFacts, 'platform'>;
    readonly observer: Observer;
    /**
     * Milliseconds that a call waits for set-up before it is answered with how far that is; without it, for as long as it
     * takes.
     */
    readonly setUpSoftTimeoutMs?: number | undefined;
  }) {
    const told = fanOut(observer, this.setUp.observe, (event) => this.#tell(event));
    this.#settings = settings;
    this.#observer = told;
    this.patience = new SoftTimeout(setUpSoftTimeoutMs);
    this.turns = new Scheduler({
      atOnce: settings.concurrency,
      windowMs: settings.principalWindowSeconds * 1000,
      standing: STANDING_FOR_EACH * settings.concurrency,
      rests: { withinMs: LATELY_MS, aheadMs: MAX_AHEAD_MS, maxMs: MAX_REST_MS },
    });
    const standstill = () => this.freezeSeconds;
    const letGo = () => this.warm.letGo();
    const open = (other: Settings) => new Launcher(other, host, told, standstill, letGo);
    this.launcher = this.#owned.use(open(settings));
    const launchers = this.#owned.use(new Launchers(settings, this.launcher, open));
    this.health = this.#owned.use(engineHealth(settings, { launcher: this.launcher, launchers }, told));
    this.start = (kind, signal) =>
      launchers.start(kind, signal).catch((thrown: unknown) => {
        if (!signal.aborted) this.health.startFailed(thrown);
        throw thrown;
      });
    this.retire = (sandbox) => launchers.retire(sandbox);
    this.warm = this.#owned.use(
      new WarmPools({
        size: settings.warm,
        start: this.start,
        retire: this.retire,
        isCurrent: (sandbox) => launchers.isCurrent(sandbox),
        onWaits: (sandbox, waits) => launchers.onWaits(sandbox, waits),
        observer: told,
      }),
    );
  }

  /** `listener` hears what happens to engine, images and sandboxes, until what is given back is called. */
  listen(listener: Observer): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** `seconds` says how long servers of a bridge may take to open, until what is given back is called. */
  waitForServers(seconds: () => number): () => void {
    this.#opensWithin.add(seconds);
    return () => void this.#opensWithin.delete(seconds);
  }

  /**
   * How long the clock of a run may stand still in a sandbox that starts now, whoever gets it: until its servers are open,
   * while code has a person asked for another server, while a person is asked about its calls or by its servers, and until
   * there is a place again for a run that stood still meanwhile.
   */
  get freezeSeconds(): number {
    const opening = Math.max(0, ...[...this.#opensWithin].map((seconds) => seconds()));
    const { approveWaitSeconds, maxTimeoutSeconds } = this.#settings;
    const waits = Number(this.#mayQuestion) + Number(this.#mayElicit);
    const asking = (this.#mayAsk ? MAX_ASKING_SECONDS : 0) + waits * approveWaitSeconds;
    return opening + (asking > 0 ? asking + maxTimeoutSeconds : 0);
  }

  /** Learns that `agent` calls: the clock of a sandbox that waits is too short for the first agent who can be asked. */
  expect(agent: AgentCapabilities): void {
    const { autoload } = this.#settings;
    const { form, url } = agent.elicits();
    const mayAsk = this.#mayAsk || (autoload === 'ask' && canLoad(autoload, agent));
    const mayElicit = this.#mayElicit || form || url;
    if (mayAsk === this.#mayAsk && mayElicit === this.#mayElicit) return;
    this.#mayAsk = mayAsk;
    this.#mayElicit = mayElicit;
    this.warm.letGo();
  }

  /** Learns that a bridge's policy has a person asked about calls: the clock of a sandbox that waits is too short for that. */
  expectQuestions(): void {
    if (this.#mayQuestion) return;
    this.#mayQuestion = true;
    this.warm.letGo();
  }

  /** Removes the containers that bridges which died left behind, once in our life. */
  sweepOnce(): void {
    if (!this.#hasSwept) void this.sweep();
  }

  /** Removes now the containers that dead bridges left behind. Never rejects: trouble is logged, since it concerns no call. */
  async sweep(): Promise<void> {
    this.#hasSwept = true;
    this.#sweeping ??= this.launcher
      .sweep(this.#closing.signal)
      .catch((thrown: unknown) => {
        if (!this.#closing.signal.aborted)
          this.#observer({ type: 'engine.trouble', message: messageOf(thrown) });
      })
      .finally(() => {
        this.#sweeping = undefined;
      });
    await this.#sweeping;
  }

  /** Ends every container; resolves when they are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort('shutdown');
    await Promise.allSettled([this.#owned[Symbol.asyncDispose](), this.#sweeping]);
  }

  #tell(event: BridgeEvent): void {
    this.health.observe(event);
    for (const listener of this.#listeners) listener(event);
  }
}
