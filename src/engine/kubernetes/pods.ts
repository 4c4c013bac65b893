// Pods as sandboxes: made, or claimed where some wait in pools of the cluster, entered once their wall was seen, and deleted; found
// again by their labels.

import type { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../base/errors.js';
import {
  INSTANCE_LABEL,
  isAlive,
  ownerFrom,
  ownerLabelNames,
  ownerLabels,
  thisOwner,
} from '../../base/process/owner.js';
import type { ContainerFacts, EngineOptions, SandboxSpec } from '../engine.js';
import { type Api, ApiError, type ApiObject } from './api.js';
import { type ExecStreams, execIn } from './exec-streams.js';
import type { ClusterFiles } from './files.js';
import type { NetworkWall } from './network-wall.js';
import { type OwnerReference, ownersOf } from './own-pod.js';
import { enterCommand, type Witness } from './pod-programs.js';
import { GRACE_SECONDS, type PodWishes, podOf } from './pod-spec.js';
import { lossOf, waitForPod } from './pod-state.js';
import { wallsOf } from './pod-walls.js';
import { type ClaimedPod, POOL_DOOR, SandboxClaims } from './sandbox-claims.js';

/** A policy comes into force within a second, on a busy node within some. */
const WALL_WITHIN_SECONDS = 15;
/** By then a cluster has noticed that a node is gone, or somebody has that it is broken. */
const AVOIDED_MS = 60_000;
/** Between tries to make a pod whose name another one still has. */
const SAME_NAME_RETRY_MS = 200;
/** Between tries to delete a pod, doubled each time. */
const FIRST_RETRY_MS = 500;
const DELETE_TRIES = 8;

type PlacedPod = { readonly door: string; readonly node: string };
export type RunningPod = Pick<ExecStreams, 'write' | 'closeInput' | 'exited'>;

export class Pods {
  /** Where pods come from besides those that are made here. */
  readonly claims: SandboxClaims;
  readonly #api: Api;
  readonly #files: ClusterFiles;
  readonly #wall: NetworkWall;
  /** By the name of its sandbox; any other sandbox is a pod of its own name. */
  readonly #claimed = new Map<string, ClaimedPod>();
  #owners: Promise<readonly OwnerReference[]> | undefined;
  /** Nodes that may be gone or broken, and until when no pod is to go there, by performance.now(). */
  readonly #avoided = new Map<string, number>();

  constructor(api: Api, files: ClusterFiles, wall: NetworkWall) {
    this.#api = api;
    this.#files = files;
    this.#wall = wall;
    this.claims = new SandboxClaims(api);
  }

  /** Makes the pod, and resolves when its program has been started. Throws why it was not. */
  async run(
    spec: SandboxSpec,
    options: EngineOptions,
    output: { readonly stdout: PassThrough; readonly stderr: PassThrough },
    signal: AbortSignal,
  ): Promise<RunningPod> {
    const { instance, ociRuntime, acceptsOpenNetwork } = options;
    const wishes: PodWishes = {
      files: this.#files.of(spec.image),
      labels: ownerLabels(instance, thisOwner()),
      owners: await this.#ownersOf(signal),
      runtime: ociRuntime?.name,
      walls: this.#api.walls,
      avoids: [...this.#avoided].filter(([, until]) => until > performance.now()).map(([node]) => node),
    };
    await this.#wall.raise(signal);
    let looking: Promise<Witness | undefined> | undefined;
    // As soon as the pod has its node: one is only there to show that the other's wall is one.
    const whenPlaced = (node: string) => {
      looking ??= acceptsOpenNetwork
        ? Promise.resolve(undefined)
        : this.#witnessOn(node, spec, wishes, instance, signal);
      looking.catch(() => {});
      return looking;
    };
    const { door, node } =
      (await this.#claim(spec, wishes, options, signal)) ??
      (await this.#start(spec, wishes, whenPlaced, signal));
    const witness = await whenPlaced(node);
    signal.throwIfAborted();
    const command = enterCommand({ ...spec, name: door }, { witness, seconds: WALL_WITHIN_SECONDS });
    return execIn(this.#api, this.#podOf(spec.name), command, output);
  }

  /** As NetworkWall.witness(). Where it shows nothing, new pods go to other nodes for a while. */
  async #witnessOn(
    node: string,
    spec: SandboxSpec,
    wishes: PodWishes,
    instance: string,
    signal: AbortSignal,
  ): Promise<Witness> {
    try {
      return await this.#wall.witness(spec, wishes, { instance, node }, signal);
    } catch (thrown) {
      if (!signal.aborted) this.#avoid(node);
      throw thrown;
    }
  }

  /** The name at which the first process of a pod waits that was claimed, and the pod's node; undefined where none could be. */
  async #claim(
    spec: SandboxSpec,
    wishes: PodWishes,
    options: EngineOptions,
    signal: AbortSignal,
  ): Promise<PlacedPod | undefined> {
    const claimed = await this.claims.take(spec, wishes, options, signal);
    if (claimed === undefined) return undefined;
    this.#claimed.set(spec.name, claimed);
    return { door: POOL_DOOR, node: claimed.pod.spec.nodeName };
  }

  /** As #claim(), of a pod that is made now. `whenPlaced` is told its node before the pod runs. */
  async #start(
    spec: SandboxSpec,
    wishes: PodWishes,
    whenPlaced: (node: string) => void,
    signal: AbortSignal,
  ): Promise<PlacedPod> {
    await this.#make(podOf(spec, wishes), signal);
    const pod = await waitForPod(this.#api, spec.name, signal, ({ spec: { nodeName }, status }) => {
      if (nodeName !== undefined) whenPlaced(nodeName);
      return status?.containerStatuses?.[0]?.state?.running !== undefined;
    });
    return { door: spec.name, node: pod.spec.nodeName };
  }

  #podOf(sandbox: string): string {
    return this.#claimed.get(sandbox)?.pod.metadata.name ?? sandbox;
  }

  /** Undefined where it is gone: the cluster gives a claim another pod of the same name then. */
  async #find(sandbox: string, signal: AbortSignal): Promise<ApiObject | undefined> {
    const pod = await this.#api.find(this.#api.path('pods', this.#podOf(sandbox)), signal);
    const claimed = this.#claimed.get(sandbox)?.pod;
    return claimed === undefined || claimed.metadata.uid === pod?.metadata.uid ? pod : undefined;
  }

  /** A second try of a start has the name of the first one, whose pod may not be gone yet. */
  async #make(pod: ReturnType<typeof podOf>, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      try {
        // A request that was given up may be carried out after the deletion of the pod that it makes: it is waited for.
        await this.#api.ask('POST', this.#api.path('pods'), new AbortController().signal, pod);
        return;
      } catch (thrown) {
        if (!(thrown instanceof ApiError) || thrown.status !== 409) throw thrown;
        await sleep(SAME_NAME_RETRY_MS, undefined, { signal });
      }
    }
  }

  #ownersOf(signal: AbortSignal): Promise<readonly OwnerReference[]> {
    const owners = this.#owners ?? ownersOf(this.#api, signal);
    this.#owners = owners;
    owners.catch(() => {
      this.#owners = undefined;
    });
    return owners;
  }

  /** The reason why a pod has ended, or is just ending, by the cluster; undefined where it runs, as far as the cluster knows. */
  async whyEnded(name: string, signal: AbortSignal): Promise<string | undefined> {
    const pod = await this.#find(name, signal);
    if (pod === undefined) return `its pod ${this.#podOf(name)} was deleted`;
    return lossOf(pod, await this.#nodeOf(String(pod.spec.nodeName), signal));
  }

  /**
   * Why the connection to a pod that ran has ended, in the cluster's words. A cluster notices late that a node is gone: where it
   * knows of no reason, new pods go to other nodes for a while.
   */
  async whyLost(name: string, signal: AbortSignal): Promise<string> {
    const known = await this.whyEnded(name, signal);
    if (known !== undefined) return known;
    const node = String((await this.#find(name, signal))?.spec.nodeName);
    this.#avoid(node);
    return `the connection to its pod ${this.#podOf(name)} on ${node} has ended, and the cluster knows of no reason yet: the node may be gone (\`kubectl get node ${node}\`)`;
  }

  #avoid(node: string): void {
    this.#avoided.set(node, performance.now() + AVOIDED_MS);
  }

  /** Undefined where the account may not ask for nodes. */
  async #nodeOf(name: string, signal: AbortSignal): Promise<ApiObject | undefined> {
    return this.#api.find(`/api/v1/nodes/${name}`, signal).catch((thrown: unknown) => {
      if (thrown instanceof ApiError) return undefined;
      throw thrown;
    });
  }

  async factsOf(name: string, signal: AbortSignal): Promise<ContainerFacts | undefined> {
    const pod = await this.#find(name, signal);
    if (pod === undefined) return undefined;
    const claimed = this.#claimed.get(name);
    return {
      isRunning: pod.status?.phase === 'Running',
      timeoutSeconds:
        claimed === undefined ? pod.spec.activeDeadlineSeconds : await this.claims.secondsOf(claimed, signal),
      // An exec's streams are in no log.
      logDriver: 'none',
      ids: undefined,
      walls: wallsOf(pod, this.#wall.shownBy, this.#api.walls),
    };
  }

  /** Deletes the pod; with the cluster's words where it cannot. One that is not there is as good. */
  async remove(name: string, signal: AbortSignal): Promise<string | undefined> {
    const claimed = this.#claimed.get(name);
    try {
      if (claimed !== undefined) {
        await this.claims.release(claimed, signal);
        this.#claimed.delete(name);
        return undefined;
      }
      await this.#api.ask(
        'DELETE',
        `${this.#api.path('pods', name)}?gracePeriodSeconds=${GRACE_SECONDS}`,
        signal,
      );
      return undefined;
    } catch (thrown) {
      return thrown instanceof ApiError && thrown.status === 404 ? undefined : messageOf(thrown);
    }
  }

  /** As remove(), tried again where nobody answers; resolves when it is gone or given up. */
  async removeSurely(name: string): Promise<void> {
    const { signal } = new AbortController();
    for (let tries = 0, pause = FIRST_RETRY_MS; tries < DELETE_TRIES; tries++, pause *= 2) {
      if ((await this.remove(name, signal)) === undefined) return;
      await sleep(pause, undefined, { ref: false });
    }
  }

  /** Deletes pods whose bridge is gone, and those that have ended; returns how many. */
  async sweep(signal: AbortSignal): Promise<number> {
    await this.claims.sweep(signal);
    const { items } = await this.#api.ask(
      'GET',
      `${this.#api.path('pods')}?labelSelector=${encodeURIComponent(INSTANCE_LABEL)}`,
      signal,
    );
    const dead = (items as ApiObject[]).filter(({ metadata, status }) => {
      // It goes with its claim or its pool, and would only come again.
      if (metadata.ownerReferences?.some(({ kind }: { kind: string }) => kind === 'Sandbox')) return false;
      const labels = ownerLabelNames.map((name) => String(metadata.labels[name] ?? ''));
      return !isAlive(ownerFrom(labels)) || /^(?:Succeeded|Failed)$/.test(status?.phase);
    });
    for (const { metadata } of dead) await this.remove(metadata.name, signal);
    return dead.length;
  }
}
