// A container's first process, found by the pid file that the engine's monitor (conmon) wrote for us. Killing it ends
// the container in every state from created to running, at once and without another program. Linux only: elsewhere,
// and before the file is written, there is none.

import { readFileSync } from 'node:fs';

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const argvOf = (pid: number): string[] => read(`/proc/${pid}/cmdline`).split('\0');

/**
 * The host pid, or undefined while there is none and once it is gone. That a pid is still the container's, and not
 * somebody else's by now, shows in its parent: the monitor that was started with this very pid file.
 */
export function firstProcess(pidFile: string): number | undefined {
  return find(pidFile)?.pid;
}

function find(pidFile: string): { readonly pid: number; readonly monitor: number } | undefined {
  const pid = Number.parseInt(read(pidFile), 10);
  if (!(pid > 1)) return undefined;
  const monitor = Number(/^PPid:\s*(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1]);
  return monitor > 1 && argvOf(monitor).includes(pidFile) ? { pid, monitor } : undefined;
}

/** Whether the process `pid` of this machine was started with `argument`. */
export const runsHere = (pid: number, argument: string): boolean => argvOf(pid).includes(argument);

/** False when there was none to kill. */
export function killFirstProcess(pidFile: string): boolean {
  const found = find(pidFile);
  if (found === undefined) return false;
  try {
    process.kill(found.pid, 'SIGKILL');
    // A monitor that somebody has stopped would never reap it, and stay itself.
    process.kill(found.monitor, 'SIGCONT');
  } catch {
    // It has ended in this very moment.
  }
  return true;
}
