// One run of hostile code through the real bridge, watched from the host: what it says it got, how it ended, what was
// seen of it meanwhile. Judges nothing.

import { textBeside } from '../../base/files/read-text.js';
import type { JsonObject } from '../../base/json/records.js';
import { type BridgeEvent, fanOut, type Observer } from '../../base/log/events.js';
import type { ContainerFacts } from '../../engine/engine.js';
import type { DiscoverContext } from '../../hosts/discovery/discover.js';
import { byCommandLine } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { scalesFor } from '../../sandbox/limits/measure.js';
import { WRITABLE } from '../../sandbox/spec/spec.js';
import type { Settings } from '../../settings/environment/settings.js';
import { Bridge } from '../../tenant/bridge.js';
import { bundleOf, bytesIn, firstProcessOf, type HostLook, hostLook, isAlive } from './host-look.js';
import { pythonCall } from './walls.js';

/** Often enough to see what a watchdog sees, seldom enough to cost little: a look takes about a millisecond. */
const POLL_MS = 20;
const GONE_WITHIN_MS = 3_000;

export type Seen = {
  readonly outcome: Outcome;
  /** False when the code never ran: then the outcome says why, and nothing of its walls. */
  readonly started: boolean;
  /** Time from the code's start to the answer. */
  readonly ranMs: number;
  /** Undefined where the container's processes are not to be seen from here. */
  readonly host: HostLook | undefined;
  /** Facts that the engine gave of the container while it ran; asked for only where `host` cannot be seen. */
  readonly told: ContainerFacts | undefined;
  /** The most memory that was seen, by the probe or by the watchdog; undefined where nobody looked. */
  readonly peakBytes: number | undefined;
  /** Bytes by which what the engine keeps of the container grew on disk, at most. */
  readonly keptBytes: number | undefined;
  /** Whether its first process was gone soon after the answer; undefined where that is not to be seen. */
  readonly gone: boolean | undefined;
};

export type Attack = {
  readonly code: string;
  readonly timeoutSeconds: number;
  /** Whether the probe weighs the container while it runs. */
  readonly weighs?: true;
};

/** A bridge for attacks, which tells its containers' names apart. */
export class AttackedBridge implements AsyncDisposable {
  readonly bridge: Bridge;
  readonly #settings: Settings;
  #container = '';
  #breachBytes: number | undefined;

  constructor(settings: Settings, discovery: DiscoverContext, observer: Observer) {
    this.#settings = settings;
    const noting = (event: BridgeEvent) => {
      if (event.type === 'sandbox.started') this.#container = event.container;
      if (event.type === 'sandbox.limit' && event.limit === 'memory') this.#breachBytes = event.seen;
    };
    // Nobody waits, and libraries are not what is attacked.
    const lean = { ...settings, warm: 0, preimport: [] };
    this.bridge = new Bridge({ settings: lean, discovery, observer: fanOut(observer, noting) });
  }

  async run({ code, timeoutSeconds, weighs }: Attack, signal: AbortSignal): Promise<Seen> {
    let startedAt: number | undefined;
    let pid: number | undefined;
    let host: HostLook | undefined;
    let poll: NodeJS.Timeout | undefined;
    let weighed: number | undefined;
    let keptBytes: number | undefined;
    let told: Promise<ContainerFacts | undefined> | undefined;
    this.#breachBytes = undefined;
    const { engine } = await this.bridge.launcher.pad();
    // Attacks are made on sandboxes that are started as most of a long-lived bridge's are.
    await this.bridge.launcher.prepare(signal);
    const onStart = () => {
      startedAt = performance.now();
      const { stateDir } = this.#settings;
      pid = firstProcessOf(stateDir, this.#container);
      if (pid === undefined) {
        told = engine.factsOf?.(this.#container, signal).catch(() => undefined);
        return;
      }
      const first = pid;
      host = hostLook(first, stateDir, this.#container, {
        ...this.#settings,
        pids: engine.hostTasks(this.#settings.pids),
      });
      const scales = scalesFor(first, WRITABLE);
      const bundle = bundleOf(first, stateDir, this.#container);
      const before = bundle === undefined ? 0 : bytesIn(bundle);
      poll = setInterval(() => {
        if (weighs) weighed = Math.max(weighed ?? 0, scales.weigh() ?? 0);
        if (bundle !== undefined) keptBytes = Math.max(keptBytes ?? 0, bytesIn(bundle) - before);
      }, POLL_MS);
    };
    try {
      const input = { task: { type: 'cell', code } as const, servers: [], files: [], timeoutSeconds };
      const context = byCommandLine(signal, ({ type }) => {
        if (type === 'started') onStart();
      });
      const outcome = await this.bridge.run(input, context);
      const ranMs = startedAt === undefined ? 0 : performance.now() - startedAt;
      clearInterval(poll);
      const gone = pid === undefined ? undefined : await isGone(pid);
      const peakBytes = Math.max(weighed ?? 0, this.#breachBytes ?? 0) || undefined;
      const started = startedAt !== undefined;
      return { outcome, started, ranMs, host, told: await told, peakBytes, keptBytes, gone };
    } finally {
      clearInterval(poll);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bridge[Symbol.asyncDispose]();
  }
}

async function isGone(pid: number): Promise<boolean> {
  const end = performance.now() + GONE_WITHIN_MS;
  while (isAlive(pid)) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return true;
}

// The attacks on the limits, which are functions of limits.py, and how much they take.

/** Small enough that a machine without enforcement does not notice, and more than the interpreter needs. */
export const MEMORY_LIMIT_MB = 64;
/** Beyond the limit. */
const EXCESS_MB = 64;
const TARGET_MB = MEMORY_LIMIT_MB + EXCESS_MB;
const STEP_MB = 4;
export const ALL_TAKEN = 'all taken';

/** The interpreter and the harness need a few; a limit below that would end the run, not the attack. */
export const PIDS_LIMIT = 24;
const EXCESS_PIDS = 8;

/** How much an attacker prints, and how much of that may be found on disk. */
export const FLOOD_MB = 8;
/** The second one where the first was over before the code began, as on a slow machine. */
export const DEADLINES_SECONDS = [1, 10] as const;

/** Each pair has two buffers, and the kernel rounds their size up: without a bound they take twice the limit. */
const SOCKET_PAIRS = 640;
const SOCKET_PAIR_KB = 200;

const CODE = textBeside(new URL('./limits.py', import.meta.url));
const attack = (name: string, given: JsonObject): string => `${CODE}\n${pythonCall(name, given)}`;

const taken = { target_mb: TARGET_MB, step_mb: STEP_MB, all_taken: ALL_TAKEN };

export const MEMORY_ATTACKS = {
  private: attack('private', taken),
  shared: attack('shared', taken),
  tmpfs: attack('tmpfs', taken),
  sockets: attack('sockets', { pairs: SOCKET_PAIRS, pair_kb: SOCKET_PAIR_KB, all_taken: ALL_TAKEN }),
};

export const pidsAttack = (limit: number): string =>
  attack('processes', { wanted: limit + EXCESS_PIDS, all_taken: ALL_TAKEN });

/** Floods its output, then spins, deaf to every signal that can be ignored. */
export const DEADLINE_ATTACK = attack('deadline', { flood_mb: FLOOD_MB });

/** As deaf, and idle. */
export const IDLE_ATTACK = attack('outlive', {});
