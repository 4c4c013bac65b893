// The end of all that a command has started: its process group, and what has left it (setsid, daemons), which is found by a
// variable that every process of a call inherits. Relies on /proc; without one it finds none of these. A process that left
// the group and cleared its environment is not found, and ends with the machine.

import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { processIds } from '../base/process/process-ids.js';

/** Holds the call's own mark; not of our settings, so that a server that a command starts does not stumble over it. */
export const CALL_VARIABLE = 'EXECUTE_CALL';

/** What starts processes faster than we find them is looked for again, up to this often. */
const MAX_ROUNDS = 200;
const ROUND_PAUSE_MS = 10;

/**
 * Resolves when none is left that can be found. All are stopped before the first is killed: a stopped process still counts
 * against the limit on processes, so a fork bomb fills it with those that do nothing, where each that is killed makes room
 * for the next. Under gVisor, which keeps threads of the host for each process that there was, that room was what ended it.
 */
export async function killAllOf(mark: string, signalGroup: (name: NodeJS.Signals) => void): Promise<void> {
  const stopped = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    signalGroup('SIGSTOP');
    const running = processesOf(mark).filter((pid) => !stopped.has(pid));
    if (running.length === 0) break;
    for (const pid of running) {
      signal(pid, 'SIGSTOP');
      stopped.add(pid);
    }
    await pause(0);
  }
  // What has cleared its environment is still in the group.
  if (stopped.size === 0) return signalGroup('SIGKILL');
  for (let round = 0; round < MAX_ROUNDS; round++) {
    signalGroup('SIGKILL');
    const left = processesOf(mark);
    if (left.length === 0) return;
    for (const pid of left) signal(pid, 'SIGKILL');
    await pause(ROUND_PAUSE_MS);
  }
}

function processesOf(mark: string): readonly number[] {
  const entry = Buffer.from(`${CALL_VARIABLE}=${mark}\0`);
  return processIds().filter((pid) => environmentOf(pid)?.includes(entry) === true);
}

/** Undefined for processes of others, and for those that have just ended. */
function environmentOf(pid: number): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    return undefined;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
