// A whole Kubernetes cluster on this machine: up in a quarter of a minute once its programs are built, down with nothing left.

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { startController } from './agent-sandbox.mjs';
import { announceNodes, makeNetwork, openDoor, startControlPlane } from './control-plane.mjs';
import { imageArchive, pauseArchive } from './images.mjs';
import { makeKeys } from './keys.mjs';
import { endNode, startNode } from './node.mjs';
import { attempt, CONTROL, inNetwork, isThere, KEPT, KUBECONFIG, NODES, RUNNING } from './place.mjs';
import { end, started, until } from './processes.mjs';
import { CONTROLLER, preparePrograms } from './programs.mjs';

/** Folders of programs that Debian keeps from ordinary users. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Starts it with images of this machine's podman, and with agent-sandbox where that is wanted; throws where one is up, or with what
 * went wrong, and then nothing is left. Returns kubectl: a function that runs it with these arguments, and what it is to read, and returns what it printed.
 */
export async function startCluster(
  /** @type {readonly string[]} */ images,
  /** @type {(line: string) => void} */ say,
  { hasAgentSandbox = false } = {},
) {
  if (isThere())
    throw new Error(
      'a cluster is up already, or a rest of one is there; `node scripts/cluster.mjs down` ends it',
    );
  mkdirSync(KEPT, { recursive: true });
  const programs = await preparePrograms(say, hasAgentSandbox ? [CONTROLLER] : []);
  const archives = [pauseArchive(), ...images.map(imageArchive)];
  const path = [...programs, process.env['PATH'] ?? '', SYSTEM_PATH].join(':');
  const kubectl = kubectlWith(path);
  try {
    mkdirSync(RUNNING, { recursive: true, mode: 0o700 });
    makeKeys();
    makeNetwork();
    say('starting the control plane');
    await startControlPlane(path);
    await openDoor();
    announceNodes((node) => kubectl(['create', '--filename=-'], JSON.stringify(node)));
    say(`starting ${NODES.length} nodes`);
    for (const node of NODES) startNode(node, path, archives);
    for (const { name } of NODES)
      await until(`${name} is not ready`, name, () =>
        isReady(kubectl(['get', 'node', name, '--output=json'])),
      );
    for (const { name, netns } of NODES)
      await until(`nothing holds pods of ${name} to policies`, name, () => holdsToPolicies(netns));
    await until('pods have no account', 'kube-controller-manager', () => {
      const found = kubectl(['get', 'serviceaccount', '--output=name']);
      return found.includes('serviceaccount/default');
    });
    if (hasAgentSandbox) await startController(kubectl, path, say);
    return kubectl;
  } catch (thrown) {
    if (process.env['CLUSTER_KEEP'] === undefined) await endCluster();
    throw thrown;
  }
}

const isReady = (/** @type {string} */ node) =>
  JSON.parse(node).status?.conditions?.some(
    (/** @type {{ type: string, status: string }} */ { type, status }) =>
      type === 'Ready' && status === 'True',
  ) === true;

/** Whether kube-router has made its rules there. */
const holdsToPolicies = (/** @type {string} */ netns) =>
  attempt(...inNetwork(netns), 'iptables', '--numeric', '--list', 'KUBE-ROUTER-FORWARD') !== undefined;

/** A function that runs kubectl as an administrator, by the door. */
export const kubectlWith =
  (/** @type {string} */ path) =>
  (/** @type {readonly string[]} */ args, /** @type {string | undefined} */ input = undefined) =>
    execFileSync('kubectl', ['--request-timeout=60s', ...args], {
      encoding: 'utf8',
      env: { ...process.env, PATH: path, KUBECONFIG },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      ...(input === undefined ? {} : { input }),
    });

/** Ends all of it, also a rest of one that was not ended; does nothing where there is none. */
export async function endCluster() {
  for (const node of NODES) await endNode(node);
  for (const name of started()) await end(name);
  attempt('ip', 'netns', 'delete', CONTROL.netns);
  rmSync(RUNNING, { recursive: true, force: true });
}
