// Failures on the way to a remote server, each as one clause that stands after "could not be reached:" as well as alone. A
// clause never holds a header's value, nor more of the address than scheme, host and port: services put keys into paths.

import { STATUS_CODES } from 'node:http';
import { BridgeError, type ErrorCode, messageOf } from '../../base/errors.js';
import type { RpcError } from '../../wire/envelope.js';
import { atItsEntry } from '../connection/link.js';
import { NeverSent } from './http-client.js';
import { ProxyRefusal } from './proxies.js';

export class RemoteFailure extends Error {
  /** Why the message was certainly not acted upon: its session is over, or nobody could be reached. */
  readonly untaken: 'session' | 'unreachable' | undefined;
  readonly #options;

  /** `reason` is a clause without its full stop. */
  constructor(
    readonly reason: string,
    options: {
      /** A whole sentence. */
      readonly remedy: string;
      readonly fault: BridgeError['fault'];
      readonly code?: ErrorCode;
      readonly untaken?: RemoteFailure['untaken'];
      /** Words of a failed tool call: what follows the reason, and the remedy to use in place of the usual one. */
      readonly ofCall?: { readonly consequence: string; readonly remedy: string };
      readonly cause?: unknown;
    },
  ) {
    super(reason, { cause: options.cause });
    this.untaken = options.untaken;
    this.#options = options;
  }

  /** Nobody was reached, or nobody who may ask: the server itself has not been heard. */
  get saysNothingOfServer(): boolean {
    return this.untaken === 'unreachable';
  }

  get remedy(): string {
    return this.#options.remedy;
  }

  toBridgeError(): BridgeError {
    const { code = 'E_SERVER_UNAVAILABLE', fault, ofCall } = this.#options;
    const { consequence, remedy } = ofCall ?? { consequence: '', remedy: this.remedy };
    const sentence = `${this.reason.charAt(0).toUpperCase()}${this.reason.slice(1)}${consequence}.`;
    return new BridgeError(code, sentence, { fault, remedy, cause: this });
  }
}

/** A status that is no success. `said` is what the body holds that a person may read. */
export class RefusedStatus extends RemoteFailure {
  constructor(
    readonly status: number,
    readonly said: string,
    options: ConstructorParameters<typeof RemoteFailure>[1],
    /** The JSON-RPC error in the body, where there is one: in the modern era errors of the protocol have a status as well. */
    readonly rpcError: RpcError | undefined = undefined,
    reason = `it answered with status ${status}${quotation(status, said)}`,
  ) {
    super(reason, options);
  }
}

function quotation(status: number, said: string): string {
  if (said !== '') return `: ${said}`;
  const phrase = STATUS_CODES[status];
  return phrase === undefined ? '' : ` (${phrase})`;
}

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_UNTRUSTED',
]);
const WRONG_CERTIFICATE = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID']);

/** The failure for what Node threw for a request to `url`. */
export function fromNode(url: URL, thrown: unknown): RemoteFailure {
  if (thrown instanceof RemoteFailure) return thrown;
  if (thrown instanceof NeverSent) return neverSent(url, thrown.cause);
  const code = codeOf(thrown);
  if (code === 'ERR_INVALID_CHAR' || code === 'ERR_INVALID_HTTP_TOKEN') {
    const reason = 'one of its headers holds characters that no header may hold';
    return new RemoteFailure(reason, { fault: 'operator', remedy: atItsEntry('Correct its `headers`') });
  }
  return brokenConnection(thrown);
}

/** The connection ended between the request and the end of its answer. */
export function brokenConnection(cause?: unknown): RemoteFailure {
  return new RemoteFailure('the connection broke before the answer was there', {
    fault: 'downstream',
    remedy: atItsEntry('Check that it runs, and its `url`'),
    ofCall: {
      consequence: ', so it may or may not have been carried out',
      remedy: 'Look at what it has done before you repeat it.',
    },
    cause,
  });
}

function neverSent(url: URL, cause: unknown): RemoteFailure {
  if (cause instanceof ProxyRefusal) {
    return new RemoteFailure(`the proxy ${cause.proxy} ${cause.why}`, {
      fault: 'operator',
      remedy: `Correct the variable that names the proxy (${url.protocol.slice(0, -1)}_proxy), or add ${url.hostname} to no_proxy.`,
      untaken: 'unreachable',
      cause,
    });
  }
  const code = codeOf(cause);
  const because = (reason: string, remedy: string) =>
    new RemoteFailure(reason, {
      fault: 'operator',
      remedy: atItsEntry(remedy),
      untaken: 'unreachable',
      cause,
    });
  if (code === 'ECONNREFUSED') {
    return because(`nothing listens at ${url.origin}`, 'Start the server, or correct its `url`');
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return because(`its host name ${url.hostname} was not found`, 'Check the network, or correct its `url`');
  }
  if (UNTRUSTED.has(code)) {
    const reason = `the TLS certificate of ${url.origin} is not signed by an authority that is trusted here (${code})`;
    return because(reason, "Set NODE_EXTRA_CA_CERTS to the file of its authority's certificate");
  }
  if (WRONG_CERTIFICATE.has(code)) {
    return because(`the TLS certificate of ${url.origin} is not valid (${code})`, 'Have it renewed');
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) {
    return because(`${url.origin} does not speak TLS as it should (${code})`, 'Correct its `url`');
  }
  const why = code || messageOf(cause);
  return because(`no connection to ${url.origin} (${why})`, 'Check the network, or correct its `url`');
}

// An address with several numbers (localhost) gives one error for each; they have the same code.
function codeOf(thrown: unknown): string {
  const { code } = Object(thrown) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** An answer that is none: the request was taken, and what it has done is not known. */
export function oddAnswer(reason: string): RemoteFailure {
  return new RemoteFailure(reason, {
    fault: 'downstream',
    code: 'E_TOOL_FAILED',
    remedy: atItsEntry('Check that its `url` is that of an MCP server'),
  });
}

/** The specification says 404; others say 400 or another status, or success, and speak of the session. */
export function isSessionOver(thrown: unknown): boolean {
  if (!(thrown instanceof RefusedStatus)) return false;
  return thrown.status === 404 || saysSessionIsOver(thrown.said);
}

/** Whether an error of the protocol says that the session which the request names does not exist. */
export const saysSessionIsOver = (said: string): boolean =>
  /\bsession\b/i.test(said) &&
  /not found|no such|no valid|not valid|invalid|unknown|expired|unrecogni[sz]ed|does(?: not|n't) exist|terminated|closed|missing|not (?:been )?initiali[sz]ed|\bbad\b/i.test(
    said,
  );

/** The message was not taken: it belongs to a session that the server does not have. */
export function sessionOver(cause?: unknown): RemoteFailure {
  const remedy = 'Try again.';
  return new RemoteFailure('its session is over', { fault: 'downstream', remedy, untaken: 'session', cause });
}
