// The walls as a table: what is asked for, the attempt in walls.py, and when what it says means that the wall held. All
// attempts go into one sandbox, each in a process of its own; each answers with one line.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { textBeside } from '../../base/files/read-text.js';
import type { JsonObject } from '../../base/json/records.js';
import { WRITABLE } from '../../sandbox/spec/spec.js';
import type { ProbedSandbox } from './control.js';

export type Wall = {
  readonly control: string;
  readonly required: boolean;
  readonly requested: (probed: ProbedSandbox) => string;
  readonly how: string;
  /** The name of its function in walls.py, and the arguments of that where it takes any. */
  readonly attempt: string;
  readonly given?: (canaries: Canaries, probed: ProbedSandbox) => JsonObject;
  readonly held: (seen: string, probed: ProbedSandbox) => boolean;
  /** Takes the part of the answer that is to be shown; without this function, the whole answer is shown. */
  readonly shown?: (seen: string, probed: ProbedSandbox) => string;
  /** Why nothing can be seen of the wall here; then the wall is not asked about. */
  readonly unseen?: (probed: ProbedSandbox) => string | undefined;
  readonly remedy?: string;
};

/** Why a wall of the host's kernel is not asked about where the guest has another one. */
const underOwnKernel = ({ engine: { traits } }: ProbedSandbox): string | undefined =>
  traits.ownKernel === undefined ? undefined : `${traits.ownKernel}'s own kernel stands in for it`;

/** The controls whose attempts would be noticed on the host. */
export const CANARY_CONTROLS = {
  tcp: 'connections to the host',
  abstract: 'abstract sockets of the host',
} as const;

/** Nobody named a user, so each container may have an id of its own. */
const isAnybody = ({ settings }: ProbedSandbox): boolean =>
  !settings.explicitlySet.has('MCP_BRIDGE_CONTAINER_USER');
const ERRNO = /^E[A-Z0-9]+$/;
const isRefused = (seen: string): boolean => ERRNO.test(seen);
const isNone = (seen: string): boolean => seen === 'none';
const always = (words: string) => (): string => words;
const unmasked = ({ engine: { name, traits } }: ProbedSandbox): string | undefined =>
  traits.masksAll ? undefined : `${name} has no flag for it`;

const PLACES = [...WRITABLE].sort();
const sizes = ({ spec }: ProbedSandbox): string =>
  [...spec.tmpfs.map(({ target, sizeMb }) => `${target} ${sizeMb}`), `/dev/shm ${spec.shmMb}`]
    .sort()
    .join(', ');
const ulimit = ({ spec }: ProbedSandbox, wanted: string): number =>
  spec.ulimits.find(({ name }) => name === wanted)?.limit ?? Number.NaN;

/**
 * Files that engines put into every container: their own, with no word of the host but its resolvers. The image's
 * lists of users and groups are copied there, with a line for a user that the image does not know.
 */
const ENGINE_FILES = [
  '/etc/passwd',
  '/etc/group',
  '/etc/hosts',
  '/etc/hostname',
  '/etc/resolv.conf',
  '/run/.containerenv',
  '/run/secrets',
];
/** Where /etc/localtime leads: the engine says the time zone by a copy of its own that it mounts there. */
const ZONES = '/usr/share/zoneinfo/';
/** Variables that every program has, so that sharing the name says nothing. */
const COMMON_NAMES = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TERM',
  'HOSTNAME',
  'TZ',
  'TMPDIR',
  'PWD',
  'SHLVL',
  '_',
];
/** A name is as long as it is said to be, and Node before libuv 1.47 says the whole field. */
const abstractSpellings = (name: string): string[] => [name, name.padEnd(SUN_PATH_BYTES - 1, '\0')];
const SUN_PATH_BYTES = 108;

const inCommon = (seen: string, { hostEnvNames, spec }: ProbedSandbox): string[] => {
  const harmless = [...COMMON_NAMES, ...Object.keys(spec.env)];
  return seen.split(' ').filter((name) => hostEnvNames.includes(name) && !harmless.includes(name));
};
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'console', 'ptmx', 'pts/ptmx'];
/** Made by gVisor's kernel, and served by it. */
const GVISOR_DEVICES = ['fuse', 'net/tun'];
const usualDevices = ({ engine: { traits } }: ProbedSandbox): string[] =>
  traits.ownKernel === undefined ? DEVICES : [...DEVICES, ...GVISOR_DEVICES];

/** As `listed` says it inside: where the image holds our files, nothing is mounted. */
const mountsIn = ({ mounts }: ProbedSandbox['spec']): string =>
  mounts.length === 0 ? 'none' : mounts.map(({ target }) => `${target} (ro)`).join(' ');

/** Bytes that a connection with itself takes before it is full: two buffers of this size, and what is rounded up. */
const MAX_CONNECTION_BYTES = 1 << 20;

