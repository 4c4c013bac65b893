// Reads the one line that the kernel gives of a process, /proc/PID/stat. Linux only: elsewhere there is none to read.

import { readText } from '../files/read-text.js';

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
