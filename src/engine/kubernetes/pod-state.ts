// The state of a pod, asked again until it is as it is wanted, and the reasons why one does not start, in the cluster's words.

import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError, messageOf } from '../../base/errors.js';
import { type Api, ApiError, type ApiObject } from './api.js';

const POLL_MS = 100;
/** Reasons of a container that waits from which it does not come by itself within the time of a start. */
const STUCK =
  /^(?:ErrImage|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|CreateContainerConfigError|CreateContainerError|RunContainerError)/;

/** How long a pod may wait for a node with room: a cluster that grows has one by then, and a start does not last much longer. */
const PLACED_WITHIN_MS = 45_000;
/** How long a node may take to start it, which is short of the time that a start has. */
const STARTED_WITHIN_MS = 55_000;

/** Resolves with the pod once it `holds`; throws why it never will, or when `signal` aborts. */
export async function waitForPod(
  api: Api,
  name: string,
  signal: AbortSignal,
  holds: (pod: ApiObject) => boolean,
): Promise<ApiObject> {
  const since = performance.now();
  for (;;) {
    signal.throwIfAborted();
    const pod = await api.find(api.path('pods', name), signal);
    if (pod === undefined)
      throw new BridgeError('E_SANDBOX_START', `the pod ${name} was deleted`, { fault: 'engine' });
    if (holds(pod)) return pod;
    const waitedMs = performance.now() - since;
    const trouble =
      troubleOf(pod) ??
      (waitedMs > PLACED_WITHIN_MS ? noRoom(pod) : undefined) ??
      (waitedMs > STARTED_WITHIN_MS ? notStarted(pod) : undefined);
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

/** The error of a pod whose node does not start it: the node may be gone, which a cluster notices late, or pull an image for long. */
export function notStarted({ metadata, spec, status }: ApiObject): BridgeError {
  const { reason = 'no reason was given' } = status?.containerStatuses?.[0]?.state?.waiting ?? {};
  return new BridgeError(
    'E_SANDBOX_START',
    `the node ${spec?.nodeName} has not started the pod within ${STARTED_WITHIN_MS / 1000} s: ${reason}`,
    {
      fault: 'engine',
      remedy: `Look at \`kubectl get node ${spec?.nodeName}\` and \`kubectl describe pod ${metadata?.name}\`: the node may be gone, or may still pull the image.`,
    },
  );
}

/** Why a pod is lost that had run, and its node where that is known; undefined where nothing is said of either. */
export function lossOf(
  { metadata, spec, status }: ApiObject,
  node: ApiObject | undefined,
): string | undefined {
  const { terminated } = status?.containerStatuses?.[0]?.state ?? {};
  const ready = node?.status?.conditions?.find(({ type }: { type: string }) => type === 'Ready');
  if (ready !== undefined && ready.status !== 'True')
    return `its node ${spec?.nodeName} is gone: ${ready.message || ready.reason || 'it does not answer'}`;
  if (status?.reason !== undefined)
    return `its pod has ended (${status.reason}): ${status.message ?? 'no more is said'}`;
  const disrupted = status?.conditions?.find(({ type }: { type: string }) => type === 'DisruptionTarget');
  if (disrupted?.status === 'True')
    return `its pod ${metadata.name} was evicted (${disrupted.reason}): ${disrupted.message}`;
  if (metadata?.deletionTimestamp !== undefined) return `its pod ${metadata.name} was deleted`;
  if (terminated !== undefined)
    return `its pod has ended with exit code ${terminated.exitCode} (${terminated.reason})`;
  return undefined;
}

/** An error of a start with the next step, as one line: whoever reads it gets the words alone. */
export function inOneLine(thrown: unknown): string {
  const message = messageOf(thrown);
  // An error of ours has its remedy in its words.
  const remedy = thrown instanceof ApiError ? remedyOf(thrown) : undefined;
  return remedy === undefined ? message : `${message.replace(/[.!]?$/, '.')} ${remedy}`;
}

const FORBIDDEN = 403;
/** A full quota and a missing right are told by one status; the server's words differ. */
function remedyOf({ status, message }: ApiError): string | undefined {
  if (status !== FORBIDDEN) return undefined;
  if (message.includes('exceeded quota'))
    return 'Raise the quota of the namespace, or ask for less: MCP_BRIDGE_CONCURRENCY, MCP_BRIDGE_WARM, MCP_BRIDGE_MEMORY.';
  if (message.includes('violates PodSecurity'))
    return 'Label the namespace with a standard that admits it: pod-security.kubernetes.io/enforce=restricted does.';
  return "Give the bridge's account the role of docs/kubernetes.md, and try `kubectl auth can-i --list`.";
}
