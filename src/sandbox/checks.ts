// The checks of one sandbox, before its run: one at a time, each answered once. Tells an answer that was asked for from
// one that was not, and a sandbox that is as it was from one in which a compiler has worked hard. Sends nothing.

import { BridgeError } from '../base/errors.js';
import type { SupervisorFrame } from '../protocol/frames.js';

/** `checked` with the tools that the code names, or `refused` with what is wrong. */
export type CheckAnswer = Extract<SupervisorFrame, { type: 'checked' | 'refused' }>;

/** What models write compiles in milliseconds; the compiler keeps memory that the next run would lack. */
const LIGHT_CODE_CHARS = 100_000;
const LIGHT_CHECK_MS = 250;

export class Checks {
  #settle: ((answer: CheckAnswer) => void) | undefined;
  #startedAt = 0;
  #last: CheckAnswer['type'] | undefined;
  #leftMarks = false;

  /** Whether an answer is due. */
  get underWay(): boolean {
    return this.#settle !== undefined;
  }

  /** Whether there is a program to run. */
  get passed(): boolean {
    return this.#last === 'checked';
  }

  /** Whether one of them was so large, or took so long, that the sandbox is no longer as it was. */
  get leftMarks(): boolean {
    return this.#leftMarks;
  }

  /** Resolves with the answer, if one comes. What was checked before is replaced. */
  begin(code: string): Promise<CheckAnswer> {
    if (this.underWay)
      throw new BridgeError('E_INTERNAL', 'a sandbox checks one program at a time', { fault: 'bridge' });
    this.#last = undefined;
    this.#leftMarks ||= code.length > LIGHT_CODE_CHARS;
    this.#startedAt = performance.now();
    return new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  onAnswer(answer: CheckAnswer): void {
    const settle = this.#settle;
    this.#settle = undefined;
    this.#last = answer.type;
    this.#leftMarks ||= performance.now() - this.#startedAt > LIGHT_CHECK_MS;
    settle?.(answer);
  }
}
