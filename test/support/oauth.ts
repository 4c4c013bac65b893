// A real authorization server (oidc-provider), an MCP server that only lets in who comes with its tokens (the SDK's),
// and a browser with a person before it: cookies, redirects and forms by fetch. All on loopback, and with every notice of
// theirs that this is no set-up for production answered or left out.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
} from '@modelcontextprotocol/sdk/server/auth/router.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { OAuthMetadata } from '@modelcontextprotocol/sdk/shared/auth.js';

export const REGISTERED = { id: 'registered', secret: 'registered-client-secret-0123456789' } as const;
export const CLIENT_DOCUMENT = 'https://bridge.example/client.json';
/** The public client of the page; whoever is called `boss` there has the group of administrators. */
export const PAGE_CLIENT = 'page';
export const ADMINS = 'bridge-admins';
const CHECKER = { id: 'checker', secret: 'checker-secret-0123456789' } as const;

// The authorization server's look at addresses of client documents is written for a newer Node.
if (!('parse' in URL)) {
  Object.defineProperty(URL, 'parse', {
    value: (url: string, base?: string) => (URL.canParse(url, base) ? new URL(url, base) : null),
  });
}

export type AuthServer = AsyncDisposable & {
  readonly issuer: string;
  /** Lifetime of the access tokens that are issued from now on, in seconds. */
  accessSeconds: number;
  /** Requests by path, in order. */
  readonly requests: readonly string[];
  /** Answers with 503 to everything, as long as it is true. */
  isDown: boolean;
  /** Called with each request, such as `POST /token`, before it is answered. */
  onRequest: (request: string) => void;
  /** Makes an access token worth nothing, and leaves the refresh token as it is. */
  drop(accessToken: string): Promise<void>;
  revoke(token: string, client: { readonly id: string; readonly secret?: string }): Promise<void>;
};

/** `port` is where the pre-registered client waits for the browser. */
export async function startAuthServer(
  options: { readonly callbackPort?: number; readonly registration?: boolean } = {},
): Promise<AuthServer> {
  const { server, origin: issuer } = await listening();
  const common = { application_type: 'native' as const, response_types: ['code' as const] };
  const configuration = {
    clients: [
      {
        ...common,
        client_id: REGISTERED.id,
        client_secret: REGISTERED.secret,
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [`http://localhost:${options.callbackPort ?? 1}/callback`],
      },
      {
        ...common,
        client_id: PAGE_CLIENT,
        token_endpoint_auth_method: 'none' as const,
        grant_types: ['authorization_code'],
        redirect_uris: ['http://127.0.0.1/ui/callback'],
      },
      {
        client_id: CHECKER.id,
        client_secret: CHECKER.secret,
        grant_types: [],
        response_types: [],
        redirect_uris: [],
      },
    ],
    scopes: ['openid', 'offline_access', 'groups', 'mcp:tools', 'mcp:admin'],
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: options.registration ?? true },
      revocation: { enabled: true, allowedPolicy: () => true },
      introspection: { enabled: true, allowedPolicy: () => true },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: 'mcp:tools mcp:admin',
          audience: resource,
          accessTokenTTL: made.accessSeconds,
          accessTokenFormat: 'opaque',
        }),
        useGrantedResource: () => true,
      },
    },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    cookies: { keys: ['test'] },
    ttl: {
      Interaction: 600,
      Session: 600,
      Grant: 600,
      IdToken: 600,
      RefreshToken: 600,
      AccessToken: () => made.accessSeconds,
    },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, groups: id === 'boss' ? [ADMINS] : [] }),
    }),
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false,
    // The document is on a host that is not there, so it is answered here.
    fetch: (url: string | URL) => {
      if (String(url) !== CLIENT_DOCUMENT) throw new Error(`no network for ${url}`);
      return Promise.resolve(
        Response.json({
          ...common,
          client_id: CLIENT_DOCUMENT,
          client_name: 'the bridge by its document',
          grant_types: ['authorization_code', 'refresh_token'],
          redirect_uris: ['http://127.0.0.1/callback'],
          token_endpoint_auth_method: 'none',
        }),
      );
    },
  };
  const provider = await quietly(async () => {
    const { default: Provider } = await import('oidc-provider');
    return new Provider(issuer, configuration as never);
  });
  const requests: string[] = [];
  const answer = provider.callback();
  server.on('request', (request, response) => {
    const what = `${request.method} ${new URL(request.url ?? '/', issuer).pathname}`;
    requests.push(what);
    made.onRequest(what);
    if (made.isDown) response.writeHead(503).end();
    else void answer(request, response);
  });
  const made: AuthServer = {
    issuer,
    accessSeconds: 3600,
    requests,
    isDown: false,
    onRequest: () => {},
    drop: async (accessToken) => {
      await (await provider.AccessToken.find(accessToken))?.destroy();
    },
    revoke: async (token, { id, secret }) => {
      const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
      if (secret !== undefined)
        headers['authorization'] = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
      const body = new URLSearchParams({ token, ...(secret === undefined ? { client_id: id } : {}) });
      const { status } = await fetch(`${issuer}/token/revocation`, { method: 'POST', headers, body });
      if (status !== 200) throw new Error(`revocation: ${status}`);
    },
    [Symbol.asyncDispose]: () => ended(server),
  };
  return made;
}

export type ProtectedServer = AsyncDisposable & {
  readonly url: string;
  /** The `Authorization` of every request, in order. */
  readonly seen: readonly (string | undefined)[];
};

