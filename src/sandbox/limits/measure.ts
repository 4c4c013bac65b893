// A container's memory and files, measured from outside and without any privilege but being its owner: its processes through
// its own /proc, its tmpfs through its own root. Synchronous, since it is asked often and seldom takes a millisecond.

import { readdirSync, statfsSync, statSync } from 'node:fs';
import { totalmem } from 'node:os';
import { readText } from '../../base/files/read-text.js';
import { KB_BYTES, MB_BYTES } from '../../base/text/sizes.js';
import type { SandboxSpec } from '../../engine/engine.js';
import { fileBytes, type SocketRoom, socketBytes } from './kernel-room.js';
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

/** For whoever weighs pages alone. */
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
