// A server's process and everything that it starts: one process group, ended as a whole. npx and `sh -c` put other
// processes between us and the server, so signalling only our child would leave orphans. How each system starts and ends
// them is the business of base/; knows nothing of MCP.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFile } from '../../base/files/is-file.js';
import {
  GROUP_CALLS,
  type GroupCalls,
  groupOptions,
  isGroupAlive,
  onExit,
  signalGroup,
} from '../../base/process/process-group.js';

import { type Start, startOf } from '../../base/process/start-of.js';
import { heardOut } from '../../base/process/streams.js';

export type ProcessCommand = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
};

/** How processes are started and ended; a test gives its own. */
export type ProcessCalls = GroupCalls & {
  readonly spawn: typeof spawn;
  readonly isFile: (path: string) => boolean;
};

const PROCESS_CALLS: ProcessCalls = { ...GROUP_CALLS, spawn, isFile };

export type ProcessExit = { readonly code: number | undefined; readonly signal: string | undefined };

// Hosts send SIGKILL about 500 ms after their first signal, so the whole ladder must fit in that.
const STDIN_GRACE_MS = 100;
const TERM_GRACE_MS = 250;
// SIGKILL cannot be refused, only delayed by a process in uninterruptible sleep; nobody waits longer for that one.
const KILL_GRACE_MS = 1_000;
const POLL_MS = 5;

export class ProcessTree {
  readonly #calls: ProcessCalls;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #unhook: () => void;
  #exit: ProcessExit | undefined;
  #ending: Promise<void> | undefined;

  /** Resolves once the program runs; rejects with Node's own error (`ENOENT`, `EACCES`) when it cannot be started. */
  readonly started: Promise<void>;
  /** The first process has ended, whether or not others of its group live on or hold its pipes. Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** The first process has ended and its output has been read: the moment to tell of its end. Never rejects. */
  readonly heard: Promise<ProcessExit>;

  /**
   * Starts `start` where it is given, such as a shell with a line of the user's, instead of looking the command up. On
   * Windows throws an error with the code ENOENT for a command that is not there, and E_PROCESS for arguments that it
   * cannot be given.
   */
  constructor({ command, args, env, cwd }: ProcessCommand, start?: Start, calls = PROCESS_CALLS) {
    this.#calls = calls;
    const { platform } = calls;
    const place = { platform, env, cwd: cwd ?? '', isFile: calls.isFile };
    const { file, args: argv, isVerbatim } = start ?? startOf(command, args, place);
    this.#child = calls.spawn(file, argv, {
      env,
      ...(cwd === undefined ? {} : { cwd }),
      stdio: ['pipe', 'pipe', 'pipe'],
      ...groupOptions(platform),
      windowsVerbatimArguments: isVerbatim,
    });
    this.#unhook = onExit(() => this.killNow());
    this.started = new Promise((resolve, reject) => {
      this.#child.once('spawn', resolve);
      this.#child.on('error', reject);
    });
    // A failed start that nobody awaits yet is not an unhandled rejection.
    this.started.catch(() => this.#unhook());
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.#exit = { code: code ?? undefined, signal: signal ?? undefined };
        resolve(this.#exit);
      });
    });
    this.heard = this.exited.then(async (exit) => {
      await heardOut([this.stdout, this.stderr]);
      return exit;
    });
  }

  /** False when Node was out of file descriptors: then there are no streams, and `started` rejects with EMFILE. */
  get hasStreams(): boolean {
    return (this.#child.stdout as unknown) !== undefined;
  }

  get stdin(): ChildProcessWithoutNullStreams['stdin'] {
    return this.#child.stdin;
  }

  get stdout(): ChildProcessWithoutNullStreams['stdout'] {
    return this.#child.stdout;
  }

  get stderr(): ChildProcessWithoutNullStreams['stderr'] {
    return this.#child.stderr;
  }

  /** Asks by closing stdin, then by SIGTERM, then kills; resolves when the whole group is gone or killed. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    if (!this.hasStreams) return this.#unhook();
    this.#child.stdin.end();
    if (!(await this.#goneWithin(STDIN_GRACE_MS))) {
      // Windows has no signal that asks, so the closed stdin has all of the time there.
      if (this.#calls.platform !== 'win32') this.#signal('SIGTERM');
      if (!(await this.#goneWithin(TERM_GRACE_MS))) {
        this.#signal('SIGKILL');
      }
    }
    // Only ours is ours to reap: another's may stay a zombie, which cannot be told from a living process.
    if (this.#child.pid !== undefined)
      await Promise.race([this.heard, sleep(KILL_GRACE_MS, undefined, { ref: false })]);
    this.#unhook();
    // A daemon that left the group may still hold the other ends; our ends must not keep the bridge alive.
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
  }

  /** Kills the group without waiting, fit for an exit hook. */
  killNow(): void {
    this.#signal('SIGKILL');
  }

  async #goneWithin(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    while (this.#isAlive()) {
      if (performance.now() >= deadline) return false;
      await sleep(POLL_MS);
    }
    return true;
  }

  #isAlive(): boolean {
    const { pid } = this.#child;
    return pid !== undefined && isGroupAlive(pid, this.#exit !== undefined, this.#calls);
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    const { pid } = this.#child;
    if (pid === undefined || !this.#isAlive()) return;
    signalGroup(pid, signal, this.#exit !== undefined, this.#calls);
  }
}
