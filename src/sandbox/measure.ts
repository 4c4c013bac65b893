// One look at what a container holds, from outside and without any privilege but being its owner: its processes through
// its own /proc, its tmpfs through its own root. Synchronous, since it is asked often and takes less than a millisecond
// until a limit is near.

import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { totalmem } from 'node:os';
import type { SandboxSpec } from '../engine/engine.js';
import { type Bounds, MAX_INODES, type Sample } from './watchdog.js';

/** Of an empty file: shmem inode and dentry. */
const INODE_BYTES = 1_024;
const PAGE_BYTES = 4_096;
const KIB = 1_024;

/** The host's last reserve: small machines keep a twentieth, large ones no more than this. */
const HOST_FLOOR_BYTES = 256 * 1024 ** 2;
const HOST_FLOOR_PART = 0.05;

/** What a container of this cage may hold. */
export const boundsOf = ({ memoryBytes }: Pick<SandboxSpec, 'memoryBytes'>): Bounds => ({
  memoryBytes,
  inodes: MAX_INODES,
  hostFloorBytes: Math.min(HOST_FLOOR_BYTES, totalmem() * HOST_FLOOR_PART),
});

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

const kilobytes = (text: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * KIB;

/** Folders of every process in the container, however it was forked or has hidden itself from its parent. */
function processFolders(pid: number): string[] {
  const proc = `/proc/${pid}/root/proc`;
  return readdirSync(proc)
    .filter((name) => /^\d+$/.test(name))
    .map((name) => `${proc}/${name}`);
}

/** Counts a page once for each process that has it: never too little. */
const residentBytes = (folder: string): number =>
  Number(read(`${folder}/statm`).split(' ')[1] ?? 0) * PAGE_BYTES;

/** A page that several processes have counts in parts; pages of files on disk, which the kernel can drop, do not. */
function ownBytes(folder: string): number {
  const rollup = read(`${folder}/smaps_rollup`);
  return kilobytes(rollup, 'Pss_Anon') + kilobytes(rollup, 'Pss_Shmem') + kilobytes(rollup, 'SwapPss');
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/**
 * What the container of the first process `pid` holds; undefined where that cannot be seen, or no longer. The exact sum
 * costs a walk through page tables, so it is made only where the cheap upper bound is above the limit.
 * A page of a tmpfs that is also mapped counts twice.
 */
export function measure(pid: number, tmpfs: readonly string[], bounds: Bounds): Sample | undefined {
  try {
    const stats = tmpfs.map((target) => statfsSync(`/proc/${pid}/root${target}`));
    const inodes = sum(stats.map(({ files, ffree }) => files - ffree));
    const inFiles =
      sum(stats.map(({ blocks, bfree, bsize }) => (blocks - bfree) * bsize)) + inodes * INODE_BYTES;
    const folders = processFolders(pid);
    const atMost = inFiles + sum(folders.map(residentBytes));
    const exact = atMost > bounds.memoryBytes;
    const memoryBytes = exact ? inFiles + sum(folders.map(ownBytes)) : atMost;
    return {
      memoryBytes,
      exact,
      inodes,
      hostAvailableBytes: kilobytes(read('/proc/meminfo'), 'MemAvailable'),
    };
  } catch {
    return undefined;
  }
}
