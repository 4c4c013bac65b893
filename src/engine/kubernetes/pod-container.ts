// One pod as a container: its three streams are those of an exec, its end is the pod's deletion. What speaks with the cluster comes
// as a promise, since a container is there from the moment its start was asked for.

import { PassThrough, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../base/errors.js';
import { onExit } from '../../base/process/process-group.js';
import type { Container, ContainerExit, EngineOptions, SandboxSpec } from '../engine.js';
import type { Cluster, RunningPod } from './cluster.js';

/** The reason of a loss is asked for once, and a cluster that does not answer is one. */
const WHY_WITHIN_MS = 5_000;
/** By then the answer of a run has gone, which its pod's removal would only delay. */
const REMOVED_AFTER_MS = 50;

/** As in pod-state.ts, which has been loaded by then: every bridge loads this file, whatever its engine is. */
const inOneLine = (thrown: unknown): Promise<string> =>
  import('./pod-state.js').then(
    (state) => state.inOneLine(thrown),
    () => messageOf(thrown),
  );

export class PodContainer implements Container {
  readonly name: string;
  readonly stdin: Writable;
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exited: Promise<ContainerExit>;
  /** It is another machine's. */
  readonly pid = undefined;
  readonly #cluster: Promise<Cluster>;
  readonly #closing = new AbortController();
  readonly #running: Promise<RunningPod>;
  readonly #removeExitHook: () => void;
  #hasEnded = false;
  #removal: Promise<void> | undefined;

  constructor(cluster: Promise<Cluster>, spec: SandboxSpec, options: EngineOptions) {
    this.name = spec.name;
    this.#cluster = cluster;
    this.#running = cluster.then(({ pods }) =>
      pods.run(spec, options, { stdout: this.stdout, stderr: this.stderr }, this.#closing.signal),
    );
    const written = (task: (pod: RunningPod) => Promise<void>, done: (error?: Error | null) => void) =>
      void this.#running.then(task).then(() => done(), done);
    this.stdin = new Writable({
      write: (chunk: Buffer, _encoding, done) => written((pod) => pod.write(chunk), done),
      final: (done) => written((pod) => pod.closeInput(), done),
    });
    this.stdin.on('error', () => {});
    this.exited = this.#whenEnded();
    // Nothing can be sent from an exit hook. The connection goes with the process, the harness ends when its input does, and the
    // pod when the harness has (pod-programs.ts).
    this.#removeExitHook = onExit(() => this.#closing.abort());
  }

  get isRunning(): boolean {
    return !this.#hasEnded;
  }

  kill(): void {
    this.#closing.abort();
    this.#removal ??= this.#remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#removal ??= this.#removeSoon();
    await this.#removal;
    await this.exited;
    this.stdin.destroy();
    for (const stream of [this.stdout, this.stderr]) stream.destroy();
  }

  async #whenEnded(): Promise<ContainerExit> {
    let exit: ContainerExit = { code: undefined, signal: undefined };
    try {
      exit = await (await this.#running).exited;
      // An exec whose node is gone is told as a success; its program never ends so.
      const isLost = exit.code === undefined || exit.code === 0;
      if (isLost && this.#removal === undefined) await this.#sayWhyLost();
    } catch (thrown) {
      if (this.#removal === undefined) this.stderr.write(`${await inOneLine(thrown)}\n`);
      exit = { code: 1, signal: undefined };
    }
    this.#hasEnded = true;
    this.#removeExitHook();
    this.stdout.end();
    this.stderr.end();
    // A pod is used once.
    this.#removal ??= this.#removeSoon();
    return exit;
  }

  /** The connection has ended, and nobody has said how the harness has: the cluster may know. */
  async #sayWhyLost(): Promise<void> {
    const { pods } = await this.#cluster;
    this.stderr.write(`${await pods.whyLost(this.name, AbortSignal.timeout(WHY_WITHIN_MS))}\n`);
  }

  /** Never rejects. Its code has ended, or is about to, since its input has. */
  async #removeSoon(): Promise<void> {
    await sleep(REMOVED_AFTER_MS);
    this.#closing.abort();
    await this.#remove();
  }

  /** Never rejects; a pod that cannot be removed is removed by its own clock, and its rest by the next sweep. */
  async #remove(): Promise<void> {
    // One that is being made must not come after its removal.
    await this.#running.catch(() => {});
    const cluster = await this.#cluster.catch(() => undefined);
    await cluster?.pods.removeSurely(this.name);
  }
}
