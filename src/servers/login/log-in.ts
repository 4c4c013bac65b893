// The authorization code flow with PKCE (OAuth 2.1), for one server and a person with a browser, from asking the server
// to keeping the tokens. The SDK makes the requests; what is asked, believed and kept is decided here.

import { randomBytes } from 'node:crypto';
import {
  exchangeAuthorization,
  type FetchLike,
  type OAuthClientInformationMixed,
  registerClient,
  selectClientAuthMethod,
  startAuthorization,
} from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../base/errors.js';
import type { Redactor } from '../../base/secrets/redact.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless } from '../../base/text/text.js';
import { PACKAGE_NAME } from '../../base/version.js';
import { Deadline } from '../../base/waiting/deadline.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import { type RemoteSpec, secretsOf } from '../../hosts/downstream-spec.js';
import type { ProxyFor } from '../remote/proxies.js';
import { discoverLogin, type LoginPlan } from './discovery.js';
import { loginOf, noLoginReason } from './logins.js';
import { loginError, oauthFetch, orLoginError } from './oauth-fetch.js';
import { openRedirectServer, type RedirectAnswer } from './redirect-server.js';
import { hideTokens, type Login, type TokenStore } from './token-store.js';

/** Time for a person to find a password, and no longer than an authorization server usually waits. */
export const LOGIN_TIMEOUT_MS = 5 * 60_000;

/** Logs in and keeps it. Throws E_ARGUMENTS, E_LOGIN, E_STATE, or E_CANCELLED when `signal` ends it. */
export async function logIn(
  spec: RemoteSpec,
  options: {
    readonly store: TokenStore;
    readonly redactor: Redactor;
    /** Asked for on top of what an earlier login was granted; empty: what the entry or the server says. */
    readonly scopes: readonly string[];
    /** The address of our client id metadata document, for authorization servers that take one. */
    readonly clientMetadataUrl: string | undefined;
    /**
     * The person is to open `url`. `paste` takes the address that a browser on another machine ended at, and gives the
     * reason where that is not the one.
     */
    readonly onUrl: (url: string, paste: (address: string) => string | undefined) => void;
    readonly timeoutMs?: number;
    /** How authorization servers are reached; without it, straight. */
    readonly proxyFor?: ProxyFor;
  },
  signal: AbortSignal,
): Promise<Login> {
  const reason = noLoginReason(spec);
  if (reason !== undefined) throw new BridgeError('E_ARGUMENTS', reason, { fault: 'operator' });
  const { redactor, store, clientMetadataUrl } = options;
  redactor.addAll(secretsOf(spec));
  const fetchFn = oauthFetch(spec.url, signal, options.proxyFor);
  const plan = await discoverLogin(spec, fetchFn);
  const scopes = scopesFor(spec, plan, options);
  const state = secret();
  const { clientId, callbackPort = 0 } = spec.oauth || {};
  await using redirect = await openRedirectServer({
    port: callbackPort,
    host: clientId === undefined ? '127.0.0.1' : 'localhost',
    state,
  });
  const redirectUrl = redirect.url;
  const question = { plan, redirectUrl, scopes, fetchFn, clientMetadataUrl, redactor };
  const client = await clientFor(spec, question);
  const { authorizationUrl, codeVerifier } = await orLoginError(
    startAuthorization(plan.issuer, {
      metadata: plan.metadata,
      clientInformation: client,
      redirectUrl,
      state,
      ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
      ...(plan.resource === undefined ? {} : { resource: plan.resource }),
    }),
    'The login cannot begin',
  );
  redactor.addAll({ 'code verifier': codeVerifier });
  options.onUrl(authorizationUrl.href, redirect.paste);
  const answer = await answerWithin(redirect.answer, options.timeoutMs ?? LOGIN_TIMEOUT_MS, signal);
  try {
    const authorizationCode = codeOf(answer.params, plan);
    const iss = answer.params.get('iss');
    redactor.addAll({ 'authorization code': authorizationCode });
    const tokens = await orLoginError(
      exchangeAuthorization(plan.issuer, {
        metadata: plan.metadata,
        clientInformation: client,
        authorizationCode,
        codeVerifier,
        ...(iss === null ? {} : { iss }),
        redirectUri: redirectUrl,
        fetchFn,
        ...(plan.resource === undefined ? {} : { resource: plan.resource }),
      }),
      `${plan.issuer} gave no tokens`,
    );
    const login = loginOf(spec, plan, client, tokens, scopes);
    hideTokens(redactor, login);
    // A bridge that is refreshing the earlier login at this moment would write it over this one.
    using _lock = await store.lock(spec.url, signal);
    store.write(login);
    answer.finish(true);
    return login;
  } catch (thrown) {
    answer.finish(false);
    throw thrown;
  }
}

