// The mechanism that really holds a container to its limits on this machine, per control, found by looking at a container that
// runs and never by the flags it was started with. The ladder: control group, else what we can do from outside, else none.

import { z } from 'zod';
import { BridgeError } from '../../base/errors.js';
import { type ReadText, readText } from '../../base/files/read-text.js';
import type { EngineLimits } from '../engine.js';
import { groupLimit, hasOwnCpuGroup } from './cgroup.js';

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
export const claimedBy = ({ memory, pids, cpu }: EngineLimits): Enforcement => ({
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
      remedy: `Use podman on a Linux host with cgroup v2 whose controllers are delegated to you, or accept it by name: MCP_BRIDGE_ACCEPT_UNENFORCED=${missing.join(',')}.`,
    },
  );
}

/** For a person: `memory: cgroup, pids: rlimit, cpu: priority`. */
export const enforcementText = (found: Enforcement): string =>
  CONTROLS.map((control) => `${control}: ${found[control]}`).join(', ');
