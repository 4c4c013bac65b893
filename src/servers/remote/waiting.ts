// The requests that want an answer. Each ends once: by its answer, by a failure, or because nobody wants it any more.
// Later answers are nobody's, and would only make the SDK print them whole.

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../base/errors.js';
import { failure } from '../connection/inbound.js';
import { RefusedStatus, RemoteFailure } from './remote-failure.js';
import type { Wire } from './wire.js';

export type WaitingRequest = {
  readonly id: RequestId;
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
  /** The session that has taken the request; undefined while none has. */
  takenBy: Wire | undefined;
};

type Settle = (message: JSONRPCMessage) => void;

export class WaitingRequests {
  readonly #entries = new Map<
    RequestId,
    { entry: WaitingRequest; controller: AbortController; settle: Settle }
  >();

  /** `settle` gets the answer, or the failure as one. */
  add(id: RequestId, settle: Settle): WaitingRequest {
    const controller = new AbortController();
    const entry: WaitingRequest = { id, signal: controller.signal, takenBy: undefined };
    this.#entries.set(id, { entry, controller, settle });
    return entry;
  }

  has(id: RequestId): boolean {
    return this.#entries.has(id);
  }

  /** What answers nobody's request is dropped. */
  answer(id: RequestId, message: JSONRPCMessage): void {
    const found = this.#entries.get(id);
    this.#entries.delete(id);
    found?.settle(message);
  }

  /** In the modern era a status may only repeat what the answer in its body says. */
  fail(entry: WaitingRequest, thrown: unknown, isModern = false): void {
    if (this.#entries.get(entry.id)?.entry !== entry) return;
    if (isModern && thrown instanceof RefusedStatus && thrown.rpcError !== undefined) {
      return this.answer(entry.id, { jsonrpc: '2.0', id: entry.id, error: thrown.rpcError });
    }
    const told = thrown instanceof RemoteFailure ? thrown.toBridgeError() : thrown;
    const error =
      told instanceof BridgeError
        ? told
        : new BridgeError('E_INTERNAL', messageOf(told), { fault: 'bridge' });
    this.answer(entry.id, failure(entry.id, error));
  }

  /** The requests that this session has taken and will not answer. */
  failAllOf(wire: Wire, reason: RemoteFailure): void {
    for (const { entry } of [...this.#entries.values()]) if (entry.takenBy === wire) this.fail(entry, reason);
  }

  abandon(id: RequestId): void {
    this.#entries.get(id)?.controller.abort();
    this.#entries.delete(id);
  }

  abandonAll(): void {
    for (const id of [...this.#entries.keys()]) this.abandon(id);
  }
}
