// A node of a cluster on this machine: containerd, the kubelet and what holds pods to policies, in namespaces of the node's own,
// with control groups that are removed with it.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { imageArchive, PAUSE_IMAGE } from './images.mjs';
import { kubeconfigOf } from './keys.mjs';
import {
  attempt,
  CONTROL,
  demand,
  groupOf,
  inNetwork,
  LOGS,
  NODES,
  PKI,
  PLUGINS,
  PODS,
  RUNNING,
  SERVICES,
} from './place.mjs';
import { end, pidOf, start } from './processes.mjs';

/** @typedef {import('./place.mjs').ClusterNode} ClusterNode */

const FIRST_PROCESS = fileURLToPath(new URL('node.sh', import.meta.url));
/** The bridge's own profile, as an operator would give it to nodes. */
const STRICT = fileURLToPath(new URL('../../sandbox-runtime/seccomp/strict.json', import.meta.url));
const GROUPS = '/sys/fs/cgroup';
const CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids', 'hugetlb', 'io'];
const isUnified = () => existsSync(join(GROUPS, 'cgroup.controllers'));
const folderOf = (/** @type {ClusterNode} */ { name }) => join(RUNNING, name);

/** Starts it; it is ready when the API server says so. `archives` are files of images. */
export function startNode(
  /** @type {ClusterNode} */ node,
  /** @type {string} */ path,
  /** @type {readonly string[]} */ archives,
) {
  const folder = folderOf(node);
  mkdirSync(join(folder, 'cni'), { recursive: true });
  const profiles = join(folder, 'disk/var/lib/kubelet/seccomp/mcp-sandbox-bridge');
  mkdirSync(profiles, { recursive: true });
  copyFileSync(STRICT, join(profiles, 'strict.json'));
  makeWire(node);
  makeGroups(node);
  writeFileSync(join(folder, 'cni', '10-bridge.conflist'), JSON.stringify(pluginsOf(node)));
  writeFileSync(join(folder, 'containerd.toml'), containerdConfig(folder));
  writeFileSync(join(folder, 'kubelet.json'), JSON.stringify(kubeletConfig(node)));
  start(
    node.name,
    [
      ...inNetwork(node.netns),
      ...['unshare', '--mount', '--uts', '--pid', '--fork', '--kill-child=KILL', '--propagation=private'],
      ...[FIRST_PROCESS, node.name, node.address, folder],
      ...[kubeconfigOf(node.name), kubeconfigOf('proxy'), kubeconfigOf('admin'), LOGS, ...archives],
    ],
    { env: { PATH: path, PODS, SERVICES } },
  );
}

/** Gives the nodes of a cluster that is up an image of this machine's podman, under its name there. Throws where one did not take it. */
export function giveImage(/** @type {string} */ image) {
  const archive = imageArchive(image);
  for (const { name } of NODES) {
    const inside = ['nsenter', `--target=${pidOf(name) ?? ''}`, '--mount'];
    demand(...inside, 'ctr', '--namespace', 'k8s.io', 'images', 'import', archive);
  }
}

/** Ends it with all its pods, and removes what it had on this machine; its folder is removed with the cluster's. */
export async function endNode(/** @type {ClusterNode} */ node) {
  await end(node.name, 'SIGKILL');
  attempt('ip', 'netns', 'delete', node.netns);
  attempt(...inNetwork(CONTROL.netns), 'ip', 'link', 'delete', node.wire);
  for (const parent of hierarchies()) removeGroup(join(parent, groupOf(node)));
}

