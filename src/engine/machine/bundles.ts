// Containers that an OCI runtime has started for us without the engine: the runtime's own notes of them, in the run directory of
// their bridge, and the removal of what a bridge has left whose clock (template/clock.ts) was killed with it. runc and crun.

import { existsSync, readdirSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ifThere, readText } from '../../base/files/read-text.js';
import { run } from '../../base/process/process.js';
import { deadRunDirs, killLiving, type Living, runDirsIn } from './first-process.js';
import type { EngineClient } from './place.js';

/** The runtime's folder in a run directory: one folder for each container, by its name. */
const NOTES = 'oci';
/** Beside the containers' folders: the runtime that made them, and its flags, one a line. */
const RUNTIME_FILE = 'runtime';
const REMOVED_WITHIN_MS = 15_000;

export const notesIn = (runDir: string): string => join(runDir, NOTES);
export const runtimeFileIn = (notes: string): string => join(notes, RUNTIME_FILE);

/** runc's and crun's words for the first process's pid and the tick in which it started. */
const WORDS = [
  { file: 'state.json', pid: /"init_process_pid":(\d+)/, start: /"init_process_start":(\d+)/ },
  { file: 'status', pid: /"pid"\s*:\s*(\d+)/, start: /"process-start-time"\s*:\s*(\d+)/ },
] as const;

/** The first process of the container `name`; undefined before there is one, and when the runtime has removed it. */
export function firstOfBundle(notes: string, name: string): Living | undefined {
  for (const { file, pid, start } of WORDS) {
    const text = readText(join(notes, name, file));
    if (text === undefined) continue;
    const [, id = ''] = pid.exec(text) ?? [];
    const [, startTime = ''] = start.exec(text) ?? [];
    if (Number(id) > 1 && startTime !== '') return { pid: Number(id), startTime };
  }
  return undefined;
}

/** Whether the runtime still has notes of the container. */
export const isNoted = (notes: string, name: string): boolean => existsSync(join(notes, name));

/** The first process of the container `name` of any bridge with this state directory. */
export function firstOfAnyBundle(stateDir: string, name: string): Living | undefined {
  for (const runDir of runDirsIn(stateDir)) {
    const first = firstOfBundle(notesIn(runDir), name);
    if (first !== undefined) return first;
  }
  return undefined;
}

/** Ends the container `name` of any bridge with this state directory; false where there is none that runs. */
export function killBundle(stateDir: string, name: string): boolean {
  const first = firstOfAnyBundle(stateDir, name);
  return first !== undefined && killLiving(first);
}

/** A control group is busy for a moment after its last process. */
const GROUP_TRIES = 10;
const GROUP_PAUSE_MS = 20;

/**
 * Removes the container `name`, whose first process is gone, as runc would, and without a process of it: control groups, then notes.
 * False where that is left to the runtime, whose notes are then whole. Not for groups that systemd has made.
 */
export async function removeEnded(notes: string, name: string): Promise<boolean> {
  const folders = groupsIn(notes, name);
  if (folders === undefined) return false;
  try {
    await Promise.all(folders.map(removeGroup));
    await rm(join(notes, name), { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

/** Undefined where its notes do not tell them, or where they are not its own. */
function groupsIn(notes: string, name: string): readonly string[] | undefined {
  try {
    // runc names the folders of the container's control groups there, where it has made them by itself.
    const state: { cgroup_paths?: Record<string, string> } = JSON.parse(
      readText(join(notes, name, 'state.json')) ?? '{}',
    );
    if (state.cgroup_paths === undefined) return undefined;
    const folders = Object.values(state.cgroup_paths);
    return folders.every((folder) => basename(folder) === name) ? folders : undefined;
  } catch {
    // Being written.
    return undefined;
  }
}

async function removeGroup(folder: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await rmdir(folder);
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'ENOENT') return;
      if (code !== 'EBUSY' || tries === GROUP_TRIES) throw thrown;
    }
    await sleep(GROUP_PAUSE_MS);
  }
}

/**
 * Removes the container `name`, which is killed where it runs. `enter`: words that lead to where the runtime works; `env`: what
 * their program's environment has besides ours.
 */
export async function removeBundle(
  notes: string,
  name: string,
  enter: readonly string[],
  env: EngineClient['env'] = {},
): Promise<void> {
  const runtime = (readText(runtimeFileIn(notes)) ?? '').split('\n').filter((word) => word !== '');
  const [program, ...args] = [...enter, ...runtime, '--root', notes, 'delete', '--force', name];
  if (runtime.length === 0 || program === undefined) return;
  const groups = groupsIn(notes, name) ?? [];
  await run([program, ...args], { timeoutMs: REMOVED_WITHIN_MS, env }, new AbortController().signal);
  // The runtime does not wait for one that is busy.
  await Promise.allSettled(groups.map(removeGroup));
}

/** Removes the containers of dead bridges, whose run directories are then for sweepRunDirs; returns how many. As removeBundle. */
export async function sweepBundles(
  stateDir: string,
  enter: readonly string[],
  env: EngineClient['env'],
): Promise<number> {
  let removed = 0;
  for (const runDir of deadRunDirs(stateDir)) {
    const notes = notesIn(runDir);
    // Another bridge may sweep the same folders in this moment.
    const entries = ifThere(() => readdirSync(notes, { withFileTypes: true })) ?? [];
    for (const { name } of entries.filter((entry) => entry.isDirectory())) {
      try {
        await removeBundle(notes, name, enter, env);
        removed++;
      } catch {
        // Its runtime is gone, or hangs. The sandbox has ended with its input in all likelihood.
      }
    }
  }
  return removed;
}
