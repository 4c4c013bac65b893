// The login that is kept from an authorization server's answers.

import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/client';
import { clipHarmless } from '../../base/text/text.js';
import type { RemoteSpec } from '../../hosts/downstream-spec.js';
import type { LoginPlan } from './discovery.js';
import { loginError } from './oauth-fetch.js';
import type { Login } from './token-store.js';

/** Throws E_LOGIN for tokens of another type than Bearer. */
export function loginOf(
  spec: RemoteSpec,
  { issuer, metadata, resource }: LoginPlan,
  client: OAuthClientInformationMixed,
  tokens: OAuthTokens,
  asked: readonly string[],
): Login {
  if (tokens.token_type.toLowerCase() !== 'bearer') {
    throw loginError(
      `${issuer} gives tokens of type ${clipHarmless(tokens.token_type, 40)}; only Bearer is known.`,
    );
  }
  const { client_id, client_secret } = client;
  const method = 'token_endpoint_auth_method' in client ? client.token_endpoint_auth_method : undefined;
  return {
    name: spec.name,
    url: spec.url,
    ...(resource === undefined ? {} : { resource }),
    issuer,
    metadata: whatIsKeptOf(metadata),
    client: {
      client_id,
      ...(client_secret === undefined ? {} : { client_secret }),
      ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
    },
    ...tokenFields(tokens, asked),
  };
}

/** The login after a refresh. What the answer does not say of the new token is not taken from the old one. */
export function renewedLogin({ expiresAtMs: _ofTheOldToken, ...login }: Login, tokens: OAuthTokens): Login {
  return { ...login, ...tokenFields(tokens, login.scopes) };
}

/** The members of a login that a token answer says; `asked` holds where it does not say what was granted. */
function tokenFields(tokens: OAuthTokens, asked: readonly string[]) {
  const now = Date.now();
  // Some say 0 for a token without an end; one that has ended when it comes would be refreshed with each request.
  const seconds = tokens.expires_in !== undefined && tokens.expires_in > 0 ? tokens.expires_in : undefined;
  return {
    // RFC 6749, 5.1: without a scope it granted what was asked for.
    scopes: tokens.scope === undefined ? [...asked] : tokens.scope.split(' ').filter((scope) => scope !== ''),
    accessToken: tokens.access_token,
    ...(tokens.refresh_token === undefined ? {} : { refreshToken: tokens.refresh_token }),
    ...(seconds === undefined ? {} : { expiresAtMs: now + seconds * 1000 }),
    obtainedAtMs: now,
  };
}

function whatIsKeptOf(metadata: AuthorizationServerMetadata): Login['metadata'] {
  const { issuer, authorization_endpoint, token_endpoint, response_types_supported } = metadata;
  const { token_endpoint_auth_methods_supported: methods } = metadata;
  const revocation = Reflect.get(metadata, 'revocation_endpoint');
  return {
    issuer,
    authorization_endpoint,
    token_endpoint,
    response_types_supported,
    ...(methods === undefined ? {} : { token_endpoint_auth_methods_supported: methods }),
    ...(typeof revocation === 'string' ? { revocation_endpoint: revocation } : {}),
  };
}
