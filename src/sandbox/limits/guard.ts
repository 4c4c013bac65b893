// Holds one running sandbox to its limits where no control group does, and tells afterwards whether the kernel killed
// for memory where one does. Watches from the first check of code to the end, and rests between the calls of a session; a
// sandbox that waits needs no watch, and time enough to find out how it is looked at.

import { readdirSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { SandboxSpec } from '../../engine/engine.js';
import {
  type AskedLimits,
  type Enforcement,
  type GroupLimit,
  groupLimit,
  lookAt,
  oomKillsIn,
} from '../../engine/machine/enforcement.js';
import { WRITABLE, writableIn } from '../spec/spec.js';
import { boundsOf, scalesFor, socketRoom, socketScalesFor } from './measure.js';
import { type Breach, type Scales, Watchdog } from './watchdog.js';

export class Guard implements Disposable {
  readonly #enforcement: Enforcement;
  readonly #group: GroupLimit | undefined;
  readonly #makeWatchdog: () => Watchdog | undefined;
  readonly #pid: number;
  #watchdog: Watchdog | undefined;
  #hasLowered = false;
  #memoryKills = 0;

  /** Watches nothing before watch(). `pid` is that of the container's first process. */
  constructor(pid: number, spec: SandboxSpec, enforcement: Enforcement, onBreach: (breach: Breach) => void) {
    this.#enforcement = enforcement;
    this.#pid = pid;
    if (enforcement.memory === 'cgroup') this.#group = groupLimit(pid, 'memory');
    const scales = this.#scalesFor(pid, spec);
    this.#makeWatchdog = () => scales && new Watchdog(scales, boundsOf(spec), onBreach);
  }

  /** To be called before any code of the guest can run, and after a rest(). */
  watch(): void {
    if (this.#enforcement.cpu === 'priority' && !this.#hasLowered) lowerPriority(this.#pid);
    this.#hasLowered = true;
    this.#watchdog ??= this.#makeWatchdog();
  }

  /** Looks at nothing until watch(). */
  rest(): void {
    this.#watchdog?.[Symbol.dispose]();
    this.#watchdog = undefined;
  }

  /** How it is looked at; undefined where it is another machine's, or the operator does without a limit. */
  #scalesFor(pid: number, spec: SandboxSpec): Scales | undefined {
    if (this.#enforcement.memory === 'watchdog')
      return scalesFor(pid, writableIn(spec), socketRoom(spec, 'nobody'));
    if (this.#group === undefined) return undefined;
    return socketScalesFor(pid, socketRoom(spec, `cgroup v${this.#group.version}`));
  }

  /**
   * How many of its processes the kernel has killed for want of memory; undefined where nobody can know. The group is
   * gone soon after the container, so the first look counts that is made in time.
   */
  get memoryKills(): number | undefined {
    if (this.#enforcement.memory === 'watchdog') return 0;
    if (this.#group === undefined) return undefined;
    this.#memoryKills = oomKillsIn(this.#group) ?? this.#memoryKills;
    return this.#memoryKills;
  }

  [Symbol.dispose](): void {
    this.rest();
  }
}

/** The mechanisms that hold the container of the first process `pid` to its limits: of its kernel, or of a guard. */
export function enforcementAt(pid: number, asked: AskedLimits): Enforcement {
  const scales = scalesFor(pid, WRITABLE);
  return lookAt(pid, asked, scales.glance() !== undefined && (scales.weigh() ?? 0) > 0);
}

/**
 * The first process and what it has forked ahead; what is forked later inherits it, and nobody inside may raise it
 * again. The first comes first, so that nothing is forked in between unseen.
 */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    const threads = children.flatMap((child) => readdirSync(`/proc/${child}/task`));
    for (const thread of threads) setPriority(Number(thread), constants.priority.PRIORITY_LOW);
  } catch {
    // A process has ended in this very moment.
  }
}
