// One container that one `run` client of the engine has started. A detached client leaves as soon as it runs, an attached
// one stays until the container's end. A container has ended when its first process is gone. That its streams are closed
// is no end: code inside could close them and go on, so then it is killed. The client's death ends nothing, so killing
// goes by the host pid of the first process where the engine tells it, and otherwise by the engine, which is told to remove
// the container. kill() is synchronous: it is also what the exit hook calls.

import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { readText } from '../../base/files/read-text.js';
import { environmentWith } from '../../base/process/process.js';
import { groupOptions, onExit, signalGroup } from '../../base/process/process-group.js';
import { waitForClose } from '../../base/process/streams.js';
import type { Container, ContainerExit, Engine } from '../engine.js';
import {
  firstProcess,
  isLiving,
  KILL_POLL_MS,
  killFirstProcess,
  killLiving,
  type Living,
  livingAt,
  runsHere,
  waitUntilGone,
  withMonitor,
} from '../machine/first-process.js';
import { openStdioPipes, tooManyOpenFiles } from './stdio-pipes.js';

/** How long a killed container may take to be gone before it is removed by force. */
const GONE_WITHIN_MS = 3_000;
/** Between two requests to remove a container that is still being made, and cannot be removed before it is there. */
const REMOVE_AGAIN_MS = 200;
/**
 * podman hands these variables to its monitor (conmon), and no others of the kind. Without one that knows UTF-8 the monitor
 * refuses every path with other letters than ASCII, and with it the container.
 */
const LOCALE = { LC_ALL: 'C.UTF-8' };

export type ClientCommand = {
  readonly binary: string;
  readonly argv: readonly string[];
  /**
   * Who holds our end of the container's three streams. `detached`: the container itself, since the client passes our
   * pipes through and leaves. `attached`: the client copies them and stays.
   */
  readonly launch: Engine['launch']['launch'];
  readonly name: string;
  readonly cidFile: string;
  /** Undefined where the engine's host pids mean nothing to us. */
  readonly pidFile: string | undefined;
  /** Where the engine's helpers write what they must: conmon leaves a file `oom` in its working directory. */
  readonly runDir: string;
  /** Added to the client's environment; undefined takes a variable away. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Removes by id or name, by force, which kills what runs; never rejects. */
  readonly remove: (id: string) => Promise<void>;
  /** The command that `remove` runs for the container's name, for the exit hook, which cannot wait. */
  readonly removeCommand: readonly [string, ...string[]];
};

/** The processes of a container in the moment in which its detached client had left, as far as they could be seen. */
type Launched = {
  /** The pid of the engine's monitor. */
  readonly monitor: number | undefined;
  /** The container's first process. */
  readonly first: Living | undefined;
};

export class CliContainer implements Container {
  readonly name: string;
  readonly exited: Promise<ContainerExit>;
  readonly #plan: ClientCommand;
  readonly #client: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly #removeExitHook: () => void;
  /** Undefined while there is a client, and for good where the client stays or has made no container. */
  #launched: Launched | undefined;
  #hasEnded = false;
  #killTimer: NodeJS.Timeout | undefined;
  #disposing: Promise<void> | undefined;
  /** The container's removal by the engine: how it is killed where its first process cannot be seen. */
  #removal: Promise<void> | undefined;

  /** Throws E_PROCESS where there are no descriptors left for its pipes. */
  constructor(plan: ClientCommand) {
    this.#plan = plan;
    this.name = plan.name;
    // A detached client hands its own streams on to the container, so these must not be sockets of the host's.
    const pipes = plan.launch === 'detached' ? openStdioPipes(plan.runDir, plan.name) : undefined;
    // A process group of its own: a terminal's Ctrl-C must not reach the client before we have decided what it means.
    const client = spawn(plan.binary, plan.argv, {
      stdio: pipes === undefined ? ['pipe', 'pipe', 'pipe'] : [...pipes.childEnds],
      ...groupOptions(),
      cwd: plan.runDir,
      env: environmentWith({ ...LOCALE, ...plan.env }),
    });
    pipes?.closeChildEnds();
    const clientExited = exitOf(client);
    const { stdin, stdout, stderr } = pipes ?? client;
    // Node gives a child no streams when it is out of file descriptors.
    if (!stdin || !stdout || !stderr) throw tooManyOpenFiles();
    this.stdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
    this.#client = client;
    // Node destroys the `stdin` of a child that has exited; ours is the container's, which goes on.
    this.#client.stdin = null;
    this.exited = this.#whenEnded(clientExited);
    this.#removeExitHook = onExit(() => this.#killNow());
  }

  get isRunning(): boolean {
    const { pidFile } = this.#plan;
    return !this.#hasEnded && (pidFile === undefined || firstProcess(pidFile) !== undefined);
  }

  get pid(): number | undefined {
    return this.#plan.pidFile === undefined ? undefined : firstProcess(this.#plan.pidFile);
  }

