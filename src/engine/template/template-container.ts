// One sandbox that its clock (clock.ts) has started with the OCI runtime. It has ended when its first process is gone, as any
// container (cli-container.ts). Letting go of the clock's pipe is how it is removed, and the end of our process lets go, too.

import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { environmentWith } from '../../base/process/process.js';
import { groupOptions, signalGroup } from '../../base/process/process-group.js';
import { waitForClose } from '../../base/process/streams.js';
import { openStdioPipes, tooManyOpenFiles } from '../client/stdio-pipes.js';
import type { Container, ContainerExit } from '../engine.js';
import { firstOfBundle, isNoted, removeBundle, removeEnded } from '../machine/bundles.js';
import {
  isLiving,
  KILLED_WITHIN_MS,
  killLiving,
  type Living,
  waitUntilGone,
} from '../machine/first-process.js';
import { type ClockPlan, clockArgv } from './clock.js';

/** How long a clock may take to remove a sandbox whose first process is gone. */
const REMOVED_WITHIN_MS = 10_000;

/** A shell's exit code where there is no such program. */
const NOT_FOUND = 127;

/** The empty folder of a bundle; see clock.ts. */
export const emptyIn = (bundle: string): string => join(bundle, 'empty');

export class TemplateContainer implements Container {
  readonly name: string;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<ContainerExit>;
  readonly #plan: ClockPlan;
  readonly #clock: ChildProcess;
  readonly #pipe: Duplex;
  /** Resolves when the sandbox runs, or when that will never be. */
  readonly #settled: Promise<unknown>;
  readonly #clockLeft: Promise<ContainerExit>;
  #seen: Living | undefined;
  #hasEnded = false;
  #isLaunched = false;
  #disposing: Promise<void> | undefined;

  /** `runDir` is a folder of ours for where there is no /dev/shm. Throws as openStdioPipes does. */
  constructor(plan: ClockPlan, runDir: string) {
    this.#plan = plan;
    this.name = plan.name;
    const pipes = openStdioPipes(runDir, plan.name);
    const [program, ...args] = clockArgv(plan);
    this.#clock = spawn(program, args, {
      stdio: [...pipes.childEnds, 'pipe'],
      ...groupOptions(),
      cwd: emptyIn(plan.bundle),
      env: environmentWith({}),
    });
    pipes.closeChildEnds();
    this.#clockLeft = exitOf(this.#clock);
    // Node gives a child no streams when it is out of file descriptors.
    const pipe = this.#clock.stdio[3] as Duplex | null | undefined;
    if (!pipe) throw tooManyOpenFiles();
    // A clock that somebody has killed does not read.
    pipe.on('error', () => {});
    this.#pipe = pipe;
    const launched = new Promise<void>((resolve) => {
      pipe.once('data', () => {
        this.#isLaunched = true;
        resolve();
      });
    });
    this.#settled = Promise.race([launched, this.#clockLeft]);
    ({ stdin: this.stdin, stdout: this.stdout, stderr: this.stderr } = pipes);
    this.exited = this.#whenEnded();
  }

  get isRunning(): boolean {
    return this.pid !== undefined;
  }

  get pid(): number | undefined {
    const first = this.#first;
    return first !== undefined && !this.#hasEnded && isLiving(first) ? first.pid : undefined;
  }

  /**
   * While it is being made its clock is let go of, which ends it when it is made: a runtime may wait for good for a first process
   * that is killed before its start (cli-container.ts).
   */
  kill(): void {
    const first = this.#first;
    if (first === undefined || !this.#isLaunched) this.#letGo();
    else killLiving(first);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  get #first(): Living | undefined {
    this.#seen ??= firstOfBundle(this.#plan.notes, this.name);
    return this.#seen;
  }

  #letGo(): void {
    this.#pipe.end();
  }

  async #whenEnded(): Promise<ContainerExit> {
    await Promise.all([waitForClose(this.stdout), waitForClose(this.stderr)]);
    await this.#settled;
    // The words of a runtime that could not start it are on stderr.
    const exit = this.#isLaunched ? { code: undefined, signal: undefined } : await this.#clockLeft;
    const first = this.#first;
    if (first !== undefined) await waitUntilGone(first, () => killLiving(first));
    this.#hasEnded = true;
    return exit;
  }

  async #dispose(): Promise<void> {
    this.kill();
    await Promise.race([this.exited, sleep(KILLED_WITHIN_MS, undefined, { ref: false })]);
    const { bundle, notes, isBySystemd } = this.#plan;
    const first = this.#first;
    const isGone = first !== undefined && !isLiving(first);
    // The clock does it where this does not.
    if (isGone && !isBySystemd) await removeEnded(notes, this.name);
    rmSync(bundle, { recursive: true, force: true });
    this.#letGo();
    await Promise.race([this.#clockLeft, sleep(REMOVED_WITHIN_MS, undefined, { ref: false })]);
    if (isNoted(notes, this.name)) await this.#removeWithoutClock();
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
  }

  /** Somebody has killed the clock, or it hangs. */
  async #removeWithoutClock(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#clock;
    if (pid !== undefined && exitCode === null && signalCode === null) signalGroup(pid, 'SIGKILL', false);
    // The next start's sweep removes what is left then.
    await removeBundle(this.#plan.notes, this.name, this.#plan.enter).catch(() => {});
  }
}

/** Never rejects: one that could not be started has failed as a shell says it. */
function exitOf(clock: ChildProcess): Promise<ContainerExit> {
  return new Promise((resolve) => {
    clock.once('error', () => resolve({ code: NOT_FOUND, signal: undefined }));
    clock.once('exit', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
  });
}
