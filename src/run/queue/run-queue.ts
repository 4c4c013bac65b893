// The runs and commands of one principal: each has a number from when it comes, waits for its turn among those of all
// principals, and ends with the bridge. What is under way is known here, and nowhere else.

import type { Observer } from '../../base/log/events.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import type { RefusedTurn, Scheduler, Turn, TurnLimits } from '../../base/waiting/scheduler.js';
import type { Sandbox } from '../../sandbox/conversation/sandbox.js';
import type { CallContext } from '../calls/call-context.js';
import type { SetUp } from './set-up.js';

// Counts the processor time of one run, for its principal's quota: what the kernel has counted for its sandbox; where that
// cannot be seen (an engine elsewhere, no control group of its own), the time for which the run had the sandbox.

export class RunMeter {
  readonly #isCounting: boolean;
  /** When each sandbox was taken, by performance.now(). */
  readonly #taken = new Map<Sandbox, number>();
  #seconds = 0;
  #told = 0;

  /** One that does not count costs nothing. */
  constructor(isCounting: boolean) {
    this.#isCounting = isCounting;
  }

  /** The run has this sandbox from now on. */
  follow(sandbox: Sandbox): Sandbox {
    if (!this.#isCounting) return sandbox;
    sandbox.countProcessorTime();
    this.#taken.set(sandbox, performance.now());
    return sandbox;
  }

  /** Processor seconds used since the last call of `lap`, in sandboxes that the run still has too. */
  lap(): number {
    let seconds = this.#seconds;
    for (const [sandbox, since] of this.#taken) seconds += usedIn(sandbox, since);
    const lap = seconds - this.#told;
    this.#told = seconds;
    return lap;
  }

  /** The run has this sandbox no more. */
  leave(sandbox: Sandbox): void {
    const since = this.#taken.get(sandbox);
    if (since === undefined) return;
    this.#taken.delete(sandbox);
    this.#seconds += usedIn(sandbox, since);
  }

  /** The run has none of its sandboxes any more. */
  leaveAll(): void {
    for (const sandbox of this.#taken.keys()) this.leave(sandbox);
  }
}

const usedIn = (sandbox: Sandbox, since: number): number =>
  sandbox.processorSeconds ?? (performance.now() - since) / 1000;

/** An agent at work runs something about twice a minute. */
export const LATELY_MS = 60_000;

/** A call from when it has come. Disposed, it leaves the queue, or gives back the turn that it has not used. */
export type Arrival = Disposable & {
  /** Id of the call's run. */
  readonly id: string;
  readonly place: ReturnType<Scheduler['place']>;
  /** Turn of the call; whoever asks for the turn ends it. */
  readonly begin: () => Arrival['place']['turn'];
  /** The call, which ends with its bridge too. */
  readonly context: CallContext;
};

/** The turn of a call, and what counts the processor time that it uses. */
export type GivenTurn = { readonly turn: Turn; readonly meter: RunMeter };

export class RunQueue {
  readonly #parts;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  #numbered = 0;

  constructor(parts: {
    readonly turns: Scheduler;
    /** Prefix of the ids of its runs. Bridges share an audit, so their ids must differ. */
    readonly instance: string;
    /** Whose turns its runs take. */
    readonly owner: string;
    /** Limits of the owner's runs; asked for each run. */
    readonly limits: () => TurnLimits;
    /** Whether the processor time of its runs is counted. */
    readonly isMetered: boolean;
    readonly setUp: SetUp;
    /** A run has ended. */
    readonly onEnded: () => void;
    readonly observer: Observer;
  }) {
    this.#parts = parts;
  }

  /** Whether a run or a call is under way or waits, be it for a person. */
  get isBusy(): boolean {
    return this.#underWay.size > 0;
  }

  /** Aborts when the bridge ends. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  get instance(): string {
    return this.#parts.instance;
  }

  nextId(): string {
    return `${this.#parts.instance}-${++this.#numbered}`;
  }

  /** Counts from now on a call that needs a sandbox of so much memory. `isHeld` where the call waits for its session first. */
  arrive(memoryBytes: number, context: CallContext, isHeld = false): Arrival {
    const { turns, owner, limits, observer } = this.#parts;
    const id = this.nextId();
    const leaving = new AbortController();
    const link = new LinkedSignal(context.signal, this.closing, leaving.signal);
    const wait = { owner, limits: limits(), memoryBytes, isHeld };
    const place = turns.place(wait, link.signal, (turn) => {
      observer({ type: 'run.queued', run: id, ahead: turn.ahead });
      context.tell({ type: 'queued', place: turn });
    });
    let hasBegun = false;
    const begin = () => {
      hasBegun = true;
      return place.turn;
    };
    const dispose = () => {
      leaving.abort('over');
      link[Symbol.dispose]();
      if (hasBegun) return;
      void place.turn.then((turn) => {
        if (!('refused' in turn)) turn.end();
      });
    };
    return { id, place, begin, context: { ...context, signal: link.signal }, [Symbol.dispose]: dispose };
  }

  /**
   * Result of `work`, which begins at the turn of the call; or why the call gets none. `servers` are those that the call waits
   * for; `after` has the turn when the work is done, and ends it at last.
   */
  async inTurn<T>(
    { begin, context }: Arrival,
    servers: readonly string[],
    work: (turn: GivenTurn) => Promise<T>,
    after: (turn: GivenTurn, beganAt: number) => void = endOf,
  ): Promise<T | RefusedTurn> {
    const { isMetered, setUp, onEnded } = this.#parts;
    const running = begin().then(async (turn) => {
      if ('refused' in turn) return turn;
      const beganAt = performance.now();
      const meter = new RunMeter(isMetered);
      try {
        context.tell({ type: 'preparing', waitsFor: () => setUp.waitsFor(servers) });
        return await work({ turn, meter });
      } finally {
        after({ turn, meter }, beganAt);
      }
    });
    try {
      return await this.underWay(running);
    } finally {
      onEnded();
    }
  }

  /** `work`, which the bridge waits for when it ends. */
  async underWay<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  /** Has all that is under way end for `reason`; resolves with each of them. */
  close(reason: string): readonly Promise<unknown>[] {
    this.#closing.abort(reason);
    return [...this.#underWay];
  }
}

/** Ends a turn: a run that has come to its end has no place any more. */
const endOf = ({ turn, meter }: GivenTurn): void => turn.end({ processorSeconds: meter.lap() });
