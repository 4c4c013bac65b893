// The mechanism that really holds a container to its limits on this machine, per control, found by looking at a container that
// runs and never by the flags it was started with. In this order: control group, else what we can do from outside, else none.
// Limits of control groups (v1, v2 and both at once) are read from the host's own files, and none is set. Linux only: elsewhere
// there is nothing to read.

import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError } from '../../base/errors.js';
import { type ReadText, readText } from '../../base/files/read-text.js';
import type { EngineFacts } from '../engine.js';

/** Controls that an operator may accept to be without. */
export const CONTROLS = ['memory', 'pids', 'cpu'] as const;
type Control = (typeof CONTROLS)[number];

/**
 * `cgroup`: the kernel, for the container as a whole. `watchdog`: we measure while code runs, and kill. `rlimit`: the
 * kernel, per user id, of which each container then has its own. `priority`: a low one, and the deadline. `claimed`: it
 * is another machine's, which we cannot look into. `none`: nothing.
 */
export const enforcement = z.object({
  memory: z.enum(['cgroup', 'watchdog', 'claimed', 'none']),
  pids: z.enum(['cgroup', 'rlimit', 'claimed', 'none']),
  cpu: z.enum(['cgroup', 'priority', 'claimed', 'none']),
});
export type Enforcement = z.infer<typeof enforcement>;

/**
 * Enforcement for a container on another machine, by what its engine says that it can limit. Processes are counted per user id
 * by every kernel, so the containers then have ids of their own.
 */
export const claimedBy = ({ memory, pids, cpu }: EngineFacts['limits']): Enforcement => ({
  memory: memory ? 'claimed' : 'none',
  pids: pids ? 'claimed' : 'rlimit',
  cpu: cpu ? 'claimed' : 'none',
});
export const UNENFORCED: Enforcement = { memory: 'none', pids: 'none', cpu: 'none' };

/** Limits that the container was started with. */
export type AskedLimits = {
  readonly memoryBytes: number;
  readonly pids: number;
  readonly cpus: number | undefined;
};

/** The kernel keeps memory limits in whole pages; a quota is kept in microseconds. */
const ROUNDING = 1.01;

/** Looks at the container whose first process is `pid` on this machine. `canWatch`: its memory can be measured from here. */
export function lookAt(
  pid: number,
  asked: AskedLimits,
  canWatch: boolean,
  read: ReadText = readText,
): Enforcement {
  const isHeldTo = (controller: Control, limit: number): boolean =>
    (groupLimit(pid, controller, read)?.value ?? Number.POSITIVE_INFINITY) <= limit * ROUNDING;
  const hasCpu = asked.cpus === undefined ? hasOwnCpuGroup(pid, read) : isHeldTo('cpu', asked.cpus);
  return {
    memory: isHeldTo('memory', asked.memoryBytes) ? 'cgroup' : canWatch ? 'watchdog' : 'none',
    pids: isHeldTo('pids', asked.pids)
      ? 'cgroup'
      : processRlimit(pid, read) <= asked.pids
        ? 'rlimit'
        : 'none',
    cpu: hasCpu ? 'cgroup' : canWatch ? 'priority' : 'none',
  };
}

function processRlimit(pid: number, read: ReadText): number {
  const soft = /^Max processes\s+(\d+)/m.exec(read(`/proc/${pid}/limits`) ?? '')?.[1];
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
}

/** Throws E_UNENFORCED when a control that nobody accepted to be without is enforced by nothing. */
export function demandEnforcement(found: Enforcement, accepted: readonly string[]): void {
  const missing = CONTROLS.filter((control) => found[control] === 'none');
  const refused = missing.filter((control) => !accepted.includes(control));
  if (refused.length === 0) return;
  throw new BridgeError(
    'E_UNENFORCED',
    `Nothing on this machine enforces the limit of ${refused.join(', ')}.`,
    {
      fault: 'operator',
      remedy: `Use podman on Linux with cgroup v2 whose controllers are delegated to you. Or run without it: MCP_BRIDGE_ACCEPT_UNENFORCED=${missing.join(',')}.`,
    },
  );
}

/** Text for a person: `memory: cgroup, pids: rlimit, cpu: priority`. */
export const enforcementText = (found: Enforcement): string =>
  CONTROLS.map((control) => `${control}: ${found[control]}`).join(', ');

/**
 * Controls, and two hierarchies without limits: `cpuacct` counts in version 1, often by a mount of its own, and `unified` is
 * that of version 2, which may be there beside those of version 1 and then has none of their controllers.
 */
