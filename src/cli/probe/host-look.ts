// What the host sees of a container while it runs: its first process, that one's ids, limits and memory, the engine's
// monitor above it, and what is kept of it on disk. Linux, and only where the container's processes are the host's.

import { lstatSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { firstProcess } from '../../engine/first-process.js';
import { type CgroupLimits, cgroupLimits, readHost } from './cgroup.js';

export type IdRange = { readonly first: number; readonly count: number };

export type HostLook = {
  readonly limits: CgroupLimits;
  /** Host ids that the container's ids are. */
  readonly ids: readonly IdRange[];
  /** Seconds after which the monitor ends the container by itself. */
  readonly monitorSeconds: number | undefined;
};

/** The host pid of the container's first process, if it has one that means anything here. */
export function firstProcessOf(stateDir: string, container: string): number | undefined {
  for (const instance of namesIn(join(stateDir, 'run'))) {
    const pid = firstProcess(join(stateDir, 'run', instance, `${container}.pid`));
    if (pid !== undefined) return pid;
  }
  return undefined;
}

/** Whether the process is there and more than a zombie. */
export const lives = (pid: number): boolean => /^State:\s+[^ZX]/m.test(readHost(`/proc/${pid}/status`));

export function lookAt(pid: number): HostLook {
  return { limits: cgroupLimits(pid), ids: idRanges(pid), monitorSeconds: monitorSeconds(monitorArgv(pid)) };
}

/** Read from outside, the file tells the outer ids. */
function idRanges(pid: number): IdRange[] {
  return readHost(`/proc/${pid}/uid_map`)
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([, first, count]) => (first === undefined || count === undefined ? [] : [{ first, count }]));
}

function monitorArgv(pid: number): string[] {
  const parent = /^PPid:\s*(\d+)/m.exec(readHost(`/proc/${pid}/status`))?.[1];
  return parent === undefined ? [] : readHost(`/proc/${parent}/cmdline`).split('\0');
}

/** conmon's `--timeout=N`. */
export function monitorSeconds(argv: readonly string[]): number | undefined {
  const text = argv.find((arg) => /^--timeout=\d+$/.test(arg))?.slice('--timeout='.length);
  return text === undefined ? undefined : Number(text);
}

/** Where the engine keeps the container: conmon's bundle, beside which a log would lie. */
export function bundleOf(pid: number): string | undefined {
  const argv = monitorArgv(pid);
  const index = argv.indexOf('-b');
  return index === -1 ? undefined : argv[index + 1];
}

/** Bytes of the files in a folder, without what is mounted there. */
export function bytesIn(folder: string): number {
  let sum = 0;
  for (const name of namesIn(folder)) {
    const stat = lstatSync(join(folder, name), { throwIfNoEntry: false });
    if (stat?.isFile() === true) sum += stat.size;
  }
  return sum;
}

/** Memory of a process and all below it, shared pages once, and what lies in `tmpfs` of its mounts, in bytes. */
export function memoryOf(pid: number, tmpfs: readonly string[]): number {
  const inProcesses = treeOf(pid).reduce((sum, each) => sum + pssBytes(each), 0);
  return tmpfs.reduce((sum, target) => sum + usedBytes(`/proc/${pid}/root${target}`), inProcesses);
}

function treeOf(pid: number): number[] {
  const children = namesIn(`/proc/${pid}/task`).flatMap((task) =>
    readHost(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(treeOf)];
}

function pssBytes(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(readHost(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;
}

function usedBytes(path: string): number {
  try {
    const { bsize, blocks, bfree } = statfsSync(path);
    return bsize * (blocks - bfree);
  } catch {
    return 0;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
