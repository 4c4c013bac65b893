// The composition root where several are served, windows of one user or principals: a bridge for each, over one engine with its
// sandboxes and turns. A bridge is made when it is first needed, and ended with its window, or when nothing of it has been used
// for a while.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { LOCAL_USER, type Principal, rightsOf } from '../../base/principal.js';
import { hideLatest, Redactor } from '../../base/secrets/redact.js';
import { OF_ONE_PROCESS, Scheduler, type TurnLimits, UNLIMITED } from '../../base/waiting/scheduler.js';
import { secretsOf } from '../../hosts/downstream-spec.js';
import { Jobs } from '../../mcp/calls/jobs.js';
import { KeptFiles } from '../../run/artifacts/kept-files.js';
import { ErasInMemory } from '../../servers/connection/greet.js';
import type { Logins } from '../../servers/login/logins.js';
import { SharedSlots, type SlotParts } from '../../servers/pool/shared-slots.js';
import type { Settings } from '../../settings/environment/settings.js';
import { principalKey, principalStateDir, principalStateDirs } from '../../settings/files/state-dir.js';
import { Bridge, type BridgeOptions } from '../../tenant/bridge.js';
import { SandboxService, startsSandboxes } from '../../tenant/sandbox-service.js';
import { PrincipalAccess } from './principal-access.js';
import { NO_BOOK, type PrincipalBook, type PrincipalRules, type TokenExchange } from './principal-rules.js';

/** Parts of a bridge that it does not have from its root, or has in place of the root's. */
export type BridgeTenant = Omit<BridgeOptions, 'settings' | 'service' | 'callTurns' | 'id'> & {
  readonly settings?: Settings;
};

