// The user's login at a remote server, as the connection to that server knows it. Given from above: the connection neither
// keeps tokens nor asks a person.

import type { RemoteSpec } from '../../hosts/downstream-spec.js';
import type { RemoteFailure } from './remote-failure.js';

export interface ServerLogin {
  /**
   * For the server's own origin only; undefined where nobody has logged in, since the server may do without. Throws
   * RemoteFailure where it has ended, and where a refresh is due and its issuer cannot be reached.
   */
  token(signal: AbortSignal): Promise<string | undefined>;
  /** The server answered 401 to a request with `refused`; afterwards `token` gives another one. Throws as it does. */
  renew(refused: string | undefined, signal: AbortSignal): Promise<void>;
  /** The failure for a 401 to a renewed token, or for a 403; undefined for a 403 that no login would fix. */
  refused(challenge: Challenge): RemoteFailure | undefined;
}

export type Challenge = {
  readonly status: number;
  /** The value of `WWW-Authenticate`. */
  readonly challenge: string | undefined;
};

/** Undefined for a server that takes no login of ours, as its entry says. */
export type LoginFor = (spec: RemoteSpec) => Promise<ServerLogin | undefined>;
