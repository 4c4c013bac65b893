// The security page: from settings to the spec, one line per wall, each with its reason. What is not listed here is
// not in the container. test/containers has an escape test for each line.

import { join } from 'node:path';
import { MB_BYTES } from '../../base/text/sizes.js';
import type { DataMount, Mount, NetworkMode, SandboxSpec } from '../../engine/engine.js';
import type { Enforcement } from '../../engine/machine/enforcement.js';
import { DEFAULT_WORKDIR } from '../../settings/languages/records.js';
import {
  ENTRYPOINT,
  FALLBACK_MOUNT,
  FALLBACK_PYTHON,
  HARNESS_MOUNT,
  type PythonName,
  STAT_FILE,
} from './harness-files.js';
import type { SandboxProfile } from './profile.js';

/** Inputs of a sandbox's spec besides the walls, which are constant. */
type SpecInputs = {
  readonly image: string;
  readonly harnessDir: string;
  /** Whether `image` holds them already, since the engine could not mount them. */
  readonly areInImage?: boolean | undefined;
  /** Folder of the Python fallback; undefined when the image has its own. */
  readonly fallbackDir: string | undefined;
  /** The name of the image's own Python; `python3` unless something else is known. */
  readonly python?: PythonName;
  readonly seccompFile: string;
  readonly apparmor?: string | undefined;
  readonly name: string;
  readonly user: string;
  readonly kind: SandboxProfile;
  /** The folders of the kind, as they are on the disk now, and who owns those that it may write. */
  readonly data?: readonly DataMount[];
  readonly owner?: SandboxSpec['owner'];
  /** Mechanisms that hold the limits besides, as seen; undefined in the trial that finds them out. */
  readonly enforcement: Enforcement | undefined;
  /** The carrier of the traffic; undefined for a kind without a network. */
  readonly networkMode: NetworkMode | undefined;
  /** Processors of the host: code may use them all. */
  readonly cores: number;
  /** Longest time of its run, with the time in which it waits for servers to open, or for a user. */
  readonly maxTimeoutSeconds: number;
  /** The age up to which it may wait for its run. */
  readonly maxWaitSeconds: number;
};

/** Time that a user may take, in sum, to answer what a run asks; the run's own clock stands still meanwhile. */
export const MAX_ASKING_SECONDS = 120;
/** How long a container may live beyond its wait and the longest run: its start and its end. */
const SPARE_SECONDS = 30;

/** Writable, in memory, sized. */
const tmpfsWith = (workdir: string): SandboxSpec['tmpfs'] => [
  { target: '/tmp', sizeMb: 64, executable: false },
  { target: workdir, sizeMb: 128, executable: false },
];
const SHM_MB = 16;
/** Files of /proc in which the kernel tells of its machine, of how it was started and built, and of the work of others. */
const HOST_FILES = [
  ...['bus', 'cmdline', 'config.gz', 'diskstats', 'driver', 'fs', 'interrupts', 'iomem', 'ioports', 'locks'],
  ...['irq', 'key-users', 'modules', 'partitions', 'pressure'],
  ...['schedstat', 'softirqs', 'sys/kernel/random/boot_id', 'tty', 'zoneinfo'],
].map((name) => `/proc/${name}`);
/** Largest file on a volume or in a folder of the user's, in MB. Only the disk itself limits all files together. */
const DISK_FILE_MB = 1024;
/** Every place of this sandbox that files can be written to: what is in them is memory. */
export const writableIn = ({ tmpfs }: Pick<SandboxSpec, 'tmpfs'>): string[] => [
  ...tmpfs.map(({ target }) => target),
  '/dev/shm',
];
/** Writable folders of a sandbox of `run_python`. */
export const WRITABLE = writableIn({ tmpfs: tmpfsWith(DEFAULT_WORKDIR) });
/** More than programs have timers; a machine gives a user some four for each MB of its memory. */
const MOST_PENDING_SIGNALS = 256;
/** Bytes that glibc reserves for each thread's stack; they count as data although hardly any of them are ever touched. */
const THREAD_STACK_BYTES = 8 * MB_BYTES;

/**
 * Least, first and most bytes of each of the two buffers of a TCP connection. Where there is no network, TCP serves
 * programs that talk with themselves, to which small ones cost nothing; a way out needs what is under way in a quarter of
 * a second at a megabyte a second. The kernel's own most is 4 to 6 MB.
 */
