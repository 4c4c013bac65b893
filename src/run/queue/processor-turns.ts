// Whose work begins next in the one process that serves everybody. Requests and tool calls take a few milliseconds of its
// time each, and a principal that sends hundreds at once would have the next one of another wait behind all of them. So what
// begins has a turn, in a queue of each principal. A turn ends with the work, or as soon as this process has had nothing to do for
// a moment: then the work waits for something else, such as a server, and more can begin at nobody's cost.

import type { BridgeError } from '../../base/errors.js';
import { takeTurn } from './take-turn.js';
import { type TurnLimits, Turns, type TurnWords, UNLIMITED } from './turns.js';

export type ProcessorTurnsOptions = {
  readonly words: TurnWords;
  /** How much of all principals begins at once, and how much of one. */
  readonly atOnce: number;
  readonly ofOne: number;
  /** How much of one principal may wait; more is refused. Without it, any number. */
  readonly waiting?: number;
};

/** A turn whose work has not ended gives its place to others when the process was idle for so long since it began. */
const IDLE_MS = 1;
/** How often that is looked at. */
const LOOK_MS = 2;
/** The longest that one turn lasts, however busy the process is. */
const MAX_TURN_MS = 100;
/** However many others are about. */
const MAX_PAUSE_MS = 500;
/** Somebody else is about who has asked for something within this time. */
const ABOUT_MS = 1_000;

export class ProcessorTurns {
  /** A principal has one of these from the begin of its turn to the end of its pause. */
  readonly #own: Turns;
  /** Whose turn it is of those. */
  readonly #all: Turns;
  readonly #limits: TurnLimits;

  constructor({ words, atOnce, ofOne, waiting = Number.POSITIVE_INFINITY }: ProcessorTurnsOptions) {
    const common = { words, windowMs: 0, now: () => performance.now() };
    this.#own = new Turns({ ...common, runsAtOnce: Number.POSITIVE_INFINITY });
    this.#all = new Turns({ ...common, runsAtOnce: atOnce });
    this.#limits = { ...UNLIMITED, runsAtOnce: ofOne, runsWaiting: waiting };
  }

  /** How much waits, of all principals. */
  get waiting(): number {
    return this.#own.waiting + this.#all.waiting;
  }

  /**
   * Resolves when the turn of `owner` has come, and as soon as `signal` ends the wait; disposed of when the work is done. Or
   * with the refusal, E_BUSY with when to come back, where too much of this owner waits.
   */
  async begin(owner: string, signal: AbortSignal): Promise<Disposable | { readonly refused: BridgeError }> {
    const own = await takeTurn(this.#own, { owner, limits: this.#limits, memoryBytes: 0 }, signal);
    if ('refused' in own) return own;
    const turn = await takeTurn(this.#all, { owner, limits: UNLIMITED, memoryBytes: 0 }, signal);
    if ('refused' in turn) {
      own.end();
      return turn;
    }
    const beganAt = performance.now();
    const before = performance.eventLoopUtilization();
    let isUnderWay = true;
    const end = () => {
      if (!isUnderWay) return;
      isUnderWay = false;
      clearInterval(looking);
      turn.end();
      this.#pause(owner, performance.now() - beganAt, () => own.end());
    };
    const looking = setInterval(() => {
      const { idle } = performance.eventLoopUtilization(before);
      if (idle >= IDLE_MS || performance.now() - beganAt >= MAX_TURN_MS) end();
    }, LOOK_MS);
    return { [Symbol.dispose]: end };
  }

  /**
   * Has an owner pause after a turn for as long as the turn was, once for each other owner that is about: the owner then has
   * the process for no more than its share of the time, and what others begin seldom meets something under way.
   */
  #pause(owner: string, ms: number, then: () => void): void {
    const others = this.#own.crowded(owner, ABOUT_MS);
    if (others === 0) then();
    else setTimeout(then, Math.min(MAX_PAUSE_MS, ms * others));
  }
}
