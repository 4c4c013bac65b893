// Facts that the kernel gives of processes: which there are, the one line of each, /proc/PID/stat, and how much memory they
// hold. Linux only: elsewhere there is nothing to read.

import { readdirSync } from 'node:fs';
import { readText } from '../files/read-text.js';
import { KB_BYTES } from '../text/sizes.js';

/** Undefined where there is no such process. */
export function processStat(pid: number) {
  const text = readText(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The command name stands in parentheses and may itself hold spaces and parentheses; what follows are fields 3 to 52.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent, group] = fields;
  const [ofUser = 0, ofKernel = 0, endedOfUser = 0, endedOfKernel = 0] = fields.slice(11, 15).map(Number);
  return {
    /** One letter: R, S, D, Z (ended, and not reaped yet) … */
    state,
    parent: Number(parent),
    /** Number of its process group. */
    group: Number(group),
    /** Clock ticks of processor time that it has used, without its children's. */
    used: ofUser + ofKernel,
    /** Clock ticks that those of its children have used that have ended, and for which it has waited. */
    usedByEnded: endedOfUser + endedOfKernel,
    /** Clock ticks after boot. With the number of a process it names that process and no later one. */
    startTime: fields[19] ?? '',
  };
}

/** Numbers of all processes that can be seen from here; none where the kernel does not say. */
export function processIds(): readonly number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

/** Numbers of all descendants of the process `pid`; none where there is no such process. */
export function descendantsOf(pid: number): readonly number[] {
  const found: number[] = [];
  const rest = [pid];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const children = childrenOf(next);
    found.push(...children);
    rest.push(...children);
  }
  return found;
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      (readText(`/proc/${pid}/task/${task}/children`) ?? '').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    // The process has ended in this very moment.
    return [];
  }
}

/** USER_HZ, by which the kernel counts for programs on every machine that Node runs on. */
const TICKS_A_SECOND = 100;

/**
 * Seconds of processor time that the process `pid` and its descendants have used; undefined where the kernel does not say.
 * Lost is the time of a process that has ended and for which nobody has waited, since its parent ignores SIGCHLD.
 */
export function processesSeconds(pid: number): number | undefined {
  if (processStat(pid) === undefined) return undefined;
  const stats = [pid, ...descendantsOf(pid)].map(processStat);
  const ticks = stats.reduce((sum, stat) => sum + (stat?.used ?? 0) + (stat?.usedByEnded ?? 0), 0);
  return ticks / TICKS_A_SECOND;
}

/**
 * Bytes that all descendants of the process `pid` hold together, pages that they share counted for each; undefined where the
 * kernel does not say.
 */
export function descendantsBytes(pid: number): number | undefined {
  if (processStat(pid) === undefined) return undefined;
  return descendantsOf(pid).reduce((sum, each) => sum + residentBytes(each), 0);
}

const residentBytes = (pid: number): number =>
  Number(readText(`/proc/${pid}/status`)?.match(/^VmRSS:\s*(\d+) kB$/m)?.[1] ?? 0) * KB_BYTES;
