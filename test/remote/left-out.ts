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

const WALLS = 'walls/walls.test.ts';
const OF_A_NODE =
  'a pod has the filter RuntimeDefault of its node, which lets this through, as docs/kubernetes.md says: our own profile is on no node';

/** What a pod does not hold, or for what a pod cannot do without the defence. All else of the table is judged. */
const IN_A_CLUSTER: readonly LeftOut[] = [
  {
    name: / kernel\.(?:ptrace(?: attach)?|memfd.*|SysV memory beyond the limit|a 32-bit call|shmget|semget|msgget|mq_open|io_uring_setup|io_setup|modify_ldt|a (?:filter|program) (?:on|by) .*|MPTCP|UDP-Lite|kernel TLS|larger buffers, .*|watches of files by .*|word of what happens .*|a lease, .*|huge pages)$/,
    reason: OF_A_NODE,
  },
  { name: / network\.(?:a vsock socket|the audit log by netlink)$/, reason: OF_A_NODE },
  {
    name: / processes\.(?:(?:limits|processors|class|parameters|attributes|priority|disk priority) of the first process(?:, .*)?|(?:disk )?priority of a (?:group|user)(?:, .*)?)$/,
    reason: OF_A_NODE,
  },
  {
    name: / (?:files\.(?:run|map code|script) from .*|files\.run by the loader|privileges\.setuid in .*)$/,
    reason: 'memory of a pod is mounted so that programs in it can be run, as docs/kubernetes.md says',
  },
  {
    name: / (?:files\.(?:see \/(?:sys|proc)\/.*|write \/proc\/.*|locks of the machine)|processes\.a terminal)$/,
    reason:
      'a runtime masks few files by itself, as docs/kubernetes.md says, and only a user namespace lets a control do without that',
  },
  {
    name: / privileges\.the (?:uid|gid) map$/,
    reason: 'a pod has the user ids of its node, as docs/kubernetes.md says',
  },
  {
    name: / network\.(?:a name server|the metadata address|multicast|interfaces(?: by netlink)?|routes)$/,
    reason:
      'a pod has an interface and routes, and a policy drops what is sent there: connections and datagrams to the host are judged',
  },
  { name: / files\.the host’s names$/, reason: 'a cluster writes the address of a pod into its /etc/hosts' },
  {
    name: / processes\.processes of others in sight$/,
    reason: 'the program that has entered the pod is there, and nothing of it can be looked at or changed',
  },
  {
    name: / (?:kernel\.(?:syslog|init_module|finit_module|delete_module|kexec_load|kexec_file_load|acct|swapoff)|privileges\.a device node|files\.write the harness)$/,
    reason: 'its control has no words yet in a pod',
  },
  {
    name: / privileges\.the set Cap(?:Amb|Inh)$/,
    reason: 'a cluster puts no capability into this set for anybody, so that no control can have one there',
  },
  {
    name: / output\.(?:a flood of .*|a lone surrogate.*|bytes that are no text|a chain of errors)$/,
    reason:
      'the output of a control is read from the log of its node, which keeps lines of text and not all of a flood',
  },
].map((row) => ({ ...row, file: WALLS, on: ['kubernetes'] }));

export const LEFT_OUT: readonly LeftOut[] = [
  ...IN_A_CLUSTER,
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
    name: / (?:files\.locks of the machine|processes\.a terminal)$/,
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
