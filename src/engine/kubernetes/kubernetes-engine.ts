// A cluster as an engine. Holds nothing of a cluster itself: each question loads what answers it, once.

import { BridgeError } from '../../base/errors.js';
import type {
  Container,
  ContainerFacts,
  DerivedImages,
  Engine,
  EngineImages,
  EngineOptions,
  EngineTraits,
  SandboxSpec,
  Unreachable,
  Volume,
} from '../engine.js';
import type { Cluster } from './cluster.js';
import { filterOf, nodeWallsIn } from './node-walls.js';
import { PodContainer } from './pod-container.js';

/** By the address that was said, since several engines are opened on one cluster; what it has found out serves all of them. */
const clusters = new Map<string, Promise<Cluster>>();

/** Throws E_ENGINE_BROKEN where no kubeconfig says which cluster. */
const clusterAt = (url: string | undefined): Promise<Cluster> => {
  const opened =
    clusters.get(url ?? '') ?? import('./cluster.js').then(({ openCluster }) => openCluster(url));
  clusters.set(url ?? '', opened);
  opened.catch(() => clusters.delete(url ?? ''));
  return opened;
};

/** Images as the nodes say that they have them. A node pulls by itself what it has not. */
export class KubernetesImages implements EngineImages {
  readonly name = 'kubernetes';
  readonly #url: string | undefined;

  constructor(url: string | undefined) {
    this.#url = url;
  }

  async imageId(image: string, signal: AbortSignal): Promise<string | undefined> {
    return (await clusterAt(this.#url)).images.idOf(image, signal);
  }

  async inspect(image: string, signal: AbortSignal) {
    return (await clusterAt(this.#url)).images.inspect(image, signal);
  }

  /** A cluster does not tell them. */
  labels(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async names(signal: AbortSignal): Promise<readonly string[]> {
    return (await clusterAt(this.#url)).images.names(signal);
  }

  async pull(image: string, onProgress: (line: string) => void, _signal: AbortSignal): Promise<void> {
    onProgress('a node of the cluster pulls it when a pod starts there');
    (await clusterAt(this.#url)).images.leaveToNodes(image);
  }

  remove(image: string): Promise<void> {
    return Promise.reject(
      new BridgeError(
        'E_ENGINE_BROKEN',
        `${image} is on the nodes of a cluster, which remove images themselves.`,
        {
          fault: 'operator',
          remedy: 'Remove it on each node (`crictl rmi`), or leave it to them.',
        },
      ),
    );
  }

  removalOf(image: string): string {
    return `crictl rmi ${image}`;
  }
}

/** Refuses what a cluster has no place for yet. */
const notThere = (code: 'E_DATA' | 'E_ENGINE_BROKEN', what: string, remedy: string): Promise<never> =>
  Promise.reject(
    new BridgeError(code, `${what} cannot be had with MCP_BRIDGE_RUNTIME=kubernetes yet.`, {
      fault: 'operator',
      remedy,
    }),
  );

const TRAITS = {
  ownKernel: undefined,
  opensPrivateFolders: true,
  ownerBy: undefined,
  masksAll: false,
  hasClock: true,
  reachesLocalhost: true,
  networkAdvice: undefined,
} as const;

export class KubernetesEngine implements Engine {
  readonly name = 'kubernetes';
  readonly traits: EngineTraits;
  readonly images: KubernetesImages;
  readonly volumes: Engine['volumes'] = {
    make: (_volume: Volume) =>
      notThere('E_ENGINE_BROKEN', 'A volume for commands', 'Take `execute` out of MCP_BRIDGE_TOOLS.'),
    copy: () => notThere('E_DATA', 'A folder of this machine', 'Take it out of MCP_BRIDGE_DATA.'),
    remove: () => Promise.resolve(),
  };
  readonly derived: DerivedImages;
  readonly launch = {
    launch: 'attached',
    reason: 'frames go through exec, so nothing of them is in a log',
  } as const;
  readonly says = {
    isExpected: () => false,
    // The container's own words begin with these (pod-container.ts).
    isUnreachable: (words: string) => words.startsWith('the cluster does not answer'),
  };
  readonly #options: EngineOptions;
  #opened: Promise<Cluster> | undefined;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.traits = { ...TRAITS, ownFilter: filterOf(nodeWallsIn(options.url)) };
    this.images = new KubernetesImages(options.url);
    this.derived = {
      make: async (derivation, signal) => (await this.#cluster()).files.make(derivation, signal),
      forget: () =>
        void this.#cluster().then(
          ({ files }) => files.forget(),
          () => {},
        ),
      remove: async (key) => (await this.#cluster()).files.remove(key),
    };
  }

  /** A value, since it is handed on without its engine. */
  readonly whyUnreachable = async (container?: string): Promise<Unreachable | undefined> => {
    try {
      const { signal } = new AbortController();
      const cluster = await this.#cluster();
      if (container === undefined) await cluster.version(signal);
      const why = container === undefined ? undefined : await cluster.pods.whyEnded(container, signal);
      return why === undefined ? undefined : { why, isSilent: false };
    } catch (thrown) {
      return { why: thrown instanceof Error ? thrown.message : String(thrown), isSilent: false };
    }
  };

  async factsOf(name: string, signal: AbortSignal): Promise<ContainerFacts | undefined> {
    return (await this.#cluster()).pods.factsOf(name, signal);
  }

  networkMode(): Promise<never> {
    return Promise.reject(
      new BridgeError('E_NETWORK', 'Sandboxes in a cluster have no way out yet.', {
        fault: 'operator',
        remedy: 'Unset MCP_BRIDGE_NETWORK, so that code runs without a network.',
      }),
    );
  }

  hostTasks(pids: number): number {
    return pids;
  }

  runtimeVersion(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  imageStamp(): string {
    return '';
  }

  start(spec: SandboxSpec): Container {
    return new PodContainer(this.#cluster(), spec, this.#options);
  }

  pidOf(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async kill(name: string, signal: AbortSignal): Promise<string | undefined> {
    return (await this.#cluster()).pods.remove(name, signal);
  }

  async sweep(signal: AbortSignal): Promise<number> {
    return (await this.#cluster()).pods.sweep(signal);
  }

  /** Removes the pods that the cluster keeps for later starts. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened?.then(
      ({ pods }) => pods.claims.close(this.#options),
      () => {},
    );
  }

  #cluster(): Promise<Cluster> {
    this.#opened = clusterAt(this.#options.url);
    return this.#opened;
  }
}
