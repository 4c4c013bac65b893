// Which replica holds a principal: the one that a Lease of the cluster names. Its sessions, runs and turns are in the memory of that
// one alone, so that each principal has one at a time. A Lease belongs to the pod of its holder, and the cluster removes it with that.

import { createHash } from 'node:crypto';

/** Sends one request to the API of the cluster. Rejects; where the API refused, the error's `status` is that of the refusal. */
export type AskCluster = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  signal: AbortSignal,
  body?: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: objects of the cluster, of which a few fields are read here
) => Promise<any>;

/** A pod among replicas, as the cluster tells it of itself. */
type ReplicaPlace = {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly address: string;
};

type Holder = {
  readonly address: string;
  /** Whether it is this replica. */
  readonly isOwn: boolean;
  /** Addresses of replicas that held the principal before, and may still finish what they began; the latest first. */
  readonly earlier: readonly string[];
  /** As the cluster counts changes of the Lease. */
  readonly version: string;
};

const NAME = 'mcp-sandbox-bridge';
const ADDRESS = `${NAME}/address`;
const EARLIER = `${NAME}/earlier`;
const NAME_CHARS = 24;
/** How long what the Lease said is believed. */
const BELIEVED_MS = 10_000;
/** A replica finishes what it began within minutes, so that no more than these are left. */
const MOST_EARLIER = 4;
const CONFLICT = 409;
const ABSENT = 404;
/** Principals that are remembered; the oldest goes, and is read again. */
const MOST_KNOWN = 10_000;

export class Holders {
  readonly #ask: AskCluster;
  readonly #own: ReplicaPlace;
  readonly #now: () => number;
  readonly #known = new Map<string, { readonly at: number; readonly holder: Promise<Holder> }>();
  /** Principals that this replica holds. */
  readonly #held = new Set<string>();

  constructor(ask: AskCluster, own: ReplicaPlace, now: () => number = () => performance.now()) {
    this.#ask = ask;
    this.#own = own;
    this.#now = now;
  }

  /** The address by which other replicas know this one. */
  get own(): string {
    return this.#own.address;
  }

  /** Who holds the principal; this replica from now on, where nobody did. Rejects where the cluster does not say. */
  of(principal: string): Promise<Holder> {
    const known = this.#known.get(principal);
    if (known !== undefined && this.#now() - known.at < BELIEVED_MS) return known.holder;
    return this.#know(principal, this.#claim(principal, []));
  }

  /** Has the next question asked of the cluster. */
  forget(principal: string): void {
    this.#known.delete(principal);
  }

  /** Makes this replica the holder in place of `before`, unless another one was faster, which is then returned. */
  takeOver(principal: string, before: Holder, isAlive: boolean): Promise<Holder> {
    const earlier = isAlive ? [before.address, ...before.earlier] : before.earlier;
    const taking = async (): Promise<Holder> => {
      const preconditions = { resourceVersion: before.version };
      await this.#unless([CONFLICT, ABSENT], 'DELETE', this.#path(principal), { preconditions });
      return await this.#claim(principal, earlier.slice(0, MOST_EARLIER));
    };
    return this.#know(principal, taking());
  }

  /** Gives up every principal that this replica holds; never rejects. For the end of the process. */
  async release(): Promise<void> {
    const held = [...this.#held];
    this.#held.clear();
    this.#known.clear();
    const giving = held.map(async (principal) => {
      const found = await this.#unless([ABSENT], 'GET', this.#path(principal));
      if (found === undefined || !this.#read(found).isOwn) return;
      const preconditions = { resourceVersion: found.metadata.resourceVersion };
      await this.#unless([CONFLICT, ABSENT], 'DELETE', this.#path(principal), { preconditions });
    });
    await Promise.allSettled(giving);
  }

  #know(principal: string, holder: Promise<Holder>): Promise<Holder> {
    this.#known.delete(principal);
    this.#known.set(principal, { at: this.#now(), holder });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    holder.then(
      ({ isOwn }) => (isOwn ? this.#held.add(principal) : this.#held.delete(principal)),
      () => {
        if (this.#known.get(principal)?.holder === holder) this.#known.delete(principal);
      },
    );
    return holder;
  }

  async #claim(principal: string, earlier: readonly string[]): Promise<Holder> {
    const found = await this.#unless([ABSENT], 'GET', this.#path(principal));
    if (found !== undefined) return this.#read(found);
    const { pod, uid, address, namespace } = this.#own;
    const made = await this.#unless([CONFLICT], 'POST', this.#path(), {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: leaseOf(principal),
        namespace,
        labels: { 'app.kubernetes.io/managed-by': NAME },
        annotations: { [ADDRESS]: address, [EARLIER]: earlier.join(',') },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod, uid }],
      },
      spec: { holderIdentity: pod },
    });
    // Another one was faster; it may have gone again by now, and then the next request finds out.
    return this.#read(made ?? (await this.#send('GET', this.#path(principal))));
  }

  // biome-ignore lint/suspicious/noExplicitAny: an object of the cluster
  #read({ metadata, spec }: any): Holder {
    const address = String(metadata.annotations?.[ADDRESS] ?? '');
    const isOwn = spec?.holderIdentity === this.#own.pod && address === this.#own.address;
    const earlier = String(metadata.annotations?.[EARLIER] ?? '').split(',');
    return {
      address,
      isOwn,
      earlier: earlier.filter((each) => each !== '' && each !== this.#own.address),
      version: String(metadata.resourceVersion),
    };
  }

  #path(principal?: string): string {
    const all = `/apis/coordination.k8s.io/v1/namespaces/${this.#own.namespace}/leases`;
    return principal === undefined ? all : `${all}/${leaseOf(principal)}`;
  }

  #send(...[method, path, body]: [Parameters<AskCluster>[0], string, unknown?]): ReturnType<AskCluster> {
    return this.#ask(method, path, new AbortController().signal, body);
  }

  /** Undefined where the API refuses with one of `statuses`. */
  async #unless(
    statuses: readonly number[],
    ...request: [Parameters<AskCluster>[0], string, unknown?]
  ): ReturnType<AskCluster> {
    try {
      return await this.#send(...request);
    } catch (thrown) {
      if (statuses.includes(Object(thrown).status)) return undefined;
      throw thrown;
    }
  }
}

/** The name says nothing of the principal to whoever may list Leases. */
const leaseOf = (principal: string): string =>
  `${NAME}-${createHash('sha256').update(principal).digest('hex').slice(0, NAME_CHARS)}`;
