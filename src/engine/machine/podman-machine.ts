// The virtual machine that podman needs on macOS and Windows: made when absent, started when stopped, and stopped
// again when it has been idle, but only if we started it and no container runs in it. Everybody who needs it holds
// a lease; those who arrive together share one start. A sandbox that only waits is no use of it: its lease rests, and
// when the machine is to be stopped, what waits is let go of first.

import { spawn } from 'node:child_process';
import { z } from 'zod';
import { asBridgeError, BridgeError, messageOf } from '../../base/errors.js';
import { run, tailOf } from '../../base/process/process.js';
import { groupOptions } from '../../base/process/process-group.js';
import { unlessAborted, waitAtMost } from '../../base/waiting/unless-aborted.js';
import type { EngineMachine, MachineLease, MachineOptions } from '../engine.js';
import { saysMachineRuns } from './client-words.js';

const TIMEOUTS = {
  queryMs: 15_000,
  /** Downloads the machine's disk, several hundred MB. */
  initMs: 900_000,
  startMs: 180_000,
  stopMs: 60_000,
  /** Limit for the look for running containers when the bridge ends: worth more than the 100 ms that it has to end politely. */
  lastLookMs: 1_000,
};
const WAIT_CANCELLED = 'Waiting for the podman machine was cancelled.';
/** Containers that wait are gone in a second or two. */
const LET_GO_MS = 10_000;

const machineList = z.array(
  z.looseObject({ Name: z.string(), Default: z.boolean().optional(), Running: z.boolean().optional() }),
);

/** Whether podman runs containers in a machine on this platform. */
export const needsMachine = (platform: NodeJS.Platform): boolean =>
  platform === 'darwin' || platform === 'win32';

