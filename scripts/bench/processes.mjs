// What Linux says of processes: memory, open files, who descends from whom. Reads /proc only; a process that has
// ended in the meantime counts as nothing.

import { readdirSync, readFileSync } from 'node:fs';

const KB_PER_MB = 1024;

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const field = (file, name) => {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(read(file));
  return found === null ? undefined : Number(found[1]) / KB_PER_MB;
};

/** Resident memory in MB. */
export const rssMb = (pid) => field(`/proc/${pid}/status`, 'VmRSS') ?? 0;

/** Proportional share in MB; undefined where we may not look. */
export const pssMb = (pid) => field(`/proc/${pid}/smaps_rollup`, 'Pss');

export function openFiles(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

export const commandLine = (pid) => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();

export const parentOf = (pid) => Number(statOf(pid)[1]);

/** A letter of the kernel's: T for one that was stopped. */
export const stateOf = (pid) => statOf(pid)[0];

/** Processor seconds of the process itself, in hundredths; NaN where it is not there. */
export const secondsUsed = (pid) => (Number(statOf(pid)[11]) + Number(statOf(pid)[12])) / 100;

/** What follows the name in /proc/PID/stat. */
function statOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

const allPids = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** `root` and everything below it. */
export function family(root) {
  const parents = new Map(allPids().map((pid) => [pid, parentOf(pid)]));
  const below = (pid) => pid === root || (parents.has(pid) && below(parents.get(pid)));
  return [...parents.keys()].filter(below);
}

/** Processes other than ours whose command line contains `mark`. */
export const pidsMentioning = (mark) =>
  allPids().filter((pid) => pid !== process.pid && commandLine(pid).includes(mark));