const TCP_BUFFERS = { none: '4096 16384 65536', outbound: '4096 65536 262144' } as const;
const tcpBuffers = ({ network }: SandboxProfile) => ({
  'net.ipv4.tcp_rmem': TCP_BUFFERS[network],
  'net.ipv4.tcp_wmem': TCP_BUFFERS[network],
});

/** Without a memory cgroup a single giant allocation becomes a MemoryError at once; the sum is the watchdog's business. */
function dataLimit({ enforcement, kind: { memoryBytes, pids } }: SpecInputs): SandboxSpec['ulimits'] {
  if (enforcement?.memory !== 'watchdog') return [];
  return [{ name: 'data', limit: memoryBytes + pids * THREAD_STACK_BYTES }];
}

const tmpfsOf = ({ workdir, places }: SandboxProfile): SandboxSpec['tmpfs'] => [
  ...tmpfsWith(workdir),
  ...places,
];

const largestMb = (kind: SandboxProfile): number =>
  Math.max(...tmpfsOf(kind).map(({ sizeMb }) => sizeMb), writesToDisk(kind) ? DISK_FILE_MB : 0);

const writesToDisk = ({ volumes, data }: SandboxProfile): boolean =>
  volumes.length > 0 || data.some(({ isWritable }) => isWritable);

/**
 * Terminals are counted across all containers of a machine, which have some 3,000 together. A kernel of the sandbox's own counts
 * its own.
 */
const terminals = ({ ociRuntime }: SandboxProfile): readonly string[] =>
  ociRuntime === undefined ? ['/dev/pts'] : [];

const STAT = '/proc/stat';
/** No file of ours can take its place there. Node ends where it finds no line in it, so its programs see the machine's own. */
const maskedElsewhere = ({ isPython }: SandboxProfile): readonly string[] => (isPython ? [STAT] : []);

const waitsOf = ({ waits }: SandboxProfile): SandboxProfile['waits'] => {
  const filled = (word: string): string => word.replace('{harness}', HARNESS_MOUNT);
  return waits && { ...waits, argv: waits.argv.map(filled), runs: waits.runs.map(filled) };
};

const mountsOf = ({ harnessDir, fallbackDir, areInImage }: SpecInputs): readonly Mount[] =>
  areInImage === true
    ? []
    : [
        { source: harnessDir, target: HARNESS_MOUNT, executable: false },
        ...(fallbackDir === undefined
          ? []
          : [{ source: fallbackDir, target: FALLBACK_MOUNT, executable: true }]),
      ];

export const sandboxSpec = (inputs: SpecInputs): SandboxSpec => ({
  name: inputs.name,
  labels: {},
  ...program(inputs),
  ...kernelWalls(inputs),
  ...files(inputs),
  ...withheldFromGuest(inputs),
  ...limits(inputs),
});

/** The program that runs, and its user, folder and environment. */
function program({ image, python, fallbackDir, user, owner, kind }: SpecInputs) {
  const interpreter = fallbackDir === undefined ? [python ?? 'python3'] : FALLBACK_PYTHON;
  const ahead = JSON.stringify({ ahead: kind.ahead, waits: waitsOf(kind) });
  return {
    image,
    // -I: no environment variables, no user site, no script directory on the path. -u: nothing printed is lost.
    command: [...interpreter, '-I', '-u', '-X', 'utf8', ENTRYPOINT, ahead, ...kind.preimport],
    // Not root inside, and not the engine's user outside, unless code may write to a folder of the user's: what it leaves
    // there is to be theirs, to read and to remove.
    user,
    owner,
    workdir: kind.workdir,
    env: { HOME: kind.workdir, LANG: 'C.UTF-8', TMPDIR: '/tmp', ...kind.env },
    // Files that one process of the guest writes are not for other users.
    umask: '0077',
  } satisfies Partial<SandboxSpec>;
}

/** Everything that the kernel refuses to whoever runs in the sandbox. */
const kernelWalls = ({ seccompFile, apparmor, networkMode, kind }: SpecInputs) =>
  ({
    // No interface but lo: nothing can be reached and nothing sent. Where the operator has opened it for a language, code
    // sends what it likes to whom it likes, but not to the host's own loopback (network-modes.ts), and nobody reaches it.
    network: kind.network === 'outbound' ? (networkMode ?? 'none') : 'none',
    // No capability in any set, so even uid 0 inside could do nothing that a user cannot.
    capabilities: 'none',
    // A setuid file in the image gains nothing.
    newPrivileges: 'never',
    // The kernel's doors: the engine's own list lets a container without capabilities make a user namespace, be root
    // in it, and mount.
    seccompFile,
    // The operator's own AppArmor profile keeps code from more.
    ...(apparmor === undefined ? {} : { apparmor }),
    // The engine's configuration may say otherwise for all containers of this user.
    namespaces: 'own',
  }) satisfies Partial<SandboxSpec>;

