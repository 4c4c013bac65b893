// Discovery of the login of a remote server: asks the server, follows its protected resource metadata (RFC 9728) to the
// authorization server (RFC 8414) and checks what both say. Sends no token and changes nothing anywhere.

import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type FetchLike,
  type OAuthProtectedResourceMetadata,
  resourceUrlFromServerUrl,
} from '@modelcontextprotocol/client';
import { OAuthMetadataSchema } from '@modelcontextprotocol/core';
import { BridgeError } from '../../base/errors.js';
import { isObject } from '../../base/json/records.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless, isHarmless } from '../../base/text/text.js';
import type { RemoteSpec } from '../../hosts/downstream-spec.js';
import { loginError, orLoginError, unsafeAddress } from './oauth-fetch.js';

/** Everything that a login needs to know ahead. */
export type LoginPlan = {
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata;
  /** As the server writes it (RFC 8707); undefined where it has no metadata of its own. */
  readonly resource: string | undefined;
  /** Scopes that the server asks for; empty where it does not say. */
  readonly scopes: readonly string[];
};

// Answered by every server, and by none before it has looked at the token; opens no session.
const PING = { jsonrpc: '2.0', id: 0, method: 'ping' };

/** Throws E_LOGIN where the server has no OAuth, cannot be reached, or says what a careful client does not follow. */
export async function discoverLogin(spec: RemoteSpec, fetchFn: FetchLike): Promise<LoginPlan> {
  const asked = await challengeOf(spec, fetchFn);
  const resource = await resourceMetadata(spec, asked.metadataUrl, fetchFn);
  if (resource === undefined && !asked.refused) {
    throw loginError(
      `Server '${shownName(spec.name)}' answers without a login and names no authorization server.`,
    );
  }
  const { authServerMetadataUrl } = spec.oauth || { authServerMetadataUrl: undefined };
  const metadata =
    authServerMetadataUrl === undefined
      ? await discoverServer(spec, resource?.authorization_servers?.[0], fetchFn)
      : await fetchMetadata(authServerMetadataUrl, fetchFn);
  for (const endpoint of [metadata.authorization_endpoint, metadata.token_endpoint]) {
    const unsafe = unsafeAddress(endpoint, spec.url);
    if (unsafe !== undefined) throw loginError(`${new URL(endpoint).origin} ${unsafe}.`);
  }
  checkUsable(metadata);
  const scopes = asked.scope === undefined ? (resource?.scopes_supported ?? []) : asked.scope.split(' ');
  return {
    issuer: metadata.issuer,
    metadata,
    resource: resource?.resource,
    scopes: scopes.filter((scope) => scope !== ''),
  };
}

/** The plan that a login without a person needs ahead: the entry names the authorization server, nobody else does. */
export async function discoverMachine(
  spec: RemoteSpec,
  issuer: string,
  fetchFn: FetchLike,
): Promise<LoginPlan> {
  const asked = await challengeOf(spec, fetchFn);
  const resource = await resourceMetadata(spec, asked.metadataUrl, fetchFn);
  const named = resource?.authorization_servers;
  if (
    named !== undefined &&
    named.length > 0 &&
    !named.some((one) => withoutSlash(one) === withoutSlash(issuer))
  ) {
    throw loginError(
      `Server '${shownName(spec.name)}' accepts tokens of ${clipHarmless(named.join(', '), 200)}, not of ${issuer}, which its entry names.`,
    );
  }
  const metadata = await discoverServer(spec, issuer, withoutPage(fetchFn));
  const unsafe = unsafeAddress(metadata.token_endpoint, spec.url);
  if (unsafe !== undefined) throw loginError(`${new URL(metadata.token_endpoint).origin} ${unsafe}.`);
  const scopes = asked.scope === undefined ? (resource?.scopes_supported ?? []) : asked.scope.split(' ');
  return { issuer, metadata, resource: resource?.resource, scopes: scopes.filter((scope) => scope !== '') };
}

/** Where the identity provider `issuer` gives tokens. Throws E_LOGIN. */
export async function discoverTokenEndpoint(issuer: string, fetchFn: FetchLike): Promise<string> {
  const metadata = await orLoginError(
    discoverAuthorizationServerMetadata(issuer, { fetchFn: withoutPage(fetchFn) }),
    `The identity provider at ${new URL(issuer).origin} cannot be used`,
  );
  if (metadata !== undefined) return metadata.token_endpoint;
  throw loginError(`No identity provider can be found at ${new URL(issuer).origin}.`);
}

