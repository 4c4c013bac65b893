// The control plane: etcd, the API server, the scheduler and the controllers, in a network of their own, and the door to it on
// this machine's loopback.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kubeconfigOf } from './keys.mjs';
import { attempt, CONTROL, DOOR, demand, inNetwork, NODES, PKI, RUNNING, SERVICES } from './place.mjs';
import { start, until } from './processes.mjs';

const ETCD = 'http://127.0.0.1:2379';
const DOOR_PROGRAM = fileURLToPath(new URL('door.mjs', import.meta.url));
const file = (/** @type {string} */ name) => join(PKI, name);

/** Makes the network of the control plane, which leads nowhere but to the nodes. */
export function makeNetwork() {
  const { netns, bridge, address } = CONTROL;
  demand('ip', 'netns', 'add', netns);
  const inside = (/** @type {string[]} */ ...argv) => demand(...inNetwork(netns), ...argv);
  inside('ip', 'link', 'set', 'lo', 'up');
  inside('ip', 'link', 'add', bridge, 'type', 'bridge');
  inside('ip', 'address', 'add', `${address}/24`, 'dev', bridge);
  inside('ip', 'link', 'set', bridge, 'up');
  // Traffic between nodes passes here. The setting is one of this network's alone.
  inside('sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward');
}

const runner =
  (/** @type {string} */ path) => (/** @type {string} */ name, /** @type {readonly string[]} */ flags) =>
    start(name, [...inNetwork(CONTROL.netns), name, ...flags], { env: { PATH: path } });

/** Starts it, and returns when the API answers. */
export async function startControlPlane(/** @type {string} */ path) {
  const run = runner(path);
  run('etcd', [
    ...[
      '--name=etcd',
      `--data-dir=${join(RUNNING, 'etcd')}`,
      `--listen-client-urls=${ETCD}`,
      `--advertise-client-urls=${ETCD}`,
    ],
    ...['--listen-peer-urls=http://127.0.0.1:2380', '--initial-advertise-peer-urls=http://127.0.0.1:2380'],
    // What it holds goes with the cluster.
    ...['--initial-cluster=etcd=http://127.0.0.1:2380', '--unsafe-no-fsync'],
  ]);
  await startApiServer(path);
  for (const [name, flags] of /** @type {const} */ ([
    [
      'kube-controller-manager',
      [
        '--allocate-node-cidrs=false',
        `--service-cluster-ip-range=${SERVICES}`,
        `--root-ca-file=${file('ca.crt')}`,
        `--service-account-private-key-file=${file('sa.key')}`,
        '--use-service-account-credentials',
      ],
    ],
    ['kube-scheduler', []],
  ])) {
    const config = kubeconfigOf(name.replace('kube-', ''));
    const kubeconfigs = ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map(
      (flag) => `--${flag}=${config}`,
    );
    run(name, [...kubeconfigs, '--bind-address=127.0.0.1', '--leader-elect=false', ...flags]);
  }
}

/** Starts the API server, where etcd is up, and returns when it answers. */
export async function startApiServer(/** @type {string} */ path) {
  const certificate = (/** @type {string} */ flag, /** @type {string} */ name) => [
    `--${flag}-cert-file=${file(`${name}.crt`)}`,
    `--${flag}-private-key-file=${file(`${name}.key`)}`,
  ];
  runner(path)('kube-apiserver', [
    ...[
      `--etcd-servers=${ETCD}`,
      '--bind-address=0.0.0.0',
      `--advertise-address=${CONTROL.address}`,
      `--secure-port=${CONTROL.port}`,
    ],
    ...[...certificate('tls', 'apiserver'), `--client-ca-file=${file('ca.crt')}`],
    ...[
      `--kubelet-client-certificate=${file('kubelet-client.crt')}`,
      `--kubelet-client-key=${file('kubelet-client.key')}`,
    ],
    ...[`--kubelet-certificate-authority=${file('ca.crt')}`, '--kubelet-preferred-address-types=InternalIP'],
    ...[
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-account-key-file=${file('sa.pub')}`,
    ],
    ...[`--service-account-signing-key-file=${file('sa.key')}`, `--service-cluster-ip-range=${SERVICES}`],
    ...['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction', '--profiling=false'],
  ]);
  const answers = () =>
    attempt(
      ...inNetwork(CONTROL.netns),
      'env',
      `PATH=${path}`,
      `KUBECONFIG=${kubeconfigOf('admin')}`,
      'kubectl',
      '--request-timeout=5s',
      'get',
      '--raw=/readyz',
    ) === 'ok';
  await until('the API server does not answer', 'kube-apiserver', answers);
}

/** Opens the port on this machine's loopback. Whoever listens is here; what it connects to is in the other network. */
export async function openDoor() {
  const server = createServer();
  server.listen(DOOR.port, DOOR.host);
  await once(server, 'listening');
  const child = start(
    'door',
    [...inNetwork(CONTROL.netns), process.execPath, DOOR_PROGRAM, '127.0.0.1', String(CONTROL.port)],
    { ipc: true },
  );
  await new Promise((resolve, reject) =>
    child.send('door', server, (trouble) => (trouble === null ? resolve(undefined) : reject(trouble))),
  );
  child.once('message', () => child.disconnect());
  await once(child, 'disconnect');
  server.close();
}

/** Tells the API server of the nodes ahead of them, with the addresses of their pods, which a kubelet leaves as they are. */
export function announceNodes(/** @type {(input: object) => void} */ apply) {
  for (const { name, pods } of NODES)
    apply({ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { podCIDR: pods, podCIDRs: [pods] } });
}