/** The files that a sandbox sees, and the places where it can write. */
const files = (inputs: SpecInputs) =>
  ({
    // The image cannot be changed; the only writable places are the tmpfs and the volumes below.
    rootfs: 'read-only',
    // The harness, read-only, and where the image has no Python one that runs it, which is not on anybody's PATH. No
    // other host path is visible.
    mounts: mountsOf(inputs),
    // Folders that the operator has named for code, which may read there and seldom write. A link in one leads nowhere else.
    data: inputs.data ?? [],
    // Writable, in memory, sized, and nothing in them can be a device, or be executed as a program but in the one place
    // where a compiler puts its own.
    tmpfs: tmpfsOf(inputs.kind),
    // Only of commands, so that one finds what another has left, and of one bridge alone unless the operator has named it.
    // Nothing in it is a device or gains by a setuid bit, but programs run from it: a build is what commands are for.
    volumes: inputs.kind.volumes,
    // multiprocessing needs its locks there; 16 MB bounds what is hidden in it.
    shmMb: SHM_MB,
  }) satisfies Partial<SandboxSpec>;

/** Facts about the host that the guest is not told. */
const withheldFromGuest = ({ kind, harnessDir, areInImage }: SpecInputs) =>
  ({
    // /sys tells of the host's hardware and holds the cgroup files; POSIX queues are memory that no limit counts. What the
    // host is made of, how it was started and built, and what its other programs make it do is none of the guest's business.
    masked: [
      ...['/sys', '/dev/mqueue', ...terminals(kind), ...HOST_FILES],
      ...(areInImage === true ? maskedElsewhere(kind) : []),
    ],
    // /proc/stat tells of the host's work, too; but programs count the processors in that file.
    replaced: areInImage === true ? [] : [{ source: join(harnessDir, STAT_FILE), target: STAT }],
    // Proxy variables carry credentials, and both engines hand them on unasked.
    hostEnv: 'none',
    // A hosts file would hold the host's names.
    hostsFile: 'none',
    // Where the host stands is none of the guest's business either.
    timezone: 'UTC',
    // The host's name is none of the guest's business.
    hostname: 'sandbox',
  }) satisfies Partial<SandboxSpec>;

/** How much it may take. */
function limits(inputs: SpecInputs) {
  const { kind, cores, maxWaitSeconds, maxTimeoutSeconds } = inputs;
  const wanted = kind.lifeSeconds === undefined ? maxWaitSeconds + maxTimeoutSeconds : kind.lifeSeconds;
  const deadManSeconds = wanted + SPARE_SECONDS;
  return {
    // Enforced by the cgroup where the engine has one; swap is included, so it cannot grow there.
    memoryBytes: kind.memoryBytes,
    // A fork bomb meets EAGAIN.
    pids: kind.pids,
    cpus: kind.cpus,
    // Bounds for what `compat` opens: as much System V memory as /dev/shm, in pages, and few queues. And for what a connection
    // may hold of the kernel's memory, which no control group of version 1 counts. The guard sees how many connections there
    // are.
    sysctls: { 'kernel.shmall': '4096', 'kernel.msgmni': '32', ...tcpBuffers(kind) },
    ulimits: [
      // A crash writes no memory image through the host's core_pattern.
      { name: 'core', limit: 0 },
      { name: 'nofile', limit: 1024 },
      // Counts per user id: the fallback where the engine has no pids cgroup.
      { name: 'nproc', limit: kind.pids },
      // Signals that wait and timers: each is memory, and they are counted for whoever runs the engine as well, who would
      // have none left.
      { name: 'sigpending', limit: MOST_PENDING_SIGNALS },
      // No file outgrows the largest place there is; a sparse one would seem to.
      { name: 'fsize', limit: largestMb(kind) * MB_BYTES },
      // Processor time per process, for what outlives every other clock: all processors, from start to end.
      { name: 'cpu', limit: deadManSeconds * cores },
      ...dataLimit(inputs),
    ],
    deadManSeconds,
  } satisfies Partial<SandboxSpec>;
}
