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
export function demandEnforcement(found: Enforcement, accepted: readonly Control[]): void {
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

/** A limit and the folder of the group that has it. */
export type GroupLimit = { readonly value: number; readonly dir: string };

/** No memory limit is near this; v1 says "unlimited" by a number beyond it. */
const UNLIMITED = 2 ** 60;

function mounts(
  type: 'cgroup' | 'cgroup2',
  read: ReadText,
): Array<{ readonly root: string; readonly target: string; readonly options: readonly string[] }> {
  return (read('/proc/self/mountinfo') ?? '').split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', target = ''] = before.split(' ');
    const [found = '', , options = ''] = after.split(' ');
    return found === type ? [{ root, target, options: options.split(',') }] : [];
  });
}

/**
 * The place of `pid` in the hierarchy of `controller`, which begins at `mount`: v1's own one where there is one, else the
 * unified one.
 */
function groupOf(
  pid: number | 'self',
  controller: Hierarchy,
  read: ReadText,
): { readonly mount: string; readonly path: string; readonly version: 1 | 2 } | undefined {
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
    if (value !== undefined && !(least !== undefined && least.value <= value)) least = { value, dir };
  }
  return least;
}

/** Whether `pid` has a group of its own there, which shares the processors fairly with other groups even without a quota. */
function hasOwnCpuGroup(pid: number, read: ReadText = readText): boolean {
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
