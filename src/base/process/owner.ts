// Who owns a container: the bridge process that started it, named by pid, start time and boot, so that a later start
// can tell a dead owner's containers from a live one's, even after the pid was given to somebody else. An engine may serve
// several machines: what belongs to another machine's bridge cannot be judged here.

import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { readText } from '../files/read-text.js';
import { processStat } from './process-stat.js';

/** The label that every container of ours carries; its value is the bridge's instance id. */
export const INSTANCE_LABEL = 'mcp-sandbox-bridge';

const OWNER_LABELS = {
  pid: `${INSTANCE_LABEL}.owner-pid`,
  startTime: `${INSTANCE_LABEL}.owner-start`,
  bootId: `${INSTANCE_LABEL}.boot-id`,
  machine: `${INSTANCE_LABEL}.machine`,
} as const;

export const ownerLabelNames: readonly string[] = Object.values(OWNER_LABELS);

export type Owner = {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
  /** Which machine, and whose account there; '' of what an earlier version made. */
  readonly machine: string;
};

/** Whether a value that was read from a file has the shape of an owner. */
export function isOwner(value: unknown): value is Owner {
  const { pid, startTime, bootId, machine } = Object(value);
  return Number.isInteger(pid) && [startTime, bootId, machine].every((part) => typeof part === 'string');
}

/** '' where there is no such process, or no /proc. */
const startTimeOf = (pid: number): string => processStat(pid)?.startTime ?? '';

/** Id of this start of the machine; '' where none is told. */
export const bootId = (): string => (readText('/proc/sys/kernel/random/boot_id') ?? '').trim();

/** Digest equal for every bridge of this account, across restarts of the machine; tells readers of the label nothing of it. */
const thisMachine = (): string =>
  createHash('sha256')
    .update(JSON.stringify([readText('/etc/machine-id')?.trim(), hostname(), process.getuid?.()]))
    .digest('hex')
    .slice(0, 12);

export const thisOwner = (): Owner => ({
  pid: process.pid,
  startTime: startTimeOf(process.pid),
  bootId: bootId(),
  machine: thisMachine(),
});

export const ownerLabels = (instance: string, owner: Owner): Record<string, string> => ({
  [INSTANCE_LABEL]: instance,
  [OWNER_LABELS.pid]: String(owner.pid),
  [OWNER_LABELS.startTime]: owner.startTime,
  [OWNER_LABELS.bootId]: owner.bootId,
  [OWNER_LABELS.machine]: owner.machine,
});

/** Whether its processes are this machine's, as it has run since it was started. */
export const isHere = (owner: Owner): boolean => owner.machine === thisMachine() && owner.bootId === bootId();

/** False only when the owner is certainly gone; one that cannot be judged is left alone. */
export function isAlive(owner: Owner): boolean {
  if (!Number.isInteger(owner.pid) || owner.pid <= 0) return true;
  if (owner.machine !== '' && owner.machine !== thisMachine()) return true;
  if (owner.bootId !== '' && owner.bootId !== bootId()) return false;
  try {
    process.kill(owner.pid, 0);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const startTime = startTimeOf(owner.pid);
  return owner.startTime === '' || startTime === '' || startTime === owner.startTime;
}

/** The owner that the values of ownerLabelNames name, in that order. */
export function ownerFrom(values: readonly string[]): Owner {
  const [pid = '', startTime = '', boot = '', machine = ''] = values;
  return { pid: Number.parseInt(pid, 10), startTime, bootId: boot, machine };
}
