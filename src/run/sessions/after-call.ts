// Code of a session that goes on after its call was answered still belongs to that call: the code has the call's place, costs
// its principal what it uses, and has the rest of the call's time where it has asked to go on. The code's word is only a
// request.

import type { GivenTurn } from '../queue/run-queue.js';

/** A call that was answered, and has its place and its sandbox yet. */
export type AnsweredCall = GivenTurn & {
  /** By performance.now(): when the time that it was given is over. */
  readonly endsAt: number;
};

/** A task that an answer has left may have something to finish. */
const HOLD_AFTER_MS = 500;
const LOOK_EVERY_MS = 1_000;

export class AfterCall {
  readonly #call: AnsweredCall;
  #timers: NodeJS.Timeout[] = [];
  #isOver = false;

  constructor(call: AnsweredCall) {
    this.#call = call;
  }

  /** Code of the call runs on. `stop` is called when that has to end, and calls `end`; with why, where more was allowed. */
  begin(goesOn: boolean, stop: (why?: string) => void): void {
    const { turn, endsAt } = this.#call;
    const leftMs = endsAt - performance.now();
    if (goesOn && leftMs > HOLD_AFTER_MS && !this.#isUsedUp()) {
      const look = () => {
        if (this.#isUsedUp()) stop('the processor time of its principal was used up');
      };
      this.#timers.push(setInterval(look, LOOK_EVERY_MS).unref());
      this.#timers.push(setTimeout(() => stop('the time of its last call was over'), leftMs).unref());
      return;
    }
    this.#timers.push(setTimeout(() => stop(), HOLD_AFTER_MS).unref());
    // Code that has only something to finish makes room for others at once, which may be now.
    turn.lingers(() => stop());
  }

  /** Ends the call's turn: its code stands still, or is gone, and its place is for others. */
  end(): void {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    if (this.#isOver) return;
    this.#isOver = true;
    const { turn, meter } = this.#call;
    meter.leaveAll();
    turn.end({ processorSeconds: meter.lap() });
  }

  /** Charges processor time that code uses although it is to stand still. */
  charge(processorSeconds: number): void {
    this.#call.turn.charge(processorSeconds);
  }

  #isUsedUp(): boolean {
    const { turn, meter } = this.#call;
    turn.charge(meter.lap());
    return turn.isUsedUp;
  }
}
