// The kernel's memory that a container's open files could hold, at most. Buffers of sockets and pipes belong to no process,
// and control groups count only some of them: TCP and UDP on cgroup v1, netlink on neither version, and nothing at all where
// there is no group. How full a buffer is cannot be seen from outside, so each one is taken to be full. Linux only; reads
// /proc and decides nothing.

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ReadText, readText } from '../../base/files/read-text.js';
import { KB_BYTES } from '../../base/text/sizes.js';
import type { SandboxSpec } from '../../engine/engine.js';

/**
 * Bytes of one socket with full buffers, by the kernel's name of its protocol. A protocol that is not there is counted
 * by a control group.
 */
export type SocketRoom = ReadonlyMap<string, number>;

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
/** Their buffers are memory of the group of whoever wrote (GFP_KERNEL_ACCOUNT since Linux 4.5). */
const UNIX = ['UNIX', 'UNIX-STREAM'];

const bufferBytes = (name: string, read: ReadText): number =>
  Number.parseInt(read(`/proc/sys/net/core/${name}`) ?? '', 10) || DEFAULT_BUFFER_BYTES;

/** The last of the three numbers of tcp_rmem and tcp_wmem. */
const largest = (setting: string | undefined): number => Number(setting?.split(' ').at(-1)) || 0;

/** Bytes to count for each socket of a container of this spec, by protocol. */
export function socketRoom(
  { sysctls }: Pick<SandboxSpec, 'sysctls'>,
  counting: Counting,
  read: ReadText = readText,
): SocketRoom {
  const received = bufferBytes('rmem_default', read);
  const sent = bufferBytes('wmem_default', read);
  const tcp = largest(sysctls['net.ipv4.tcp_rmem']) + largest(sysctls['net.ipv4.tcp_wmem']);
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

/** The version of the group in `dir`, which has a memory limit. */
export const countingIn = (dir: string): Counting =>
  existsSync(join(dir, 'memory.max')) ? 'cgroup v2' : 'cgroup v1';

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
  return folders.reduce(
    (sum, folder) => sum + (statSync(`${folder}/fd`, { throwIfNoEntry: false })?.size ?? 0) * FILE_BYTES,
    0,
  );
}
