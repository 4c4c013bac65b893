// A sandbox that stands still, while a person thinks and between the calls of a session: all its processes but the first, which
// goes on forwarding what there is to forward. The freezer holds them where there is one; elsewhere they are stopped by
// SIGSTOP. A process stopped by SIGSTOP can have a timer send it SIGCONT, and one that is forked while processes are looked for
// goes on: so they are looked at again. Not only by whether a process is awake, since it may have stopped itself ahead of the
// look, but by the processor time that it has used. A sandbox that wakes again and again has to end. Linux only, and only where
// the processes are this machine's and ours to stop; elsewhere nothing is stopped from here, and the first process does it for
// a session (harness/standstill.py).

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../../base/files/read-text.js';
import { descendantsOf, processStat } from '../../base/process/process-stat.js';
import { unifiedGroup } from '../../engine/machine/enforcement.js';
import { ENTRYPOINT } from '../spec/harness-files.js';

/** Code may fork while it is stopped; what it has forked by then is found by the next look. */
const MAX_ROUNDS = 10;
const LOOK_EVERY_MS = 1_000;
/** In hundredths of a second of processor time: what it takes to come to a stop is less. */
const MAX_USED = 5;
/** How often what has woken is stopped again before it has to end. */
export const MAX_WAKES = 3;
/** States at rest in /proc/PID/stat: stopped, traced, dead, or waiting in the kernel, as for a child between fork and exec. */
const AT_REST = new Set('TtZXxD');

type Look = { readonly isAtRest: boolean; readonly used: number };

export class SandboxFreeze implements Disposable {
  readonly #parts;
  #thaw: (() => void) | undefined;
  #looking: NodeJS.Timeout | undefined;
  /** Processor time that each process had used when the processes were stopped last. */
  #used: ReadonlyMap<number, number> = new Map();
  /** Since its run has begun: one that asks many questions wakes no more often than one that asks one. */
  #wakes = 0;
  readonly #freezer = freezer();

  constructor(parts: {
    /** The container's first process. */
    readonly pid: number;
    /** Called when the sandbox has woken more often than it may. */
    readonly onRestless: () => void;
    /** Without it, the freezer of control groups. */
    readonly freeze?: (pid: number) => (() => void) | undefined;
  }) {
    this.#parts = parts;
  }

  /** From now on it stands still; false where it cannot be stopped from here, and goes on. */
  begin(): boolean {
    if (this.#thaw !== undefined || this.#looking !== undefined) return true;
    const { pid, freeze = this.#freezer } = this.#parts;
    // Under gVisor the processes of the container are not the kernel's.
    if (!isOurs(pid)) return false;
    this.#thaw = freeze(pid);
    if (this.#thaw !== undefined) return true;
    if (!stopAll(pid)) return false;
    this.#used = usedBy(lookAt(pid));
    this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
    return true;
  }

  /** Lets the sandbox go on. */
  end(): void {
    const { pid } = this.#parts;
    this.#thaw?.();
    this.#thaw = undefined;
    if (this.#looking === undefined) return;
    this[Symbol.dispose]();
    // Look afresh: the number of a process that has ended may be another's by now.
    if (isOurs(pid)) for (const each of descendantsOf(pid)) signal(each, 'SIGCONT');
  }

  /** Lets the sandbox go on, with a run: how often it wakes is counted from now on. */
  endForRun(): void {
    this.end();
    this.#wakes = 0;
  }

  /** Ends the looks at a sandbox that is about to be killed, for which it need not go on. */
  [Symbol.dispose](): void {
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  #look(): void {
    const { pid, onRestless } = this.#parts;
    if (!isOurs(pid)) return;
    const looks = lookAt(pid);
    if (!this.#hasWoken(looks)) return;
    stopAll(pid);
    this.#used = usedBy(lookAt(pid));
    if (++this.#wakes <= MAX_WAKES) return;
    this[Symbol.dispose]();
    onRestless();
  }

  /** One that was not there when they were stopped was forked by one that was awake. */
  #hasWoken(looks: ReadonlyMap<number, Look>): boolean {
    return [...looks].some(([pid, { isAtRest, used }]) => {
      const before = this.#used.get(pid);
      return !isAtRest || before === undefined || used - before > MAX_USED;
    });
  }
}

/** Whether the process is the supervisor of a sandbox, and not another one of that number. */
const isOurs = (pid: number): boolean =>
  (readText(`/proc/${pid}/cmdline`) ?? '').split('\0').includes(ENTRYPOINT);

/**
 * False where they are not ours to stop: those of an engine without root are other users'. A process that has lost its parent
 * in a container is a child of the first process.
 */
function stopAll(pid: number): boolean {
  const stopped = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const fresh = descendantsOf(pid).filter((each) => !stopped.has(each));
    if (fresh.length === 0) break;
    for (const each of fresh) {
      if (signal(each, 'SIGSTOP') !== 'refused') {
        stopped.add(each);
        continue;
      }
      for (const stands of stopped) signal(stands, 'SIGCONT');
      return false;
    }
  }
  return true;
}

function lookAt(pid: number): ReadonlyMap<number, Look> {
  return new Map(descendantsOf(pid).map((each) => [each, lookAtOne(each)]));
}

function lookAtOne(pid: number): Look {
  const stat = processStat(pid);
  // A process that has ended in this very moment leaves nothing to read.
  return stat === undefined
    ? { isAtRest: true, used: 0 }
    : { isAtRest: AT_REST.has(stat.state), used: stat.used };
}

const usedBy = (looks: ReadonlyMap<number, Look>): ReadonlyMap<number, number> =>
  new Map([...looks].map(([pid, { used }]) => [pid, used]));

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): 'sent' | 'refused' | 'gone' {
  try {
    process.kill(pid, name);
    return 'sent';
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM' ? 'refused' : 'gone';
  }
}

/** Name of the group below that of the container. */
const NAME = 'still';
/** A process that has passed its last check before the freezer came may fork once more. */
const MAX_LOOKS = 10;

/**
 * The freezer of control groups of version 2. A process that it holds cannot undo that, whatever signals it sends itself, and
 * still dies of SIGKILL; the freezer of version 1 does not let it die, so that a killed bridge would leave a container that
 * nobody can end. A container's first process, `pid`, has to go on, to forward what there is and to see that its bridge is
 * gone: so all others are put into a group of their own, below that of the container, which its engine removes with the
 * container's. They stand still until the returned function is called; undefined where there is no such group, or it is not
 * ours to change.
 */
function freezer(): (pid: number) => (() => void) | undefined {
  // A first process stays where it is, and each call of a session asks.
  let known: string | undefined;
  return (pid) => {
    known ??= unifiedGroup(pid);
    if (known === undefined) return undefined;
    const whole = known;
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
    // The process has ended in this very moment.
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
  }
}
