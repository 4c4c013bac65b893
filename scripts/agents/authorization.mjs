// A real authorization server (oidc-provider) on loopback, with what hosts need of one: registration by whoever comes, PKCE,
// resource indicators, refresh tokens, and access tokens that are JWTs for the resource they were asked for.

import { once } from 'node:events';
import { createServer } from 'node:http';

export const SCOPE = 'mcp:use';
const SECONDS = 3_600;
const KINDS = ['AccessToken', 'Grant', 'IdToken', 'Interaction', 'RefreshToken', 'Session'];

// Its look at addresses of client documents is written for a newer Node.
if (!('parse' in URL)) URL.parse = (url, base) => (URL.canParse(url, base) ? new URL(url, base) : null);

const configuration = {
  scopes: ['openid', 'offline_access', SCOPE],
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context, resource) => ({
        scope: SCOPE,
        audience: resource,
        accessTokenTTL: SECONDS,
        accessTokenFormat: 'jwt',
      }),
      useGrantedResource: () => true,
    },
  },
  pkce: { required: () => true },
  issueRefreshToken: () => true,
  cookies: { keys: ['trial'] },
  ttl: Object.fromEntries(KINDS.map((kind) => [kind, SECONDS])),
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
};

/** { issuer, requests, close }; `requests` are such as `POST /token 200`, in their order. */
export async function serveAuthorization() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const requests = [];
  const answer = (await provider(issuer)).callback();
  server.on('request', (request, response) => {
    const { pathname } = new URL(request.url, issuer);
    response.once('close', () => requests.push(`${request.method} ${pathname} ${response.statusCode}`));
    void answer(request, response);
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { issuer, requests, close };
}

/** It warns that this is no set-up for production, and of the version of Node. */
async function provider(issuer) {
  const { warn } = console;
  console.warn = () => {};
  try {
    const { default: Provider } = await import('oidc-provider');
    return new Provider(issuer, configuration);
  } finally {
    console.warn = warn;
  }
}