/** The walls that keep a guest from the kernel's memory, from the first process and from the host's network. */
const KERNEL_WALLS: readonly Wall[] = [
  {
    control: 'programs in the kernel',
    required: true,
    requested: always('not compiled'),
    how: 'attached to a socket by each option, also with bits that a filter may overlook',
    attempt: 'kernel_programs',
    held: isNone,
    unseen: underOwnKernel,
    remedy:
      'Use the seccomp profile that comes with the bridge: such programs use up memory that all of the host share.',
  },
  {
    control: 'the first process',
    required: true,
    requested: always('out of reach'),
    how: 'its memory, descriptors, limits, processors and priority',
    attempt: 'first_process',
    held: isNone,
    unseen: underOwnKernel,
  },
  {
    control: 'streams of the host',
    required: true,
    requested: always('pipes'),
    how: 'what each inherited descriptor is',
    attempt: 'streams',
    held: isNone,
  },
  {
    control: 'buffers of a connection',
    required: true,
    requested: ({ spec }) => `at most ${spec.sysctls['net.ipv4.tcp_wmem']?.split(' ').at(-1)} bytes each`,
    how: 'one with itself, filled and not read',
    attempt: 'connection_buffers',
    held: (seen) => Number.parseInt(seen, 10) < MAX_CONNECTION_BYTES,
    unseen: underOwnKernel,
  },
];

export const WALLS: readonly Wall[] = [
  {
    control: 'user namespace',
    required: true,
    requested: always('cannot be made'),
    how: 'unshare(CLONE_NEWUSER)',
    attempt: 'user_namespace',
    held: isRefused,
    unseen: underOwnKernel,
    remedy:
      'Use the seccomp profile that comes with the bridge: a new namespace has every capability in itself.',
  },
  {
    control: 'mount',
    required: true,
    requested: always('refused'),
    how: 'mount a tmpfs on /tmp',
    attempt: 'mount',
    held: isRefused,
  },
  {
    control: 'capabilities',
    required: true,
    requested: always('none'),
    how: 'all five sets, by capget and prctl',
    attempt: 'capabilities',
    held: isNone,
  },
  {
    control: 'new privileges',
    required: true,
    requested: always('never'),
    how: 'prctl(PR_GET_NO_NEW_PRIVS)',
    attempt: 'new_privileges',
    held: (seen) => seen === 'never',
  },
  {
    control: 'seccomp',
    required: true,
    requested: ({ settings, engine: { traits } }) => `a filter (${traits.ownFilter ?? settings.seccomp})`,
    how: 'Seccomp in /proc/self/status',
    attempt: 'seccomp',
    held: (seen) => seen === 'a filter',
    unseen: underOwnKernel,
  },
  {
    control: 'user',
    required: true,
    requested: (probed) => (isAnybody(probed) ? 'anybody but root' : probed.spec.user),
    how: 'getresuid, getresgid, getgroups',
    attempt: 'user',
    held: (seen, probed) => (isAnybody(probed) ? /^([1-9]\d*):\1$/.test(seen) : seen === probed.spec.user),
  },
  {
    control: 'writable places',
    required: true,
    requested: always(PLACES.join(' ')),
    how: 'a file made on every mount and in all of /',
    attempt: 'writable_places',
    held: (seen) => seen === PLACES.join(' '),
  },
  {
    control: 'size of the writable places',
    required: true,
    requested: (probed) => `${sizes(probed)} MB`,
    how: 'statvfs',
    attempt: 'sizes',
    given: () => ({ places: PLACES }),
    held: (seen, probed) => seen === `${sizes(probed)} MB`,
    unseen: underOwnKernel,
  },
  {
    control: 'programs in the writable places',
    required: true,
    requested: always('do not run'),
    how: 'a copy of a program executed in each',
    attempt: 'programs',
    given: () => ({ places: PLACES }),
    held: (seen) => seen === 'refused in all',
  },
  {
    control: 'descriptors of a child',
    required: true,
    requested: always('0 1 2'),
    how: 'listed by a program that inherits all',
    attempt: 'descriptors_of_a_child',
    held: (seen) => seen === '0 1 2',
  },
  {
    control: 'network interfaces',
    required: true,
    requested: always('lo'),
    how: 'if_nameindex',
    attempt: 'network_interfaces',
    held: (seen) => seen === 'lo' || isNone(seen),
  },
  {
    control: CANARY_CONTROLS.tcp,
    required: true,
    requested: always('none'),
    how: "to a listener on all the host's addresses",
    attempt: 'connections',
    given: ({ addresses }) => ({ addresses }),
    held: isNone,
  },
  {
    control: CANARY_CONTROLS.abstract,
    required: true,
    requested: always('out of reach'),
    how: 'to a listener of the host',
    attempt: 'abstract_sockets',
    given: ({ abstractName }) => ({
      names: abstractName === undefined ? [] : abstractSpellings(abstractName),
    }),
    held: isRefused,
    unseen: () => (process.platform === 'linux' ? undefined : 'this machine has none'),
  },
  {
    control: 'mounts of the host',
    required: true,
    requested: ({ spec }) => mountsIn(spec),
    how: "/proc/self/mountinfo, less the engine's own",
    attempt: 'mounts',
    given: () => ({ own: [...ENGINE_FILES, ...PLACES], zones: ZONES }),
    held: (seen, { spec }) => seen === mountsIn(spec),
    unseen: underOwnKernel,
  },
  {
    control: '/sys',
    required: false,
    requested: always('empty'),
    how: 'listed',
    attempt: 'sys_folder',
    held: isNone,
    unseen: (probed) => unmasked(probed) ?? underOwnKernel(probed),
  },
  {
    control: 'kernel files in /proc',
    required: true,
    requested: always('out of reach'),
    how: 'kcore and others read, core_pattern and others opened',
    attempt: 'kernel_files',
    held: isNone,
  },
  {
    control: 'devices',
    required: true,
    requested: always('none of the host'),
    how: '/dev walked, access asked to all but the usual',
    attempt: 'devices',
    given: (_canaries, probed) => ({ usual: usualDevices(probed) }),
    held: isNone,
  },
  {
    control: 'processes of others',
    required: true,
    requested: always('not seen'),
    how: 'all of /proc descends from the first',
    attempt: 'processes',
    held: (seen) => seen === 'not seen',
  },
  {
    control: "the host's environment",
    required: true,
    requested: always('none of its variables'),
    how: "names in common with the bridge's own",
    attempt: 'environment',
    held: (seen, probed) => inCommon(seen, probed).length === 0,
    shown: (seen, probed) => inCommon(seen, probed).join(' ') || 'none',
  },
  {
    control: 'host name',
    required: false,
    requested: ({ spec }) => spec.hostname,
    how: 'gethostname',
    attempt: 'host_name',
    held: (seen, { spec }) => seen === spec.hostname,
  },
  {
    control: 'time zone',
    required: false,
    requested: always('UTC'),
    how: 'the local clock against UTC',
    attempt: 'time_zone',
    held: (seen) => seen === 'UTC',
  },
  {
    control: 'core dumps',
    required: true,
    requested: always('none'),
    how: 'a child that crashes',
    attempt: 'core_dumps',
    held: isNone,
  },
  {
    control: 'open files',
    required: true,
    requested: (probed) => `${ulimit(probed, 'nofile')}`,
    how: 'opened until refused',
    attempt: 'open_files',
    given: (_canaries, probed) => ({ limit: ulimit(probed, 'nofile') }),
    held: (seen) => /^EMFILE at \d+$/.test(seen),
  },
  ...KERNEL_WALLS,
];

