// The limits that really bind a process, read from its cgroups on the host: v1, v2 or both mounted at once. A limit of a
// parent binds too, so the least on the way up counts. Reads files only; a host without cgroups has no limits.

import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export type CgroupLimits = {
  /** Bytes; undefined where nothing limits it. */
  readonly memoryBytes: number | undefined;
  readonly pids: number | undefined;
  readonly cpus: number | undefined;
};

/** Reads a file of the host; '' where there is none. Tests put a host of their own here. */
export type Read = (file: string) => string;

export const readHost: Read = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

/** v1 writes a huge number where there is no limit: the largest multiple of the page size, or near it. */
const NO_LIMIT_BYTES = 2 ** 60;

export function cgroupLimits(pid: number, read: Read = readHost): CgroupLimits {
  const folders = cgroupFolders(pid, read);
  const least = (controller: string, file: (folder: string) => number | undefined): number | undefined => {
    const found = (folders.get(controller) ?? []).flatMap((folder) => file(folder) ?? []);
    return found.length === 0 ? undefined : Math.min(...found);
  };
  const number = (folder: string, name: string) => finite(read(join(folder, name)));
  return {
    memoryBytes:
      least('memory', (f) => number(f, 'memory.limit_in_bytes')) ?? least('', (f) => number(f, 'memory.max')),
    pids: least('pids', (f) => number(f, 'pids.max')) ?? least('', (f) => number(f, 'pids.max')),
    cpus:
      least('cpu', (f) =>
        ratio(`${read(join(f, 'cpu.cfs_quota_us')).trim()} ${read(join(f, 'cpu.cfs_period_us'))}`),
      ) ?? least('', (f) => ratio(read(join(f, 'cpu.max')))),
  };
}

/** By controller ('' is v2): the process's folder and its parents up to the mount. */
function cgroupFolders(pid: number, read: Read): ReadonlyMap<string, readonly string[]> {
  const mounts = cgroupMounts(read);
  const folders = new Map<string, readonly string[]>();
  for (const line of read(`/proc/${pid}/cgroup`).split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const controller of controllers.split(',')) {
      const mount = mounts.get(controller);
      if (mount === undefined) continue;
      // As a container sees it, the mount's root is itself below the host's.
      const below = path.startsWith(mount.root) ? posix.relative(mount.root, path) : path;
      const parts = below.split('/').filter((part) => part !== '');
      folders.set(
        controller,
        parts.map((_part, index) => join(mount.point, ...parts.slice(0, index + 1))),
      );
    }
  }
  return folders;
}

function cgroupMounts(read: Read): ReadonlyMap<string, { readonly point: string; readonly root: string }> {
  const mounts = new Map<string, { point: string; root: string }>();
  for (const line of read('/proc/self/mountinfo').split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '/', point = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    if (type === 'cgroup2') mounts.set('', { point, root });
    if (type === 'cgroup') for (const option of options.split(',')) mounts.set(option, { point, root });
  }
  return mounts;
}

function finite(text: string): number | undefined {
  const value = Number.parseInt(text, 10);
  return Number.isFinite(value) && value < NO_LIMIT_BYTES ? value : undefined;
}

/** `quota period` in microseconds; -1 and `max` mean none. */
function ratio(text: string): number | undefined {
  const [quota = 0, period = 0] = text.trim().split(/\s+/).map(Number);
  return quota > 0 && period > 0 ? quota / period : undefined;
}
