// One `server/discover`, sent before anything else, and what a server makes of it. Servers of 2025 answer with an error
// or with anything, print, hang, close the connection or exit: all of that means `legacy`, and none of it is an error.

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { BridgeError } from '../../base/errors.js';
import { ErrorAnswer } from '../error-answer.js';
import { isObject, type JsonObject } from '../json-object.js';
import type { Link } from '../link.js';
import { envelopeOf, MODERN_VERSION } from './envelope.js';

export type Verdict =
  | { readonly era: 'modern'; readonly said: JsonObject }
  | { readonly era: 'legacy' }
  /** The connection ended: what is known of it is that it does not survive this question. */
  | { readonly era: 'ended' }
  /** Nobody was there to answer, or whoever it was wants a login. */
  | { readonly era: 'unknown'; readonly error: Error };

/** A number, since some servers take no other ids, and one that the SDK, which counts from 0, does not come to. */
const PROBE_ID = 2_000_000_000;

export class Probe {
  /** Never rejects, and may never resolve. */
  readonly verdict: Promise<Verdict>;
  readonly #link: Link;
  #settle: (verdict: Verdict) => void = () => {};

  /** Over a link that has been started and on which nothing was said yet. */
  constructor(link: Link, clientCapabilities: object) {
    this.#link = link;
    this.verdict = new Promise((resolve) => {
      this.#settle = resolve;
    });
    link.onmessage = (message) => void this.take(message);
    link.onclose = () => this.#settle({ era: 'ended' });
    const params = { _meta: envelopeOf(clientCapabilities) };
    link
      .send({ jsonrpc: '2.0', id: PROBE_ID, method: 'server/discover', params })
      .catch(() => this.#settle({ era: 'ended' }));
  }

  /** Whether the message was the answer to this question. */
  readonly take = (message: JSONRPCMessage): boolean => {
    if ('method' in message || message.id !== PROBE_ID) return false;
    this.#settle('error' in message ? verdictOfError(message.error) : verdictOf(message.result));
    return true;
  };

  /** The answer is not waited for any more. */
  abandon(): void {
    this.#link.abandon(PROBE_ID);
  }
}

function verdictOf(result: unknown): Verdict {
  const versions = isObject(result) ? result['supportedVersions'] : undefined;
  return isObject(result) && Array.isArray(versions) && versions.includes(MODERN_VERSION)
    ? { era: 'modern', said: result }
    : { era: 'legacy' };
}

/** A failure of the link comes with the error as data; whatever a server says means that it does not know the question. */
function verdictOfError(error: { code: number; message: string; data?: unknown }): Verdict {
  const { code, message, data } = error;
  const isFinal = data instanceof BridgeError && Object(data.cause).saysNothingOfServer === true;
  return isFinal ? { era: 'unknown', error: new ErrorAnswer(message, code, data) } : { era: 'legacy' };
}
