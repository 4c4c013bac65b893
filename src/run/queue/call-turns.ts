// Tool calls of several principals: how many of one are under way at once, how many wait, and whose begins next. Calls that an
// agent makes itself and those of its code count together. Over stdio, where there is one principal, nothing of this is used.

import type { BridgeError } from '../../base/errors.js';
import { ProcessorTurns } from './processor-turns.js';
import { takeTurn } from './take-turn.js';
import { type TurnLimits, Turns, type TurnWords, UNLIMITED } from './turns.js';

export type CallTurnLimits = {
  /** Calls under way at once; Infinity where nothing limits it. */
  readonly callsAtOnce: number;
  /** Calls of the agent itself that wait; a further one is refused. Calls of code are bounded by what a run may have waiting. */
  readonly callsWaiting: number;
};

const WORDS: TurnWords = { one: 'call', many: 'calls', refused: 'Nothing was called' };
/** Code calls often and each call is short, so a few of one principal may begin at once. */
const BEGINNING = { atOnce: 6, ofOne: 4 } as const;

export class CallTurns {
  readonly #underWay = new Turns({
    words: WORDS,
    runsAtOnce: Number.POSITIVE_INFINITY,
    windowMs: 0,
    now: () => performance.now(),
  });
  readonly #beginning = new ProcessorTurns({ words: WORDS, ...BEGINNING });

  /** Calls that wait, of all principals. */
  get waiting(): number {
    return this.#underWay.waiting + this.#beginning.waiting;
  }

  /**
   * For a call that the agent makes itself, whose request has had its turn already. Resolves when it may begin, to be disposed of
   * when it has ended; or with the refusal, E_BUSY. Resolves as well when `signal` ends the wait.
   */
  async ofAgent(
    owner: string,
    limits: CallTurnLimits,
    signal: AbortSignal,
  ): Promise<Disposable | { readonly refused: BridgeError }> {
    const turn = await takeTurn(
      this.#underWay,
      { owner, limits: turnLimits(limits), memoryBytes: 0 },
      signal,
    );
    return 'refused' in turn ? turn : { [Symbol.dispose]: () => turn.end() };
  }

  /** For a call of code, which waits for as long as its run does. */
  async ofCode(owner: string, { callsAtOnce }: CallTurnLimits, signal: AbortSignal): Promise<Disposable> {
    const limits = { callsAtOnce, callsWaiting: Number.POSITIVE_INFINITY };
    const underWay = granted(await this.ofAgent(owner, limits, signal));
    const beginning = granted(await this.#beginning.begin(owner, signal));
    return {
      [Symbol.dispose]: () => {
        beginning[Symbol.dispose]();
        underWay[Symbol.dispose]();
      },
    };
  }
}

const turnLimits = ({ callsAtOnce, callsWaiting }: CallTurnLimits): TurnLimits => ({
  ...UNLIMITED,
  runsAtOnce: callsAtOnce,
  runsWaiting: callsWaiting,
});

/** Where any number may wait, nothing is refused. */
function granted(turn: Disposable | { readonly refused: BridgeError }): Disposable {
  if ('refused' in turn) throw turn.refused;
  return turn;
}
