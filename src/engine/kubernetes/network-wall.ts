// The wall of the network: a NetworkPolicy that denies a sandbox's pod all traffic, and the proof that the cluster obeys it. A policy
// is not in force in the moment in which a pod starts, and a cluster without an agent for it ignores it for ever. So each sandbox
// tries, before it is one, to reach a place that a pod without the policy has reached from the same node: on another node the place
// itself may be out of reach, and show nothing.

import { randomBytes } from 'node:crypto';
import { BridgeError } from '../../base/errors.js';
import { INSTANCE_LABEL, ownerLabels, thisOwner } from '../../base/process/owner.js';
import type { SandboxSpec } from '../engine.js';
import { type Api, ApiError, type ApiObject } from './api.js';
import { type Witness, witnessCommand } from './pod-programs.js';
import { MANAGED_LABEL, type PodWishes, podOf, WALLED_LABEL } from './pod-spec.js';
import { waitForPod } from './pod-state.js';

const POLICY = `${INSTANCE_LABEL}-no-network`;

/** Forbids all traffic of pods that are sandboxes without a network, in both directions. */
export const networkPolicy = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: POLICY, labels: { [MANAGED_LABEL]: INSTANCE_LABEL } },
  spec: {
    podSelector: { matchLabels: { [MANAGED_LABEL]: INSTANCE_LABEL, [WALLED_LABEL]: 'none' } },
    policyTypes: ['Ingress', 'Egress'],
  },
};

export class NetworkWall {
  readonly #api: Api;
  #policy: Promise<void> | undefined;
  /** By the node on which it was looked for. */
  readonly #witnesses = new Map<string, Promise<Witness>>();
  /** Words for the proof that the policy holds, once there is one. */
  #shownBy: string | undefined;

  constructor(api: Api) {
    this.#api = api;
  }

  /** By what a sandbox sees its network closed, in words; undefined where none has tried. */
  get shownBy(): string | undefined {
    return this.#shownBy;
  }

  /** Makes the policy where it is not there; before any pod that it is for. Throws E_NETWORK. */
  async raise(signal: AbortSignal): Promise<void> {
    this.#policy ??= this.#raise(signal);
    this.#policy.catch(() => {
      this.#policy = undefined;
    });
    return this.#policy;
  }

  /**
   * A place that pods of the node `node` reach which no policy of ours holds, as one has shown, so that a sandbox there which does not
   * reach it is walled in. Found out once for a node, by a pod of the same image as `spec`. Throws E_NETWORK where that does not reach
   * it, since then nothing is shown.
   */
  async witness(
    spec: SandboxSpec,
    wishes: PodWishes,
    { instance, node }: { readonly instance: string; readonly node: string },
    signal: AbortSignal,
  ): Promise<Witness> {
    const known = this.#witnesses.get(node);
    if (known !== undefined) return known;
    const looking = this.#look(spec, { ...wishes, node }, instance, signal);
    this.#witnesses.set(node, looking);
    looking.catch(() => this.#witnesses.delete(node));
    return looking;
  }

  async #raise(signal: AbortSignal): Promise<void> {
    const path = `/apis/networking.k8s.io/v1/namespaces/${this.#api.namespace}/networkpolicies`;
    try {
      if ((await this.#api.find(`${path}/${POLICY}`, signal)) !== undefined) return;
      await this.#api.ask('POST', path, signal, networkPolicy);
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.status === 409) return;
      if (!(thrown instanceof ApiError)) throw thrown;
      throw new BridgeError(
        'E_NETWORK',
        `The NetworkPolicy of the sandboxes is not there: ${thrown.message}`,
        {
          fault: 'operator',
          remedy: `Allow the bridge's account to get and create NetworkPolicies in the namespace ${this.#api.namespace}.`,
          cause: thrown,
        },
      );
    }
  }

  async #look(
    spec: SandboxSpec,
    wishes: PodWishes & { readonly node: string },
    instance: string,
    signal: AbortSignal,
  ): Promise<Witness> {
    const witness = await this.#place(signal);
    // One that is just being deleted keeps its name.
    const name = `${INSTANCE_LABEL}-${instance}-witness-${randomBytes(3).toString('hex')}`;
    const labels = ownerLabels(instance, thisOwner());
    const pod: ApiObject = podOf({ ...spec, name, deadManSeconds: 120 }, { ...wishes, labels });
    delete pod.metadata.labels[WALLED_LABEL];
    pod.spec.containers[0].command = witnessCommand(spec, witness);
    // It is waited for: one that was given up may be carried out after the deletion.
    await this.#api.ask('POST', this.#api.path('pods'), new AbortController().signal, pod);
    try {
      const ended = await waitForPod(this.#api, name, signal, ({ status }) =>
        /^(?:Succeeded|Failed)$/.test(status?.phase),
      );
      if (ended.status.phase === 'Succeeded') {
        this.#shownBy = `closed: ${witness.host}:${witness.port}, which a pod without the policy reaches`;
        return witness;
      }
    } finally {
      await this.#api
        .ask('DELETE', this.#api.path('pods', name), new AbortController().signal)
        .catch(() => {});
    }
    throw new BridgeError(
      'E_NETWORK',
      `It cannot be shown that this cluster obeys NetworkPolicies: a pod of the namespace ${this.#api.namespace} on the node ${wishes.node} without the bridge's policy does not reach ${witness.host}:${witness.port} either.`,
      {
        fault: 'operator',
        remedy:
          'Let pods of the namespace on all nodes reach the API server where no policy of the bridge holds them. Or accept it: MCP_BRIDGE_ACCEPT_UNENFORCED=network.',
      },
    );
  }

  /** The API server, as a pod sees it: the one service that every cluster has. */
  async #place(signal: AbortSignal): Promise<Witness> {
    const { spec } = await this.#api.ask('GET', '/api/v1/namespaces/default/services/kubernetes', signal);
    return { host: spec.clusterIP, port: spec.ports[0].port };
  }
}
