// The answer to a request whose parameters cannot be taken.

/** JSON-RPC 2.0, section 5.1. */
const INVALID_PARAMS = -32_602;

/**
 * Thrown by a handler of requests: the SDK answers with its code and message. The SDK's own error writes its code ahead of the
 * message, and a client made with the SDK does so again.
 */
export class WrongParams extends Error {
  readonly code = INVALID_PARAMS;
}