function scopesFor(
  spec: RemoteSpec,
  plan: LoginPlan,
  { scopes, store }: Parameters<typeof logIn>[1],
): readonly string[] {
  const stored = store.read(spec.url);
  const granted = stored.state === 'kept' ? stored.login.scopes : [];
  const { scopes: written = [] } = spec.oauth || {};
  const asked = written.length > 0 ? written : plan.scopes;
  const wanted = scopes.length > 0 ? [...(granted.length > 0 ? granted : asked), ...scopes] : asked;
  // OpenID providers give a refresh token only to who asks for it by name.
  const offline = plan.metadata.scopes_supported?.includes('offline_access') && written.length === 0;
  return [...new Set(offline ? [...wanted, 'offline_access'] : wanted)];
}

async function answerWithin(
  answer: Promise<RedirectAnswer>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<RedirectAnswer> {
  using deadline = new Deadline(signal);
  deadline.start(timeoutMs);
  try {
    return await unlessAborted(answer, deadline.signal, { message: 'The login was cancelled.' });
  } catch (thrown) {
    if (deadline.cause !== 'timeout') throw thrown;
    throw loginError(`Nobody logged in within ${timeoutMs / 1000} s.`, thrown, 'Start it again.');
  }
}

function codeOf(params: URLSearchParams, { issuer, metadata }: LoginPlan): string {
  // RFC 9207: an answer of another authorization server, which would get our code from us.
  const iss = params.get('iss');
  const mustName = Reflect.get(metadata, 'authorization_response_iss_parameter_supported') === true;
  if (iss === null ? mustName : iss !== issuer) {
    throw loginError(`The answer does not come from ${issuer}, so it is not used.`);
  }
  const error = params.get('error');
  if (error !== null) {
    const description = params.get('error_description');
    const words = description === null ? error : `${error}: ${description}`;
    throw loginError(`${issuer} refused the login: ${clipHarmless(words, 300)}.`);
  }
  const code = params.get('code');
  if (code === null || code === '') throw loginError(`${issuer} answered without a code.`);
  return code;
}

const secret = (): string => randomBytes(32).toString('base64url');

/**
 * The client as which the bridge asks for a login: the entry's own, else our metadata document where the authorization
 * server takes one, else a client that is registered for this login.
 */
async function clientFor(
  { oauth, name }: RemoteSpec,
  {
    plan,
    redirectUrl,
    scopes,
    fetchFn,
    clientMetadataUrl,
    redactor,
  }: {
    readonly plan: LoginPlan;
    readonly redirectUrl: string;
    readonly scopes: readonly string[];
    readonly fetchFn: FetchLike;
    /** The address of our client id metadata document. */
    readonly clientMetadataUrl: string | undefined;
    readonly redactor: Redactor;
  },
): Promise<OAuthClientInformationMixed> {
  if (oauth && oauth.clientId !== undefined) {
    const { clientId, clientSecret } = oauth;
    return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
  }
  const takesDocuments = Reflect.get(plan.metadata, 'client_id_metadata_document_supported') === true;
  if (takesDocuments && clientMetadataUrl !== undefined) return { client_id: clientMetadataUrl };
  if (plan.metadata.registration_endpoint === undefined) {
    const document = takesDocuments ? ', or set MCP_BRIDGE_CLIENT_METADATA_URL' : '';
    throw loginError(
      `${plan.issuer} does not register clients by itself.`,
      undefined,
      `Register one there and write its id as \`oauth.clientId\` into the entry of '${shownName(name)}'${document}.`,
    );
  }
  // Anew for each login: the port is another, and a registration that the other side has dropped shows only as a page
  // that never comes back.
  const clientMetadata = {
    client_name: PACKAGE_NAME,
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  };
  const client = await orLoginError(
    registerClient(plan.issuer, {
      metadata: plan.metadata,
      clientMetadata,
      fetchFn,
      ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    }),
    `${plan.issuer} does not register the bridge as a client`,
  );
  if (client.client_secret !== undefined) redactor.addAll({ 'client secret': client.client_secret });
  return client;
}

// The end of a login: its tokens are revoked where the authorization server knows how (RFC 7009), and forgotten here
// whatever it answers.

/**
 * Logs out: `trouble` says why the tokens may still be good at the authorization server. Throws E_STATE where the login
 * cannot be forgotten.
 */
export async function logOut(
  url: string,
  {
    store,
    redactor,
    proxyFor,
  }: {
    readonly store: TokenStore;
    readonly redactor: Redactor;
    readonly proxyFor?: ProxyFor;
  },
  signal: AbortSignal,
): Promise<{ readonly wasLoggedIn: boolean; readonly trouble: string | undefined }> {
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
