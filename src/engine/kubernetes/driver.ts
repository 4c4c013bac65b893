// The driver of an engine that is a Kubernetes cluster: sandboxes are pods there. All that speaks with a cluster is loaded when one
// is asked (cluster.ts), so that nobody else pays for it.

import type { EngineDriver, EngineStatus } from '../engine.js';
import { KubernetesEngine, KubernetesImages } from './kubernetes-engine.js';
import { CLUSTER_DEFAULT } from './runtime-class.js';

export const kubernetes: EngineDriver = {
  name: 'kubernetes',
  programs: /^kubernetes$/,
  probe: async (_binary, { url }, signal): Promise<EngineStatus> => {
    const { probeCluster } = await import('./cluster.js');
    return probeCluster(url, signal);
  },
  images: ({ url }) => new KubernetesImages(url),
  // Kubernetes names what runs containers by a RuntimeClass, and starts none but the one that is named.
  runtimes: (_facts, wish) => [{ name: wish ?? CLUSTER_DEFAULT, flags: [] }],
  hangRemedy: () =>
    'Look at the events of the namespace (`kubectl get events`): a pod may wait for room, for a quota or for its image.',
  startRemedy:
    'Where its network is open, give the cluster an agent that enforces NetworkPolicies (such as Calico, Cilium or kube-router), or accept it: MCP_BRIDGE_ACCEPT_UNENFORCED=network. Else look at `kubectl get events`.',
  open: (options) => new KubernetesEngine(options),
};