function makeWire(/** @type {ClusterNode} */ { netns, wire, address, pods }) {
  demand('ip', 'netns', 'add', netns);
  demand(
    'ip',
    'link',
    'add',
    wire,
    'netns',
    CONTROL.netns,
    'type',
    'veth',
    'peer',
    'name',
    'eth0',
    'netns',
    netns,
  );
  const there = (/** @type {string[]} */ ...argv) => demand(...inNetwork(CONTROL.netns), ...argv);
  there('ip', 'link', 'set', wire, 'master', CONTROL.bridge);
  there('ip', 'link', 'set', wire, 'up');
  there('ip', 'route', 'replace', pods, 'via', address);
  const inside = (/** @type {string[]} */ ...argv) => demand(...inNetwork(netns), ...argv);
  inside('ip', 'link', 'set', 'lo', 'up');
  inside('ip', 'address', 'add', `${address}/24`, 'dev', 'eth0');
  inside('ip', 'link', 'set', 'eth0', 'up');
  inside('ip', 'route', 'add', 'default', 'via', CONTROL.address);
  inside('sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward');
}

/** The roots of all hierarchies: of the only one, or of each of version 1, with that of version 2 which may lie beside them. */
const hierarchies = () =>
  isUnified()
    ? [GROUPS]
    : readdirSync(GROUPS)
        .map((name) => join(GROUPS, name))
        .filter((parent) => statSync(parent).isDirectory());

function makeGroups(/** @type {ClusterNode} */ node) {
  for (const parent of hierarchies()) {
    const group = join(parent, groupOf(node));
    mkdirSync(group, { recursive: true });
    if (isUnified()) {
      const has = readFileSync(join(group, 'cgroup.controllers'), 'utf8').trim().split(' ');
      const given = has.filter((name) => CONTROLLERS.includes(name)).map((name) => `+${name}`);
      writeFileSync(join(group, 'cgroup.subtree_control'), given.join(' '));
    }
    // A new group of these has no processors and no memory until it is told so.
    for (const name of ['cpuset.cpus', 'cpuset.mems'])
      if (!isUnified() && existsSync(join(group, name)))
        writeFileSync(join(group, name), readFileSync(join(parent, name)));
    // Pods get no greater share of the processors than whoever has started the cluster.
    const share = ownShare(parent);
    if (share !== undefined) writeFileSync(join(group, 'cpu.shares'), share);
  }
}

/** The share of the group of version 1 in which this process stands; undefined where there is none. */
function ownShare(/** @type {string} */ parent) {
  const line = readFileSync('/proc/self/cgroup', 'utf8')
    .split('\n')
    .find((each) => each.split(':')[1]?.split(',').includes('cpu'));
  const file = join(parent, line?.split(':')[2] ?? '', 'cpu.shares');
  return line !== undefined && existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

/** With all that is below it. A group whose processes are just ending goes a moment later. */
function removeGroup(/** @type {string} */ group) {
  if (!existsSync(group)) return;
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(group, entry.name));
  for (let tries = 0; tries < 50; tries++) {
    try {
      rmdirSync(group);
      return;
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
  }
}

const pluginsOf = (/** @type {ClusterNode} */ { pods }) => ({
  cniVersion: '0.4.0',
  name: 'cluster',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: false,
      hairpinMode: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: pods }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
  ],
});

/** For Debian's containerd 1.6. A machine that is itself a container may not lower the score of any process. */
const containerdConfig = (/** @type {string} */ folder) => `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${PLUGINS}"
    conf_dir = "${join(folder, 'cni')}"
`;

const kubeletConfig = (/** @type {ClusterNode} */ node) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address: node.address,
  healthzBindAddress: '127.0.0.1',
  tlsCertFile: join(PKI, `${node.name}.crt`),
  tlsPrivateKeyFile: join(PKI, `${node.name}.key`),
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: join(PKI, 'ca.crt') },
  },
  authorization: { mode: 'Webhook' },
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${groupOf(node)}`,
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  // Else it ends where it may not lower its score for the kernel's memory killer.
  featureGates: { KubeletInUserNamespace: true },
  failSwapOn: false,
  seccompDefault: true,
  clusterDomain: 'cluster.local',
  resolvConf: '',
  // The disk is the machine's, and what else fills it is no business of a test's.
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  serializeImagePulls: false,
  // A control of an attack prints tens of megabytes, and is read afterwards.
  containerLogMaxSize: '1Gi',
});
