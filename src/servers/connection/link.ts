// The connection to one server as connect, downstream and call-error see it: it carries messages, and knows why it ended
// and why it did not begin. They know no kind of it.

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';

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
  /** It is there, and only its user has to do something. */
  readonly waitsForUser?: boolean;
};

/** It is there and waits for its user, so it may be asked again at once. */
export class WaitsForUser extends BridgeError {}

/** The value of `ending` after `close()`: not the server's doing. */
export const CLOSED_BY_BRIDGE = 'was closed by the bridge';

/** A remedy that is a change of the server's entry, and where that is. */
export const atItsEntry = (remedy: string): string =>
  `${remedy}; \`${ownCommand('servers')}\` shows where it is configured.`;

// The error that a server answered a request with. What the SDK itself notices (a closed connection, an abort) is none.

export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
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
