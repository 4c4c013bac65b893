// Tests that cannot hold against an engine that runs elsewhere, each with the reason, which a report shows. Everything else of
// the tier is judged as it is on this machine.

import type { RemoteKind } from '../support/remote-engine.js';

export type LeftOut = {
  /** The end of the path of its file. */
  readonly file: string;
  /** Its name with those of its describes, joined by spaces; without one all of the file. */
  readonly name?: RegExp;
  /** Where it cannot hold; without it nowhere. */
  readonly on?: ReadonlyArray<RemoteKind | 'kubernetes'>;
  readonly reason: string;
};

const PODMAN = ['podman-unix', 'podman-ssh'] as const;
const NO_GROUPS =
  'a user’s podman has no control groups there, and the bridge cannot watch processes of another machine: nothing holds this limit, which the operator has to accept by name';
const NO_FLAG =
  'its control hands the environment of the engine’s host on, for which the client of a service has no flag';
const NO_SOCKETS =
  'its control is a container whose streams are sockets of the client’s host; a service gives pipes of its monitor to all';
/** Beyond the few that docker masks by itself. */
const UNMASKED =
  'docker has no flag that masks a path, as SECURITY.md says, so nothing holds this here; what it masks by itself is judged';
const UNCOUNTED =
  'cgroup v1 does not count these buffers, and the bridge, which counts them on this machine, cannot look into another one: nothing holds this';

export const LEFT_OUT: readonly LeftOut[] = [
  {
    file: 'walls/approvals/containers.test.ts',
    name: / is held while /,
    reason:
      'processes of another machine cannot be stopped from here, as SECURITY.md says; those of a session are, between its calls',
  },
  {
    file: 'front-door/approvals.test.ts',
    name: /the place of a run is for others while|while a person thinks the clock of the run stands/,
    on: ['kubernetes'],
    reason:
      'code in a pod goes on while a person thinks, as docs/kubernetes.md says, so its run keeps its place',
  },
  {
    file: 'containers/limits.test.ts',
    name: /^memory (?!is no accusation)|^files without content/,
    on: PODMAN,
    reason: NO_GROUPS,
  },
  {
    file: 'walls/walls.test.ts',
    name: / processes\.(?:the host’s environment|the variable )/,
    reason: NO_FLAG,
  },
  {
    file: 'walls/walls.test.ts',
    name: / network\..* through a stream$| processes\.the first process’s streams$/,
    reason: NO_SOCKETS,
  },
  {
    file: 'walls/walls.test.ts',
    name: / files\.(?:a folder of the host by a descriptor|a descriptor too many)$/,
    reason: 'its control is handed a descriptor of the client’s, which no client can hand to another machine',
  },
  {
    file: 'walls/walls.test.ts',
    name: / files\.(?:any other writable mount|see \/sys\/(?:fs\/cgroup|class\/net|kernel|devices)|see \/proc\/(?:stat|bus|config\.gz|diskstats|driver|fs|iomem|ioports|irq|key-users|partitions|pressure|softirqs|sys\/kernel\/random\/boot_id|tty|zoneinfo))$/,
    on: ['docker-tls'],
    reason: UNMASKED,
  },
  {
    file: 'walls/walls.test.ts',
    name: / resources\.(?:connections with itself|datagrams to itself|unread answers of the kernel)$/,
    reason: UNCOUNTED,
  },
  {
    file: 'walls/walls.test.ts',
    name: / privileges\.the set Cap(?:Amb|Inh)$/,
    on: ['docker-tls'],
    reason: 'docker puts no capability into this set for anybody, so that no control can have one there',
  },
];

/** Why a test is left out on an engine of `kind`; undefined where it is not. */
export const whyLeftOut = (kind: string, file: string, name: string): string | undefined =>
  (kind === 'local' ? [] : LEFT_OUT).find(
    (row) =>
      file.endsWith(row.file) &&
      (row.name?.test(name) ?? true) &&
      (row.on === undefined || row.on.some((each) => each === kind)),
  )?.reason;
