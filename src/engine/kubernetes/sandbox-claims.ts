// Pods that wait in pools of kubernetes-sigs/agent-sandbox, where a cluster has it and the account may use it. A claim takes one out
// of a pool, and its pod is of nobody else from then on; the cluster makes the next one. A pool has a user id of its own and lends to
// one sandbox at a time, so that no two that run are the same user. Where nothing waits, the caller makes a pod as ever.

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { INSTANCE_LABEL, isAlive, ownerFrom, ownerLabelNames } from '../../base/process/owner.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { EngineOptions, SandboxSpec } from '../engine.js';
import { type Api, ApiError, type ApiObject, CLAIMS_GROUP } from './api.js';
import { keepCommand } from './pod-programs.js';
import { MANAGED_LABEL, type PodWishes, podOf } from './pod-spec.js';

/** A claim of a pod that waits takes a tenth of a second; where nobody works on it, a pod of our own is there sooner. */
const CLAIMED_WITHIN_MS = 3_000;
const POLL_MS = 30;
/** Statuses of a kind of resource that is not there, or that the account may not use. */
const NOT_FOR_US: ReadonlySet<number> = new Set([403, 404]);
/** A bridge that ends does not wait longer for a cluster that says nothing. */
const CLOSED_WITHIN_MS = 5_000;
/** Between looks whether a pod that was given back is gone. */
const GONE_POLL_MS = 500;
/** Name by which whoever enters a pod of a pool finds its first process. */
export const POOL_DOOR = 'sandbox';
/** A call's sandbox and the one that takes its place among those that the bridge keeps ready, each from another pool. */
const POOLS_PER_READY = 2;

type Pool = {
  readonly name: string;
  readonly owner: EngineOptions;
  /** Properties that its pods share with the sandboxes that they may become, as a text. */
  readonly kind: string;
  isLent: boolean;
};

/** A pod that was taken out of a pool, for one sandbox. */
export type ClaimedPod = {
  readonly pod: ApiObject;
  readonly claim: string;
  readonly pool: Pool;
};

export class SandboxClaims {
  readonly #api: Api;
  #isServed: Promise<boolean> | undefined;
  readonly #pools = new Set<Pool>();
  /** Pools that are being made or removed; nobody who starts a sandbox waits for them. */
  readonly #working = new Set<Promise<void>>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Whether the cluster has agent-sandbox and the account may use it, found out once. */
  isServed(signal: AbortSignal): Promise<boolean> {
    const served = this.#isServed ?? this.#look(signal);
    this.#isServed = served;
    served.catch(() => {
      this.#isServed = undefined;
    });
    return served;
  }

  /**
   * A running pod for this sandbox that waited in a pool; undefined where none does. A pool is made for later ones then, as long as
   * there are fewer than the bridge's ready sandboxes need.
   */
  async take(
    spec: SandboxSpec,
    wishes: PodWishes,
    owner: EngineOptions,
    signal: AbortSignal,
  ): Promise<ClaimedPod | undefined> {
    const most = POOLS_PER_READY * (owner.ready ?? 0);
    if (most === 0 || !(await this.isServed(signal))) return undefined;
    const template = templateOf(spec, wishes);
    const kind = JSON.stringify(templateOf({ ...spec, user: '' }, wishes));
    const own = [...this.#pools].filter((pool) => pool.owner === owner);
    for (const pool of own.filter(({ kind: its, isLent }) => its === kind && !isLent)) {
      // Another start may come while this one waits.
      pool.isLent = true;
      const claimed = await this.#claimIn(pool, spec, wishes, signal).catch(() => undefined);
      if (claimed !== undefined) return claimed;
      pool.isLent = false;
      signal.throwIfAborted();
    }
    if (own.length < most) this.#make(template, kind, owner);
    return undefined;
  }

  /** Removes the claim, with which the cluster removes its pod; throws ApiError. */
  async release({ claim, pool, pod }: ClaimedPod, signal: AbortSignal): Promise<void> {
    await this.#api.ask('DELETE', this.#api.path('sandboxclaims', claim), signal).catch(unlessGone);
    // A process that still runs there is the user that the next one would be.
    this.#whenGone(pod).then(
      () => {
        pool.isLent = false;
      },
      () => {},
    );
  }

