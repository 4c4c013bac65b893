// The state of a pod, asked again until it is as it is wanted, and the reasons why one does not start, in the cluster's words.

import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError } from '../../base/errors.js';
import type { Api, ApiObject } from './api.js';

const POLL_MS = 100;
/** Reasons of a container that waits from which it does not come by itself within the time of a start. */
const STUCK =
  /^(?:ErrImage|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|CreateContainerConfigError|CreateContainerError|RunContainerError)/;

/** How long a pod may wait for a node with room: a cluster that grows has one by then, and a start does not last much longer. */
const PLACED_WITHIN_MS = 45_000;

/** Resolves with the pod once it `holds`; throws why it never will, or when `signal` aborts. */
export async function waitForPod(
  api: Api,
  name: string,
  signal: AbortSignal,
  holds: (pod: ApiObject) => boolean,
): Promise<ApiObject> {
  const until = performance.now() + PLACED_WITHIN_MS;
  for (;;) {
    signal.throwIfAborted();
    const pod = await api.find(api.path('pods', name), signal);
    if (pod === undefined)
      throw new BridgeError('E_SANDBOX_START', `the pod ${name} was deleted`, { fault: 'engine' });
    if (holds(pod)) return pod;
    const trouble = troubleOf(pod) ?? (performance.now() > until ? noRoom(pod) : undefined);
    if (trouble !== undefined) throw trouble;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Why a pod will not run; undefined while it may. */
export function troubleOf({ metadata, status }: ApiObject): BridgeError | undefined {
  const state = status?.containerStatuses?.[0]?.state ?? {};
  const { reason: code = '', message = '' } = state.waiting ?? {};
  if (STUCK.test(code)) {
    const isImage = /Image/.test(code);
    return new BridgeError(isImage ? 'E_IMAGE_MISSING' : 'E_SANDBOX_START', `${code}: ${message}`, {
      fault: 'operator',
      remedy: isImage
        ? 'Give the nodes the image, or name one in MCP_BRIDGE_IMAGE that they can pull.'
        : `Look at \`kubectl describe pod ${metadata?.name}\`.`,
    });
  }
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') {
    const { terminated } = state;
    const why = status.message ?? status.reason ?? terminated?.message ?? terminated?.reason ?? status.phase;
    return new BridgeError('E_SANDBOX_START', `the pod has ended: ${why}`, { fault: 'engine' });
  }
  return undefined;
}

/** The error of a pod that no node takes, in the scheduler's words; undefined for one that has a node. */
export function noRoom({ status }: ApiObject): BridgeError | undefined {
  const placed = status?.conditions?.find(({ type }: { type: string }) => type === 'PodScheduled');
  if (placed?.status !== 'False') return undefined;
  return new BridgeError(
    'E_SANDBOX_START',
    `no node takes the pod: ${placed.message ?? 'no reason was given'}`,
    {
      fault: 'engine',
      remedy:
        'Give the cluster room, or the bridge a smaller MCP_BRIDGE_MEMORY and fewer runs at once (MCP_BRIDGE_CONCURRENCY).',
    },
  );
}
