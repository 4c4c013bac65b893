// What a command has started and taken out of its process group (setsid, daemons): found by a variable that every process
// of a call inherits. Relies on /proc; without one it finds nothing. A process that cleared its environment as well is not
// found, and ends with the machine.

import { readFileSync } from 'node:fs';
import { processIds } from '../base/process-ids.js';

/** Holds the call's own mark; not of our settings, so that a server that a command starts does not stumble over it. */
export const CALL_VARIABLE = 'EXECUTE_CALL';

/** Something that forks faster than we look is looked for again, up to this often. */
const MAX_ROUNDS = 200;
const ROUND_PAUSE_MS = 10;

/** Resolves when none is left that can be found; how many rounds of killing that took. */
export async function killStrays(mark: string): Promise<number> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const strays = straysOf(mark);
    if (strays.length === 0) return round;
    for (const pid of strays) kill(pid);
    await new Promise((resolve) => setTimeout(resolve, ROUND_PAUSE_MS));
  }
  return MAX_ROUNDS;
}

function straysOf(mark: string): readonly number[] {
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

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
