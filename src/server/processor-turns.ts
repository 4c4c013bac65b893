// Whose work begins next in the one process that serves everybody. Requests and tool calls take a few milliseconds of its
// time each, and a principal that sends hundreds at once would have the next one of another wait behind all of them. So what
// begins has a turn, in a queue of each principal. A turn ends with the work, or as soon as this process has had nothing to do for
// a moment: then the work waits for something else, such as a server, and more can begin at nobody's cost.

import type { BridgeError } from '../base/errors.js';
import { takeTurn } from './take-turn.js';
import { type TurnLimits, Turns, type TurnWords } from './turns.js';

export type ProcessorTurnsOptions = {
  readonly words: TurnWords;
  /** How much of all principals begins at once, and how much of one. */
  readonly atOnce: number;
  readonly ofOne: number;
  /** How much of one principal may wait; more is refused. Without it, any number. */
  readonly waiting?: number;
};

/** A turn whose work has not ended gives its place to others when the process was idle for so long since it began. */
const IDLE_MS = 2;
/** How often that is looked at. */
const LOOK_MS = 3;
/** The longest that one turn lasts, however busy the process is. */
const MAX_TURN_MS = 100;

export class ProcessorTurns {
  readonly #turns: Turns;
  readonly #limits: TurnLimits;

  constructor({ words, atOnce, ofOne, waiting = Number.POSITIVE_INFINITY }: ProcessorTurnsOptions) {
    this.#turns = new Turns({ words, runsAtOnce: atOnce, windowMs: 0, now: () => performance.now() });
    const unlimited = Number.POSITIVE_INFINITY;
    const room = { processorSeconds: unlimited, memoryBytes: unlimited };
    this.#limits = { runsAtOnce: ofOne, runsWaiting: waiting, ...room };
  }

  /** How much waits, of all principals. */
  get waiting(): number {
    return this.#turns.waiting;
  }

  /**
   * Resolves when the turn of `owner` has come, and as soon as `signal` ends the wait; disposed of when the work is done. Or
   * with the refusal, E_BUSY with when to come back, where too much of this owner waits.
   */
  async begin(owner: string, signal: AbortSignal): Promise<Disposable | { readonly refused: BridgeError }> {
    const turn = await takeTurn(this.#turns, { owner, limits: this.#limits, memoryBytes: 0 }, signal);
    if ('refused' in turn) return turn;
    const beganAt = performance.now();
    const before = performance.eventLoopUtilization();
    const end = () => {
      clearInterval(looking);
      turn.end();
    };
    const looking = setInterval(() => {
      const { idle } = performance.eventLoopUtilization(before);
      if (idle >= IDLE_MS || performance.now() - beganAt >= MAX_TURN_MS) end();
    }, LOOK_MS);
    return { [Symbol.dispose]: end };
  }
}