  kill(): void {
    const { pidFile } = this.#plan;
    if (this.#hasEnded) return;
    if (pidFile === undefined) {
      this.#removal ??= this.#removeUntilEnded();
      return;
    }
    if (this.#launched !== undefined) {
      this.#killFirst(pidFile);
      return;
    }
    if (this.#killTimer !== undefined) return;
    // Being made. A client that is killed now leaves a half-made container that it has not told its engine of. A first
    // process that is killed between its creation and its start is waited for by crun 1.8 for good, and by the client, which
    // holds the engine's lock: every other command of the engine would hang. So the client is waited for.
    this.#killTimer = setInterval(() => {
      if (this.#launched !== undefined) this.#killFirst(pidFile);
    }, KILL_POLL_MS);
    void this.exited.then(() => clearInterval(this.#killTimer));
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  /** Asked again while its client stays, since a container that is being made is not there yet; never rejects. */
  async #removeUntilEnded(): Promise<void> {
    // A first process that has not been greeted yet ends by itself when its input does.
    this.stdin.destroy();
    const until = performance.now() + GONE_WITHIN_MS;
    do {
      await this.#plan.remove(this.name);
      await Promise.race([this.exited, sleep(REMOVE_AGAIN_MS, undefined, { ref: false })]);
    } while (!this.#hasEnded && performance.now() < until);
    if (this.#hasEnded) return;
    this.#killClient();
    await this.exited;
    await this.#plan.remove(this.name);
  }

  async #whenEnded(clientExited: Promise<ContainerExit>): Promise<ContainerExit> {
    const streamsClosed = Promise.all([waitForClose(this.stdout), waitForClose(this.stderr)]);
    const exit = await clientExited;
    if (this.#plan.launch === 'detached' && exit.code === 0) {
      this.#launched = this.#lookAtProcesses();
      await streamsClosed;
      const { first } = this.#launched;
      const isGone = first === undefined || (await waitUntilGone(first, () => this.kill()));
      if (!isGone) return { code: undefined, signal: undefined };
    }
    this.#hasEnded = true;
    this.#removeExitHook();
    return this.#launched !== undefined ? { code: undefined, signal: undefined } : exit;
  }

  /** Also where its monitor, by which it is known otherwise, has been killed. False when there was none to kill. */
  #killFirst(pidFile: string): boolean {
    if (killFirstProcess(pidFile)) return true;
    const first = this.#launched?.first;
    return first !== undefined && killLiving(first);
  }

  #lookAtProcesses(): Launched {
    const { pidFile } = this.#plan;
    const found = pidFile === undefined ? undefined : withMonitor(pidFile);
    return { monitor: found?.monitor, first: found && livingAt(found.pid) };
  }

  /** Kills the container from the exit hook, which cannot wait; one left half-made is found by the next start's sweep. */
  #killNow(): void {
    const { pidFile } = this.#plan;
    if (pidFile === undefined) this.#askForRemoval();
    else if (this.#launched !== undefined) {
      this.#killFirst(pidFile);
      return;
    }
    // Created, and started in a moment (see kill); its input ends with us, and so does it.
    else if (firstProcess(pidFile) !== undefined) return;
    this.#killClient();
  }

  /** Outlives us. A container that nobody removes ends when its input does, or by the engine's own clock. */
  #askForRemoval(): void {
    const [program, ...args] = this.#plan.removeCommand;
    try {
      spawn(program, args, {
        stdio: 'ignore',
        ...groupOptions(),
        env: environmentWith(this.#plan.env),
      })
        .on('error', () => {})
        .unref();
    } catch {
      // There are no processes left to be had; see above.
    }
  }

  #killClient(): void {
    // One that has left has left its pid to others.
    if (this.#client.pid === undefined || this.#launched !== undefined || this.#hasEnded) return;
    signalGroup(this.#client.pid, 'SIGKILL', this.#client.exitCode !== null);
  }

  /** Whether somebody has killed the container's monitor, which removes a container that has ended. */
  get #hasLostMonitor(): boolean {
    const { pidFile } = this.#plan;
    const monitor = this.#launched?.monitor;
    return pidFile !== undefined && monitor !== undefined && !runsHere(monitor, pidFile);
  }

  async #isRemovedByEngine(inTime: boolean): Promise<boolean> {
    if (this.#launched !== undefined) return inTime;
    return (await this.exited).signal === undefined;
  }

  /** Ends a client that does not leave, then the container it has made: the client may wait for that container to start. */
  async #endWithClient(): Promise<void> {
    const { pidFile } = this.#plan;
    if (this.#launched !== undefined) return;
    this.#killClient();
    await this.exited;
    if (pidFile !== undefined) killFirstProcess(pidFile);
  }

  async #dispose(): Promise<void> {
    const hasLostMonitor = this.#hasLostMonitor;
    // The channel is closed by now, so what has ended its run, or waits, sees the end of its input and ends.
    if (this.#plan.pidFile !== undefined) this.kill();
    await this.#removal;
    const inTime = await Promise.race([
      this.exited.then(() => true),
      sleep(GONE_WITHIN_MS, false, { ref: false }),
    ]);
    if (!inTime) await this.#endWithClient();
    // The engine removes a container that has ended (--rm), but not one whose client was killed, nor one that is deaf.
    if (hasLostMonitor || !(await this.#isRemovedByEngine(inTime)))
      await this.#plan.remove(readText(this.#plan.cidFile)?.trim() || this.name);
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
    // These files lead the next start to a container that could not be ended.
    const first = this.#launched?.first;
    if (first !== undefined && isLiving(first)) return;
    for (const file of [this.#plan.cidFile, this.#plan.pidFile])
      if (file !== undefined) rmSync(file, { force: true });
    this.#removeExitHook();
  }
}

/** Never rejects: a client that could not be started has ended, too. */
function exitOf(client: ChildProcess): Promise<ContainerExit> {
  return new Promise((resolve) => {
    client.once('error', () => resolve({ code: undefined, signal: undefined }));
    client.once('exit', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
  });
}
