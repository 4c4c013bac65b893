// The end of a login: its tokens are revoked where the authorization server knows how (RFC 7009), and forgotten here
// whatever it answers.

import { selectClientAuthMethod } from '@modelcontextprotocol/client';
import { messageOf } from '../../base/errors.js';
import type { Redactor } from '../../base/secrets/redact.js';
import type { ProxyFor } from '../remote/proxies.js';
import { oauthFetch } from './oauth-fetch.js';
import { hideTokens } from './secrets.js';
import type { Login, TokenStore } from './token-store.js';

/** `trouble` says why the tokens may still be good at the authorization server. */
type LoggedOut = { readonly wasLoggedIn: boolean; readonly trouble: string | undefined };

type LogOutOptions = {
  readonly store: TokenStore;
  readonly redactor: Redactor;
  readonly proxyFor?: ProxyFor;
};

/** Throws E_STATE where it cannot be forgotten. */
export async function logOut(
  url: string,
  { store, redactor, proxyFor }: LogOutOptions,
  signal: AbortSignal,
): Promise<LoggedOut> {
  using _lock = await store.lock(url, signal);
  const stored = store.read(url);
  let trouble: string | undefined;
  if (stored.state === 'kept') {
    hideTokens(redactor, stored.login);
    trouble = await revoke(stored.login, signal, proxyFor);
  }
  store.forget(url);
  return { wasLoggedIn: stored.state !== 'absent', trouble };
}

/** With the refresh token its access tokens go too, or end by themselves soon. */
async function revoke(
  login: Login,
  signal: AbortSignal,
  proxyFor: ProxyFor | undefined,
): Promise<string | undefined> {
  const { revocation_endpoint: endpoint } = login.metadata;
  if (endpoint === undefined) return `${login.issuer} has no way to revoke tokens`;
  const body = new URLSearchParams({
    token: login.refreshToken ?? login.accessToken,
    token_type_hint: login.refreshToken === undefined ? 'access_token' : 'refresh_token',
  });
  const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' });
  identify(login, headers, body);
  try {
    const response = await oauthFetch(
      login.url,
      signal,
      proxyFor,
    )(endpoint, { method: 'POST', headers, body });
    return response.ok ? undefined : `${login.issuer} answered the revocation with HTTP ${response.status}`;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** RFC 6749, 2.3.1: as the token endpoint wants it. */
function identify({ client, metadata }: Login, headers: Headers, body: URLSearchParams): void {
  const { client_id: id, client_secret: secret } = client;
  const method = selectClientAuthMethod(client, metadata.token_endpoint_auth_methods_supported ?? []);
  if (method === 'client_secret_basic' && secret !== undefined) {
    const pair = `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
    return;
  }
  body.set('client_id', id);
  if (method === 'client_secret_post' && secret !== undefined) body.set('client_secret', secret);
}
