// Where a cluster lies on this machine, and what a machine needs for one. There are two at most, whose names and ports are constant:
// the one that a person brings up, and the one of `npm run test:cluster`, which breaks it.

import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const CACHE = join(
  process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'),
  'mcp-sandbox-bridge',
  'cluster',
);
/** Set to `tests`, the cluster of the tests is meant. */
const IS_OF_TESTS = process.env['CLUSTER_OF'] === 'tests';
const named = (/** @type {string} */ name) => (IS_OF_TESTS ? `${name}-tests` : name);
/** All of a running cluster: keys, logs, pids, and the nodes' disks. */
export const RUNNING = join(CACHE, named('running'));
/** Programs that were built, and images that were saved, by version. */
export const KEPT = join(CACHE, 'kept');
export const PKI = join(RUNNING, 'pki');
export const LOGS = join(RUNNING, 'log');
export const PIDS = join(RUNNING, 'pid');
/** The kubeconfig of an administrator, for programs on this machine. */
export const KUBECONFIG = join(RUNNING, 'kubeconfig');

/** The namespace of the network in which the control plane runs, and the bridge in it that leads to the nodes. */
export const CONTROL = { netns: named('mcp-cluster'), bridge: 'mcpbr0', address: '10.77.0.1', port: 6443 };
/** The only port on this machine, on its loopback. */
export const DOOR = { host: '127.0.0.1', port: IS_OF_TESTS ? 16_444 : 16_443 };
export const SERVICES = '10.96.0.0/16';
export const PODS = '10.78.0.0/16';

/** @typedef {{ name: string, netns: string, wire: string, address: string, pods: string }} ClusterNode */
/** @type {readonly ClusterNode[]} */
export const NODES = [1, 2].map((number) => ({
  name: `node${number}`,
  netns: named(`mcp-node${number}`),
  wire: `mcpn${number}`,
  address: `10.77.0.1${number}`,
  pods: `10.78.${number}.0/24`,
}));

/** Folders of control groups in which the pods of a node are, by version of the machine's hierarchies. */
export const groupOf = (/** @type {ClusterNode} */ { name }) => named(`mcp-cluster-${name}`);

/** Each program, and the Debian package that has it. */
const NEEDED = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
  ipset: 'ipset',
  openssl: 'openssl',
  ip: 'iproute2',
  nsenter: 'util-linux',
  unshare: 'util-linux',
  tar: 'tar',
  podman: 'podman',
};
export const PLUGINS = '/usr/lib/cni';
const FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Capabilities by their bits, without which the kernel refuses what a node does. */
const CAPABILITIES = { 12: 'CAP_NET_ADMIN', 21: 'CAP_SYS_ADMIN' };
const NEEDED_CAPABILITIES = /** @type {const} */ ([12, 21]);

/** Why there can be no cluster on this machine, in a sentence that names what to do; undefined where there can. */
export function whyNoCluster() {
  if (process.platform !== 'linux')
    return `it is made of namespaces of Linux, and this is ${process.platform}`;
  if (process.arch !== 'x64' && process.arch !== 'arm64') return `nothing is built for ${process.arch}`;
  if (process.getuid?.() !== 0)
    return 'only root can make the network and the control groups of its nodes; run it as root';
  const has = (/** @type {string} */ name) => FOLDERS.some((folder) => existsSync(join(folder, name)));
  const missing = Object.entries(NEEDED).filter(([program]) => !has(program));
  const plugins = ['bridge', 'host-local', 'loopback'].filter((name) => !existsSync(join(PLUGINS, name)));
  const packages = new Set([
    ...missing.map(([, name]) => name),
    ...(plugins.length > 0 ? ['containernetworking-plugins'] : []),
  ]);
  if (packages.size > 0) {
    const absent = [...missing.map(([program]) => program), ...plugins.map((name) => join(PLUGINS, name))];
    return `there is no ${absent.join(', ')}; run scripts/setup --with cluster (Debian: apt-get install ${[...packages].join(' ')})`;
  }
  const bits = BigInt(
    `0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`,
  );
  const lacking = NEEDED_CAPABILITIES.filter((bit) => (bits & (1n << BigInt(bit))) === 0n);
  if (lacking.length > 0)
    return `this process has no ${lacking.map((bit) => CAPABILITIES[bit]).join(', ')}, as in a container; run it on the machine itself`;
  try {
    accessSync('/sys/fs/cgroup', constants.W_OK);
  } catch {
    return '/sys/fs/cgroup is read-only, so its pods can have no control groups';
  }
  return undefined;
}

/** Whether a cluster is up, or a rest of one is there. */
export const isThere = () => existsSync(join('/run/netns', CONTROL.netns)) || existsSync(PIDS);

/** Runs a program and returns what it printed; throws with its words. */
export function demand(/** @type {string[]} */ ...[program = '', ...args]) {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (thrown) {
    const { stderr, message } = /** @type {Error & { stderr?: string }} */ (thrown);
    throw new Error(`${program} ${args.join(' ')}: ${(stderr || message).trim()}`);
  }
}

/** As demand(), where a failure means that it was done already. */
export function attempt(/** @type {string[]} */ ...argv) {
  try {
    return demand(...argv);
  } catch {
    return undefined;
  }
}

export const inNetwork = (/** @type {string} */ netns) => ['nsenter', `--net=/run/netns/${netns}`];
