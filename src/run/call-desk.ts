// The guest's calls of one run: admitted up to the limits, answered in any order, each cancellable by itself, all
// ended together with the run. A slow call holds up nothing but itself.

import PQueue from 'p-queue';
import { asBridgeError, BridgeError } from '../base/errors.js';
import {
  type CallMethod,
  callParams,
  type GuestFrame,
  type HostFrame,
  MAX_CALLS_IN_FLIGHT,
  MAX_QUEUED_CALLS,
  type Refusal,
} from '../protocol/frames.js';
import type { HostApi } from './host-api.js';

type CallFrame = Extract<GuestFrame, { type: 'call' }>;

export class CallDesk implements Disposable {
  readonly #api: HostApi;
  readonly #send: (frame: HostFrame) => unknown;
  readonly #queue = new PQueue({ concurrency: MAX_CALLS_IN_FLIGHT });
  readonly #pending = new Map<number, AbortController>();
  #answered = 0;

  constructor(api: HostApi, send: (frame: HostFrame) => unknown) {
    this.#api = api;
    this.#send = send;
  }

  /** Calls that were admitted so far. */
  get calls(): number {
    return this.#answered + this.#pending.size;
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  /** Takes a call; its answer is sent when it is there. `text` is the frame's own line. */
  accept(frame: CallFrame, text: string): void {
    const { id } = frame;
    if (this.#pending.has(id)) return this.#refuse(frame, tooMany(`The call id ${id} is in use.`));
    if (this.#pending.size >= MAX_CALLS_IN_FLIGHT + MAX_QUEUED_CALLS) {
      return this.#refuse(frame, tooMany(`More than ${MAX_QUEUED_CALLS} calls are waiting.`));
    }
    const controller = new AbortController();
    this.#pending.set(id, controller);
    void this.#queue.add(() => this.#answer(frame, text, controller.signal));
  }

  /** The guest no longer waits for this call. */
  abandon(id: number): void {
    this.#pending.get(id)?.abort('cancelled');
  }

  [Symbol.dispose](): void {
    this.#queue.clear();
    for (const controller of this.#pending.values()) controller.abort('cancelled');
    this.#pending.clear();
  }

  async #answer(frame: CallFrame, text: string, signal: AbortSignal): Promise<void> {
    try {
      if (!signal.aborted) this.#reply(frame.id, await this.#dispatch(frame, text, signal));
    } catch (thrown) {
      if (!signal.aborted) this.#refuse(frame, asBridgeError(thrown));
    } finally {
      if (this.#pending.delete(frame.id)) this.#answered++;
    }
  }

  #dispatch({ method, params }: CallFrame, text: string, signal: AbortSignal): unknown {
    if (!Object.hasOwn(callParams, method)) {
      throw new BridgeError('E_PROTOCOL', `There is no method '${method}'.`, { fault: 'guest' });
    }
    return this.#handle(method as CallMethod, params, text, signal);
  }

  #handle<M extends CallMethod>(method: M, params: unknown, text: string, signal: AbortSignal): unknown {
    const parsed = callParams[method].safeParse(params);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const where = issue === undefined ? '' : ` ${issue.path.join('.')}: ${issue.message}`;
      throw new BridgeError('E_PROTOCOL', `Wrong parameters for ${method}:${where}`, { fault: 'guest' });
    }
    return this.#api[method](parsed.data as never, text, signal);
  }

  #reply(id: number, value: unknown): void {
    this.#send({ type: 'reply', id, value: value ?? null });
  }

  #refuse({ id, params }: CallFrame, error: BridgeError): void {
    const name = (key: 'server' | 'tool') => (typeof params[key] === 'string' ? params[key] : null);
    const refusal: Refusal = {
      code: error.code,
      message: error.advice,
      server: name('server'),
      tool: name('tool'),
    };
    this.#send({ type: 'refusal', id, error: refusal });
  }
}

const tooMany = (message: string) =>
  new BridgeError('E_TOO_MANY_CALLS', message, {
    fault: 'guest',
    remedy: 'Gather the calls in smaller batches.',
  });
