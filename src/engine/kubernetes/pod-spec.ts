// A SandboxSpec as a pod of the Restricted standard. Pure: each wall of the spec is a field here, or is named as one that a pod has no
// field for. Limits per process and the mask of new files are set by the program that becomes the sandbox (pod-programs.ts).

import { INSTANCE_LABEL } from '../../base/process/owner.js';
import type { SandboxSpec } from '../engine.js';
import type { NodeWalls } from './node-walls.js';
import type { OwnerReference } from './own-pod.js';
import { keepCommand } from './pod-programs.js';
import { CLUSTER_DEFAULT } from './runtime-class.js';

/** Carried by all that the bridge makes in a cluster; what the NetworkPolicy goes by is WALLED_LABEL. */
export const MANAGED_LABEL = 'app.kubernetes.io/managed-by';
export const WALLED_LABEL = `${INSTANCE_LABEL}.network`;
export const CONTAINER = 'sandbox';

/** Files of ours as a cluster keeps them: ConfigMaps, and each of their keys by the path at which its file lies. */
export type PodFiles = {
  readonly image: string;
  readonly folders: ReadonlyArray<{
    readonly target: string;
    readonly parts: ReadonlyArray<{
      readonly configMap: string;
      readonly items: ReadonlyArray<{ readonly key: string; readonly path: string }>;
    }>;
  }>;
};

export type PodWishes = {
  readonly files: PodFiles;
  readonly labels: Readonly<Record<string, string>>;
  readonly owners: readonly OwnerReference[];
  /** Nodes that are taken only where there is no other. */
  readonly avoids: readonly string[];
  /** The one node that is taken; without it, any. */
  readonly node?: string;
  /** The OCI runtime's name: a RuntimeClass, or CLUSTER_DEFAULT. */
  readonly runtime: string | undefined;
  readonly walls?: NodeWalls;
};

const MB = 'Mi';
/** Runtimes mount it writable, and what lies in it is the kernel's memory. */
const MESSAGE_QUEUES = '/dev/mqueue';
/** Room for the pod's log, which is all that a node keeps of it on disk: the pod itself can write nothing there. */
const EPHEMERAL = `16${MB}`;
/** Room that the scheduler keeps for a sandbox; most use little of what they may. */
const REQUESTS = { cpu: '50m', memory: `64${MB}` };

/** Who waits for a pod waits for its end, too: its first process ends at once when it is told. */
export const GRACE_SECONDS = 1;

export function podOf(
  spec: SandboxSpec,
  { files, labels, owners, avoids, node, runtime, walls = {} }: PodWishes,
) {
  const [user, group] = spec.user.split(':').map(Number);
  const writable = [
    ...spec.tmpfs.map(({ target, sizeMb }) => ({ target, sizeMb })),
    { target: '/dev/shm', sizeMb: spec.shmMb },
  ];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: spec.name,
      labels: { ...spec.labels, ...labels, [MANAGED_LABEL]: INSTANCE_LABEL, [WALLED_LABEL]: spec.network },
      ownerReferences: owners,
    },
    spec: {
      // The cluster's own clock ends it, even when the bridge is gone.
      activeDeadlineSeconds: spec.deadManSeconds,
      terminationGracePeriodSeconds: GRACE_SECONDS,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      ...(walls.hasOwnUsers ? { hostUsers: false } : {}),
      shareProcessNamespace: false,
      hostname: spec.hostname,
      ...affinityOf(avoids, node),
      // Names lead nowhere.
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['127.0.0.1'] },
      ...(runtime === undefined || runtime === CLUSTER_DEFAULT ? {} : { runtimeClassName: runtime }),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: user,
        runAsGroup: group ?? user,
        supplementalGroups: [],
        seccompProfile:
          walls.seccomp === undefined
            ? { type: 'RuntimeDefault' }
            : { type: 'Localhost', localhostProfile: walls.seccomp },
      },
      containers: [
        {
          name: CONTAINER,
          image: files.image,
          // An image of ours is in no registry; any other is pulled once.
          imagePullPolicy: files.image.startsWith('localhost/') ? 'Never' : 'IfNotPresent',
          command: keepCommand(spec),
          workingDir: spec.workdir,
          env: Object.entries({ ...spec.env, TZ: spec.timezone }).map(([name, value]) => ({ name, value })),
          stdin: false,
          tty: false,
          resources: {
            requests: REQUESTS,
            limits: {
              memory: String(spec.memoryBytes),
              'ephemeral-storage': EPHEMERAL,
              ...(spec.cpus === undefined ? {} : { cpu: String(spec.cpus) }),
            },
          },
          securityContext: {
            allowPrivilegeEscalation: false,
            privileged: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
            procMount: 'Default',
          },
          volumeMounts: [
            ...writable.map(({ target }, at) => ({ name: `memory-${at}`, mountPath: target })),
            { name: 'nothing', mountPath: MESSAGE_QUEUES, readOnly: true },
            ...files.folders.map(({ target }, at) => ({
              name: `files-${at}`,
              mountPath: target,
              readOnly: true,
            })),
          ],
        },
      ],
      volumes: [
        ...writable.map(({ sizeMb }, at) => ({
          name: `memory-${at}`,
          emptyDir: { medium: 'Memory', sizeLimit: `${sizeMb}${MB}` },
        })),
        { name: 'nothing', emptyDir: { medium: 'Memory', sizeLimit: `1${MB}` } },
        ...files.folders.map(({ parts }, at) => ({
          name: `files-${at}`,
          projected: {
            defaultMode: 0o444,
            sources: parts.map(({ configMap, items }) => ({ configMap: { name: configMap, items } })),
          },
        })),
      ],
    },
  };
}

function affinityOf(avoids: readonly string[], node: string | undefined) {
  const elsewhere = { key: 'kubernetes.io/hostname', operator: 'NotIn', values: avoids };
  // By its name, as a DaemonSet has its pods placed: the scheduler still looks whether there is room.
  const there = { key: 'metadata.name', operator: 'In', values: [node] };
  const nodeAffinity = {
    ...(avoids.length > 0 && {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 100, preference: { matchExpressions: [elsewhere] } },
      ],
    }),
    ...(node !== undefined && {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [there] }] },
    }),
  };
  return Object.keys(nodeAffinity).length === 0 ? {} : { affinity: { nodeAffinity } };
}