/** Starts a server whose tool `echo` needs mcp:tools, and whose tool `admin` needs mcp:admin as well. */
export async function startProtectedServer({ issuer }: AuthServer): Promise<ProtectedServer> {
  const { server, origin } = await listening();
  const url = `${origin}/mcp`;
  const bearer = (scope: string) =>
    requireBearerAuth({
      verifier: { verifyAccessToken: (token) => introspected(issuer, token) },
      requiredScopes: [scope],
      resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(new URL(url)),
      expectedResource: new URL(url),
    });
  const metadata = await fetch(`${issuer}/.well-known/openid-configuration`);
  const app = createMcpExpressApp();
  const seen = watched(app);
  app.use(
    mcpAuthMetadataRouter({
      oauthMetadata: (await metadata.json()) as OAuthMetadata,
      resourceServerUrl: new URL(url),
      scopesSupported: ['mcp:tools'],
    }),
  );
  app.use('/mcp', bearer('mcp:tools'));
  app.post('/mcp', (request, response, next) => {
    const { params } = request.body as { params?: { name?: string } };
    if (params?.name === 'admin') void bearer('mcp:admin')(request, response, next);
    else next();
  });
  serveTools(app);
  server.on('request', app);
  return { url, seen, [Symbol.asyncDispose]: () => ended(server) };
}

/** Starts a server with the tools of the protected one, open to everybody. */
export async function startOpenServer(): Promise<ProtectedServer> {
  const { server, origin } = await listening();
  const app = createMcpExpressApp();
  const seen = watched(app);
  serveTools(app);
  server.on('request', app);
  return { url: `${origin}/mcp`, seen, [Symbol.asyncDispose]: () => ended(server) };
}

type App = ReturnType<typeof createMcpExpressApp>;

function watched(app: App): readonly (string | undefined)[] {
  const seen: (string | undefined)[] = [];
  app.use('/mcp', (request, _response, next) => {
    seen.push(request.headers.authorization);
    next();
  });
  return seen;
}

function serveTools(app: App): void {
  app.post('/mcp', (request, response) => {
    const mcp = new McpServer({ name: 'protected', version: '1.0.0' });
    for (const name of ['echo', 'admin']) {
      mcp.registerTool(name, { description: `Says ${name}.` }, () => ({
        content: [{ type: 'text', text: name }],
      }));
    }
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    response.on('close', () => void transport.close());
    // The SDK's own class does not fit its own interface under exactOptionalPropertyTypes.
    void mcp.connect(transport as never).then(() => transport.handleRequest(request, response, request.body));
  });
  app.use('/mcp', (_request, response) => void response.status(405).end());
}

async function introspected(issuer: string, token: string) {
  const response = await fetch(`${issuer}/token/introspection`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${CHECKER.id}:${CHECKER.secret}`).toString('base64')}`,
    },
    body: new URLSearchParams({ token }),
  });
  const said = (await response.json()) as Record<string, unknown>;
  if (said['active'] !== true) throw new InvalidTokenError('not active');
  return {
    token,
    clientId: String(said['client_id']),
    scopes: String(said['scope'] ?? '').split(' '),
    expiresAt: Number(said['exp']),
    resource: new URL(String(said['aud'])),
  };
}

/** One person's browser: follows redirects, keeps cookies, fills in the forms, and ends where nothing is left to do. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();
  readonly #denies: boolean;
  readonly #name: string;

  /** A person who logs in as `name`. */
  constructor({
    denies = false,
    name = 'someone',
  }: { readonly denies?: boolean; readonly name?: string } = {}) {
    this.#denies = denies;
    this.#name = name;
  }

  /** The page that it ends at; `stopBefore` is an address that it does not open any more. */
  async visit(address: string, stopBefore?: RegExp): Promise<{ url: string; status: number; text: string }> {
    let url = new URL(address);
    let form: URLSearchParams | undefined;
    for (let step = 0; step < 30; step++) {
      if (stopBefore?.test(url.href)) return { url: url.href, status: 0, text: '' };
      const response = await fetch(url, {
        method: form === undefined ? 'GET' : 'POST',
        redirect: 'manual',
        headers: { cookie: this.#cookieFor(url) },
        ...(form === undefined ? {} : { body: form }),
      });
      this.#keep(url, response);
      form = undefined;
      const location = response.headers.get('location');
      const text = await response.text();
      if (location !== null) {
        url = new URL(location, url);
        continue;
      }
      const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
      if (action === undefined) return { url: url.href, status: response.status, text };
      const abort = /href="([^"]+\/abort)"/.exec(text)?.[1];
      if (this.#denies && abort !== undefined) {
        url = new URL(abort, url);
        continue;
      }
      form = new URLSearchParams(
        [...text.matchAll(/<input[^>]* name="([^"]+)"(?:[^>]* value="([^"]*)")?/g)].map(
          ([, name = '', value]): [string, string] => [name, value ?? this.#name],
        ),
      );
      url = new URL(action, url);
    }
    throw new Error(`no end of it at ${url.href}`);
  }

  #cookieFor({ host }: URL): string {
    return [...(this.#cookies.get(host) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  #keep({ host }: URL, response: Response): void {
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
  }
}

/** Makes the provider without its warnings that this is no set-up for production, and of the Node version. */
async function quietly<T>(make: () => Promise<T>): Promise<T> {
  const { warn, info } = console;
  console.warn = console.info = () => {};
  try {
    return await make();
  } finally {
    Object.assign(console, { warn, info });
  }
}

async function listening(): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function ended(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
