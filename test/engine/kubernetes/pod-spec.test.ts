// A SandboxSpec as a pod: every field that the Restricted standard demands, every wall that a pod has a field for, and why a pod
// does not start, in the cluster's words.

import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/engine/kubernetes/api.js';
import { exitIn } from '../../../src/engine/kubernetes/exec-streams.js';
import { networkPolicy } from '../../../src/engine/kubernetes/network-wall.js';
import { nodeWallsIn } from '../../../src/engine/kubernetes/node-walls.js';
import { ownersOf } from '../../../src/engine/kubernetes/own-pod.js';
import { podOf } from '../../../src/engine/kubernetes/pod-spec.js';
import {
  inOneLine,
  lossOf,
  noRoom,
  notStarted,
  troubleOf,
} from '../../../src/engine/kubernetes/pod-state.js';
import { wallsOf } from '../../../src/engine/kubernetes/pod-walls.js';
import { sandboxSpec } from '../../../src/sandbox/spec/spec.js';
import { PLAIN_KIND } from '../../support/plain-kind.js';

const spec = sandboxSpec({
  image: 'mcp-sandbox-bridge/files:abc',
  harnessDir: '/state/ipc/abc',
  areInImage: true,
  fallbackDir: undefined,
  seccompFile: '/state/seccomp/abc/strict.json',
  name: 'mcp-sandbox-bridge-i-1',
  user: '20123:20123',
  kind: { ...PLAIN_KIND, cpus: 1.5 },
  enforcement: undefined,
  networkMode: undefined,
  cores: 2,
  maxTimeoutSeconds: 120,
  maxWaitSeconds: 0,
});
const files = {
  image: 'python:3.14-slim',
  folders: [
    {
      target: '/ipc',
      parts: [{ configMap: 'files-0', items: [{ key: 'file-0', path: 'harness/main.py' }] }],
    },
  ],
};
const made = (runtime?: string, image = files.image) =>
  podOf(spec, {
    files: { ...files, image },
    labels: { 'mcp-sandbox-bridge': 'i' },
    owners: [],
    avoids: [],
    runtime,
  });
const pod = made();
const [container] = pod.spec.containers;

describe('the pod of a sandbox', () => {
  it('has each field that the Restricted standard demands', () => {
    expect(pod.spec).toMatchObject({ hostNetwork: false, hostPID: false, hostIPC: false });
    expect(pod.spec.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: 20_123,
      runAsGroup: 20_123,
      supplementalGroups: [],
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      procMount: 'Default',
    });
    const kinds = new Set(pod.spec.volumes.map(({ name: _, ...volume }) => Object.keys(volume).join()));
    expect([...kinds].sort()).toEqual(['emptyDir', 'projected']);
  });

  it('has no token of an account, no names of services and nobody to ask for names', () => {
    expect(pod.spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['127.0.0.1'] },
    });
  });

  it('is ended by the cluster’s own clock, and never started again', () => {
    expect(pod.spec.activeDeadlineSeconds).toBe(spec.deadManSeconds);
    expect(pod.spec.restartPolicy).toBe('Never');
  });

  it('has its limits, and writes to memory alone', () => {
    expect(container?.resources.limits).toEqual({
      memory: String(spec.memoryBytes),
      cpu: '1.5',
      'ephemeral-storage': '16Mi',
    });
    const writable = container?.volumeMounts.filter((mount) => !('readOnly' in mount)) ?? [];
    expect(writable.map(({ mountPath }) => mountPath)).toEqual(['/tmp', spec.workdir, '/dev/shm']);
    for (const { name } of writable)
      expect(pod.spec.volumes.find((volume) => volume.name === name)).toMatchObject({
        emptyDir: { medium: 'Memory', sizeLimit: expect.stringMatching(/^\d+Mi$/) },
      });
  });

  it('mounts the bridge’s files read-only, by their paths', () => {
    expect(container?.volumeMounts).toContainEqual({ name: 'files-0', mountPath: '/ipc', readOnly: true });
    expect(pod.spec.volumes).toContainEqual({
      name: 'files-0',
      projected: {
        defaultMode: 0o444,
        sources: [{ configMap: { name: 'files-0', items: [{ key: 'file-0', path: 'harness/main.py' }] } }],
      },
    });
  });

  it('is held by the policy that denies all traffic', () => {
    const { podSelector, policyTypes, ...rules } = networkPolicy.spec;
    expect(pod.metadata.labels).toMatchObject(podSelector.matchLabels);
    expect([policyTypes, rules]).toEqual([['Ingress', 'Egress'], {}]);
  });

  it('names a RuntimeClass only where one is set', () => {
    expect(made('gvisor').spec).toMatchObject({ runtimeClassName: 'gvisor' });
    expect(made('default').spec).not.toHaveProperty('runtimeClassName');
  });

  it('is placed away from nodes that are avoided, and on the one that is named', () => {
    expect(pod.spec).not.toHaveProperty('affinity');
    const wishes = { files, labels: {}, owners: [], avoids: ['node2'], node: 'node1', runtime: undefined };
    const { nodeAffinity } = Object(podOf(spec, wishes).spec).affinity;
    const away = [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['node2'] }];
    const there = [{ key: 'metadata.name', operator: 'In', values: ['node1'] }];
    expect(nodeAffinity).toEqual({
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 100, preference: { matchExpressions: away } },
      ],
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: there }] },
    });
  });

  it('has a node look for no registry where the image is one that was built', () => {
    const policyOf = (image: string) => made(undefined, image).spec.containers[0]?.imagePullPolicy;
    expect([policyOf('localhost/x:1'), policyOf('python:3.14-slim')]).toEqual(['Never', 'IfNotPresent']);
  });
});

