// A real authorization server (oidc-provider) on loopback, with what hosts need of one: registration by whoever comes, PKCE,
// resource indicators, refresh tokens, and access tokens that are JWTs for the resource they were asked for.

import { once } from 'node:events';
import { createServer } from 'node:http';

export const SCOPE = 'mcp:use';
const SECONDS = 3_600;
const KINDS = ['Grant', 'IdToken', 'Interaction', 'RefreshToken', 'Session'];

// Its look at addresses of client documents is written for a newer Node.
URL.parse ??= (url, base) => (URL.canParse(url, base) ? new URL(url, base) : null);

const configurationOf = (authorization, more) => ({
  // Without offline_access, which it takes only with prompt=consent: a refresh token comes with every login.
  scopes: ['openid', SCOPE],
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context, resource) => ({
        scope: SCOPE,
        audience: resource,
        accessTokenFormat: 'jwt',
      }),
      useGrantedResource: () => true,
    },
  },
  pkce: { required: () => true },
  issueRefreshToken: () => true,
  cookies: { keys: ['trial'] },
  ttl: {
    ...Object.fromEntries(KINDS.map((kind) => [kind, SECONDS])),
    AccessToken: ({ oidc }) =>
      oidc.params.grant_type === 'authorization_code' ? authorization.firstSeconds : SECONDS,
  },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  ...more,
});

/**
 * { issuer, requests, firstSeconds, close }: `requests` are such as `POST /token 200` and `granted refresh_token`, in their order;
 * `firstSeconds` is how long the access token of a login holds. `more` are settings of oidc-provider in place of these.
 */
export async function serveAuthorization(/** @type {object} */ more = {}) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  const requests = [];
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  const authorization = { issuer, requests, firstSeconds: SECONDS, close };
  const answer = (await provider(authorization, more)).callback();
  server.on('request', (request, response) => {
    const { pathname } = new URL(request.url, issuer);
    response.once('close', () => requests.push(`${request.method} ${pathname} ${response.statusCode}`));
    void answer(request, response);
  });
  return authorization;
}

/** It warns that this is no set-up for production, and of the version of Node. */
async function provider(authorization, more) {
  const { warn } = console;
  console.warn = () => {};
  try {
    const { default: Provider } = await import('oidc-provider');
    const made = new Provider(
      authorization.issuer,
      /** @type {any} */ (configurationOf(authorization, more)),
    );
    const grantType = ({ oidc }) => oidc.params.grant_type;
    made.on('grant.success', (context) => authorization.requests.push(`granted ${grantType(context)}`));
    made.on('grant.error', (context, { error_detail: why, message }) =>
      authorization.requests.push(`refused ${grantType(context)}: ${why ?? message}`),
    );
    return made;
  } finally {
    console.warn = warn;
  }
}
