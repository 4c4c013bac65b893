// The answers that send a request away because of who sent it: RFC 6750 with what MCP adds (`resource_metadata`, `scope`).
// The answers reach strangers, so they name no path of this machine, and nobody but the one who asked.

import { PACKAGE_NAME } from '../../base/version.js';
import type { AuthenticationRefusal } from './authentication.js';

/** Facts in every challenge of this bridge. */
export type ChallengeFacts = {
  /** Address of the metadata of this resource (RFC 9728); undefined where no issuer is configured. */
  readonly metadataUrl: string | undefined;
  /** Every access token must have these. */
  readonly scopes: readonly string[];
};

const CREATE_COMMAND = `${PACKAGE_NAME} token create NAME --servers a,b`;

/** 401: nothing was sent that says who it is. */
export function missingRefusal(facts: ChallengeFacts): AuthenticationRefusal {
  const login =
    facts.metadataUrl === undefined
      ? ''
      : "log in by OAuth, at the issuer that resource_metadata of this answer's WWW-Authenticate leads to, or ";
  return unauthorizedRefusal(
    facts,
    undefined,
    `A credential is needed: ${login}send \`Authorization: Bearer TOKEN\`. Whoever runs this bridge makes one with \`${CREATE_COMMAND}\`.`,
  );
}

/** 401: what was sent lets nobody in; `description` is a sentence that says why. */
export const invalidRefusal = (facts: ChallengeFacts, description: string): AuthenticationRefusal =>
  unauthorizedRefusal(facts, 'invalid_token', description);

/** 403: the token is good, but was not granted all of `scopes`, which a new one has to have. */
export function insufficientRefusal(
  facts: ChallengeFacts,
  scopes: readonly string[],
  description: string,
): AuthenticationRefusal {
  const parts = { error: 'insufficient_scope', scope: scopes.join(' '), ...metadataOf(facts) };
  return answer(
    403,
    'insufficient_scope',
    description,
    challenge({ ...parts, error_description: description }),
  );
}

/** 400: the request cannot be read as one with a credential. */
export const badRequest = (description: string): AuthenticationRefusal =>
  answer(400, 'invalid_request', description);

/** 403: a credential was sent where others could read it. */
export const insecureRefusal = (): AuthenticationRefusal =>
  answer(
    403,
    'insecure_transport',
    'The credential came unencrypted over a network, where others can read it: use https, then revoke it and make another.',
  );

/** 503: nobody can tell now whether the credential is good. */
export const unavailableRefusal = (description: string, retryAfterSeconds: number): AuthenticationRefusal =>
  answer(503, 'temporarily_unavailable', description, undefined, { 'retry-after': `${retryAfterSeconds}` });

function unauthorizedRefusal(
  facts: ChallengeFacts,
  error: string | undefined,
  description: string,
): AuthenticationRefusal {
  const scope = facts.scopes.length === 0 ? {} : { scope: facts.scopes.join(' ') };
  const failure = error === undefined ? {} : { error, error_description: description };
  const parts = { realm: PACKAGE_NAME, ...failure, ...scope, ...metadataOf(facts) };
  return answer(401, error ?? 'invalid_token', description, challenge(parts));
}

const metadataOf = ({ metadataUrl }: ChallengeFacts) =>
  metadataUrl === undefined ? {} : { resource_metadata: metadataUrl };

function answer(
  status: number,
  error: string,
  description: string,
  authenticate?: string,
  more: Readonly<Record<string, string>> = {},
): AuthenticationRefusal {
  return {
    status,
    headers: {
      'cache-control': 'no-store',
      ...(authenticate === undefined ? {} : { 'www-authenticate': authenticate }),
      ...more,
    },
    body: { error, error_description: description },
  };
}

/** Values are quoted strings of ASCII; what a header or RFC 6750 does not allow in one becomes another character. */
const challenge = (parts: Readonly<Record<string, string>>): string =>
  `Bearer ${Object.entries(parts)
    .map(([name, value]) => `${name}="${value.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?')}"`)
    .join(', ')}`;
