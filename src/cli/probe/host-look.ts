// A container as the host sees it while it runs: what holds its first process, the ids of that process, the engine's monitor
// above it, and what is kept of the container on disk. Linux, and only where the container's processes are the host's.

import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../../base/files/read-text.js';
import { firstOfAnyBundle } from '../../engine/machine/bundles.js';
import { type AskedLimits, type Enforcement, groupLimit } from '../../engine/machine/enforcement.js';
import { firstProcess, monitorOf } from '../../engine/machine/first-process.js';
import { clockOf } from '../../engine/template/clock.js';
import { enforcementAt } from '../../sandbox/limits/guard.js';
import type { Judgement } from './control.js';

export type HostLook = {
  readonly enforcement: Enforcement;
  /** The quota of its control group, in CPUs. */
  readonly cpus: number | undefined;
  /** Host ids that the container's ids are. */
  readonly ids: readonly { readonly first: number; readonly count: number }[];
  /** Seconds after which the monitor ends the container by itself. */
  readonly monitorSeconds: number | undefined;
};

/** The host pid of the container's first process, if it has one that means anything here. */
export function firstProcessOf(stateDir: string, container: string): number | undefined {
  for (const instance of namesIn(join(stateDir, 'run'))) {
    const pid = firstProcess(join(stateDir, 'run', instance, `${container}.pid`));
    if (pid !== undefined) return pid;
  }
  return firstOfAnyBundle(stateDir, container)?.pid;
}

/** Whether the process is there and more than a zombie. */
export const isAlive = (pid: number): boolean =>
  /^State:\s+[^ZX]/m.test(readText(`/proc/${pid}/status`) ?? '');

/** `asked`: what the container of that name was started with. */
export const hostLook = (pid: number, stateDir: string, container: string, asked: AskedLimits): HostLook => ({
  enforcement: enforcementAt(pid, asked),
  cpus: groupLimit(pid, 'cpu')?.value,
  ids: idRanges(pid),
  monitorSeconds:
    monitorSeconds(monitorOf(pid).argv) ?? monitorSeconds(clockOf(stateDir, container)?.argv ?? []),
});

/** Read from outside, the file tells the outer ids. */
function idRanges(pid: number): HostLook['ids'] {
  return (readText(`/proc/${pid}/uid_map`) ?? '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([, first, count]) => (first === undefined || count === undefined ? [] : [{ first, count }]));
}

/** The words `--timeout=N` of conmon, and of a clock (template/clock.ts). */
export function monitorSeconds(argv: readonly string[]): number | undefined {
  const text = argv.find((arg) => /^--timeout=\d+$/.test(arg))?.slice('--timeout='.length);
  return text === undefined ? undefined : Number(text);
}

/** Where the container is kept: conmon's bundle, beside which a log would lie, or that of a template's sandbox. */
export function bundleOf(pid: number, stateDir: string, container: string): string | undefined {
  const { argv } = monitorOf(pid);
  const index = argv.indexOf('-b');
  return index === -1 ? clockOf(stateDir, container)?.bundle : argv[index + 1];
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

// Which known holes of OCI runtimes the one in use has closed, by its version. A version below the fix is not called
// open: distributions fix old versions without changing the number. Pure.

/** Writes through masked paths, /dev/console and procfs (with CVE-2025-52565 and CVE-2025-52881), per release line. */
const CVE = 'CVE-2025-31133';
const RUNC_FIXES: readonly (readonly [line: string, version: string])[] = [
  ['1.2', '1.2.8'],
  ['1.3', '1.3.3'],
  ['1.4', '1.4.0-rc.3'],
];

export const RUNTIME_REQUEST = `the fix of ${CVE}`;

export function judgeRuntime(said: string | undefined): Judgement {
  const how = 'its own --version';
  const [, name, version] = /^(runc|crun|runsc) version (?:release-)?v?(\S+)/m.exec(said ?? '') ?? [];
  if (name === undefined || version === undefined)
    return { observed: `fix of ${CVE} not confirmed: unknown version`, how, verdict: 'UNKNOWN' };
  const distribution = /^commit: (\S*[+~]\S*)/m.exec(said ?? '')?.[1];
  const shown = `${name} ${distribution ?? version}`;
  if (name !== 'runc') return { observed: `${shown}, to which it does not apply`, how, verdict: 'ENFORCED' };
  const line = version.split('.').slice(0, 2).join('.');
  const fix = RUNC_FIXES.find(([fixed]) => fixed === line)?.[1];
  const hasIt = fix === undefined ? isBefore('1.4', line) : !isBefore(version, fix);
  return hasIt
    ? { observed: shown, how, verdict: 'ENFORCED' }
    : { observed: `${shown}: fix of ${CVE} not confirmed`, how, verdict: 'UNKNOWN' };
}

/** Compares by numbers; a release candidate comes before its release. */
function isBefore(a: string, b: string): boolean {
  const [left, right] = [parts(a), parts(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function parts(version: string): number[] {
  const [numbers = '', candidate] = version.split(/-rc\.?/);
  const [major = 0, minor = 0, patch = 0] = numbers
    .split(/[.+~-]/)
    .map((part) => Number.parseInt(part, 10) || 0);
  return [
    major,
    minor,
    patch,
    candidate === undefined ? Number.MAX_SAFE_INTEGER : Number.parseInt(candidate, 10),
  ];
}
