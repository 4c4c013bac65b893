// The composition root where several principals are served: a bridge for each, over one engine with its sandboxes and turns.
// A bridge is made when its principal first needs it, and ended when nothing of it has been used for a while.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import type { BridgeEvent, Observer } from '../../base/log/events.js';
import { LOCAL_USER, type Principal, rightsOf } from '../../base/principal.js';
import { Redactor } from '../../base/secrets/redact.js';
import {
  OF_ONE_PROCESS,
  type RefusedTurn,
  Scheduler,
  type Turn,
  type TurnLimits,
  UNLIMITED,
} from '../../base/waiting/scheduler.js';
import { Jobs } from '../../mcp/calls/jobs.js';
import { KeptFiles } from '../../run/artifacts/kept-files.js';
import type { Logins } from '../../servers/login/logins.js';
import { idleTimes } from '../../servers/pool/pool.js';
import { SharedServers } from '../../servers/pool/shared-servers.js';
import type { Settings } from '../../settings/environment/settings.js';
import { principalKey, principalStateDir, principalStateDirs } from '../../settings/files/state-dir.js';
import { Bridge, type BridgeOptions } from '../../tenant/bridge.js';
import { SandboxService, startsSandboxes } from '../../tenant/sandbox-service.js';
import { PrincipalAccess } from './principal-access.js';
import { NO_BOOK, type PrincipalBook, type Quotas, type TokenExchange } from './principal-rules.js';

type BridgesOptions = Pick<
  BridgeOptions,
  'settings' | 'discovery' | 'observer' | 'setUpSoftTimeoutMs' | 'redactor' | 'inbox'
> & {
  /** The operator's rules for principals; without a book, there are none. */
  readonly book?: PrincipalBook;
  readonly exchange?: TokenExchange;
  /** A bridge that nobody has used for so long is ended; 10 minutes without it. */
  readonly idleMs?: number;
};

type Live = {
  readonly bridge: Bridge;
  readonly jobs: Jobs;
  holders: number;
  /** When the bridge was last used, by performance.now(). */
  usedAt: number;
  timer: NodeJS.Timeout | undefined;
};

const IDLE_MS = 10 * 60_000;
/**
 * Another instance may die at any time, and files of clients that do not come back expire. A sweep costs two commands of
 * the engine.
 */
const SWEEP_EVERY_MS = 15 * 60_000;
/** A request costs a few milliseconds of the process, so one is begun at a time. */
const REQUEST_TURNS = {
  ...OF_ONE_PROCESS,
  words: { one: 'request', many: 'requests', refused: 'Nothing was done' },
  atOnce: 1,
} as const;
/** Requests of one principal that wait; a further one is refused. */
const REQUESTS_WAITING = 1_000;
/** Code calls often and each call is short, so a few of one principal may begin at once. */
const CALL_TURNS = {
  ...OF_ONE_PROCESS,
  words: { one: 'call', many: 'calls', refused: 'Nothing was called' },
  atOnce: 6,
  ofOne: 4,
} as const;

