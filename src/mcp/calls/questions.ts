// Questions that one call has for its client just now. The client is not sent a request: it finds the questions in an answer
// (`inputRequests`) and sends what was answered with its next request (`inputResponses`), under the same keys.

import { isObject, type JsonObject } from '../../base/json/records.js';
import { describeValue, echo } from '../../base/text/echo.js';
import { WrongParams } from '../../wire/envelope.js';
import type { ClientOffers } from '../requests/agent-request.js';

/** MCP's InputRequest, as far as we send one. */
export type InputRequest =
  | { readonly method: 'elicitation/create'; readonly params: Readonly<JsonObject> }
  | { readonly method: 'roots/list' };

/**
 * How long a question waits for its answer. A person is given as long as the SDK gives one who answers over a connection;
 * meanwhile the run keeps its sandbox and its place among the runs at once.
 */
export const ANSWER_WITHIN_MS = 600_000;

const ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel'];

export class Questions {
  readonly #open = new Map<
    string,
    {
      readonly request: InputRequest;
      readonly signal: AbortSignal;
      /** Ends it; another call may ask it anew, and answer it later. */
      readonly answer: (response: JsonObject | Promise<JsonObject>) => void;
      readonly refuse: (error: Error) => void;
    }
  >();
  readonly #onChange: () => void;
  #asked = 0;

  /** `onChange` is called whenever a question is asked, answered or withdrawn. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Questions that wait for an answer. A key is never used for a second question. */
  get requests(): Readonly<Record<string, InputRequest>> {
    return Object.fromEntries([...this.#open].map(([key, { request }]) => [key, request]));
  }

  /**
   * The client's answer; `{action: 'cancel'}` for an elicitation that nobody has answered in time. Rejects when `signal`
   * aborts, when the client no longer offers to answer, and for roots that were not listed in time.
   */
  ask(request: InputRequest, signal: AbortSignal): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const key = `q${++this.#asked}`;
      const settle = (end: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        if (this.#open.delete(key)) this.#onChange();
        end();
      };
      const refuse = (error: Error) => settle(() => reject(error));
      const answer = (response: JsonObject | Promise<JsonObject>) => settle(() => resolve(response));
      const onAbort = () => refuse(new Error('The question is no longer wanted.'));
      const timer = setTimeout(() => {
        if (request.method === 'elicitation/create') answer({ action: 'cancel' });
        else refuse(new Error('The client has not listed its roots in time.'));
      }, ANSWER_WITHIN_MS).unref();
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      this.#open.set(key, { request, signal, answer, refuse });
      this.#onChange();
    });
  }

  /**
   * Reads from `inputResponses` the answers to open questions; keys that are not open mean nothing, and a question without an
   * answer stays open. Throws WrongParams for an answer of the wrong shape.
   */
  readResponses(inputResponses: unknown): ReadonlyMap<string, JsonObject> {
    if (inputResponses === undefined) return new Map();
    if (!isObject(inputResponses))
      throw new WrongParams(
        `inputResponses: got ${describeValue(inputResponses)}, expected an object with one answer for each key of inputRequests.`,
      );
    const found = [...this.#open].filter(([key]) => Object.hasOwn(inputResponses, key));
    return new Map(
      found.map(([key, { request }]) => [
        key,
        checkResponse(`inputResponses.${key}`, request, inputResponses[key]),
      ]),
    );
  }

  /** Hands over what readResponses has read. */
  answer(responses: ReadonlyMap<string, JsonObject>): void {
    for (const [key, response] of responses) this.#open.get(key)?.answer(response);
  }

  /** The call has ended: what still is asked of the person is asked by another call, with `ask`, or by none. */
  handOver(ask: ((request: InputRequest, signal: AbortSignal) => Promise<JsonObject>) | undefined): void {
    for (const { request, signal, answer, refuse } of [...this.#open.values()]) {
      if (ask === undefined || request.method !== 'elicitation/create')
        refuse(new Error('The call has ended.'));
      else answer(ask(request, signal));
    }
  }

  /** Withdraws what the client does not offer to answer: one that is sent such a question may break. */
  keepTo(offers: ClientOffers): void {
    for (const { request, refuse } of [...this.#open.values()])
      if (!isOffered(request, offers)) refuse(new Error('The client no longer offers to answer this.'));
  }
}

/** Whether a client that declares `offers` may be sent this. */
export function isOffered(request: InputRequest, offers: ClientOffers): boolean {
  if (request.method === 'roots/list') return offers.roots;
  return request.params['mode'] === 'url' ? offers.url : offers.form;
}

/** Throws WrongParams that names the field, what was got and what is allowed. */
function checkResponse(field: string, { method }: InputRequest, response: unknown): JsonObject {
  const complain = (name: string, got: unknown, expected: string) =>
    new WrongParams(`${echo(name)}: got ${describeValue(got)}, expected ${expected}.`);
  if (!isObject(response)) throw complain(field, response, `the result of ${method}`);
  if (method === 'roots/list') {
    if (!Array.isArray(response['roots'])) throw complain(`${field}.roots`, response['roots'], 'a list');
    return response;
  }
  const { action, content } = response;
  if (!ACTIONS.includes(action)) throw complain(`${field}.action`, action, 'accept, decline or cancel');
  if (content !== undefined && content !== null && !isObject(content))
    throw complain(`${field}.content`, content, 'an object by the names of the form');
  return response;
}
