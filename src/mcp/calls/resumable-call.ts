// One call of a tool that may outlive the request that began it. Its work runs on while requests come and go: the first one
// is answered with the result, with the questions that are open, or with a task; after questions the client comes back with
// its answers. What the work has to tell goes to the request that is open at the moment, and its cancellation ends the work.

import { randomBytes } from '../../base/crypto.js';
import type { JsonObject } from '../../base/json/json-object.js';
import { clipHarmless } from '../../base/text/text.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { AgentContext, AgentEvent, AgentRequest } from '../requests/agent-request.js';
import type { ClientOffers } from '../requests/client-offers.js';
import type { McpLogLevel } from '../requests/log-notifications.js';
import {
  ANSWER_WITHIN_MS,
  type InputRequest,
  type InputRequests,
  isOffered,
  Questions,
} from './questions.js';
import type { CallIdentity, Round } from './request-state.js';

const MAX_SAID_CHARS = 200;

export type ResumableCallEnd<R> = { readonly result: R } | { readonly error: unknown };

/** Step that answers a request: the result, or questions to the client. */
export type ResumableCallStep<R> =
  | { readonly at: 'ended'; readonly result: R }
  | { readonly at: 'asks'; readonly inputRequests: InputRequests; readonly round: Round };

/** Nothing is known yet, and the time is up. */
export type Late = { readonly at: 'late' };

export type ResumableCallParts<R> = {
  readonly identity: CallIdentity;
  readonly request: AgentRequest;
  readonly work: (call: ResumableCall<R>) => Promise<R>;
  /** Throws where this call may not ask just now. */
  readonly admitQuestion: (call: ResumableCall<R>) => void;
  /** Another call of the same client, which can ask in place of this one. */
  readonly siblingOf: (call: ResumableCall<R>) => ResumableCall<R> | undefined;
  /** Nothing can be done with the call any more. */
  readonly onOver: () => void;
};

type ResumableCallState =
  | { readonly at: 'answering'; readonly request: AgentRequest }
  | { readonly at: 'waiting'; readonly round: Round; readonly timer: NodeJS.Timeout }
  | { readonly at: 'task' }
  | { readonly at: 'over' };

export class ResumableCall<R> implements AgentContext {
  readonly id = randomBytes(16).toString('base64url');
  /** Id of the principal. Nothing else of its identity stays: a task outlives its work, which alone needs its arguments. */
  readonly principal: string;
  readonly questions: Questions;
  /** Caller who began the call; the caller's agent is asked by the answers of this call. */
  readonly caller: AgentContext['caller'];
  /** Never rejects. */
  readonly ended: Promise<ResumableCallEnd<R>>;
  /** Called when a question is asked, answered or withdrawn, and when the work tells of its progress. */
  onChange: () => void = () => {};
  #said: string | undefined;
  readonly #ending = new AbortController();
  #hasEnded = false;
  readonly #parts: Pick<ResumableCallParts<R>, 'admitQuestion' | 'siblingOf' | 'onOver'>;
  #state: ResumableCallState;
  #offers: ClientOffers;
  #onAsked: () => void = () => {};

