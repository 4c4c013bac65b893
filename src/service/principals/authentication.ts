// Facts of an HTTP request before anything of the request is believed, and what becomes of the question who sent it.

import type { Principal } from '../../base/principal.js';

/** Facts about one request, as its listener knows them. None of them comes out of the body. */
export type AuthenticationFacts = {
  /**
   * Every `Authorization` header of the request: `headersDistinct.authorization` of node:http. Its `headers` keeps the first
   * of several and hides the others, and a request with two of them is refused.
   */
  readonly authorization: readonly string[] | string | undefined;
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly target: string;
  /** Address of the client; behind a trusted proxy the address that the proxy names. Undefined on a unix socket. */
  readonly remoteAddress: string | undefined;
  /** Whether the request came over a unix socket with mode 0600, which only the user of the bridge can open. */
  readonly isPrivateSocket: boolean;
  /** Whether the request came over TLS: this process's own, or that of a trusted proxy which says so. */
  readonly isSecure: boolean;
  /**
   * Whether the request has a `Forwarded` or `X-Forwarded-*` header, so that somebody else stands behind whoever opened the
   * connection. On a private socket such a request needs a credential.
   */
  readonly isForwarded?: boolean;
};

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
