// The limits of the kernel's control groups on a process, read from the host's own files: v1, v2 and both at once. Knows where
// a limit would stand and how often it was hit; sets none. Linux only: elsewhere there is nothing to read.

import { join } from 'node:path';
import { type ReadText, readText } from '../../base/files/read-text.js';

type Controller = 'memory' | 'pids' | 'cpu';
/**
 * Controllers, and two hierarchies without limits: `cpuacct` counts in version 1, often by a mount of its own, and `unified` is
 * that of version 2, which may be there beside those of version 1 and then has none of their controllers.
 */
type Hierarchy = Controller | 'cpuacct' | 'unified';

/** A limit and the folder of the group that has it. */
export type GroupLimit = { readonly value: number; readonly dir: string };

/** A group as the host's file system shows it; `mount` is where its hierarchy begins. */
type Group = { readonly mount: string; readonly path: string; readonly version: 1 | 2 };

/** No memory limit is near this; v1 says "unlimited" by a number beyond it. */
const UNLIMITED = 2 ** 60;

type CgroupMount = { readonly root: string; readonly target: string; readonly options: readonly string[] };

function mounts(type: 'cgroup' | 'cgroup2', read: ReadText): CgroupMount[] {
  return (read('/proc/self/mountinfo') ?? '').split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', target = ''] = before.split(' ');
    const [found = '', , options = ''] = after.split(' ');
    return found === type ? [{ root, target, options: options.split(',') }] : [];
  });
}

/** Where `pid` stands in the hierarchy of `controller`: v1's own one where it has one, else the unified one. */
function groupOf(pid: number | 'self', controller: Hierarchy, read: ReadText): Group | undefined {
  const lines = (read(`/proc/${pid}/cgroup`) ?? '').split('\n').map((line) => {
    const [, controllers = '', ...path] = line.split(':');
    return { controllers: controllers.split(','), path: path.join(':') };
  });
  const v1 = mounts('cgroup', read).find(({ options }) => options.includes(controller));
  const mount = v1 ?? mounts('cgroup2', read)[0];
  const name = v1 === undefined ? '' : controller;
  const path = lines.find(({ controllers }) => controllers.includes(name))?.path;
  if (mount === undefined || path === undefined) return undefined;
  // Inside a container of its own the bridge sees a hierarchy that begins further down.
  const below = mount.root !== '/' && path.startsWith(mount.root) ? path.slice(mount.root.length) : path;
  return { mount: mount.target, path: below === '' ? '/' : below, version: v1 === undefined ? 2 : 1 };
}

const parentOf = (path: string): string => path.replace(/\/[^/]*$/, '') || '/';

/** The groups from that of `pid` upwards, as far as they are not ours too: what we share is no limit of a container. */
function ownGroups(pid: number, controller: Hierarchy, read: ReadText): { dirs: string[]; version: 1 | 2 } {
  const group = groupOf(pid, controller, read);
  const ours = groupOf('self', controller, read)?.path;
  if (group === undefined || ours === undefined) return { dirs: [], version: 2 };
  const dirs: string[] = [];
  for (let { path } = group; path !== '/' && !`${ours}/`.startsWith(`${path}/`); path = parentOf(path)) {
    dirs.push(join(group.mount, path));
  }
  return { dirs, version: group.version };
}

function limitIn(dir: string, controller: Controller, version: 1 | 2, read: ReadText): number | undefined {
  const number = (file: string): number => Number.parseFloat(read(join(dir, file)) ?? '');
  const inForce = (value: number) => (value >= 0 && value < UNLIMITED ? value : undefined);
  if (controller === 'pids') return inForce(number('pids.max'));
  if (controller === 'memory') return inForce(number(version === 2 ? 'memory.max' : 'memory.limit_in_bytes'));
  if (version === 1) return inForce(number('cpu.cfs_quota_us') / number('cpu.cfs_period_us'));
  const [quota, period] = (read(join(dir, 'cpu.max')) ?? '').split(' ').map(Number);
  return inForce((quota ?? Number.NaN) / (period ?? Number.NaN));
}

/** The least limit that holds `pid` and not us, of equal ones the nearest: bytes, processes, or CPUs. */
export function groupLimit(
  pid: number,
  controller: Controller,
  read: ReadText = readText,
): GroupLimit | undefined {
  const { dirs, version } = ownGroups(pid, controller, read);
  let least: GroupLimit | undefined;
  for (const dir of dirs) {
    const value = limitIn(dir, controller, version, read);
    if (value !== undefined && !(least !== undefined && least.value <= value)) least = { value, dir };
  }
  return least;
}

/** Whether `pid` has a group of its own there, which shares the processors fairly with other groups even without a quota. */
export function hasOwnCpuGroup(pid: number, read: ReadText = readText): boolean {
  const { dirs, version } = ownGroups(pid, 'cpu', read);
  return dirs.some((dir) => read(join(dir, version === 2 ? 'cpu.weight' : 'cpu.shares')) !== undefined);
}

/** How many processes of the group the kernel has killed for want of memory; undefined once the group is gone. */
export function oomKillsIn(dir: string, read: ReadText = readText): number | undefined {
  const text = read(join(dir, 'memory.events')) ?? read(join(dir, 'memory.oom_control'));
  const count = /^oom_kill (\d+)$/m.exec(text ?? '')?.[1];
  return count === undefined ? undefined : Number(count);
}

/** Folder of the group of version 2 in which `pid` stands and we do not; undefined where there is none. */
export const unifiedGroup = (pid: number, read: ReadText = readText): string | undefined =>
  ownGroups(pid, 'unified', read).dirs[0];

/** Folder of the group that counts the processor time of `pid` and not ours; undefined where there is none. */
export const processorGroup = (pid: number, read: ReadText = readText): string | undefined =>
  ownGroups(pid, 'cpuacct', read).dirs[0];

/** Seconds of processor time that the group has used; undefined once it is gone, and where it does not count. */
export function processorUseIn(dir: string, read: ReadText = readText): number | undefined {
  const micros = /^usage_usec (\d+)$/m.exec(read(join(dir, 'cpu.stat')) ?? '')?.[1];
  if (micros !== undefined) return Number(micros) / 1e6;
  // Version 1 counts in another file, in nanoseconds.
  const nanos = Number.parseInt(read(join(dir, 'cpuacct.usage')) ?? '', 10);
  return Number.isNaN(nanos) ? undefined : nanos / 1e9;
}