/** An authorization server for machines alone has no page to log in at, which the SDK would miss. */
function withoutPage(fetchFn: FetchLike): FetchLike {
  return async (input, init) => {
    const response = await fetchFn(input, init);
    if (!response.ok) return response;
    const said: unknown = await response
      .clone()
      .json()
      .catch(() => undefined);
    if (!isObject(said) || typeof said['token_endpoint'] !== 'string') return response;
    const filled = { authorization_endpoint: said['token_endpoint'], response_types_supported: [], ...said };
    return Response.json(filled, { status: response.status });
  };
}

/** Throws E_LOGIN for an authorization server that MCP tells clients to keep away from. */
function checkUsable({
  issuer,
  code_challenge_methods_supported: methods,
}: AuthorizationServerMetadata): void {
  // The issuer's name stands in messages to the terminal, in the server's own characters.
  if (!isHarmless(issuer)) {
    throw loginError(
      `The authorization server calls itself ${clipHarmless(issuer, 200)}, which is not a usable name.`,
    );
  }
  // MCP, authorization: one that says nothing of PKCE has none, "and MCP clients MUST refuse to proceed".
  if (methods?.includes('S256') !== true) {
    const named = methods === undefined ? 'does not say that it knows PKCE' : 'does not know PKCE with S256';
    throw loginError(
      `The authorization server ${issuer} ${named}, so anybody who sees a login code could use it.`,
      undefined,
      'Ask its operator to list S256 in the `code_challenge_methods_supported` of its metadata.',
    );
  }
}

async function challengeOf(
  spec: RemoteSpec,
  fetchFn: FetchLike,
): Promise<{
  readonly refused: boolean;
  readonly metadataUrl: URL | undefined;
  readonly scope: string | undefined;
}> {
  const accept = { ...spec.headers, accept: 'application/json, text/event-stream' };
  const response = await fetchFn(
    spec.url,
    spec.transport === 'sse'
      ? { headers: accept }
      : {
          method: 'POST',
          headers: { ...accept, 'content-type': 'application/json' },
          body: JSON.stringify(PING),
        },
  );
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
  return { refused: response.status === 401, metadataUrl: resourceMetadataUrl, scope };
}

async function resourceMetadata(
  { name, url }: RemoteSpec,
  resourceMetadataUrl: URL | undefined,
  fetchFn: FetchLike,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  const at = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
  let metadata: OAuthProtectedResourceMetadata;
  try {
    metadata = await discoverOAuthProtectedResourceMetadata(url, at, fetchFn);
  } catch (thrown) {
    if (thrown instanceof BridgeError) throw thrown;
    // Servers of before it exists have none; then the server's own origin is the authorization server.
    return undefined;
  }
  const requestedResource = resourceUrlFromServerUrl(url);
  const isOwn = withoutSlash(metadata.resource) === withoutSlash(requestedResource.href);
  if (!isOwn && !checkResourceAllowed({ requestedResource, configuredResource: metadata.resource })) {
    const claimed = clipHarmless(metadata.resource, 200);
    throw loginError(
      `Server '${shownName(name)}' says that it is ${claimed}: its login would be for another server.`,
    );
  }
  return metadata;
}

async function discoverServer(
  { name, url }: RemoteSpec,
  advertised: string | undefined,
  fetchFn: FetchLike,
): Promise<AuthorizationServerMetadata> {
  const issuer = advertised ?? new URL(url).origin;
  const { origin } = new URL(issuer);
  const metadata = await orLoginError(
    // Compared below, with words for whoever has to mend it.
    discoverAuthorizationServerMetadata(issuer, { fetchFn, skipIssuerValidation: true }),
    `The authorization server at ${origin} cannot be used`,
  );
  if (metadata === undefined) {
    throw loginError(
      `Server '${shownName(name)}' wants a login, but no authorization server can be found at ${origin}.`,
      undefined,
      'If it wants a key, write it into the `headers` of its entry.',
    );
  }
  // RFC 8414, 3.3: one that calls itself otherwise may stand in for another.
  if (withoutSlash(metadata.issuer) !== withoutSlash(issuer)) {
    throw loginError(
      `The authorization server ${clipHarmless(issuer, 200)} calls itself ${clipHarmless(metadata.issuer, 200)}.`,
      undefined,
      'If you trust it, name its metadata as `oauth.authServerMetadataUrl` in the entry.',
    );
  }
  return metadata;
}

async function fetchMetadata(url: string, fetchFn: FetchLike): Promise<AuthorizationServerMetadata> {
  const response = await fetchFn(url, { headers: { accept: 'application/json' } });
  const parsed = OAuthMetadataSchema.safeParse(await response.json().catch(() => undefined));
  if (parsed.success) return parsed.data;
  throw loginError(`${url}, which the entry names, is not the metadata of an authorization server.`);
}

const withoutSlash = (url: string): string => url.replace(/\/$/, '');