type Live = {
  readonly principalId: string;
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

/** `Who` may carry what `tenantOf` needs besides the principal. */
export class Bridges<Who extends Principal = Principal> implements AsyncDisposable {
  /** Engine, sandboxes and turns of all. */
  readonly service: SandboxService;
  /** Whose call begins next, of an agent or of its code. */
  readonly callTurns: Scheduler;
  /** Servers that several bridges use. */
  readonly slots = new SharedSlots();
  readonly #options;
  readonly #idleMs: number;
  readonly #live = new Map<string, Live>();
  readonly #ending = new Set<Promise<void>>();
  /** Jobs by the id of their principal. */
  readonly #jobs = new Map<string, Jobs>();
  #isClosing = false;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(
    options: ConstructorParameters<typeof SandboxService>[0] & {
      /** Asked whenever a bridge is made; throws as `Bridges.of` says. */
      readonly tenantOf: (principal: Who, root: Bridges<Who>) => BridgeTenant;
      /** Limits of a principal's runs; undefined for one that has none. */
      readonly limitsOf?: (principal: Who) => TurnLimits | undefined;
      /** Without it, calls wait for nothing but their servers. */
      readonly callTurns?: Scheduler;
      /** A bridge that nobody has used for so long is ended; 10 minutes without it. */
      readonly idleMs?: number | undefined;
    },
  ) {
    this.#options = options;
    this.#idleMs = options.idleMs ?? IDLE_MS;
    this.callTurns = options.callTurns ?? new Scheduler({ atOnce: Number.POSITIVE_INFINITY });
    this.service = new SandboxService(options);
  }

  /**
   * The bridge of this principal, made where there is none. It may be ended when it was not used for a while: whoever keeps
   * it longer than one request holds it. Throws E_SETTINGS where the operator's policy cannot be used, E_STATE where the
   * principal's folder cannot be made, E_SHUTDOWN after the end.
   */
  of(principal: Who): Bridge {
    return this.#liveFor(principal).bridge;
  }

  /**
   * As `of`, and it is not ended until what is given back is disposed: for a session. Its `end` ends bridge and jobs at once, and
   * resolves when nothing of them is left.
   */
  hold(
    principal: Who,
  ): Disposable & { readonly bridge: Bridge; readonly jobs: Jobs; readonly end: () => Promise<void> } {
    const live = this.#liveFor(principal);
    live.holders++;
    let isHeld = true;
    return {
      bridge: live.bridge,
      jobs: live.jobs,
      end: () => this.#end(rightsOf(principal), live),
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

  /**
   * Why a further call of this principal would be refused, if `coming` others of its came before it, whatever they ask;
   * undefined where it may be taken. A call that waits for answers is sent again with them, and has to come through.
   */
  refusalAhead(principal: Who, coming: number): BridgeError | undefined {
    const { id } = principal;
    const { settings, limitsOf } = this.#options;
    const limits = limitsOf?.(principal);
    if (limits === undefined || !startsSandboxes(settings)) return undefined;
    if (coming < (this.#jobs.get(id)?.inRound ?? 0)) return undefined;
    return this.service.turns.refusalAhead({ owner: id, limits }, coming);
  }

  /** Bridges that are there now; a principal with several credentials may have several. */
  get live(): ReadonlyArray<Pick<Live, 'principalId' | 'bridge'>> {
    return [...this.#live.values()];
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
      this.slots[Symbol.asyncDispose](),
      this.service[Symbol.asyncDispose](),
    ]);
  }

  #liveFor(principal: Who): Live {
    if (this.#isClosing) throw new BridgeError('E_SHUTDOWN', 'The bridge is closing.', { fault: 'bridge' });
    const key = rightsOf(principal);
    let live = this.#live.get(key);
    if (live === undefined) {
      const [bridge, jobs] = [this.#make(principal), this.jobsOf(principal)];
      live = {
        ...{ principalId: principal.id, bridge, jobs, holders: 0 },
        ...{ usedAt: performance.now(), timer: undefined },
      };
      this.#live.set(key, live);
      if (principal.id !== LOCAL_USER.id) this.#endWhenIdle(key, live);
    }
    live.usedAt = performance.now();
    return live;
  }

  #make(principal: Who): Bridge {
    const { settings, tenantOf } = this.#options;
    const { service, callTurns } = this;
    return new Bridge({ settings, ...tenantOf(principal, this), service, callTurns, id: principal.id });
  }

  #endWhenIdle(key: string, live: Live): void {
    const leftMs = live.usedAt + this.#idleMs - performance.now();
    live.timer = setTimeout(
      () => {
        const { sessions, isBusy } = live.bridge;
        if (live.holders > 0 || isBusy || live.jobs.size + sessions.size > 0) live.usedAt = performance.now();
        if (performance.now() - live.usedAt < this.#idleMs) return this.#endWhenIdle(key, live);
        this.#end(key, live).catch((thrown: unknown) =>
          this.#options.observer({
            type: 'bridge.fault',
            where: 'a bridge that was idle',
            message: messageOf(thrown),
          }),
        );
      },
      Math.max(1, leftMs),
    ).unref();
  }

  #end(key: string, { bridge, jobs, timer }: Live): Promise<void> {
    clearTimeout(timer);
    this.#live.delete(key);
    const ending = bridge[Symbol.asyncDispose]().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    // Another bridge of the principal may go on.
    if ([...this.#live.values()].every((other) => other.jobs !== jobs)) {
      for (const [id, known] of this.#jobs) if (known === jobs) this.#jobs.delete(id);
      jobs[Symbol.dispose]();
    }
    return ending;
  }
}

/** The root for principals, among them the user who started it. */
export function principalBridges({
  settings,
  discovery,
  observer,
  setUpSoftTimeoutMs,
  inbox,
  redactor: ofAll = new Redactor(),
  book = NO_BOOK,
  exchange,
  idleMs,
}: Pick<
  BridgeOptions,
  'settings' | 'discovery' | 'observer' | 'setUpSoftTimeoutMs' | 'redactor' | 'inbox'
> & {
  /** The operator's rules for principals; without a book, there are none. */
  readonly book?: PrincipalBook;
  readonly exchange?: TokenExchange;
  /** As for `Bridges`. */
  readonly idleMs?: number;
}): Bridges {
  const unlimited = Number.POSITIVE_INFINITY;
  // By the rules, or by the settings for every principal where the rules say nothing.
  const limitsOf = ({
    runsAtOnce,
    runsWaiting,
    processorSeconds,
    memoryBytes,
  }: PrincipalRules['quotas']): TurnLimits => ({
    atOnce: runsAtOnce ?? settings.principalConcurrency,
    waiting: runsWaiting ?? settings.principalWaiting,
    processorSeconds: processorSeconds ?? settings.principalCpuSeconds ?? unlimited,
    memoryBytes: memoryBytes ?? settings.principalMemoryBytes ?? unlimited,
  });
  // Shared servers have their own redactor: all read of a failure, and must not learn which texts are secrets of one.
  const redactorOfShared = new Redactor({ redactor: ofAll, owner: 'shared servers' });
  let logins: Promise<Logins> | undefined;
  const ofShared: Partial<SlotParts['context']> = {
    observer,
    redactor: redactorOfShared,
    eras: new ErasInMemory(),
    loginOwner: 'everybody',
    loginFor: async (spec) => {
      logins ??= import('../../servers/login/logins.js').then(
        ({ Logins, proxiesOf }) =>
          new Logins(settings.stateDir, redactorOfShared, proxiesOf(discovery.env), 'everybody'),
      );
      return (await logins).of(spec);
    },
  };
  return new Bridges({
    settings,
    host: discovery.host,
    observer,
    setUpSoftTimeoutMs,
    idleMs,
    // Code calls often and each call is short, so a few of one principal may begin at once.
    callTurns: new Scheduler({
      ...OF_ONE_PROCESS,
      words: { many: 'calls', refused: 'Nothing was called' },
      atOnce: 6,
      ofOne: 4,
    }),
    limitsOf: (principal) =>
      principal.id === LOCAL_USER.id ? undefined : limitsOf(book.rulesOf(principal).quotas),
    tenantOf: (principal, root) => {
      if (principal.id === LOCAL_USER.id) return { discovery, inbox, observer, redactor: ofAll };
      const { id } = principal;
      const told: Observer = (event) => observer({ ...event, principal: id });
      const stateDir = principalStateDir(settings.stateDir, principal);
      const snippetsDir = join(stateDir, 'snippets');
      const redactor = new Redactor({ redactor: ofAll, owner: id });
      // Values that servers inherit from the operator's environment are none of the principal's business.
      redactor.addSecrets(discovery.env, settings.downstreamEnv);
      const { env, host } = discovery;
      const access = new PrincipalAccess({
        principal,
        book,
        env,
        host,
        observer: told,
        exchange,
        redactor,
        onShared: (specs) => root.slots.keep(specs),
      });
      const work = settings.executeWork ?? `mcp-sandbox-bridge-${root.service.instance}-work`;
      return {
        // Read anew each time, since the rules for the principal may change; the operator's own folders are not among them.
        settings: {
          ...settings,
          get data() {
            return access.rules.data;
          },
        },
        discovery,
        inbox,
        observer: told,
        redactor,
        slotFor: ({ spec, context }) => {
          if (spec.isShared !== true) return undefined;
          hideLatest(redactorOfShared, spec.name, secretsOf(spec));
          return root.slots.slotFor({ spec, context: { ...context, ...ofShared }, onListed: () => {} });
        },
        owner: {
          stateDir,
          snippetsDir: existsSync(snippetsDir) ? snippetsDir : undefined,
          access,
          limits: () => limitsOf(access.rules.quotas),
          callLimits: () => {
            const { callsAtOnce, callsWaiting } = access.rules.quotas;
            return {
              ...UNLIMITED,
              begun: callsAtOnce ?? settings.principalCalls,
              waiting: callsWaiting ?? settings.principalCallsWaiting,
            };
          },
          mostSessions: () => access.rules.quotas.sessions ?? settings.sessions.most,
          // Two principals have no volume in common, not even one that the operator has named.
          workVolume: `${work}-${principalKey(settings.stateDir, `work ${id}`).slice(0, 32)}`,
        },
      };
    },
  });
}
