// A container's memory and files, measured from outside and without any privilege but being its owner: its processes through
// its own /proc, its tmpfs through its own root. Synchronous, since it is asked often and seldom takes a millisecond. Also the
// kernel's memory that its open files could hold, at most: buffers of sockets and pipes belong to no process, and control
// groups count only some of them: TCP and UDP on cgroup v1, netlink on neither version, and nothing at all where there is no
// group. How full a buffer is cannot be seen from outside, so each counts as full. Linux only; reads /proc, decides nothing.

import { readdirSync, statfsSync, statSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { type ReadText, readText } from '../../base/files/read-text.js';
import { KB_BYTES, MB_BYTES } from '../../base/text/sizes.js';
import type { SandboxSpec } from '../../engine/engine.js';
import { groupLimit, processorGroup, processorUseIn } from '../../engine/machine/enforcement.js';
import { writableIn } from '../spec/spec.js';
import { type Bounds, type Glance, MAX_INODES, type Scales } from './watchdog.js';

/** Kernel memory of one empty tmpfs file (inode and dentry), in bytes. */
const INODE_BYTES = 1_024;

/** The host's last reserve: small machines keep a twentieth, large ones no more than this. */
const HOST_FLOOR_BYTES = 256 * MB_BYTES;
const HOST_FLOOR_PART = 0.05;

/** The most that a container of this spec may hold. */
export const boundsOf = ({ memoryBytes }: Pick<SandboxSpec, 'memoryBytes'>): Bounds => ({
  memoryBytes,
  inodes: MAX_INODES,
  hostFloorBytes: Math.min(HOST_FLOOR_BYTES, totalmem() * HOST_FLOOR_PART),
});

/** No sockets: for a caller that weighs pages alone. */
const NO_ROOM: SocketRoom = new Map();

/**
 * Looks at the container of the first process `pid`, whose files are in the folders `tmpfs` and whose sockets have `room`.
 */
export const scalesFor = (pid: number, tmpfs: readonly string[], room: SocketRoom = NO_ROOM): Scales => ({
  glance: () => orUndefined(() => glance(pid, tmpfs, room)),
  weigh: () => orUndefined(() => weigh(pid, tmpfs)),
});

/** Measures sockets only, where a control group counts everything but buffers of sockets. */
export const socketScalesFor = (pid: number, room: SocketRoom): Scales => ({
  glance: () =>
    orUndefined(() => ({
      atMostBytes: 0,
      kernelBytes: socketBytes(pid, room),
      inodes: 0,
      hostAvailableBytes: Number.POSITIVE_INFINITY,
    })),
  weigh: () => undefined,
});

function orUndefined<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

function glance(pid: number, tmpfs: readonly string[], room: SocketRoom): Glance {
  const files = filesOf(pid, tmpfs);
  const folders = processFolders(pid);
  return {
    atMostBytes: files.bytes + sum(folders.map(residentBytes)),
    kernelBytes: socketBytes(pid, room) + fileBytes(folders),
    inodes: files.inodes,
    hostAvailableBytes: kilobytes(read('/proc/meminfo'), 'MemAvailable'),
  };
}

function weigh(pid: number, tmpfs: readonly string[]): number {
  const devices = tmpfs.map((target) => deviceOf(`/proc/${pid}/root${target}`));
  const { bytes } = filesOf(pid, tmpfs);
  return bytes + sum(processFolders(pid).map((folder) => ownBytes(folder, devices)));
}

function filesOf(pid: number, tmpfs: readonly string[]): { bytes: number; inodes: number } {
  const stats = tmpfs.map((target) => statfsSync(`/proc/${pid}/root${target}`));
  const inodes = sum(stats.map(({ files, ffree }) => files - ffree));
  const bytes = sum(stats.map(({ blocks, bfree, bsize }) => (blocks - bfree) * bsize));
  return { bytes: bytes + inodes * INODE_BYTES, inodes };
}

/** Folders of every process in the container, however it was forked or has left its parent. */
function processFolders(pid: number): string[] {
  const proc = `/proc/${pid}/root/proc`;
  return readdirSync(proc)
    .filter((name) => /^\d+$/.test(name))
    .map((name) => `${proc}/${name}`);
}

/** Counts a page once for each process that has it: never too little. Page tables are no pages of the process. */
function residentBytes(folder: string): number {
  const status = read(`${folder}/status`);
  return kilobytes(status, 'VmRSS') + pageTableBytes(status);
}

/** Page tables: pages that are mapped, read and never written cost no page of the process, but one of tables for each 2 MB. */
const pageTableBytes = (status: string): number => kilobytes(status, 'VmPTE');

/**
 * A page that several processes have counts in parts; one of a file on disk, which the kernel can drop, does not, and
 * one of a file in a tmpfs counts there.
 */
function ownBytes(folder: string, tmpfsDevices: readonly string[]): number {
  const rollup = read(`${folder}/smaps_rollup`);
  const shared = kilobytes(rollup, 'Pss_Shmem');
  const mapped = shared === 0 ? 0 : mappedBytes(read(`${folder}/smaps`), tmpfsDevices);
  const own = kilobytes(rollup, 'Pss_Anon') + kilobytes(rollup, 'SwapPss') + Math.max(0, shared - mapped);
  return own + pageTableBytes(read(`${folder}/status`));
}

/** Shared mappings of files on these devices. A private one may hold copies, which are the process's own. */
function mappedBytes(smaps: string, devices: readonly string[]): number {
  return sum(
    smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).map((mapping) => {
      const [, mode = '', , device = ''] = mapping.split(' ', 5);
      return mode.endsWith('s') && devices.includes(device) ? kilobytes(mapping, 'Pss') : 0;
    }),
  );
}

