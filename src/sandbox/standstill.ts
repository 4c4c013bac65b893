// A sandbox that stands still, while a person thinks and between the calls of a session: all its processes but the first, which goes on
// forwarding what there is to forward. The freezer holds them where there is one; elsewhere they are stopped by SIGSTOP. What is
// stopped so can have a timer send it SIGCONT, and what is forked while it is looked for goes on: so it is looked at again, at moments that
// nobody inside can know, and what wakes again and again has to end. Linux only, and only where the processes are this machine's
// and ours to stop; elsewhere nothing is stopped from here, and the first process does it for a session (harness/standstill.py).

import { readdirSync } from 'node:fs';
import { readText } from '../base/read-text.js';
import { freeze } from './freezer.js';
import { ENTRYPOINT } from './harness-files.js';

/** Code may fork while it is stopped; what it has forked by then is found by the next look. */
const MAX_ROUNDS = 10;
/** A look that came at a known time would find those at rest that have stopped themselves for it. */
const LOOK_AFTER_MS = { least: 500, most: 1_500 };
/** How often what has woken is stopped again before it has to end. */
export const MAX_WAKES = 3;
/** Of /proc/PID/stat: stopped, traced, dead; and one that waits within the kernel, as for a child that stands between fork and exec. */
const AT_REST = new Set('TtZXxD');

export type StandstillParts = {
  /** The container's first process. */
  readonly pid: number;
  /** It has woken more often than it may. */
  readonly onRestless: () => void;
  /** Without it, the freezer of control groups. */
  readonly freeze?: (pid: number) => (() => void) | undefined;
};

export class Standstill implements Disposable {
  readonly #parts: StandstillParts;
  #thaw: (() => void) | undefined;
  #looking: NodeJS.Timeout | undefined;
  /** Since it was made: a run that asks many questions wakes no more often than one that asks one. */
  #wakes = 0;

  constructor(parts: StandstillParts) {
    this.#parts = parts;
  }

  /** From now on it stands still; false where it cannot be stopped from here, and goes on. */
  begin(): boolean {
    if (this.#thaw !== undefined || this.#looking !== undefined) return true;
    const { pid, freeze: held = freeze } = this.#parts;
    // Under gVisor the processes of the container are not the kernel's.
    if (!isOurs(pid)) return false;
    this.#thaw = held(pid);
    if (this.#thaw !== undefined) return true;
    if (!stopAll(pid)) return false;
    this.#lookAgain();
    return true;
  }

  /** It goes on. */
  end(): void {
    const { pid } = this.#parts;
    this.#thaw?.();
    this.#thaw = undefined;
    if (this.#looking === undefined) return;
    this[Symbol.dispose]();
    // By a fresh look: a number of one that has ended may be another's by now.
    if (isOurs(pid)) for (const each of descendantsOf(pid)) signal(each, 'SIGCONT');
  }

  /** It is about to be killed, for which it need not go on. */
  [Symbol.dispose](): void {
    clearTimeout(this.#looking);
    this.#looking = undefined;
  }

  #lookAgain(): void {
    const { least, most } = LOOK_AFTER_MS;
    const afterMs = least + Math.random() * (most - least);
    this.#looking = setTimeout(() => this.#look(), afterMs).unref();
  }

  #look(): void {
    const { pid, onRestless } = this.#parts;
    if (!isOurs(pid)) return;
    if (descendantsOf(pid).some((each) => !isAtRest(each))) {
      this.#wakes++;
      stopAll(pid);
      if (this.#wakes > MAX_WAKES) return onRestless();
    }
    this.#lookAgain();
  }
}

/** Whether the process is the supervisor of a sandbox, and not another one of that number. */
const isOurs = (pid: number): boolean =>
  (readText(`/proc/${pid}/cmdline`) ?? '').split('\0').includes(ENTRYPOINT);

/** False where they are not ours to stop: those of an engine without root are other users'. */
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

const isAtRest = (pid: number): boolean =>
  AT_REST.has((readText(`/proc/${pid}/stat`) ?? '').replace(/^.*\) /s, '').charAt(0) || 'X');

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

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): 'sent' | 'refused' | 'gone' {
  try {
    process.kill(pid, name);
    return 'sent';
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM' ? 'refused' : 'gone';
  }
}
