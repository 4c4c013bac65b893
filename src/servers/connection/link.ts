// The connection to one server as connect and downstream see it: it carries messages, and knows why it ended
// and why it did not begin. They know no kind of it. Errors of what was asked over it are put into words here as well.

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../base/errors.js';
import { isObject } from '../../base/json/records.js';
import { ownCommand } from '../../base/process/own-command.js';
import type { Redact } from '../../base/secrets/redact.js';
import { clipHarmless, webAddress } from '../../base/text/text.js';
import type { EndCause } from '../../base/waiting/deadline.js';

export interface Link {
  /** Runs once, when the connection is over. */
  onclose: (() => void) | undefined;
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  /**
   * Runs once in a while when the server says more unasked than is heard: how many of its messages were left out since; 0 where
   * it only has to wait until more is read.
   */
  onflood?: ((leftOut: number) => void) | undefined;
  /** Makes ready for the first message; rejects where that cannot be. */
  start(): Promise<void>;
  /**
   * Rejects where the message cannot be sent; a request may also be answered with the failure. `headers` are further ones
   * for a request of the modern era, by their names in lower case; a link without headers ignores them.
   */
  send(message: JSONRPCMessage, headers?: Readonly<Record<string, string>>): Promise<void>;
  /** Drops the answer to this request, should it still come; the server is not told. */
  abandon(id: RequestId): void;
  /** Why the connection is over, as the end of a sentence about the server; undefined while it lasts. */
  readonly ending: string | undefined;
  /** How many lines it has written that are no messages; undefined where it has no such place. */
  readonly noiseLines?: number;
  /** The server's last text outside the protocol; empty when it was silent. */
  readonly lastWords: string;
  /** Why the server is not ready, from what was thrown or from the time limit in ms that has passed. */
  explain(thrown: unknown, timedOutMs: number | undefined): Promise<Problem>;
  /** Resolves when nothing of the connection is left: its processes are gone, its sockets closed. */
  close(): Promise<void>;
}

export type Problem = {
  readonly what: 'could not be started' | 'could not be reached';
  /** The rest of the sentence, without its full stop. */
  readonly reason: string;
  /** A whole sentence. */
  readonly remedy: string;
  /** Whether the server is there, and only its user has to do something. */
  readonly waitsForUser?: boolean;
};

/** The error of a server that is there and waits for its user, so that the server may be asked again at once. */
export class WaitsForUser extends BridgeError {}

/** The value of `ending` after `close()`: not the server's doing. */
export const CLOSED_BY_BRIDGE = 'was closed by the bridge';

/** A remedy that is a change of the server's entry, and where that is. */
export const atItsEntry = (remedy: string): string =>
  `${remedy}; \`${ownCommand('servers')}\` shows where it is configured.`;

// The error that a server answered a request with. What the SDK itself notices (a closed connection, an abort) is none.

export const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
/** Code of revision 2026-07-28: the server does not speak the protocol version of the request. */
export const UNSUPPORTED_VERSION = -32022;

export class ErrorAnswer extends Error {
  constructor(
    message: string,
    /** As in JSON-RPC. */
    readonly code: number,
    readonly data: unknown,
  ) {
    super(message);
  }
}

// Why a call has no result, told apart and put into words.

/** A server's own message is data, and may be long. */
const MAX_MESSAGE_CHARS = 4_000;
const MAX_LAST_WORDS_CHARS = 1_500;
/** Most addresses that one error names. */
const MAX_ADDRESSES = 3;

/** Codes of a call that has no result. */
export type FailureCode = 'E_TOOL_FAILED' | 'E_RESOURCE_FAILED' | 'E_PROMPT_FAILED';