/** As the kernel writes it in a list of mappings: major and minor in hexadecimal. */
function deviceOf(path: string): string {
  const { dev } = statSync(path);
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  return [major, minor].map((number) => number.toString(16).padStart(2, '0')).join(':');
}

/** A process that has ended meanwhile holds nothing. */
const read = (path: string): string => readText(path) ?? '';

const kilobytes = (text: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * KB_BYTES;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/**
 * Bytes of one socket with full buffers, by the kernel's name of its protocol. A protocol that is not there is counted
 * by a control group.
 */
type SocketRoom = ReadonlyMap<string, number>;

/** Who counts a container's memory: nobody in the kernel, or a control group of this version. */
type Counting = 'nobody' | 'cgroup v1' | 'cgroup v2';

/** An answer of netlink may be so much larger than the buffer that it is put into (netlink_dump). */
const NETLINK_ANSWER_BYTES = 32 * KB_BYTES;
/**
 * Bytes of a file that is no socket. The largest such file is a pipe, which has two pages once its user's pipes have 64 MB in
 * all (fs.pipe-user-pages-soft), and its inode and buffers' list.
 */
const FILE_BYTES = 10 * KB_BYTES;
/** The kernel's defaults, where its settings cannot be read. */
const DEFAULT_BUFFER_BYTES = 212_992;

const TCP = ['TCP', 'TCPv6', 'MPTCP', 'MPTCPv6'];
const DATAGRAM = ['UDP', 'UDPv6', 'UDP-Lite', 'UDPLITEv6', 'RAW', 'RAWv6', 'PING', 'PINGv6'];
/** Buffers of these sockets are memory of the writer's group (GFP_KERNEL_ACCOUNT since Linux 4.5). */
const UNIX = ['UNIX', 'UNIX-STREAM'];

const bufferBytes = (name: string, read: ReadText): number =>
  Number.parseInt(read(`/proc/sys/net/core/${name}`) ?? '', 10) || DEFAULT_BUFFER_BYTES;

/** The last of the three numbers of tcp_rmem and tcp_wmem. */
const largestBytes = (setting: string | undefined): number => Number(setting?.split(' ').at(-1)) || 0;

/** Bytes to count for each socket of a container of this spec, by protocol. */
export function socketRoom(
  { sysctls }: Pick<SandboxSpec, 'sysctls'>,
  counting: Counting,
  read: ReadText = readText,
): SocketRoom {
  const received = bufferBytes('rmem_default', read);
  const sent = bufferBytes('wmem_default', read);
  const tcp = largestBytes(sysctls['net.ipv4.tcp_rmem']) + largestBytes(sysctls['net.ipv4.tcp_wmem']);
  const rows: ReadonlyArray<readonly [readonly string[], number, readonly Counting[]]> = [
    [TCP, tcp, ['nobody', 'cgroup v1']],
    [DATAGRAM, received + sent, ['nobody', 'cgroup v1']],
    [UNIX, sent, ['nobody']],
    [['NETLINK'], received + NETLINK_ANSWER_BYTES, ['nobody', 'cgroup v1', 'cgroup v2']],
  ];
  return new Map(
    rows.flatMap(([names, bytes, by]) =>
      by.includes(counting) ? names.map((name) => [name, bytes] as const) : [],
    ),
  );
}

/** Bytes that the sockets in the network of the process `pid` could hold. Throws where there is no such process. */
export function socketBytes(pid: number, room: SocketRoom, read: ReadText = readText): number {
  const table = read(`/proc/${pid}/net/protocols`);
  if (table === undefined) throw new Error(`no process ${pid}`);
  let bytes = 0;
  for (const line of table.split('\n').slice(1)) {
    // protocol, size, sockets, memory …
    const [name = '', , sockets = ''] = line.trim().split(/ +/);
    bytes += (room.get(name) ?? 0) * (Number(sockets) || 0);
  }
  return bytes;
}

/**
 * Bytes that the open files of these processes could hold besides; `folders` are theirs in /proc. A file that several have
 * counts for each. Kernels before 6.2 do not say how many there are; then it is 0.
 */
export function fileBytes(folders: readonly string[]): number {
  return sum(
    folders.map((folder) => (statSync(`${folder}/fd`, { throwIfNoEntry: false })?.size ?? 0) * FILE_BYTES),
  );
}

/** Files that say what a control group holds now, in version 2 and in version 1. */
const GROUP_FILES = ['memory.current', 'memory.usage_in_bytes'];

/**
 * Bytes of memory that a sandbox holds while nobody watches it: what its control group says, else what its processes and files
 * say. Undefined where another machine runs it, or it has ended. `pid` is that of its first process.
 */
export function heldBytes(
  pid: number | undefined,
  spec: Pick<SandboxSpec, 'tmpfs'> | undefined,
): number | undefined {
  if (pid === undefined) return undefined;
  const dir = groupLimit(pid, 'memory')?.dir;
  for (const file of dir === undefined ? [] : GROUP_FILES) {
    const held = Number.parseInt(readText(join(dir ?? '', file)) ?? '', 10);
    if (!Number.isNaN(held)) return held;
  }
  return scalesFor(pid, spec === undefined ? [] : writableIn(spec)).weigh();
}

/** A run that uses much takes long: what it uses after the last look is less than this. */
const LOOK_EVERY_MS = 500;

/**
 * The processor time that one container has used since somebody asked for it to be counted, as its control group says. The
 * group is gone soon after the container, so that the last reading counts.
 */
export class ProcessorTime implements Disposable {
  readonly #dir: string | undefined;
  readonly #atStart: number | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #last: number | undefined;

  /** `pid` is that of the container's first process. */
  constructor(pid: number) {
    this.#dir = processorGroup(pid);
    this.#atStart = this.#read();
    if (this.#atStart !== undefined) this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
  }

  /** Reads it now; does nothing once the group is gone. */
  look(): void {
    this.#last = this.#read() ?? this.#last;
  }

  /** As last seen; undefined where nothing can be seen. */
  get seconds(): number | undefined {
    if (this.#atStart === undefined) return undefined;
    return Math.max(0, (this.#last ?? this.#atStart) - this.#atStart);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #read(): number | undefined {
    return this.#dir === undefined ? undefined : processorUseIn(this.#dir);
  }
}
