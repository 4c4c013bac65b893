// One cluster as the bridge uses it, and the question whether it can be used. Loaded when a cluster is asked for the first time.

import { asBridgeError } from '../../base/errors.js';
import type { EngineStatus } from '../engine.js';
import { Api, ApiError } from './api.js';
import { ClusterFiles } from './files.js';
import { NetworkWall } from './network-wall.js';
import { NodeImages } from './node-images.js';
import { Pods } from './pods.js';
import { CLUSTER_DEFAULT } from './runtime-class.js';

export type { RunningPod } from './pods.js';

export class Cluster {
  readonly api: Api;
  readonly files: ClusterFiles;
  readonly images: NodeImages;
  readonly pods: Pods;

  constructor(api: Api) {
    this.api = api;
    this.files = new ClusterFiles(api);
    this.images = new NodeImages(api);
    this.pods = new Pods(api, this.files, new NetworkWall(api));
  }

  /** Its version and its platform, such as v1.34.4 and linux/amd64. Throws E_ENGINE_BROKEN. */
  async version(signal: AbortSignal): Promise<{ readonly version: string; readonly platform: string }> {
    const { gitVersion, platform } = await this.api.ask('GET', '/version', signal);
    return { version: String(gitVersion), platform: String(platform) };
  }
}

/** Throws E_ENGINE_BROKEN where no kubeconfig says which cluster. */
export const openCluster = (url: string | undefined): Cluster => new Cluster(new Api(url));

/** Never throws. */
export async function probeCluster(url: string | undefined, signal: AbortSignal): Promise<EngineStatus> {
  try {
    const cluster = openCluster(url);
    const { version, platform } = await cluster.version(signal);
    // An account may be let in and may do nothing in the namespace, which shows here and not in the middle of a start.
    await cluster.api.ask('GET', `${cluster.api.path('pods')}?limit=1`, signal);
    const extension = (await cluster.pods.claims.isServed(signal)) ? ' with pools of agent-sandbox' : '';
    return {
      state: 'ready',
      version: `${version.replace(/^v/, '')}${extension}`,
      mode: 'remote',
      ids: 'no-root',
      architecture: platform.split('/')[1] ?? '',
      // How many processes a pod may have is a setting of the nodes, which nobody is told.
      limits: { memory: true, pids: false, cpu: true },
      storageDriver: '',
      storageRoot: '',
      defaultOciRuntime: CLUSTER_DEFAULT,
      cgroups: 'of the nodes',
    };
  } catch (thrown) {
    const error = asBridgeError(thrown);
    return {
      state: 'broken',
      reason: error.message,
      remedy:
        thrown instanceof ApiError
          ? 'Give the account the role of docs/kubernetes.md, and try `kubectl auth can-i --list`.'
          : (error.remedy ?? 'Start the cluster, or correct KUBECONFIG. To try it: `kubectl version`.'),
    };
  }
}