  /** Seconds after which the cluster ends it; undefined where nobody knows of it any more. */
  async secondsOf({ claim }: ClaimedPod, signal: AbortSignal): Promise<number | undefined> {
    const found = await this.#api.find(this.#api.path('sandboxclaims', claim), signal);
    const until = Date.parse(found?.spec.lifecycle.shutdownTime);
    return found && Math.ceil((until - Date.parse(found.metadata.creationTimestamp)) / 1000);
  }

  /** Removes the pools of an engine; never rejects. Whatever is left of them is the next sweep's. */
  async close(owner: EngineOptions): Promise<void> {
    const signal = AbortSignal.timeout(CLOSED_WITHIN_MS);
    await unlessAborted(Promise.all(this.#working), signal).catch(() => {});
    for (const pool of [...this.#pools].filter((pool) => pool.owner === owner)) {
      this.#pools.delete(pool);
      await this.#remove(pool.name, signal).catch(() => {});
    }
  }

  /** Removes pools, templates and claims whose bridge is gone. */
  async sweep(signal: AbortSignal): Promise<void> {
    if (!(await this.isServed(signal))) return;
    // Each pool has one of its name.
    const { items: templates } = await this.#api.ask(
      'GET',
      `${this.#api.path('sandboxtemplates')}?labelSelector=${INSTANCE_LABEL}`,
      signal,
    );
    for (const { metadata } of templates.filter(isOrphan)) await this.#remove(metadata.name, signal);
    const { items: claims } = await this.#api.ask(
      'GET',
      `${this.#api.path('sandboxclaims')}?labelSelector=${INSTANCE_LABEL}`,
      signal,
    );
    for (const { metadata } of claims.filter(isOrphan))
      await this.#api.ask('DELETE', this.#api.path('sandboxclaims', metadata.name), signal).catch(unlessGone);
  }

  async #look(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#api.ask('GET', `${this.#api.path('sandboxwarmpools')}?limit=1`, signal);
      return true;
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      // Any other refusal is of this moment.
      if (!NOT_FOR_US.has(thrown.status)) this.#isServed = undefined;
      return false;
    }
  }

  /** A pool and its template go by one name. */
  #make(template: ReturnType<typeof templateOf>, kind: string, owner: EngineOptions): void {
    const { signal } = new AbortController();
    const name = `${INSTANCE_LABEL}-${owner.instance}-pool-${randomBytes(3).toString('hex')}`;
    const pool: Pool = { name, owner, kind, isLent: false };
    this.#pools.add(pool);
    const { labels, ownerReferences } = template.metadata;
    const metadata = { name, labels, ownerReferences };
    const making = (async () => {
      await this.#api.ask('POST', this.#api.path('sandboxtemplates'), signal, {
        apiVersion: CLAIMS_GROUP,
        kind: 'SandboxTemplate',
        metadata,
        spec: {
          // The policy of the bridge holds them, by the labels of the pods.
          networkPolicyManagement: 'Unmanaged',
          service: false,
          podTemplate: { metadata: { labels }, spec: template.spec },
        },
      });
      await this.#api.ask('POST', this.#api.path('sandboxwarmpools'), signal, {
        apiVersion: CLAIMS_GROUP,
        kind: 'SandboxWarmPool',
        metadata,
        spec: { replicas: 1, sandboxTemplateRef: { name } },
      });
    })();
    // It stays among the pools, as one that never has a pod: what was refused once is not asked for again.
    const settled = making.catch(() => {}).finally(() => this.#working.delete(settled));
    this.#working.add(settled);
  }

  async #remove(pool: string, signal: AbortSignal): Promise<void> {
    await this.#api.ask('DELETE', this.#api.path('sandboxwarmpools', pool), signal).catch(unlessGone);
    await this.#api.ask('DELETE', this.#api.path('sandboxtemplates', pool), signal).catch(unlessGone);
  }

  async #claimIn(
    pool: Pool,
    spec: SandboxSpec,
    { labels, owners, avoids }: PodWishes,
    signal: AbortSignal,
  ): Promise<ClaimedPod | undefined> {
    const waiting = await this.#api.find(this.#api.path('sandboxwarmpools', pool.name), signal);
    if ((waiting?.status?.readyReplicas ?? 0) === 0) return undefined;
    const claim = `${spec.name}-${randomBytes(3).toString('hex')}`;
    // It is waited for: one that was given up may be carried out after the deletion.
    await this.#api.ask('POST', this.#api.path('sandboxclaims'), new AbortController().signal, {
      apiVersion: CLAIMS_GROUP,
      kind: 'SandboxClaim',
      metadata: {
        name: claim,
        labels: { ...labels, [MANAGED_LABEL]: INSTANCE_LABEL },
        ownerReferences: owners,
      },
      spec: {
        warmPoolRef: { name: pool.name },
        lifecycle: {
          // The cluster's own clock ends it, and it goes with what has run in its pod, even when the bridge is gone.
          shutdownTime: new Date(Date.now() + spec.deadManSeconds * 1000).toISOString().replace(/\.\d+/, ''),
          shutdownPolicy: 'Delete',
          ttlSecondsAfterFinished: 0,
        },
      },
    });
    try {
      const pod = await this.#podOf(claim, signal);
      if (pod !== undefined && !avoids.includes(pod.spec.nodeName)) return { pod, claim, pool };
      await this.#api.ask('DELETE', this.#api.path('sandboxclaims', claim), signal);
      return undefined;
    } catch (thrown) {
      await this.#api
        .ask('DELETE', this.#api.path('sandboxclaims', claim), new AbortController().signal)
        .catch(() => {});
      throw thrown;
    }
  }

  /** The pod of a claim once it is its own; undefined where that takes too long. */
  async #podOf(claim: string, signal: AbortSignal): Promise<ApiObject | undefined> {
    const until = performance.now() + CLAIMED_WITHIN_MS;
    for (;;) {
      const claimed = await this.#api.find(this.#api.path('sandboxclaims', claim), signal);
      const ready = claimed?.status?.conditions?.find(({ type }: { type: string }) => type === 'Ready');
      // A sandbox and its pod go by one name.
      if (ready?.status === 'True')
        return this.#api.find(this.#api.path('pods', claimed.status.sandbox.name), signal);
      if (claimed === undefined || performance.now() > until) return undefined;
      await sleep(POLL_MS, undefined, { signal });
    }
  }

  async #whenGone({ metadata }: ApiObject): Promise<void> {
    const { signal } = new AbortController();
    const path = this.#api.path('pods', metadata.name);
    while ((await this.#api.find(path, signal))?.metadata.uid === metadata.uid)
      await sleep(GONE_POLL_MS, undefined, { ref: false });
  }
}

/** The pods of a pool: as the pod of one sandbox, but for a name and an end of their own, since they wait for whoever comes. */
function templateOf(spec: SandboxSpec, wishes: PodWishes) {
  const { metadata, spec: whole } = podOf({ ...spec, name: '' }, { ...wishes, avoids: [] });
  const { activeDeadlineSeconds: _, containers, ...rest } = whole;
  const command = keepCommand({ ...spec, name: POOL_DOOR }, { waitsForEver: true });
  return { metadata, spec: { ...rest, containers: containers.map((each) => ({ ...each, command })) } };
}

const isOrphan = ({ metadata }: ApiObject): boolean =>
  !isAlive(ownerFrom(ownerLabelNames.map((name) => String(metadata.labels[name] ?? ''))));

/** One that is not there is as good as one that was removed. */
function unlessGone(thrown: unknown): void {
  if (!(thrown instanceof ApiError) || thrown.status !== 404) throw thrown;
}
