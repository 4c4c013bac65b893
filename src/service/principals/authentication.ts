// Facts of an HTTP request before anything of the request is believed, and what becomes of the question who sent it.

import type { Principal } from '../../base/principal.js';
import type { RequestFacts } from '../http/parts.js';

/**
 * Facts about one request, as its listener knows them; none of them comes out of the body. One that came by a private socket and
 * is forwarded needs a credential: somebody else stands behind whoever opened the connection.
 */
export type AuthenticationFacts = Pick<
  RequestFacts,
  'authorization' | 'method' | 'target' | 'remoteAddress' | 'isPrivateSocket' | 'isSecure'
> &
  Partial<Pick<RequestFacts, 'isForwarded'>>;

/** An answer in place of the one that was asked for: status, headers in lower case, and what its JSON says. */
export type AuthenticationRefusal = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** As OAuth has them; the second is a sentence for whoever has sent the request. */
  readonly body: { readonly error: string; readonly error_description: string };
};

/** An access token that its issuer has made for us, kept for servers that the operator lets have it. */
export type CallerToken = {
  /** The token itself. It is never logged, and is handed on only where the principals file says so. */
  readonly text: string;
  readonly issuer: string;
  /** The token's `aud`, as a list. */
  readonly audiences: readonly string[];
  /** In ms since 1970. */
  readonly expiresAtMs: number;
};

/** Who sent a request, or the answer that sends it away. */
export type Authentication =
  | {
      readonly principal: Principal;
      /** The principal's own access token; undefined for named tokens and for the local user. */
      readonly callerToken?: CallerToken;
    }
  /** `principalId` is whose credential it was, where that is known. */
  | { readonly refusal: AuthenticationRefusal; readonly principalId?: string | undefined };