/** `what` names what was asked for and its server, as the beginning of a sentence. */
export function callError(
  what: string,
  thrown: unknown,
  {
    failure,
    cause,
    limitMs,
    transport,
    redact,
    noiseLines,
  }: {
    readonly failure: FailureCode;
    /** The cause that ended the call's deadline; undefined when nothing did. */
    readonly cause: EndCause | undefined;
    readonly limitMs: number;
    readonly transport: Link;
    readonly redact: Redact;
    /** Lines that are no messages and came while the answer was waited for. */
    readonly noiseLines: number;
  },
): BridgeError {
  if (cause === 'timeout') {
    const late = `${what} did not answer within ${limitMs / 1000} s.`;
    return new BridgeError(failure, `${late}${insteadSentence(noiseLines, transport)}`, {
      fault: 'downstream',
      remedy: 'Ask it for less at a time, or try again.',
    });
  }
  if (cause !== undefined) {
    return new BridgeError('E_CANCELLED', `${what} was cancelled.`, { fault: 'agent' });
  }
  if (thrown instanceof BridgeError) return thrown;
  if (transport.ending !== undefined || !(thrown instanceof ErrorAnswer)) {
    const reason = transport.ending ?? `cannot be reached: ${messageOf(thrown)}`;
    return new BridgeError(
      'E_SERVER_UNAVAILABLE',
      `${what} is gone: the server ${reason}.${lastWordsOf(transport)}`,
      {
        fault: 'downstream',
        remedy: 'It is restarted on the next call.',
        cause: thrown,
      },
    );
  }
  // The transport's own refusals come with the error as data.
  if (thrown.data instanceof BridgeError) {
    const { code, message, remedy, fault } = thrown.data;
    return new BridgeError(code, `${what} failed. ${redact(message)}`, {
      fault,
      ...(remedy === undefined ? {} : { remedy }),
    });
  }
  const said = clipHarmless(redact(beginning(thrown.message)), MAX_MESSAGE_CHARS);
  const fault = thrown.code === INVALID_PARAMS ? 'guest' : 'downstream';
  if (said === '')
    return new BridgeError(failure, `${what} failed without a reason.`, { fault, cause: thrown });
  const [address, ...more] = addressesOf(thrown.data);
  if (address !== undefined) {
    const remedy = `The user has to open ${[address, ...more].join(' and ')} first.`;
    return new BridgeError(failure, asSentence(said), { fault, remedy, cause: thrown });
  }
  // The guest says whose words they are where it was a tool.
  const words = failure === 'E_TOOL_FAILED' ? said : `${what}: ${asSentence(said)}`;
  return new BridgeError(failure, words, { fault, cause: thrown });
}

/** The addresses of the error UrlElicitationRequired (-32042), for whoever may open them. */
function addressesOf(errorData: unknown): readonly string[] {
  const questions = isObject(errorData) ? errorData['elicitations'] : undefined;
  if (!Array.isArray(questions)) return [];
  return questions
    .slice(0, MAX_ADDRESSES)
    .map((question) => webAddress(Object(question).url))
    .filter((url) => url !== undefined);
}

/** A sentence about what `who` wrote in place of an answer that never came; empty where nothing was written. */
export function insteadSentence(noiseLines: number, transport: Pick<Link, 'lastWords'>, who = 'it'): string {
  if (noiseLines === 0) return '';
  const wrote =
    noiseLines === 1
      ? '1 line to its stdout that is not an MCP message'
      : `${noiseLines} lines to its stdout that are not MCP messages`;
  return ` Instead ${who} wrote ${wrote}.${lastWordsOf(transport)}`;
}

/** Makes a sentence of words, so that another one may follow. */
const asSentence = (words: string): string => (/[.!?…]\s*$/.test(words) ? words : `${words}.`);

/** More than is shown, so that no secret is cut in two before it is known for one, and less than a server may send. */
const beginning = (message: string): string => withoutPrefix(message.slice(0, 4 * MAX_MESSAGE_CHARS));

/** The server's last words as a quotation, to be put after a sentence; empty when it said nothing. */
export function lastWordsOf({ lastWords }: Pick<Link, 'lastWords'>): string {
  if (lastWords === '') return '';
  // How it ended stands at the end.
  const end =
    lastWords.length > MAX_LAST_WORDS_CHARS
      ? `…${lastWords.slice(-MAX_LAST_WORDS_CHARS).toWellFormed()}`
      : lastWords;
  return ` Its last words:\n${end.replace(/^/gm, '> ')}\n`;
}

/** Servers of the SDK's first line put `MCP error <code>: ` ahead of a message; the code says nothing to the reader. */
export function withoutPrefix(message: string): string {
  return message.replace(/^(?:MCP error -?\d+: )+/, '');
}
