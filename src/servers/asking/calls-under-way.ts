// Calls that one server has to answer just now, each with its clock. A server may put a question to the person only while it is
// asked something itself, and while the person thinks, the server's silence is no fault. MCP does not say which call a question
// belongs to, so the question is taken to belong to all calls that were under way when it came (agent-capabilities.ts: all of
// one agent).

import type { Trace } from '../../base/trace.js';
import { Deadline, type EndCause, type StopClock } from '../../base/waiting/deadline.js';
import { type AgentCapabilities, NO_AGENT } from './agent-capabilities.js';

/** Whose call it is, the clock of what it is a part of, which stands with its own, and the trace of that. */
export type Caller = {
  readonly agent: AgentCapabilities;
  readonly stopClock: StopClock;
  readonly trace?: Trace | undefined;
};

export const NOBODY: Caller = { agent: NO_AGENT, stopClock: () => () => {} };

export class CallsUnderWay {
  readonly #calls = new Set<CallClock>();
  readonly #watches = new Set<{ readonly left: Set<CallClock>; readonly controller: AbortController }>();
  #questions = 0;
  #onBegin: (agent: AgentCapabilities) => void = () => {};

  get size(): number {
    return this.#calls.size;
  }

  /** The agents of the calls that are under way now. */
  get agents(): ReadonlySet<AgentCapabilities> {
    return new Set([...this.#calls].map(({ agent }) => agent));
  }

  /** `listener` hears of each new call whose it is, before the call is sent. */
  onBegin(listener: (agent: AgentCapabilities) => void): void {
    this.#onBegin = listener;
  }

  /**
   * A new call of `caller`, until it is disposed; its `signal` aborts with `signal` or at its limit, of which both kinds stand
   * still while a person is asked: `silence` starts anew with every sign of life, and `whole` goes on.
   */
  begin(
    limit: { readonly ms: number; readonly of: 'silence' | 'whole' },
    signal: AbortSignal,
    caller: Caller = NOBODY,
  ): CallClock {
    const asked = this.#questions > 0;
    const call = new CallClock({ limit, caller, stands: asked, onEnd: (ended) => this.#end(ended) }, signal);
    this.#calls.add(call);
    this.#onBegin(caller.agent);
    return call;
  }

  /** Follows the calls that are under way now; `ended` aborts when the last of them has ended. */
  askers(): Disposable & { readonly ended: AbortSignal } {
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

class CallClock implements Disposable {
  /** Whose call it is. */
  readonly agent: AgentCapabilities;
  readonly #limit;
  readonly #deadline: Deadline;
  readonly #stopClock: StopClock;
  readonly #onEnd: (call: CallClock) => void;
  /** While it stands: has the clock of its caller go on. */
  #goOn: (() => void) | undefined;

  constructor(
    {
      limit,
      caller,
      stands,
      onEnd,
    }: {
      readonly limit: { readonly ms: number; readonly of: 'silence' | 'whole' };
      readonly caller: Caller;
      /** Whether a person is asked just now. */
      readonly stands: boolean;
      readonly onEnd: (call: CallClock) => void;
    },
    signal: AbortSignal,
  ) {
    this.agent = caller.agent;
    this.#stopClock = caller.stopClock;
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
  onHeard(): void {
    if (this.#limit.of === 'silence' && this.#goOn === undefined) this.#deadline.start(this.#limit.ms);
  }

  /** The person is asked. */
  stand(): void {
    this.#deadline.pause();
    this.#goOn = this.#stopClock();
  }

  go(): void {
    this.#deadline.start(this.#limit.of === 'silence' ? this.#limit.ms : this.#deadline.pause());
    this.#callerGoesOn();
  }

  [Symbol.dispose](): void {
    this.#deadline[Symbol.dispose]();
    this.#onEnd(this);
    this.#callerGoesOn();
  }

  #callerGoesOn(): void {
    const goOn = this.#goOn;
    this.#goOn = undefined;
    goOn?.();
  }
}