type Hierarchy = Control | 'cpuacct' | 'unified';

/** A limit, and the folder and version of the group that has it. */
export type GroupLimit = { readonly value: number; readonly dir: string; readonly version: 1 | 2 };

/** No memory limit is near this; v1 says "unlimited" by a number beyond it. */
const UNLIMITED = 2 ** 60;

type CgroupMount = {
  readonly type: string;
  readonly root: string;
  readonly target: string;
  readonly options: readonly string[];
};

function cgroupMounts(read: ReadText): readonly CgroupMount[] {
  return (read('/proc/self/mountinfo') ?? '').split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [type = '', , options = ''] = after.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') return [];
    const [, , , root = '', target = ''] = before.split(' ');
    return [{ type, root, target, options: options.split(',') }];
  });
}

/**
 * The mount at which the hierarchy of `controller` begins, by its version: v1's own one where there is one, else the unified
 * one.
 */
function hierarchyOf(
  controller: Hierarchy,
  read: ReadText,
): { readonly mount: CgroupMount; readonly version: 1 | 2 } | undefined {
  const mounts = cgroupMounts(read);
  const v1 = mounts.find(({ type, options }) => type === 'cgroup' && options.includes(controller));
  if (v1 !== undefined) return { mount: v1, version: 1 };
  const v2 = mounts.find(({ type }) => type === 'cgroup2');
  return v2 && { mount: v2, version: 2 };
}

/** The place of `pid` below `mount`; `name` is that of the hierarchy's controller, or '' for the unified one. */
function groupOf(
  pid: number | 'self',
  { root }: CgroupMount,
  name: string,
  read: ReadText,
): string | undefined {
  const lines = (read(`/proc/${pid}/cgroup`) ?? '').split('\n').map((line) => line.split(':'));
  const [, , ...rest] = lines.find(([, controllers = '']) => controllers.split(',').includes(name)) ?? [];
  if (rest.length === 0) return undefined;
  const path = rest.join(':');
  // Inside a container of its own the bridge sees a hierarchy that begins further down.
  const below = root !== '/' && path.startsWith(root) ? path.slice(root.length) : path;
  return below === '' ? '/' : below;
}

const parentOf = (path: string): string => path.replace(/\/[^/]*$/, '') || '/';

/** The groups from that of `pid` upwards, as far as they are not ours too: what we share is no limit of a container. */
function ownGroups(pid: number, controller: Hierarchy, read: ReadText): { dirs: string[]; version: 1 | 2 } {
  // Looked at for each run: the list of mounts is the longest of these files, and grows with each container.
  const hierarchy = hierarchyOf(controller, read);
  if (hierarchy === undefined) return { dirs: [], version: 2 };
  const { mount, version } = hierarchy;
  const name = version === 1 ? controller : '';
  const group = groupOf(pid, mount, name, read);
  const ours = groupOf('self', mount, name, read);
  if (group === undefined || ours === undefined) return { dirs: [], version: 2 };
  const dirs: string[] = [];
  for (let path = group; path !== '/' && !`${ours}/`.startsWith(`${path}/`); path = parentOf(path)) {
    dirs.push(join(mount.target, path));
  }
  return { dirs, version };
}

function limitIn(dir: string, controller: Control, version: 1 | 2, read: ReadText): number | undefined {
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
  controller: Control,
  read: ReadText = readText,
): GroupLimit | undefined {
  const { dirs, version } = ownGroups(pid, controller, read);
  let least: GroupLimit | undefined;
  for (const dir of dirs) {
    const value = limitIn(dir, controller, version, read);
    if (value !== undefined && !(least !== undefined && least.value <= value))
      least = { value, dir, version };
  }
  return least;
}

/** Whether `pid` has a group of its own there, which shares the processors fairly with other groups even without a quota. */
function hasOwnCpuGroup(pid: number, read: ReadText = readText): boolean {
  const { dirs, version } = ownGroups(pid, 'cpu', read);
  return dirs.some((dir) => read(join(dir, version === 2 ? 'cpu.weight' : 'cpu.shares')) !== undefined);
}

/** How many processes of the group the kernel has killed for want of memory; undefined once the group is gone. */
export function oomKillsIn(
  { dir, version }: Pick<GroupLimit, 'dir' | 'version'>,
  read: ReadText = readText,
): number | undefined {
  const text = read(join(dir, version === 2 ? 'memory.events' : 'memory.oom_control'));
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