it.each([
  [{ status: 'Success' }, 0],
  [{ status: 'Failure', details: { causes: [{ reason: 'ExitCode', message: '137' }] } }, 137],
  [{ status: 'Failure', message: 'container not found' }, undefined],
])('the status %j of an exec is the exit code %s', (status, code) => {
  expect(exitIn(status)).toEqual({ code, signal: undefined });
});

const waiting = (code: string, message: string) => ({
  metadata: { name: 'p' },
  status: { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: code, message } } }] },
});
it.each([
  [
    waiting('ErrImageNeverPull', 'image "x" is not present'),
    'E_IMAGE_MISSING',
    /ErrImageNeverPull: image "x"/,
  ],
  [waiting('CreateContainerError', 'no such device'), 'E_SANDBOX_START', /no such device/],
  [
    { status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory' } },
    'E_SANDBOX_START',
    /low on memory/,
  ],
  [waiting('ContainerCreating', ''), undefined, /./],
])('a pod that will not start is told as what it is: %j', (state, code, words) => {
  const trouble = troubleOf(state);
  expect(trouble?.code).toBe(code);
  if (code !== undefined) expect(trouble?.message).toMatch(words);
});

it('a pod that no node takes is told in the scheduler’s words, and one that has a node is not', () => {
  const placed = (status: string) => ({
    status: {
      conditions: [
        { type: 'PodScheduled', status, message: '0/2 nodes are available: 2 Insufficient memory.' },
      ],
    },
  });
  expect(noRoom(placed('False'))?.message).toMatch(/no node takes the pod: 0\/2 nodes/);
  expect(noRoom(placed('True'))).toBeUndefined();
});

describe('a pod as its cluster has admitted it', () => {
  const broken = (walls: ReturnType<typeof wallsOf>): string[] =>
    walls.filter(({ holds, isRequired }) => isRequired && !holds).map(({ control }) => control);

  it('has all walls where it is as it was asked for', () => {
    expect(broken(wallsOf(pod, 'closed'))).toEqual([]);
  });

  it.each<[string, object, string[]]>([
    ['a container that was added', { containers: [container, { name: 'mesh' }] }, ['pod: containers']],
    ['a token', { automountServiceAccountToken: true }, ['pod: account']],
    [
      'a volume of the node',
      { volumes: [{ name: 'disk', hostPath: { path: '/' } }] },
      ['pod: account', 'pod: volumes'],
    ],
    ['the network of the node', { hostNetwork: true }, ['pod: namespaces of the node']],
    ['root', { securityContext: { ...pod.spec.securityContext, runAsUser: 0 } }, ['pod: user']],
    [
      'no filter',
      { securityContext: { ...pod.spec.securityContext, seccompProfile: undefined } },
      ['pod: seccomp'],
    ],
    ['no limits', { containers: [{ ...container, resources: {} }] }, ['pod: limits']],
  ])('is told with %s', (_what, changed, controls) => {
    expect(broken(wallsOf({ spec: { ...pod.spec, ...changed } }, 'closed'))).toEqual(controls);
  });

  it('has a filter and users of its own where the address of the cluster says that its nodes can', () => {
    const walls = nodeWallsIn('kubernetes:///sandboxes?seccomp=bridge/strict.json&users=own');
    const walled = podOf(spec, { files, labels: {}, owners: [], avoids: [], runtime: undefined, walls });
    expect(walled.spec).toMatchObject({
      hostUsers: false,
      securityContext: {
        seccompProfile: { type: 'Localhost', localhostProfile: 'bridge/strict.json' },
      },
    });
    expect(broken(wallsOf(walled, 'closed', walls))).toEqual([]);
    // As an older cluster drops it, or admission puts another one in its place.
    expect(broken(wallsOf(pod, 'closed', walls))).toEqual(['pod: seccomp', 'pod: user namespace']);
  });

  it.each(['secomp=bridge/strict.json', 'seccomp=../strict.json', 'seccomp=/etc/strict.json', 'users=mine'])(
    'is not made where the address says %s',
    (query) => {
      expect(() => nodeWallsIn(`kubernetes:///sandboxes?${query}`)).toThrow(/behind its question mark/);
    },
  );

  it('is told with a network that nobody has seen closed', () => {
    expect(broken(wallsOf(pod, undefined))).toEqual(['pod: network']);
  });
});

describe('a pod that is lost', () => {
  const of = (status: object, metadata: object = {}) => ({
    metadata: { name: 'p', ...metadata },
    spec: { nodeName: 'node1' },
    status,
  });
  it.each<[string, object, object | undefined, RegExp | undefined]>([
    ['runs, as far as is known', of({ phase: 'Running' }), undefined, undefined],
    [
      'was deleted',
      of({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      undefined,
      /its pod p was deleted/,
    ],
    [
      'was evicted by its node',
      of({ reason: 'Evicted', message: 'low on memory' }),
      undefined,
      /ended \(Evicted\): low on memory/,
    ],
    [
      'took too much memory',
      of({ containerStatuses: [{ state: { terminated: { reason: 'OOMKilled', exitCode: 137 } } }] }),
      undefined,
      /OOMKilled/,
    ],
    [
      'lay on a node that is gone',
      of({ phase: 'Running' }),
      { status: { conditions: [{ type: 'Ready', status: 'Unknown', message: 'no word of it' }] } },
      /its node node1 is gone: no word of it/,
    ],
  ])('%s', (_what, lost, node, words) => {
    const said = lossOf(lost, node);
    if (words === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(words);
  });

  it('is told with its node where that does not start it', () => {
    expect(inOneLine(notStarted(of({})))).toMatch(/node1 has not started the pod.*kubectl get node node1/);
  });
});

it.each([
  ['pods "a" is forbidden: exceeded quota: none', /Raise the quota/],
  ['pods "a" is forbidden: violates PodSecurity "baseline"', /Label the namespace/],
  ['pods is forbidden: User "x" cannot create', /role of docs\/kubernetes\.md/],
])('a refusal names the next step: %s', (words, step) => {
  expect(inOneLine(new ApiError(403, words))).toMatch(step);
});

describe('the owner of sandboxes', () => {
  const api = (namespace: string, answer: object | undefined) => ({
    namespace,
    path: (kind: string, name = '') => `/${kind}/${name}`,
    find: async () => answer,
  });
  const { signal } = new AbortController();
  const here = { namespace: 'sandboxes\n', name: 'bridge-1' };
  it('is the pod of the bridge in their namespace', async () => {
    expect(await ownersOf(api('sandboxes', { metadata: { uid: 'u' } }), signal, here)).toEqual([
      { apiVersion: 'v1', kind: 'Pod', name: 'bridge-1', uid: 'u' },
    ]);
  });
  it('is nobody where the bridge is elsewhere, or is no pod', async () => {
    expect(await ownersOf(api('others', { metadata: { uid: 'u' } }), signal, here)).toEqual([]);
    expect(await ownersOf(api('sandboxes', undefined), signal, here)).toEqual([]);
  });
});
