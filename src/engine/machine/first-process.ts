// A container's first process, found by the pid file that the engine's monitor (conmon) wrote for us. Killing it ends
// the container at once and without another program, but it must have been started (see CliContainer.kill). Linux only:
// elsewhere, and before the file is written, no process is found. The files are in the run directory of a bridge, with their
// owner: a directory whose owner is dead is removed, with the containers of its files that still run.

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError, messageOf } from '../../base/errors.js';
import { ifThere, readText } from '../../base/files/read-text.js';
import { isAlive, type Owner } from '../../base/process/owner.js';
import { processStat } from '../../base/process/process-stat.js';
import { stateDirRemedy } from '../../settings/files/state-dir.js';
import type { EngineOptions } from '../engine.js';

const argvOf = (pid: number): string[] => (readText(`/proc/${pid}/cmdline`) ?? '').split('\0');

/** The parent of `pid`, which is the engine's monitor where `pid` is a container's first process. */
export function monitorOf(pid: number): { readonly pid: number; readonly argv: readonly string[] } {
  const parent = Number(/^PPid:\s*(\d+)/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1]);
  return { pid: parent, argv: parent > 1 ? argvOf(parent) : [] };
}

/**
 * The host pid, or undefined while there is none and once it is gone. That a pid is still the container's, and not
 * somebody else's by now, shows in its parent: the monitor that was started with this very pid file.
 */
export function firstProcess(pidFile: string): number | undefined {
  return withMonitor(pidFile)?.pid;
}

/** The first process of a container that lives, and its monitor; undefined once it has ended. */
export function withMonitor(pidFile: string): { readonly pid: number; readonly monitor: number } | undefined {
  const pid = Number.parseInt(readText(pidFile) ?? '', 10);
  if (!(pid > 1)) return undefined;
  const monitor = monitorOf(pid);
  return monitor.argv.includes(pidFile) ? { pid, monitor: monitor.pid } : undefined;
}

/** A process for as long as it lives: its number may be another's later, and its start is its own. */
export type Living = { readonly pid: number; readonly startTime: string };

/** The process that `isLiving` can ask for again; undefined where there is no such process. */
export function livingAt(pid: number): Living | undefined {
  const startTime = processStat(pid)?.startTime;
  return startTime === undefined ? undefined : { pid, startTime };
}

/**
 * Whether it still runs. One that has ended and that nobody has reaped does not: before a first process becomes a zombie,
 * the kernel has ended every other process of its container.
 */
export function isLiving({ pid, startTime }: Living): boolean {
  const stat = processStat(pid);
  return stat !== undefined && stat.startTime === startTime && !'ZX'.includes(stat.state);
}

/** False when it had ended. */
export function killLiving(living: Living): boolean {
  if (!isLiving(living)) return false;
  try {
    process.kill(living.pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}

/** Between two looks at a container that is being made, or ends. */
export const KILL_POLL_MS = 20;
/** A container whose last process ends closes its streams a moment before that. */
const ENDS_WITHIN_MS = 200;
/** How long a killed first process is waited for; one that the kernel cannot end is left to the engine and the next start. */
export const KILLED_WITHIN_MS = 10_000;

/**
 * Waits for the end of a first process whose streams are closed. That is no end of it, so then it is killed; false where even
 * that does not end it.
 */
export async function waitUntilGone(first: Living, kill: () => void): Promise<boolean> {
  const closedAt = performance.now();
  while (isLiving(first)) {
    const waitedMs = performance.now() - closedAt;
    if (waitedMs > KILLED_WITHIN_MS) return false;
    if (waitedMs > ENDS_WITHIN_MS) kill();
    // Nothing else may be left that keeps our process going, and somebody waits for this.
    await sleep(KILL_POLL_MS);
  }
  return true;
}

/** Whether the client that makes the container of `pidFile` is still at work, so that its first process may not be started. */
const isBeingStarted = (pidFile: string): boolean =>
  firstProcess(pidFile) !== undefined &&
  readdirSync('/proc').some(
    (name) => /^\d+$/.test(name) && argvOf(Number(name)).includes(`--pidfile=${pidFile}`),
  );

/** Whether the process `pid` of this machine was started with `argument`. */
export const runsHere = (pid: number, argument: string): boolean => argvOf(pid).includes(argument);

/** False when there was none to kill. */
export function killFirstProcess(pidFile: string): boolean {
  const found = withMonitor(pidFile);
  if (found === undefined) return false;
  try {
    process.kill(found.pid, 'SIGKILL');
    // A monitor that somebody has stopped would never reap it, and stay itself.
    process.kill(found.monitor, 'SIGCONT');
  } catch {
    // The process has ended in this very moment.
  }
  return true;
}

const OWNER_FILE = 'owner.json';
/** A directory without a readable owner is being made for a moment, or was when its bridge was killed. */
const OWNED_WITHIN_MS = 60_000;

const parentOf = (stateDir: string): string => join(stateDir, 'run');

export const runDirOf = ({ stateDir, instance }: Pick<EngineOptions, 'stateDir' | 'instance'>): string =>
  join(parentOf(stateDir), instance);

/** Throws E_STATE, as a full disk does. */
export function makeRunDir(runDir: string, owner: Owner): void {
  try {
    mkdirSync(runDir, { recursive: true, mode: 0o700 });
    writeFileSync(join(runDir, OWNER_FILE), JSON.stringify(owner));
  } catch (cause) {
    throw new BridgeError('E_STATE', `${runDir} cannot be written: ${messageOf(cause)}.`, {
      fault: 'operator',
      remedy: stateDirRemedy(cause),
      cause,
    });
  }
}

/** Removes the run directory of a bridge that starts nothing any more, whether or not an engine was ever chosen. */
export function removeRunDir(of: Pick<EngineOptions, 'stateDir' | 'instance'>): void {
  rmSync(runDirOf(of), { recursive: true, force: true });
}

/** The run directories of all bridges with this state directory. */
export function runDirsIn(stateDir: string): readonly string[] {
  const parent = parentOf(stateDir);
  return (ifThere(() => readdirSync(parent)) ?? []).map((instance) => join(parent, instance));
}

/** The run directories of dead bridges. */
export const deadRunDirs = (stateDir: string): readonly string[] => runDirsIn(stateDir).filter(isDead);

function isDead(dir: string): boolean {
  try {
    const owner = ownerOf(dir);
    return owner === undefined ? Date.now() - statSync(dir).mtimeMs >= OWNED_WITHIN_MS : !isAlive(owner);
  } catch {
    // Gone in this moment.
    return false;
  }
}

/** Removes the directories of dead bridges. */
export function sweepRunDirs(stateDir: string): void {
  for (const dir of deadRunDirs(stateDir)) {
    try {
      // A container that was being made when its bridge died is known to nobody else. One that still is must not be
      // killed (see CliContainer.kill); it ends by itself, since its input has ended, and the next start looks again.
      const pidFiles = readdirSync(dir).filter((file) => file.endsWith('.pid'));
      if (pidFiles.some((file) => isBeingStarted(join(dir, file)))) continue;
      for (const file of pidFiles) killFirstProcess(join(dir, file));
      rmSync(dir, { recursive: true, force: true });
    } catch {
      // Gone in this moment, or not ours: leave it.
    }
  }
}

function ownerOf(runDir: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(join(runDir, OWNER_FILE), 'utf8')) as Omit<Owner, 'machine'>;
    // Earlier versions did not say the machine.
    return { machine: '', ...owner };
  } catch {
    return undefined;
  }
}
