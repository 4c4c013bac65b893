// A container as the host sees it while it runs: what holds its first process, the ids of that process, the engine's monitor
// above it, and what is kept of the container on disk. Linux, and only where the container's processes are the host's.

import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../../base/files/read-text.js';
import type { AskedLimits, Enforcement } from '../../engine/machine/enforcement.js';
import { groupLimit } from '../../engine/machine/enforcement.js';
import { firstProcess, monitorOf } from '../../engine/machine/first-process.js';
import { enforcementAt } from '../../sandbox/limits/guard.js';

export type IdRange = { readonly first: number; readonly count: number };

export type HostLook = {
  readonly enforcement: Enforcement;
  /** The quota of its control group, in CPUs. */
  readonly cpus: number | undefined;
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
export const lives = (pid: number): boolean => /^State:\s+[^ZX]/m.test(readText(`/proc/${pid}/status`) ?? '');

/** `asked`: what the container was started with. */
export const hostLook = (pid: number, asked: AskedLimits): HostLook => ({
  enforcement: enforcementAt(pid, asked),
  cpus: groupLimit(pid, 'cpu')?.value,
  ids: idRanges(pid),
  monitorSeconds: monitorSeconds(monitorOf(pid).argv),
});

/** Read from outside, the file tells the outer ids. */
function idRanges(pid: number): IdRange[] {
  return (readText(`/proc/${pid}/uid_map`) ?? '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([, first, count]) => (first === undefined || count === undefined ? [] : [{ first, count }]));
}

/** conmon's `--timeout=N`. */
export function monitorSeconds(argv: readonly string[]): number | undefined {
  const text = argv.find((arg) => /^--timeout=\d+$/.test(arg))?.slice('--timeout='.length);
  return text === undefined ? undefined : Number(text);
}

/** Where the engine keeps the container: conmon's bundle, beside which a log would lie. */
export function bundleOf(pid: number): string | undefined {
  const { argv } = monitorOf(pid);
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

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
