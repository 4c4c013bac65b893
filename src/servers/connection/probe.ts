// One `server/discover`, sent before anything else, and what a server makes of it. Servers of 2025 answer with an error
// or with anything, print, hang, close the connection or exit: all of that means `legacy`, and none of it is an error.

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { BridgeError } from '../../base/errors.js';
import { isObject, type JsonObject } from '../../base/json/json-object.js';
import { clipHarmless } from '../../base/text/text.js';
import type { RpcError } from '../../wire/envelope.js';
import { envelopeOf, MODERN_VERSION, WITH_INITIALIZE } from './envelope.js';
import { ErrorAnswer, UNSUPPORTED_VERSION } from './error-answer.js';
import type { Link } from './link.js';

export type ProbeVerdict =
  | { readonly era: 'modern'; readonly said: JsonObject }
  | { readonly era: 'legacy' }
  /** The connection ended: what is known of it is that it does not survive this question. */
  | { readonly era: 'ended' }
  /** Nobody was there to answer, or whoever it was wants a login, or speaks no version that the bridge does. */
  | { readonly era: 'unknown'; readonly error: Error };

/** A number, since some servers take no other ids, and one that the SDK, which counts from 0, does not come to. */
const PROBE_ID = 2_000_000_000;
/** Id of the second question, to a server that refused the first although it has the version. */
const SECOND_ID = PROBE_ID + 1;

export class Probe {
  /** Never rejects, and may never resolve. */
  readonly verdict: Promise<ProbeVerdict>;
  readonly #link: Link;
  readonly #clientCapabilities: object;
  #settle: (verdict: ProbeVerdict) => void = () => {};

  /** Over a link that has been started and on which nothing was said yet. */
  constructor(link: Link, clientCapabilities: object) {
    this.#link = link;
    this.#clientCapabilities = clientCapabilities;
    this.verdict = new Promise((resolve) => {
      this.#settle = resolve;
    });
    link.onmessage = (message) => void this.take(message);
    link.onclose = () => this.#settle({ era: 'ended' });
    this.#ask(PROBE_ID);
  }

  /** Whether the message was the answer to this question. */
  readonly take = (message: JSONRPCMessage): boolean => {
    if ('method' in message || (message.id !== PROBE_ID && message.id !== SECOND_ID)) return false;
    const isFirst = message.id === PROBE_ID;
    if (!('error' in message)) this.#settle(verdictOf(message.result));
    else if (isFirst && versionsOffered(message.error)?.includes(MODERN_VERSION)) this.#ask(SECOND_ID);
    else this.#settle(verdictOfError(message.error));
    return true;
  };

  /** The answer is not waited for any more. */
  abandon(): void {
    this.#link.abandon(PROBE_ID);
    this.#link.abandon(SECOND_ID);
  }

  #ask(id: number): void {
    const params = { _meta: envelopeOf(this.#clientCapabilities) };
    this.#link
      .send({ jsonrpc: '2.0', id, method: 'server/discover', params })
      .catch(() => this.#settle({ era: 'ended' }));
  }
}

function verdictOf(result: unknown): ProbeVerdict {
  if (!isObject(result)) return { era: 'legacy' };
  const versions = versionsIn(result['supportedVersions']);
  return versions?.includes(MODERN_VERSION) ? { era: 'modern', said: result } : withoutOurVersion(versions);
}

/** The verdict on a server that does not take our version; `versions` are those that the server names. */
function withoutOurVersion(versions: readonly string[] = []): ProbeVerdict {
  const isUnknown = versions.length > 0 && !versions.some((version) => WITH_INITIALIZE.has(version));
  return isUnknown ? { era: 'unknown', error: noCommonVersion(versions) } : { era: 'legacy' };
}

/** Versions of MCP are dates; undefined where there is no list. */
const versionsIn = (list: unknown): readonly string[] | undefined =>
  Array.isArray(list) ? list.filter((item) => typeof item === 'string' && VERSION.test(item)) : undefined;

const VERSION = /^\d{4}-\d{2}-\d{2}$/;

/** The versions that a server names as it refuses ours; undefined for any other error. */
function versionsOffered({ code, data }: RpcError): readonly string[] | undefined {
  const { supported } = isObject(data) ? data : ({} as JsonObject);
  return code === UNSUPPORTED_VERSION ? versionsIn(supported) : undefined;
}

/**
 * A failure of the link comes with the error as data. A server that names the versions it speaks is believed; whatever
 * else one says means that it does not know the question.
 */
function verdictOfError(error: RpcError): ProbeVerdict {
  const { code, message, data } = error;
  const isFinal = data instanceof BridgeError && Object(data.cause).saysNothingOfServer === true;
  if (isFinal) return { era: 'unknown', error: new ErrorAnswer(message, code, data) };
  return withoutOurVersion(versionsOffered(error));
}

const MAX_VERSIONS_CHARS = 200;

/** A server that goes on refusing a version that it names gets here as well. */
function noCommonVersion(versions: readonly string[]): BridgeError {
  const offered = clipHarmless(versions.join(', '), MAX_VERSIONS_CHARS);
  const message = versions.includes(MODERN_VERSION)
    ? `it refuses MCP ${MODERN_VERSION}, although it names it among its versions: ${offered}`
    : `it speaks MCP in versions that this bridge does not know: ${offered}`;
  return new BridgeError('E_SERVER_UNAVAILABLE', message, { fault: 'operator' });
}
