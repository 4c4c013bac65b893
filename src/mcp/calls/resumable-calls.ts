// The calls of tools that are under way towards clients of revision 2026-07-28, which take no requests: a call that has to
// ask something waits here for the client to come back. Knows neither SDK nor transport.

import { setMaxListeners } from 'node:events';
import { randomBytes } from '../../base/crypto.js';
import type { AgentRequest } from '../requests/agent-request.js';
import type { InputRequests } from './questions.js';
import { type CallIdentity, mintState, readState, WrongRequestState } from './request-state.js';
import { ResumableCall } from './resumable-call.js';
import { type CreatedTask, Tasks } from './tasks.js';

/**
 * Calls of one principal that ask or wait at the same time. Each holds a run and often a sandbox; a person answers one
 * after the other.
 */
export const MAX_ASKING_CALLS = 8;

export type BegunCall = {
  readonly identity: CallIdentity;
  readonly request: AgentRequest;
  /** State as the client has sent it, like `inputResponses`. */
  readonly requestState?: string | undefined;
  readonly inputResponses?: unknown;
  /** After how many milliseconds a client that knows tasks gets one. */
  readonly taskAfterMs: number;
};

export type CallAnswer<R> =
  | { readonly result: R }
  | { readonly inputRequests: InputRequests; readonly requestState: string }
  | { readonly task: CreatedTask };

/** `R` is the result of a call. Disposed, it ends every call. */
export class ResumableCalls<R> implements Disposable {
  readonly tasks = new Tasks<R>();
  readonly #calls = new Map<string, ResumableCall<R>>();
  #madeKey: Buffer | undefined;

  /** How many calls are under way, wait for their client, or are tasks whose result nobody has fetched. */
  get unfinished(): number {
    return this.#calls.size + this.tasks.unfetched;
  }

  /** How many calls are unfinished, or are tasks whose result is kept after it was fetched. */
  get size(): number {
    return this.#calls.size + this.tasks.ended;
  }

  /**
   * Begins a call with `work`, or goes on with the one that `requestState` names. Throws what the work throws, and WrongParams
   * for a state or for answers that cannot be taken; neither disturbs the call that the state names.
   */
  async answer(
    { identity, request, requestState, inputResponses, taskAfterMs }: BegunCall,
    work: (call: ResumableCall<R>) => Promise<R>,
  ): Promise<CallAnswer<R>> {
    const call =
      requestState === undefined
        ? this.#begin(identity, request, work)
        : this.#resume(identity, request, requestState, inputResponses);
    let step = await call.step(request.offers.tasks ? taskAfterMs : undefined);
    if (step.at === 'late') {
      if (this.tasks.hasRoom(identity.principal)) return { task: this.tasks.create(call) };
      step = await call.step();
    }
    if (step.at === 'ended') return { result: step.result };
    const { inputRequests, round } = step;
    return { inputRequests, requestState: mintState(round, identity, this.#key) };
  }

  [Symbol.dispose](): void {
    for (const call of [...this.#calls.values()]) call.cancel();
    this.tasks[Symbol.dispose]();
  }

  get #key(): Buffer {
    this.#madeKey ??= randomBytes(32);
    return this.#madeKey;
  }

  #begin(
    identity: CallIdentity,
    request: AgentRequest,
    work: (call: ResumableCall<R>) => Promise<R>,
  ): ResumableCall<R> {
    const call = new ResumableCall<R>({
      identity,
      request,
      work,
      admitQuestion: (asking) => this.#admitQuestion(asking),
      siblingOf: (ended) => this.#siblingOf(ended),
      onOver: () => this.#calls.delete(call.id),
    });
    // Everything that a call does listens to its end; Node takes more than ten listeners for a leak.
    setMaxListeners(0, call.signal);
    this.#calls.set(call.id, call);
    return call;
  }

  #resume(
    identity: CallIdentity,
    request: AgentRequest,
    state: string,
    inputResponses: unknown,
  ): ResumableCall<R> {
    const round = readState(state, identity, this.#key);
    const call = this.#calls.get(round.call);
    if (call === undefined || !call.waitsIn(round))
      throw new WrongRequestState('it was used already, or its call has ended.');
    call.resume(request, call.questions.readResponses(inputResponses));
    return call;
  }

  #siblingOf({ id, caller: { agent } }: ResumableCall<R>): ResumableCall<R> | undefined {
    return [...this.#calls.values()].find(
      (other) => other.id !== id && other.caller.agent.client === agent.client && other.canAsk,
    );
  }

  #admitQuestion(asking: ResumableCall<R>): void {
    const { principal } = asking;
    const others = [...this.#calls.values()].filter(
      (call) => call !== asking && call.principal === principal && call.isAsking,
    );
    if (others.length >= MAX_ASKING_CALLS)
      throw new Error(`${MAX_ASKING_CALLS} other calls wait for answers of the user already`);
  }
}
