// What one server has to answer just now, each with its clock. A server may put a question to the person only while it
// is asked something itself, and while the person thinks, its silence is no fault. MCP does not say which call a
// question belongs to, so it is taken to belong to all that were under way when it came.

import { Deadline, type EndCause } from '../../base/deadline.js';

/** `silence` starts anew with every sign of life and stands still while a person is asked; `whole` does neither. */
export type CallLimit = { readonly ms: number; readonly of: 'silence' | 'whole' };

/** The calls that a question may belong to; `ended` aborts when the last of them has ended. */
export type Askers = Disposable & { readonly ended: AbortSignal };

export class CallsUnderWay {
  readonly #calls = new Set<CallClock>();
  readonly #watches = new Set<{ readonly left: Set<CallClock>; readonly controller: AbortController }>();
  #questions = 0;

  get size(): number {
    return this.#calls.size;
  }

  /** A new call, until it is disposed; its `signal` aborts with `signal` or at its limit. */
  begin(limit: CallLimit, signal: AbortSignal): CallClock {
    const call = new CallClock(limit, signal, this.#questions > 0, (ended) => this.#end(ended));
    this.#calls.add(call);
    return call;
  }

  /** Follows those that are under way now. */
  askers(): Askers {
    const controller = new AbortController();
    const watch = { left: new Set(this.#calls), controller };
    if (watch.left.size === 0) controller.abort('cancelled');
    this.#watches.add(watch);
    return { ended: controller.signal, [Symbol.dispose]: () => void this.#watches.delete(watch) };
  }

  /** Until it is disposed, a person is asked. */
  hold(): Disposable {
    if (this.#questions++ === 0) for (const call of this.#calls) call.stand();
    return {
      [Symbol.dispose]: () => {
        if (--this.#questions === 0) for (const call of this.#calls) call.go();
      },
    };
  }

  #end(call: CallClock): void {
    this.#calls.delete(call);
    for (const { left, controller } of this.#watches) {
      if (left.delete(call) && left.size === 0) controller.abort('cancelled');
    }
  }
}

export class CallClock implements Disposable {
  readonly #limit: CallLimit;
  readonly #deadline: Deadline;
  readonly #onEnd: (call: CallClock) => void;
  #stands = false;

  constructor(limit: CallLimit, signal: AbortSignal, stands: boolean, onEnd: (call: CallClock) => void) {
    this.#limit = limit;
    this.#onEnd = onEnd;
    this.#deadline = new Deadline(signal);
    this.#deadline.start(limit.ms);
    if (stands) this.stand();
  }

  get signal(): AbortSignal {
    return this.#deadline.signal;
  }

  get cause(): EndCause | undefined {
    return this.#deadline.cause;
  }

  /** The server is at work. */
  heard(): void {
    if (this.#limit.of === 'silence' && !this.#stands) this.#deadline.start(this.#limit.ms);
  }

  /** The person is asked. */
  stand(): void {
    if (this.#limit.of !== 'silence') return;
    this.#stands = true;
    this.#deadline.pause();
  }

  go(): void {
    this.#stands = false;
    this.heard();
  }

  [Symbol.dispose](): void {
    this.#deadline[Symbol.dispose]();
    this.#onEnd(this);
  }
}
