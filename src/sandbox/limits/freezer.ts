// The freezer of control groups of version 2. What it holds cannot undo that, whatever signals it sends itself, and still dies of
// SIGKILL; the freezer of version 1 does not let it die, so that a killed bridge would leave a container that nobody can end.
// A container's first process has to go on, to forward what there is and to see that its bridge is gone: so all others are put
// into a group of their own, below that of the container, which its engine removes with the container's.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processStat } from '../../base/process/process-stat.js';
import { unifiedGroup } from '../../engine/machine/enforcement.js';

/** Name of the group below that of the container. */
const NAME = 'still';
/** A process that has passed its last check before the freezer came may fork once more. */
const MAX_LOOKS = 10;

/**
 * `pid` is the container's first process. All others stand still until what is given back is called; undefined where there is no such
 * group, or it is not ours to change.
 */
export function freeze(pid: number): (() => void) | undefined {
  const whole = unifiedGroup(pid);
  if (whole === undefined) return undefined;
  const others = join(whole, NAME);
  try {
    const isAlone = othersIn(whole, pid).length === 0;
    mkdirSync(others, { recursive: true });
    if (!isAlone) moveAll(whole, others, pid);
    hold(others, true);
  } catch {
    return undefined;
  }
  return () => {
    try {
      hold(others, false);
    } catch {
      // The container has ended.
    }
  };
}

/** The whole container is held meanwhile, so that nothing in it forks out of our sight. */
function moveAll(whole: string, others: string, pid: number): void {
  hold(whole, true);
  try {
    for (let look = 0; look < MAX_LOOKS; look++) {
      const left = othersIn(whole, pid);
      if (left.length === 0) return;
      for (const each of left) move(each, others);
    }
    throw new Error('there are always more of them');
  } finally {
    hold(whole, false);
  }
}

const hold = (group: string, isHeld: boolean): void =>
  writeFileSync(join(group, 'cgroup.freeze'), isHeld ? '1' : '0');

/** Throws where the group has processes that are none of the container's: then it is not the container's own. */
function othersIn(group: string, pid: number): readonly number[] {
  const others = readFileSync(join(group, 'cgroup.procs'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(Number)
    .filter((each) => each !== pid);
  const stranger = others.find((each) => !isBelow(each, pid));
  if (stranger !== undefined) throw new Error(`${stranger} is none of the container's`);
  return others;
}

/** A process that has lost its parent in a container is a child of the first process. One that has ended is no stranger. */
function isBelow(process: number, pid: number): boolean {
  for (let each = process; each !== pid; ) {
    const parent = processStat(each)?.parent;
    if (parent === undefined) return true;
    if (parent === 0 || parent === 1) return false;
    each = parent;
  }
  return true;
}

function move(pid: number, group: string): void {
  try {
    writeFileSync(join(group, 'cgroup.procs'), String(pid));
  } catch (thrown) {
    // It has ended in this very moment.
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
  }
}
