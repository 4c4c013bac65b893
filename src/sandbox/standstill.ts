// A container that stands still while a person thinks: all its processes but the first are stopped, which goes on forwarding
// what there is to forward. Not by the freezer of its control group: a task that version 1 has frozen does not die of SIGKILL.
// Linux only, and only where the processes are this machine's; elsewhere nothing is stopped.

import { readdirSync } from 'node:fs';
import { readText } from '../base/read-text.js';
import { ENTRYPOINT } from './harness-files.js';

/** Code may fork while it is looked at. What it has forked by then goes on: its run ends by other clocks. */
const MAX_LOOKS = 10;

/** `pid` is the container's first process. They go on when what is given back is called; undefined where none can be stopped. */
export function standStill(pid: number): (() => void) | undefined {
  // Under gVisor the processes of the container are not the kernel's.
  if (!isOurs(pid)) return undefined;
  const stopped = new Set<number>();
  for (let look = 0; look < MAX_LOOKS; look++) {
    const fresh = descendantsOf(pid).filter((each) => !stopped.has(each));
    if (fresh.length === 0) break;
    for (const each of fresh) if (signal(each, 'SIGSTOP')) stopped.add(each);
  }
  // By a fresh look: a number of one that has ended may be another's by now.
  return () => {
    if (isOurs(pid)) for (const each of descendantsOf(pid)) signal(each, 'SIGCONT');
  };
}

/** Whether the process is the supervisor of a sandbox, and not another one of that number. */
const isOurs = (pid: number): boolean =>
  (readText(`/proc/${pid}/cmdline`) ?? '').split('\0').includes(ENTRYPOINT);

/** What has lost its parent there is a child of the first process. */
function descendantsOf(pid: number): readonly number[] {
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
    // It has ended in this very moment.
    return [];
  }
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}
