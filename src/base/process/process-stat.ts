// Facts that the kernel gives of processes: which there are, the one line of each, /proc/PID/stat, and how much memory they
// hold. Linux only: elsewhere there is nothing to read.

import { readdirSync } from 'node:fs';
import { readText } from '../files/read-text.js';
import { KB_BYTES } from '../text/sizes.js';

type ProcessStat = {
  /** One letter: R, S, D, Z (ended, and not reaped yet) … */
  readonly state: string;
  readonly parent: number;
  /** Number of its process group. */
  readonly group: number;
  /** Clock ticks of processor time that it has used, without its children's. */
  readonly used: number;
  /** Clock ticks after boot. With the number of a process it names that process and no later one. */
  readonly startTime: string;
};

/** Undefined where there is no such process. */
export function processStat(pid: number): ProcessStat | undefined {
  const text = readText(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The command name stands in parentheses and may itself hold spaces and parentheses; what follows are fields 3 to 52.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent, group] = fields;
  const used = Number(fields[11]) + Number(fields[12]);
  return { state, parent: Number(parent), group: Number(group), used, startTime: fields[19] ?? '' };
}

/** Numbers of all processes that can be seen from here; none where the kernel does not say. */
export function processIds(): readonly number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

/**
 * Bytes that all descendants of the process `pid` hold together, pages that they share counted for each; undefined where the
 * kernel does not say.
 */
export function descendantsBytes(pid: number): number | undefined {
  const children = new Map<number, number[]>();
  for (const each of processIds()) {
    const stat = processStat(each);
    // The process may have ended meanwhile.
    if (stat !== undefined) children.set(stat.parent, [...(children.get(stat.parent) ?? []), each]);
  }
  if (children.size === 0) return undefined;
  let bytes = 0;
  const left = [...(children.get(pid) ?? [])];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    bytes += residentBytes(next);
    left.push(...(children.get(next) ?? []));
  }
  return bytes;
}

const residentBytes = (pid: number): number =>
  Number(readText(`/proc/${pid}/status`)?.match(/^VmRSS:\s*(\d+) kB$/m)?.[1] ?? 0) * KB_BYTES;
