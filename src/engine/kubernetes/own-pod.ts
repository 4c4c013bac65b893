// The pod in which the bridge itself runs, as the owner of its sandboxes: the cluster deletes them when it is gone, also where
// no bridge ever starts again. A cluster knows an owner in the same namespace alone; elsewhere a sandbox ends by itself when the
// connection of its bridge does.

import { hostname } from 'node:os';
import { readText } from '../../base/files/read-text.js';
import { type Api, ApiError } from './api.js';

const OWN_NAMESPACE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

export type OwnerReference = {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly name: string;
  readonly uid: string;
};

/** None where the bridge runs in no pod, or in another namespace than its sandboxes, or may not ask for its pod. */
export async function ownersOf(
  api: Pick<Api, 'namespace' | 'find' | 'path'>,
  signal: AbortSignal,
  { namespace = readText(OWN_NAMESPACE), name = hostname() } = {},
): Promise<readonly OwnerReference[]> {
  if (namespace?.trim() !== api.namespace) return [];
  try {
    const pod = await api.find(api.path('pods', name), signal);
    const uid: unknown = pod?.metadata?.uid;
    return typeof uid === 'string' ? [{ apiVersion: 'v1', kind: 'Pod', name, uid }] : [];
  } catch (thrown) {
    if (thrown instanceof ApiError) return [];
    throw thrown;
  }
}