export class Bridges implements AsyncDisposable {
  /** Engine, sandboxes and turns of all. */
  readonly service: SandboxService;
  /** Whose request is begun next. */
  readonly #requestTurns = new Scheduler(REQUEST_TURNS);
  /** Whose call begins next, of an agent or of its code. */
  readonly callTurns = new Scheduler(CALL_TURNS);
  readonly #options: BridgesOptions;
  readonly #book: PrincipalBook;
  readonly #redactor: Redactor;
  readonly #idleMs: number;
  readonly #live = new Map<string, Live>();
  readonly #ending = new Set<Promise<void>>();
  /** Jobs by the id of their principal. */
  readonly #jobs = new Map<string, Jobs>();
  #shared: SharedServers | undefined;
  #isClosing = false;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(options: BridgesOptions) {
    const { settings, discovery, observer, setUpSoftTimeoutMs, redactor = new Redactor() } = options;
    this.#options = options;
    this.#book = options.book ?? NO_BOOK;
    this.#redactor = redactor;
    this.#idleMs = options.idleMs ?? IDLE_MS;
    this.service = new SandboxService({ settings, host: discovery.host, observer, setUpSoftTimeoutMs });
  }

  /**
   * The bridge of this principal, made where there is none. It may be ended when it was not used for a while: whoever keeps
   * it longer than one request holds it. Throws E_SETTINGS where the operator's policy cannot be used, E_STATE where the
   * principal's folder cannot be made, E_SHUTDOWN after the end.
   */
  of(principal: Principal): Bridge {
    return this.#liveFor(principal).bridge;
  }

  /** As `of`, and it is not ended until what is given back is disposed: for a session. */
  hold(principal: Principal): Disposable & { readonly bridge: Bridge; readonly jobs: Jobs } {
    const live = this.#liveFor(principal);
    live.holders++;
    let isHeld = true;
    return {
      bridge: live.bridge,
      jobs: live.jobs,
      [Symbol.dispose]: () => {
        if (isHeld) live.holders--;
        isHeld = false;
        live.usedAt = performance.now();
      },
    };
  }

  /**
   * The jobs of this principal, of all the principal's bridges: a client that has got a wider credential goes on with the
   * call for which it asked. Handle, state and task that name a job are known to their client alone.
   */
  jobsOf({ id }: Principal): Jobs {
    const jobs = this.#jobs.get(id) ?? new Jobs(this.#options.settings.keepSeconds);
    this.#jobs.set(id, jobs);
    return jobs;
  }

  /** Resolves when the turn of a request of `owner` has come, or with why it has none; also when `signal` ends the wait. */
  async requestTurn(owner: string, signal: AbortSignal): Promise<Turn | RefusedTurn> {
    const limits = { ...UNLIMITED, waiting: REQUESTS_WAITING };
    return await this.#requestTurns.place({ owner, limits, memoryBytes: 0 }, signal).turn;
  }

  /** How many there are now. */
  get size(): number {
    return this.#live.size;
  }

  /**
   * How many runs' ends somebody waits for: of bridges with a run or call under way, and of jobs that go on after an answer or
   * whose end nobody has fetched.
   */
  get busy(): number {
    const running = [...this.#live.values()].filter(({ bridge }) => bridge.isBusy).length;
    return [...this.#jobs.values()].reduce((sum, { unfinished }) => sum + unfinished, running);
  }

  /**
   * Removes what bridges that died have left: containers, and of all principals the kept files that have expired, also of
   * those that never come back. Never rejects.
   */
  async sweep(): Promise<void> {
    const { settings } = this.#options;
    const { keepSeconds, keepBytes: quotaBytes, stateDir: root } = settings;
    const containers = startsSandboxes(settings) ? this.service.sweep() : undefined;
    for (const stateDir of [root, ...principalStateDirs(root)]) {
      if (this.#isClosing) return;
      using kept = new KeptFiles({ stateDir, keepSeconds, quotaBytes });
      await kept.sweep();
    }
    await containers;
  }

  /** Does so now, and again and again until its end. */
  sweepRegularly(everyMs = SWEEP_EVERY_MS): void {
    clearInterval(this.#sweeping);
    this.#sweeping = setInterval(() => void this.sweep(), everyMs).unref();
    void this.sweep();
  }

  /** Ends every run, server and container; resolves when they are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#sweeping);
    for (const jobs of this.#jobs.values()) jobs[Symbol.dispose]();
    // Ahead of the bridges: nothing more is started for any of them.
    this.service.warm[Symbol.dispose]();
    const bridges = [...this.#live.values()].map(({ bridge, timer }) => {
      clearTimeout(timer);
      return bridge[Symbol.asyncDispose]();
    });
    this.#live.clear();
    await Promise.allSettled([
      ...bridges,
      ...this.#ending,
      this.#shared?.[Symbol.asyncDispose](),
      this.service[Symbol.asyncDispose](),
    ]);
  }

  #liveFor(principal: Principal): Live {
    if (this.#isClosing) throw new BridgeError('E_SHUTDOWN', 'The bridge is closing.', { fault: 'bridge' });
    const key = rightsOf(principal);
    let live = this.#live.get(key);
    if (live === undefined) {
      const [bridge, jobs] = [this.#make(principal), this.jobsOf(principal)];
      live = { bridge, jobs, holders: 0, usedAt: performance.now(), timer: undefined };
      this.#live.set(key, live);
      if (principal.id !== LOCAL_USER.id) this.#endWhenIdle(key, live);
    }
    live.usedAt = performance.now();
    return live;
  }

  #make(principal: Principal): Bridge {
    const { settings, discovery, observer, inbox } = this.#options;
    const { callTurns, service } = this;
    const common = { settings, discovery, inbox, service, callTurns };
    if (principal.id === LOCAL_USER.id) return new Bridge({ ...common, observer, redactor: this.#redactor });
    const { id } = principal;
    const told: Observer = (event: BridgeEvent) => observer({ ...event, principal: id });
    const stateDir = principalStateDir(settings.stateDir, principal);
    const snippetsDir = join(stateDir, 'snippets');
    const redactor = new Redactor({ redactor: this.#redactor, owner: id });
    // Values that servers inherit from the operator's environment are none of the principal's business.
    redactor.addSecrets(discovery.env, settings.downstreamEnv);
    const access = new PrincipalAccess({
      principal,
      book: this.#book,
      env: discovery.env,
      host: discovery.host,
      observer: told,
      exchange: this.#options.exchange,
      redactor,
    });
    return new Bridge({
      ...common,
      // Read anew each time, since the rules for the principal may change; the operator's own folders are not among them.
      settings: {
        ...settings,
        get data() {
          return access.rules.data;
        },
      },
      observer: told,
      redactor,
      owner: {
        id,
        stateDir,
        snippetsDir: existsSync(snippetsDir) ? snippetsDir : undefined,
        access,
        shared: this.#sharedServers(),
        limits: () => limitsOf(access.rules.quotas, settings),
        callLimits: () => callLimitsOf(access.rules.quotas, settings),
        mostSessions: () => access.rules.quotas.sessions ?? settings.sessions.most,
        workVolume: this.#workVolumeOf(id),
      },
    });
  }

  #forgetJobs(forgotten: Jobs): void {
    if ([...this.#live.values()].some(({ jobs }) => jobs === forgotten)) return;
    for (const [id, jobs] of this.#jobs) if (jobs === forgotten) this.#jobs.delete(id);
    forgotten[Symbol.dispose]();
  }

  /** Two principals have no volume in common, not even one that the operator has named. */
  #workVolumeOf(id: string): string {
    const { executeWork, stateDir } = this.#options.settings;
    const name = executeWork ?? `mcp-sandbox-bridge-${this.service.instance}-work`;
    return `${name}-${principalKey(stateDir, `work ${id}`).slice(0, 32)}`;
  }

  #sharedServers(): SharedServers {
    if (this.#shared !== undefined) return this.#shared;
    const { settings, discovery, observer } = this.#options;
    // Shared servers have their own redactor: all read of a failure, and must not learn which texts are secrets of one.
    const redactor = new Redactor({ redactor: this.#redactor, owner: 'shared servers' });
    let opened: Promise<Logins> | undefined;
    const logins = () => {
      opened ??= import('../../servers/login/logins.js').then(
        ({ Logins, proxiesOf }) =>
          new Logins(settings.stateDir, redactor, proxiesOf(discovery.env), 'everybody'),
      );
      return opened;
    };
    this.#shared = new SharedServers({
      names: () => this.#book.sharedServers(),
      pool: {
        hostEnv: discovery.env,
        extraEnvNames: settings.downstreamEnv,
        depth: settings.depth,
        times: idleTimes(settings),
        observer,
        redactor,
        loginOwner: 'everybody',
        loginFor: async (spec) => (await logins()).of(spec),
      },
    });
    return this.#shared;
  }

  #endWhenIdle(key: string, live: Live): void {
    const leftMs = live.usedAt + this.#idleMs - performance.now();
    live.timer = setTimeout(
      () => {
        const { sessions, isBusy } = live.bridge;
        if (live.holders > 0 || isBusy || live.jobs.size + sessions.size > 0) live.usedAt = performance.now();
        if (performance.now() - live.usedAt < this.#idleMs) return this.#endWhenIdle(key, live);
        this.#live.delete(key);
        this.#end(live.bridge);
        this.#forgetJobs(live.jobs);
      },
      Math.max(1, leftMs),
    ).unref();
  }

  #end(bridge: Bridge): void {
    const ending = bridge[Symbol.asyncDispose]()
      .catch((thrown: unknown) =>
        this.#options.observer({
          type: 'bridge.fault',
          where: 'a bridge that was idle',
          message: messageOf(thrown),
        }),
      )
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

/** Limits of a principal's runs: by the rules, or by the settings for every principal where the rules say nothing. */
function limitsOf(quotas: Quotas, settings: Settings): TurnLimits {
  const unlimited = Number.POSITIVE_INFINITY;
  return {
    atOnce: quotas.runsAtOnce ?? settings.principalConcurrency,
    waiting: quotas.runsWaiting ?? settings.principalWaiting,
    processorSeconds: quotas.processorSeconds ?? settings.principalCpuSeconds ?? unlimited,
    memoryBytes: quotas.memoryBytes ?? settings.principalMemoryBytes ?? unlimited,
  };
}

/** Limits of a principal's calls: by the rules, or by the settings for every principal where the rules say nothing. */
const callLimitsOf = ({ callsAtOnce, callsWaiting }: Quotas, settings: Settings): TurnLimits => ({
  ...UNLIMITED,
  begun: callsAtOnce ?? settings.principalCalls,
  waiting: callsWaiting ?? settings.principalCallsWaiting,
});
