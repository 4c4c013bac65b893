// One container behind one `run` client of the engine. The client's death ends nothing, so killing goes by the host
// pid of the container's first process where the engine tells it, and by the container's id always. kill() is
// synchronous: it is also what the exit hook calls.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { onExit } from '../base/exit-hook.js';
import type { Container, ContainerExit } from './engine.js';

/** How long a killed container's client may take to say so before the container is removed by force. */
const GONE_WITHIN_MS = 1_000;

export type LaunchPlan = {
  readonly binary: string;
  readonly argv: readonly string[];
  readonly name: string;
  readonly cidFile: string;
  /** Undefined where the engine's host pids mean nothing to us. */
  readonly pidFile: string | undefined;
  /** Where the engine's helpers write what they must: conmon leaves a file `oom` in its working directory. */
  readonly runDir: string;
  /** Stands in the command line of the container's first process; a pid without it is not ours to kill. */
  readonly commandMark: string;
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
  #killed = false;
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
    this.#removeExitHook = onExit(() => this.kill());
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

  kill(): void {
    if (this.#ended) return;
    this.#killed = true;
    if (this.#killFirstProcess()) return;
    // Not started yet, or out of reach: end the client's whole group, so that it creates nothing any more.
    this.#killClient();
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

  /** True when the container's first process was there and was killed: the engine then cleans up by itself. */
  #killFirstProcess(): boolean {
    if (this.#plan.pidFile === undefined) return false;
    const pid = Number(readText(this.#plan.pidFile));
    if (!Number.isInteger(pid) || pid <= 1) return false;
    if (readText(`/proc/${pid}/cmdline`)?.includes(this.#plan.commandMark) !== true) return false;
    try {
      process.kill(pid, 'SIGKILL');
      return true;
    } catch {
      return false;
    }
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
    this.kill();
    const inTime = await Promise.race([
      this.exited.then(() => true),
      delay(GONE_WITHIN_MS).then(() => false),
    ]);
    if (!inTime) this.#killClient();
    const exit = await this.exited;
    // A client that ended by itself has removed its container (--rm); one that was killed may have left it.
    if (this.#killed && (exit.signal !== undefined || !inTime)) {
      await this.#plan.remove(readText(this.#plan.cidFile) ?? this.name);
    }
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
