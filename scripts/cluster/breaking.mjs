// Breaks a running cluster, for tests.

import { readdirSync, readFileSync } from 'node:fs';
import { startApiServer } from './control-plane.mjs';
import { demand, inNetwork, NODES } from './place.mjs';
import { end, pidOf } from './processes.mjs';

/** Ends a node with all that runs on it, of which nobody is told. */
export const killNode = (/** @type {string} */ name) => end(name, 'SIGKILL');
export const killApiServer = () => end('kube-apiserver', 'SIGKILL');
/** Returns when it answers. */
export const restartApiServer = () => startApiServer(process.env['PATH'] ?? '');

/** Lets no pod of a node reach `address`, until the returned function is called. */
export function cutOff(/** @type {string} */ node, /** @type {string} */ address) {
  const { netns = '' } = NODES.find(({ name }) => name === node) ?? {};
  // Before services are led anywhere, and in a table that nobody else writes.
  const rule = (/** @type {string} */ verb) =>
    demand(
      ...inNetwork(netns),
      'iptables',
      '--table',
      'mangle',
      verb,
      'PREROUTING',
      '--destination',
      address,
      '--jump',
      'DROP',
    );
  rule('--insert');
  return () => void rule('--delete');
}

/** Kills all processes of the pod with this uid, of which nobody is told; returns how many there were. */
export function killPod(/** @type {string} */ uid) {
  let killed = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`pod${uid}`)) continue;
      process.kill(Number(pid), 'SIGKILL');
      killed++;
    } catch {
      // It has ended meanwhile.
    }
  }
  return killed;
}

/** Has etcd do nothing for `pauseMs` of every `everyMs`, until the returned function is called. */
export function slowEtcd(/** @type {number} */ pauseMs, /** @type {number} */ everyMs) {
  const pid = pidOf('etcd');
  if (pid === undefined) throw new Error('etcd does not run');
  /** @type {NodeJS.Timeout | undefined} */
  let going;
  const timer = setInterval(() => {
    process.kill(pid, 'SIGSTOP');
    going = setTimeout(() => process.kill(pid, 'SIGCONT'), pauseMs);
  }, everyMs);
  return () => {
    clearInterval(timer);
    clearTimeout(going);
    process.kill(pid, 'SIGCONT');
  };
}