const WALLS_CODE = textBeside(new URL('./walls.py', import.meta.url));

/** A last line, whose value is what the function returns. A text of JSON is a literal of Python, too. */
export const pythonCall = (name: string, given: JsonObject): string =>
  `import json\n${name}(**json.loads(${JSON.stringify(JSON.stringify(given))}))\n`;

/** One program of many attempts. Its value is {control: answer}. */
export function guestCode(walls: readonly Wall[], canaries: Canaries, probed: ProbedSandbox): string {
  const asked = walls.map(({ control, attempt, given }) => [
    control,
    attempt,
    given?.(canaries, probed) ?? {},
  ]);
  return `${WALLS_CODE}\n${pythonCall('answers', { asked })}`;
}

// Listeners on the host that nobody may reach from a sandbox: on every address of this machine, and on an abstract
// unix socket, which only a network namespace hides. They count who came. Linux has abstract sockets; elsewhere there
// is none.

export type Canaries = AsyncDisposable & {
  /** `host:port`, IPv4. */
  readonly addresses: readonly string[];
  /** Without the leading NUL; undefined where there are none. */
  readonly abstractName: string | undefined;
  /** Connections so far. */
  readonly visitors: () => { readonly tcp: number; readonly abstract: number };
};

export async function openCanaries(): Promise<Canaries> {
  const count = { tcp: 0, abstract: 0 };
  const tcp = createServer((socket) => {
    count.tcp += 1;
    socket.destroy();
  });
  tcp.listen(0, '0.0.0.0');
  await once(tcp, 'listening');
  const bound = tcp.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const servers: Server[] = [tcp];
  let abstractName: string | undefined;
  if (process.platform === 'linux') {
    abstractName = `mcp-sandbox-bridge-${randomBytes(6).toString('hex')}`;
    const abstract = createServer((socket) => {
      count.abstract += 1;
      socket.destroy();
    });
    abstract.listen(`\0${abstractName}`);
    await once(abstract, 'listening');
    servers.push(abstract);
  }
  return {
    addresses: ownAddresses().map((address) => `${address}:${port}`),
    abstractName,
    visitors: () => ({ ...count }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

function ownAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((of) => of ?? []);
  return [
    ...new Set(['127.0.0.1', ...all.filter(({ family }) => family === 'IPv4').map((one) => one.address)]),
  ];
}
