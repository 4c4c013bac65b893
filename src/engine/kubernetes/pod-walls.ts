// The walls of a pod as its cluster has admitted it, which may not be as it was asked for: admission can add containers, volumes
// and defaults, and an older cluster drops fields that it does not know. Pure; what code meets inside is the probe's to try.

import type { ToldWall } from '../engine.js';
import type { ApiObject } from './api.js';
import { filterOf, type NodeWalls } from './node-walls.js';

/** Kinds of volumes that hold nothing of a node and no token: memory of the pod's own, and files of the bridge. */
const isHarmless = (volume: ApiObject): boolean =>
  volume.emptyDir?.medium === 'Memory' ||
  (volume.projected?.sources ?? [{}]).every((source: ApiObject) => source.configMap !== undefined);

/** `asked`: walls of the nodes that it was to have. `network`: how its network was seen closed from inside; undefined where that was not tried. */
export function wallsOf(
  { spec }: ApiObject,
  network: string | undefined,
  asked: NodeWalls = {},
): readonly ToldWall[] {
  const containers: ApiObject[] = [...(spec.initContainers ?? []), ...spec.containers];
  const [{ resources = {}, securityContext: own = {} } = {}] = spec.containers;
  const { securityContext: ofPod = {} } = spec;
  const seccomp = own.seccompProfile ?? ofPod.seccompProfile ?? {};
  const filter = [seccomp.type ?? 'none', seccomp.localhostProfile ?? ''].join(' ').trim();
  const volumes: ApiObject[] = spec.volumes ?? [];
  const user = own.runAsUser ?? ofPod.runAsUser;
  const shared = ['hostNetwork', 'hostPID', 'hostIPC'].filter((name) => spec[name] === true);
  const { memory, cpu = 'no limit', 'ephemeral-storage': disk } = resources.limits ?? {};
  const wall = (control: string, requested: string, observed: string, holds: boolean): ToldWall => ({
    control,
    requested,
    observed,
    holds,
    isRequired: true,
  });
  return [
    wall('pod: containers', 'one', containers.map(({ name }) => name).join(', '), containers.length === 1),
    wall(
      'pod: account',
      'no token of the cluster',
      spec.automountServiceAccountToken === false && volumes.every(isHarmless)
        ? 'no token'
        : 'a token may be there',
      spec.automountServiceAccountToken === false && volumes.every(isHarmless),
    ),
    wall(
      'pod: volumes',
      'memory and files of the bridge',
      volumes
        .filter((volume) => !isHarmless(volume))
        .map(({ name }) => name)
        .join(', ') || 'no others',
      volumes.every(isHarmless),
    ),
    wall('pod: user', 'not root', `user ${user}`, ofPod.runAsNonRoot === true && Number(user) > 0),
    wall(
      'pod: root file system',
      'read-only',
      own.readOnlyRootFilesystem === true ? 'read-only' : 'writable',
      own.readOnlyRootFilesystem === true,
    ),
    wall(
      'pod: capabilities',
      'none',
      own.capabilities?.add?.join(', ') ?? (own.capabilities?.drop?.includes('ALL') ? 'none' : 'some'),
      own.capabilities?.add === undefined && own.capabilities?.drop?.includes('ALL') === true,
    ),
    wall('pod: seccomp', filterOf(asked), filter, filter === filterOf(asked)),
    {
      ...wall(
        'pod: user namespace',
        asked.hasOwnUsers ? 'its own' : 'none is asked for',
        spec.hostUsers === false ? 'its own' : "the node's",
        spec.hostUsers === false,
      ),
      isRequired: asked.hasOwnUsers === true,
    },
    wall('pod: namespaces of the node', 'none', shared.join(', ') || 'none', shared.length === 0),
    wall(
      'pod: limits',
      'memory and disk',
      `memory ${memory ?? 'no limit'}, disk ${disk ?? 'no limit'}, processors ${cpu}`,
      memory !== undefined && disk !== undefined,
    ),
    {
      ...wall(
        'pod: RuntimeClass',
        'as MCP_BRIDGE_OCI_RUNTIME says',
        spec.runtimeClassName ?? "the cluster's default",
        true,
      ),
      isRequired: false,
    },
    wall(
      'pod: network',
      'seen closed from inside, ahead of any code',
      network ?? 'not tried, as MCP_BRIDGE_ACCEPT_UNENFORCED says',
      network !== undefined,
    ),
  ];
}
