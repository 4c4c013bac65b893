// One container behind one `run` client of the engine. The client's death ends nothing, so killing goes by the host
// pid of the container's first process where the engine tells it, and by the container's id always. kill() is
// synchronous: it is also what the exit hook calls.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { onExit } from '../base/exit-hook.js';
import type { Container, ContainerExit } from './engine.js';
import { firstProcess, killFirstProcess } from './first-process.js';

/** How long a killed container's client may take to say so before the container is removed by force. */
const GONE_WITHIN_MS = 3_000;
/** A container is being made for about a tenth of a second. */
const KILL_POLL_MS = 20;

export type LaunchPlan = {
  readonly binary: string;
  readonly argv: readonly string[];
  readonly name: string;
  readonly cidFile: string;
  /** Undefined where the engine's host pids mean nothing to us. */
  readonly pidFile: string | undefined;
  /** Where the engine's helpers write what they must: conmon leaves a file `oom` in its working directory. */
  readonly runDir: string;
  /** Removes by id or name, by force; never rejects. */
  readonly remove: (id: string) => Promise<void>;
};

const readText = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
};

export class CliContainer implements Container {
  readonly name: string;
  readonly exited: Promise<ContainerExit>;
  readonly #plan: LaunchPlan;
  readonly #client: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #removeExitHook: () => void;
  #killTimer: NodeJS.Timeout | undefined;
  #disposing: Promise<void> | undefined;

  constructor(plan: LaunchPlan) {
    this.#plan = plan;
    this.name = plan.name;
    // A process group of its own: a terminal's Ctrl-C must not reach the client before we have decided what it means.
    this.#client = spawn(plan.binary, plan.argv, {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      cwd: plan.runDir,
    });
    this.exited = new Promise((resolve) => {
      this.#client.once('error', () => resolve({ code: undefined, signal: undefined }));
      this.#client.once('exit', (code, signal) =>
        resolve({ code: code ?? undefined, signal: signal ?? undefined }),
      );
    });
    this.#removeExitHook = onExit(() => this.#killNow());
    void this.exited.then(this.#removeExitHook);
  }

  get stdin(): Writable {
    return this.#client.stdin;
  }

  get stdout(): Readable {
    return this.#client.stdout;
  }

  get stderr(): Readable {
    return this.#client.stderr;
  }

  get isRunning(): boolean {
    const { pidFile } = this.#plan;
    return !this.#ended && (pidFile === undefined || firstProcess(pidFile) !== undefined);
  }

  get pid(): number | undefined {
    return this.#plan.pidFile === undefined ? undefined : firstProcess(this.#plan.pidFile);
  }

  kill(): void {
    const { pidFile } = this.#plan;
    if (this.#ended) return;
    if (pidFile === undefined) return this.#killClient();
    if (killFirstProcess(pidFile) || this.#killTimer !== undefined) return;
    // Being made. A client that is killed now leaves a half-made container that it has not told its engine of, so the
    // first process is waited for; a client that makes none ends by itself.
    this.#killTimer = setInterval(() => killFirstProcess(pidFile), KILL_POLL_MS);
    void this.exited.then(() => clearInterval(this.#killTimer));
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  get #ended(): boolean {
    return (
      this.#client.pid === undefined || this.#client.exitCode !== null || this.#client.signalCode !== null
    );
  }

  /** For the exit hook, which cannot wait; what this leaves half-made is found by the next start's sweep. */
  #killNow(): void {
    const { pidFile } = this.#plan;
    if (pidFile === undefined || !killFirstProcess(pidFile)) this.#killClient();
  }

  #killClient(): void {
    if (this.#client.pid === undefined) return;
    try {
      process.kill(-this.#client.pid, 'SIGKILL');
    } catch {
      // The group is gone already.
    }
  }

  async #dispose(): Promise<void> {
    // The channel is closed by now, so what cannot be killed by pid sees the end of its input and ends.
    if (this.#plan.pidFile !== undefined) this.kill();
    const inTime = await Promise.race([
      this.exited.then(() => true),
      delay(GONE_WITHIN_MS).then(() => false),
    ]);
    if (!inTime) this.#killClient();
    const { signal } = await this.exited;
    // A client that ended by itself has removed its container (--rm); one that was killed has not.
    if (signal !== undefined) await this.#plan.remove(readText(this.#plan.cidFile) ?? this.name);
    for (const stream of [this.#client.stdin, this.#client.stdout, this.#client.stderr]) stream.destroy();
    for (const file of [this.#plan.cidFile, this.#plan.pidFile])
      if (file !== undefined) rmSync(file, { force: true });
    this.#removeExitHook();
  }
}

const delay = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
