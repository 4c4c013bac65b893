// Findings of bridges about the engine of this machine, for those of the same user that have another state directory. They lie
// in a folder for each state that the engine can be in, by its program, OCI runtimes and configuration: after an upgrade or a
// change of them another folder is looked at. Any trouble with them is none, since all of it can be found out anew.

import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createHash } from '../../base/crypto.js';
import { findExchangeable, isOnlyOurs } from '../../base/files/only-ours.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { VERSION } from '../../base/version.js';
import type { EnginePlace } from '../../settings/files/engine-place.js';

/** A container is held by these, besides its engine. */
const OCI_RUNTIMES = ['crun', 'runc', 'runsc'];
/** Namespaces in which other files, users or control groups may be seen. */
const NAMESPACES = ['user', 'mnt', 'cgroup'];
/** States of which the findings are kept. */
const MAX_STATES = 4;
/** Most files of configuration that are looked at; with more of them nothing is shared. */
const MAX_FILES = 500;

/** Folder of what is known of `program` as it is now; undefined where nobody may be believed. */
export function sharedFolder(
  program: string,
  ociRuntime: string | undefined,
  place: EnginePlace | undefined,
): string | undefined {
  if (place === undefined) return undefined;
  const stamps = stampsOf(
    [program, ...OCI_RUNTIMES, ...(ociRuntime === undefined ? [] : [ociRuntime])],
    place,
  );
  if (stamps === undefined) return undefined;
  const state = JSON.stringify([VERSION, process.getuid?.(), place.variables, namespaces(), stamps]);
  return join(place.shared, createHash('sha256').update(state).digest('hex').slice(0, 16));
}

/** Content of a file that another bridge has left; undefined where there is none, or somebody else could have written it. */
export function readShared(folder: string, name: string): string | undefined {
  try {
    return isOnlyOurs(folder) ? readFileSync(join(folder, name), 'utf8') : undefined;
  } catch {
    return undefined;
  }
}

/** Leaves files, by their names in `folder`, for other bridges. */
export function share(folder: string, files: ReadonlyMap<string, string>): void {
  const parent = dirname(folder);
  try {
    // The variable may be another user's, as under sudo.
    if (findExchangeable(dirname(parent)) !== undefined) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isOnlyOurs(folder)) return;
    for (const [name, content] of files) replaceFile(join(folder, name), content);
    removeOldest(parent);
  } catch {
    // There is no room, or the folder is somebody else's.
  }
}

export function forgetShared(folder: string): void {
  try {
    if (isOnlyOurs(folder)) rmSync(folder, { recursive: true, force: true });
  } catch {
    // Another bridge is just removing it.
  }
}

function removeOldest(parent: string): void {
  const changedMs = (name: string): number => statOf(join(parent, name))?.mtimeMs ?? 0;
  const byAge = readdirSync(parent).sort((one, other) => changedMs(other) - changedMs(one));
  for (const name of byAge.slice(MAX_STATES)) rmSync(join(parent, name), { recursive: true, force: true });
}

const statOf = (path: string): Stats | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

function namespaces(): readonly string[] {
  return NAMESPACES.map((name) => {
    try {
      return readlinkSync(`/proc/self/ns/${name}`);
    } catch {
      return '';
    }
  });
}

/** Text that changes with each file; undefined where there are too many. */
function stampsOf(
  programs: readonly string[],
  { programs: folders, configuration }: EnginePlace,
): readonly string[] | undefined {
  const stamps = programs.map((program) => {
    const paths = program.startsWith('/') ? [program] : folders.map((folder) => join(folder, program));
    return paths.map(stampOf).find((stamp) => stamp !== '') ?? '';
  });
  for (const path of configuration) {
    for (const file of filesBelow(path)) if (stamps.push(stampOf(file)) > MAX_FILES) return undefined;
  }
  return stamps;
}

/** A path that is no folder stands for itself. */
function filesBelow(path: string): readonly string[] {
  try {
    if (statOf(path)?.isDirectory() !== true) return [path];
    return readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
  } catch {
    return [path];
  }
}

/** '' where there is nothing. */
function stampOf(path: string): string {
  const stats = statOf(path);
  return stats === undefined
    ? ''
    : [path, stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join(' ');
}
