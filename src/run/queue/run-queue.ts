// The runs and commands of one principal: each has a number from when it comes, waits for its turn among those of all
// principals, and ends with the bridge. What is under way is known here, and nowhere else.

import type { Observer } from '../../base/log/events.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import type { QueuePlace, RefusedTurn, Scheduler, Turn, TurnLimits } from '../../base/waiting/scheduler.js';
import type { CallContext } from '../calls/call-context.js';
import { RunMeter } from './run-meter.js';
import type { SetUp } from './set-up.js';

/** An agent at work runs something about twice a minute. */
export const LATELY_MS = 60_000;

export type RunQueueParts = {
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
};

/** A call from when it has come. Disposed, it leaves the queue, or gives back the turn that it has not used. */
export type Arrival = Disposable & {
  /** Id of the call's run. */
  readonly id: string;
  readonly place: QueuePlace;
  /** Turn of the call; whoever asks for the turn ends it. */
  readonly begin: () => QueuePlace['turn'];
  /** The call, which ends with its bridge too. */
  readonly context: CallContext;
};

/** The turn of a call, and what counts the processor time that it uses. */
export type GivenTurn = { readonly turn: Turn; readonly meter: RunMeter };

export class RunQueue {
  readonly #parts: RunQueueParts;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  #numbered = 0;

  constructor(parts: RunQueueParts) {
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

  /** A call that needs a sandbox of so much memory has come: it is counted from now on. `isHeld` where it waits for its session first. */
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
   * `work` when the turn of the call has come, or why it gets none. `servers` are those that it waits for; `after` has the turn when
   * the work is done, and ends it at last.
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
