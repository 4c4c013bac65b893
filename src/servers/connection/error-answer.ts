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