  constructor(parts: ResumableCallParts<R>) {
    const { identity, request, work, admitQuestion, siblingOf, onOver } = parts;
    this.#parts = { admitQuestion, siblingOf, onOver };
    this.principal = identity.principal;
    this.#state = { at: 'answering', request };
    this.#offers = request.offers;
    this.questions = new Questions(() => {
      if (this.questions.size > 0) this.#onAsked();
      this.onChange();
    });
    const agent = callAgent({
      client: request.connection,
      offers: () => this.#offers,
      ask: (request, signal) => this.#ask(request, signal),
      signal: this.signal,
    });
    this.caller = { ...request.caller, agent };
    // No closure: the other ones in here would keep the work, and its arguments with it, for as long as the call.
    this.ended = endOf(work, this);
    void this.ended.then(() => this.#handOver());
  }

  /** Aborts when the call is cancelled. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** The request that is open at the moment; undefined while a person thinks, and for a task. */
  get request(): AgentRequest | undefined {
    return this.#state.at === 'answering' ? this.#state.request : undefined;
  }

  /** Sentence that the work has last told of its progress. */
  get said(): string | undefined {
    return this.#said;
  }

  get isWaitedFor(): boolean {
    return this.request !== undefined;
  }

  /** Always true: progress is kept for the call's task, too. */
  get wantsProgress(): true {
    return true;
  }

  get logLevel(): McpLogLevel | undefined {
    return this.request?.logLevel;
  }

  /** Tells the request that is open, and nobody while a person thinks; a task says how far it is when it is asked. */
  tell(event: AgentEvent): void {
    if (event.type === 'said') {
      this.#said = clipHarmless(event.params.message, MAX_SAID_CHARS);
      this.onChange();
    }
    this.request?.tell(event);
  }

  /** Whether it can ask something now. */
  get canAsk(): boolean {
    return !this.#hasEnded && !this.signal.aborted;
  }

  /** Whether it has asked, or waits for its client to come back. */
  get isAsking(): boolean {
    return this.questions.size > 0 || this.#state.at === 'waiting';
  }

  /** Whether a request may go on with it: it waits in just this round. */
  waitsIn({ nonce }: Round): boolean {
    return this.#state.at === 'waiting' && this.#state.round.nonce === nonce;
  }

  /** Takes up a call that waits, with what the client has answered. */
  resume(request: AgentRequest, responses: ReadonlyMap<string, JsonObject>): void {
    this.#enter({ at: 'answering', request });
    this.#offers = request.offers;
    this.questions.answer(responses);
    this.questions.keepTo(request.offers);
  }

  /**
   * Step that the open request is to be answered with, once it is known: `late` after `lateMs`, where that is given. Throws
   * what the work has thrown.
   */
  step(): Promise<ResumableCallStep<R>>;
  step(lateMs: number | undefined): Promise<ResumableCallStep<R> | Late>;
  async step(lateMs?: number): Promise<ResumableCallStep<R> | Late> {
    const signal = this.request?.signal;
    const onAbort = () => this.#leave();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      if (lateMs !== undefined) timer = setTimeout(() => resolve('late'), lateMs).unref();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    try {
      for (;;) {
        const first = await Promise.race([this.ended, late, this.#asked()]);
        if (first === 'late') return { at: 'late' };
        if (first !== 'asked') return { at: 'ended', result: this.#resultOf(first) };
        // The question may have been withdrawn since.
        if (this.questions.size > 0) return this.#wait();
      }
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** From now on it answers no request. */
  becomeTask(): void {
    this.#enter({ at: 'task' });
    void this.ended.then(() => this.#end());
  }

  /** Ends the work; the result that it still has is for nobody. */
  cancel(): void {
    this.#ending.abort('cancelled');
    if (this.#state.at === 'waiting') this.#end();
  }

  #resultOf(ended: ResumableCallEnd<R>): R {
    this.#end();
    if ('error' in ended) throw ended.error;
    return ended.result;
  }

  #ask(request: InputRequest, signal: AbortSignal): Promise<JsonObject> {
    if (!this.canAsk) {
      const sibling = this.#parts.siblingOf(this);
      if (sibling !== undefined) return sibling.#ask(request, signal);
      return Promise.reject(new Error('The call has ended.'));
    }
    if (!isOffered(request, this.#offers))
      return Promise.reject(new Error('The client does not offer to answer this.'));
    try {
      if (this.questions.size === 0) this.#parts.admitQuestion(this);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
    return this.questions.ask(request, signal);
  }

  /** A server does not say for which call it asks; what it asks may be for another one that is still under way. */
  #handOver(): void {
    this.#hasEnded = true;
    const sibling = this.#parts.siblingOf(this);
    this.questions.handOver(sibling && ((request, signal) => sibling.#ask(request, signal)));
  }

  #asked(): Promise<'asked'> {
    return new Promise((resolve) => {
      this.#onAsked = () => resolve('asked');
      if (this.questions.size > 0) resolve('asked');
    });
  }

  /** The client has to come back within the time that a question waits; a run that ends meanwhile keeps its result so long. */
  #wait(): ResumableCallStep<R> {
    const nonce = randomBytes(16).toString('base64url');
    const round = { call: this.id, nonce, expiresAtMs: Date.now() + ANSWER_WITHIN_MS };
    const timer = setTimeout(() => this.cancel(), ANSWER_WITHIN_MS).unref();
    this.#enter({ at: 'waiting', round, timer });
    return { at: 'asks', inputRequests: this.questions.requests, round };
  }

  /** Its request was taken back. With a question open the answer is on its way, and the client may still come back. */
  #leave(): void {
    if (this.questions.size === 0) this.cancel();
  }

  #enter(state: ResumableCallState): void {
    if (this.#state.at === 'waiting') clearTimeout(this.#state.timer);
    this.#state = state;
  }

  #end(): void {
    if (this.#state.at === 'over') return;
    this.#enter({ at: 'over' });
    this.#parts.onOver();
  }
}

async function endOf<R>(
  work: ResumableCallParts<R>['work'],
  call: ResumableCall<R>,
): Promise<ResumableCallEnd<R>> {
  try {
    return { result: await work(call) };
  } catch (error) {
    return { error };
  }
}

// The agent as one call sees it, from revision 2026-07-28 on: what its newest request declares, asked through the answers
// to its requests. Roots are asked for once in a call, and only where a server wants them.

type CallAgentParts = {
  readonly client: object;
  /** Offers of the newest request. */
  readonly offers: () => ClientOffers;
  /** Rejects where the principal has too many calls that ask. */
  readonly ask: (request: InputRequest, signal: AbortSignal) => Promise<JsonObject>;
  /** The end of the call. */
  readonly signal: AbortSignal;
};

function callAgent({ client, offers, ask, signal: end }: CallAgentParts): AgentCapabilities {
  let roots: Promise<JsonObject> | undefined;
  return {
    client,
    elicits: () => ({ form: offers().form, url: offers().url }),
    elicit: (params, signal) => ask({ method: 'elicitation/create', params: inThisRevision(params) }, signal),
    // This revision tells the client nothing about a page: the person says that the page is done with.
    elicitationDone: () => {},
    hasRoots: () => offers().roots,
    tellsRootsChanges: () => false,
    listRoots: (signal) => {
      roots ??= ask({ method: 'roots/list' }, end).catch((thrown: unknown) => {
        roots = undefined;
        throw thrown;
      });
      return unlessAborted(roots, signal, { message: 'The roots are no longer wanted.' });
    },
  };
}

/** A question about a page had an id before, so that its end could be told. */
function inThisRevision(params: Readonly<JsonObject>): Readonly<JsonObject> {
  const { elicitationId: _, ...rest } = params;
  return rest;
}