export class PodmanMachine implements EngineMachine {
  readonly #options;
  readonly #timeouts: Readonly<typeof TIMEOUTS>;
  readonly #closing = new AbortController();
  /** How many leases do not rest. */
  #inUse = 0;
  readonly #resting = new Set<MachineLease>();
  #onNoneRests: () => void = () => {};
  #up: Promise<string> | undefined;
  #stopping: Promise<void> | undefined;
  #startedHere: string | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(
    options: MachineOptions & {
      /** Other limits for tests; the defaults allow for a slow disk and a slow network. */
      readonly timeouts?: Partial<typeof TIMEOUTS>;
    },
  ) {
    this.#options = options;
    this.#timeouts = { ...TIMEOUTS, ...options.timeouts };
  }

  async use(signal: AbortSignal): Promise<MachineLease> {
    const lease = this.#newLease();
    try {
      await unlessAborted(this.#whenUp(), signal, { message: WAIT_CANCELLED });
      return lease;
    } catch (thrown) {
      lease[Symbol.dispose]();
      throw thrown;
    }
  }

  async lookAgain(signal: AbortSignal): Promise<void> {
    this.#up = undefined;
    await unlessAborted(this.#whenUp(), signal, { message: WAIT_CANCELLED });
  }

  /** Stops what we started unless containers run; the stop itself outlives us, since it takes seconds. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#closing.abort();
    const name = this.#startedHere;
    this.#startedHere = undefined;
    if (name === undefined || !(await this.#isIdle(this.#timeouts.lastLookMs, new AbortController().signal)))
      return;
    spawn(this.#options.binary, ['machine', 'stop', name], { ...groupOptions(), stdio: 'ignore' })
      .on('error', (error) => this.#options.onProgress(messageOf(error)))
      .unref();
  }

  #whenUp(): Promise<string> {
    // One answer serves all who hold a lease; a later first comer looks again, the user may have stopped it.
    if (this.#up === undefined) {
      const up = this.#bringUp();
      up.catch(() => {
        if (this.#up === up) this.#up = undefined;
      });
      this.#up = up;
    }
    return this.#up;
  }

  async #bringUp(): Promise<string> {
    await this.#stopping;
    const found = await this.#find();
    if (found?.running === true) return found.name;
    if (found === undefined) await this.#command(['init'], this.#timeouts.initMs);
    const name = found?.name ?? (await this.#find())?.name;
    if (name === undefined) throw brokenMachineError('podman machine init made no machine.');
    await this.#start(name);
    return name;
  }

  async #start(name: string): Promise<void> {
    try {
      await this.#command(['start', name], this.#timeouts.startMs);
      this.#startedHere = name;
    } catch (thrown) {
      // Somebody was faster; then it is theirs to stop, too.
      if (!saysMachineRuns(messageOf(thrown))) throw thrown;
    }
  }

  /** The default machine, or the first. */
  async #find(): Promise<{ readonly name: string; readonly running: boolean } | undefined> {
    const text = await this.#command(['list', '--format', 'json'], this.#timeouts.queryMs);
    let machines: z.infer<typeof machineList>;
    try {
      machines = machineList.parse(JSON.parse(text));
    } catch (thrown) {
      throw brokenMachineError('`podman machine list --format json` printed something unexpected.', thrown);
    }
    const machine = machines.find((each) => each.Default === true) ?? machines[0];
    return machine === undefined ? undefined : { name: machine.Name, running: machine.Running === true };
  }

  async #command(args: readonly string[], timeoutMs: number): Promise<string> {
    const { binary, onProgress } = this.#options;
    const spoken = args[0] === 'list' ? {} : { onLine: onProgress };
    try {
      const result = await run([binary, 'machine', ...args], { timeoutMs, ...spoken }, this.#closing.signal);
      if (result.exitCode === 0) return result.stdout;
      throw brokenMachineError(`podman machine ${args.join(' ')} failed: ${tailOf(result)}`);
    } catch (thrown) {
      const error = asBridgeError(thrown);
      throw error.code === 'E_PROCESS' ? brokenMachineError(error.message, error) : error;
    }
  }

  #newLease(): MachineLease {
    let state: 'used' | 'resting' | 'over' = 'used';
    const lease: MachineLease = {
      rest: () => {
        if (state !== 'used') return;
        state = 'resting';
        this.#resting.add(lease);
        this.#endUse();
      },
      resume: () => {
        if (state !== 'resting') return;
        state = 'used';
        this.#resting.delete(lease);
        this.#beginUse();
      },
      [Symbol.dispose]: () => {
        const before = state;
        state = 'over';
        if (before === 'used') this.#endUse();
        else if (this.#resting.delete(lease)) this.#onLetGo();
      },
    };
    this.#beginUse();
    return lease;
  }

  #beginUse(): void {
    this.#inUse += 1;
    clearTimeout(this.#idleTimer);
  }

  #endUse(): void {
    this.#inUse -= 1;
    if (this.#inUse > 0) return;
    this.#onLetGo();
    if (this.#startedHere !== undefined && !this.#closing.signal.aborted) this.#watchIdleness();
  }

  /** Somebody holds nothing any more; where nobody does, the next who comes looks whether the machine still runs. */
  #onLetGo(): void {
    if (this.#resting.size > 0) return;
    this.#onNoneRests();
    if (this.#inUse === 0) this.#up = undefined;
  }

  #watchIdleness(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      this.#stopping ??= this.#stopIfIdle()
        .catch((thrown: unknown) => this.#options.onProgress(messageOf(thrown)))
        .finally(() => {
          this.#stopping = undefined;
        });
    }, this.#options.idleMs);
    this.#idleTimer.unref();
  }

  async #stopIfIdle(): Promise<void> {
    const name = this.#startedHere;
    if (name === undefined) return;
    await this.#letGo();
    if (!(await this.#isIdle(this.#timeouts.queryMs, this.#closing.signal))) {
      if (this.#inUse === 0) this.#watchIdleness();
      return;
    }
    // Somebody may have come while we looked.
    if (this.#inUse > 0) return;
    await this.#command(['stop', name], this.#timeouts.stopMs);
    this.#startedHere = undefined;
    this.#up = undefined;
  }

  /** Resolves when nothing waits in the machine any more, or will not be gone soon. */
  async #letGo(): Promise<void> {
    if (this.#resting.size === 0) return;
    const gone = new Promise<void>((resolve) => {
      this.#onNoneRests = resolve;
    });
    this.#options.letGo();
    await waitAtMost(LET_GO_MS, gone);
  }

  /** Whether no container runs in the machine, ours or anybody's; in doubt it is busy. */
  async #isIdle(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#inUse > 0) return false;
    try {
      const result = await run([this.#options.binary, 'ps', '--quiet'], { timeoutMs }, signal);
      return result.exitCode === 0 && result.stdout.trim() === '';
    } catch {
      return false;
    }
  }
}

function brokenMachineError(message: string, cause?: unknown): BridgeError {
  return new BridgeError('E_ENGINE_BROKEN', message, {
    fault: 'operator',
    remedy: 'Run `podman machine list` and `podman machine start`, and fix what they report.',
    cause,
  });
}
