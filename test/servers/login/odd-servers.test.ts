// Authorization servers that are not as they should be. Written by hand, since no real one can be brought to it; each
// differs in one thing from one that works.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Redactor } from '../../../src/base/secrets/redact.js';
import { logIn } from '../../../src/servers/login/log-in.js';
import { Logins } from '../../../src/servers/login/logins.js';
import { HANGS_MS, NEVER } from '../../support/time.js';
import { remoteSpec } from './remote-spec.js';
import { stateDir, store, useTokenFolder } from './token-folder.js';

type Answer = { status?: number; headers?: Record<string, string>; body?: unknown };
type Documents = Record<string, Answer>;

const RESOURCE = '/.well-known/oauth-protected-resource/mcp';
const ISSUER = '/.well-known/oauth-authorization-server';

const working = (origin: string): Documents => ({
  '/mcp': { status: 401 },
  [RESOURCE]: { body: { resource: `${origin}/mcp`, authorization_servers: [origin] } },
  [ISSUER]: {
    body: {
      issuer: origin,
      authorization_endpoint: `${origin}/auth`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/reg`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    },
  },
  '/reg': { status: 201, body: { client_id: 'c', redirect_uris: ['http://127.0.0.1/callback'] } },
  '/token': { body: { access_token: 'tok', token_type: 'Bearer' } },
});

let origin: string;
let documents: Documents;
let requests: string[] = [];
const server = createServer(({ url = '' }, response) => {
  requests.push(url);
  const { status, headers, body = '' } = documents[url] ?? { status: 404 };
  response.writeHead(status ?? 200, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
});
useTokenFolder();
beforeEach(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  documents = working(origin);
});
afterEach(async () => {
  server.close();
  server.closeAllConnections();
});

/** The access token, by a browser whose person agrees at once. */
async function logInBy(path = '/mcp', visit: (callback: URL) => Promise<unknown> = fetch): Promise<string> {
  const { signal } = new AbortController();
  const onUrl = (address: string) => {
    const { searchParams: asked } = new URL(address);
    const callback = new URL(asked.get('redirect_uri') ?? '');
    callback.searchParams.set('code', 'abc');
    callback.searchParams.set('state', asked.get('state') ?? '');
    void visit(callback).catch(() => {});
  };
  const options = { store, redactor: new Redactor(), scopes: [], clientMetadataUrl: undefined, onUrl };
  const login = await logIn(remoteSpec(`${origin}${path}`), { ...options, timeoutMs: HANGS_MS }, signal);
  return login.accessToken;
}

/** Puts this into a document's body; undefined takes a member out. */
const change = (path: string, members: object): void => {
  const document = documents[path] ?? {};
  documents[path] = { ...document, body: { ...Object(document.body), ...members } };
};
const html = { headers: { 'content-type': 'text/html' }, body: '<html><body>blocked</body></html>' };

it.each<[string, () => void]>([
  ['has nothing odd', () => {}],
  ['has no metadata of its own', () => delete documents[RESOURCE]],
  ['gives a page for its metadata', () => (documents[RESOURCE] = html)],
  ['cannot give its metadata', () => (documents[RESOURCE] = { status: 500 })],
  ['writes itself with a slash', () => change(RESOURCE, { resource: `${origin}/mcp/` })],
  ['names no authorization server', () => change(RESOURCE, { authorization_servers: [] })],
  ['says 403', () => (documents['/mcp'] = { status: 403 })],
  ['says when in a text', () => change('/token', { expires_in: '3600' })],
  ['says when in words', () => change('/token', { expires_in: 'an hour' })],
  ['grants no scope that it names', () => change('/token', { scope: null })],
  ['grants its scopes as a list', () => change('/token', { scope: ['a', 'b'] })],
  [
    'has nothing for what else there could be',
    () => change('/token', { expires_in: null, refresh_token: null, id_token: null, issuer: 7, more: [] }),
  ],
  ['does not name the type of its token', () => change('/token', { token_type: undefined })],
  [
    'registers with empty fields',
    () =>
      change('/reg', {
        ...{ client_secret: null, scope: null, client_uri: '', logo_uri: null, jwks_uri: '', contacts: null },
        ...{ client_id_issued_at: '1', client_secret_expires_at: null, redirect_uris: undefined },
      }),
  ],
  ['registers under a number', () => change('/reg', { client_id: 12 })],
  [
    'describes itself with empty fields',
    () =>
      change(ISSUER, {
        ...{ response_types_supported: undefined, scopes_supported: null, service_documentation: '' },
        ...{ revocation_endpoint: '', introspection_endpoint: null, grant_types_supported: 'all' },
        ...{ token_endpoint_auth_methods_supported: null, code_challenge_methods_supported: 'S256' },
        ...{ client_id_metadata_document_supported: null, ui_locales_supported: null },
      }),
  ],
  [
    'is described with empty fields',
    () =>
      change(RESOURCE, {
        ...{ scopes_supported: null, jwks_uri: '', resource_documentation: null, resource_policy_uri: '' },
        ...{ authorization_servers: origin, bearer_methods_supported: 'header' },
      }),
  ],
  [
    'has what OpenID wants, and not all of it',
    () => {
      documents['/.well-known/openid-configuration'] = documents[ISSUER] ?? {};
      delete documents[ISSUER];
    },
  ],
  [
    'names its metadata elsewhere',
    () => {
      const challenge = `Bearer resource_metadata="${origin}/elsewhere"`;
      documents['/mcp'] = { status: 401, headers: { 'www-authenticate': challenge } };
      documents['/elsewhere'] = documents[RESOURCE] ?? {};
      delete documents[RESOURCE];
    },
  ],
  [
    'has moved its metadata',
    () => {
      documents['/moved'] = documents[ISSUER] ?? {};
      documents[ISSUER] = { status: 301, headers: { location: '/moved' } };
    },
  ],
])('a server that %s lets in', async (_what, make) => {
  make();
  expect(await logInBy()).toBe('tok');
});

it.each<[string, () => void, string]>([
  [
    'says nothing of PKCE',
    () => change(ISSUER, { code_challenge_methods_supported: undefined }),
    'The authorization server ORIGIN does not say that it knows PKCE',
  ],
  [
    'knows PKCE in plain only',
    () => change(ISSUER, { code_challenge_methods_supported: ['plain'] }),
    'The authorization server ORIGIN does not know PKCE with S256',
  ],
  [
    'gives a page for metadata',
    () => (documents[ISSUER] = html),
    'The authorization server at ORIGIN cannot be used: its answer is not JSON.',
  ],
  [
    'cannot give its metadata',
    () => (documents[ISSUER] = { status: 500 }),
    'The authorization server at ORIGIN cannot be used: HTTP 500',
  ],
  [
    'has no token endpoint',
    () => change(ISSUER, { token_endpoint: undefined }),
    'The authorization server at ORIGIN cannot be used: its answer is wrong or incomplete at `token_endpoint`.',
  ],
  [
    'would run a script',
    () => change(ISSUER, { authorization_endpoint: 'javascript:alert(1)' }),
    'wrong or incomplete at `authorization_endpoint`.',
  ],
  [
    'registers in the open',
    () => change(ISSUER, { registration_endpoint: 'http://evil.example/reg' }),
    'http://evil.example is not https',
  ],
  [
    'registers nobody, with a page',
    () => (documents['/reg'] = { ...html, status: 403 }),
    'ORIGIN does not register the bridge as a client: HTTP 403.',
  ],
  [
    'registers nobody, with a reason',
    () => (documents['/reg'] = { status: 400, body: { error: 'x', error_description: 'no loopback' } }),
    'ORIGIN does not register the bridge as a client: no loopback.',
  ],
  [
    'gives a page for tokens',
    () => (documents['/token'] = html),
    'ORIGIN gave no tokens: its answer is not JSON.',
  ],
  [
    'gives half of a token',
    () => change('/token', { access_token: undefined }),
    'ORIGIN gave no tokens: its answer is wrong or incomplete at `access_token`.',
  ],
])('a server that %s is told of in a sentence', async (_what, make, complaint) => {
  make();
  await expect(logInBy()).rejects.toMatchObject({
    code: 'E_LOGIN',
    message: expect.stringContaining(complaint.replace('ORIGIN', origin)),
  });
});

it.each<[string, () => void]>([
  ['does not say when the new token ends', () => change('/token', { expires_in: undefined })],
  ['says that it ends at once', () => change('/token', { expires_in: 0 })],
])('a server that %s is asked for one token, and not for one with each request', async (_what, make) => {
  change('/token', { refresh_token: 'r', expires_in: 3600 });
  await logInBy();
  const spec = remoteSpec(`${origin}/mcp`);
  const kept = store.read(spec.url);
  if (kept.state !== 'kept') throw new Error(kept.state);
  store.write({ ...kept.login, expiresAtMs: Date.now() - 1 });
  change('/token', { access_token: 'new' });
  make();
  requests = [];
  const login = new Logins(stateDir, new Redactor()).of(spec);
  const { signal } = new AbortController();
  for (let request = 0; request < 3; request++) expect(await login?.token(signal)).toBe('new');
  expect(requests).toEqual(['/token']);
  // What is refused although nobody said that it would end is refreshed as ever.
  change('/token', { access_token: 'newer' });
  await login?.renew('new', signal);
  expect(await login?.token(signal)).toBe('newer');
});

it('scopes that are named as a list, and not at all, are those that were granted', async () => {
  change(RESOURCE, { scopes_supported: ['a', 'c'] });
  change('/token', { scope: ['a', 'b'] });
  await logInBy();
  expect(store.read(`${origin}/mcp`)).toMatchObject({ login: { scopes: ['a', 'b'] } });
  change('/token', { scope: null });
  await logInBy();
  expect(store.read(`${origin}/mcp`)).toMatchObject({ login: { scopes: ['a', 'c'] } });
});

it('a refusal is understood whatever stands beside it, and what a login rests on is not taken for granted', async () => {
  change('/token', { refresh_token: 'r' });
  await logInBy();
  const body = { error: 'invalid_grant', error_description: null, error_uri: 7 };
  documents['/token'] = { status: 400, body };
  const login = new Logins(stateDir, new Redactor()).of(remoteSpec(`${origin}/mcp`));
  const renewed = login?.renew('tok', NEVER);
  await expect(renewed).rejects.toMatchObject({ reason: expect.stringContaining('its login has ended') });
  change(ISSUER, { authorization_response_iss_parameter_supported: 'true' });
  await expect(logInBy()).rejects.toMatchObject({ message: expect.stringContaining('does not come from') });
  change(ISSUER, { code_challenge_methods_supported: null });
  await expect(logInBy()).rejects.toMatchObject({ message: expect.stringContaining('PKCE') });
});

it('two servers of one origin have a login each', async () => {
  expect(await logInBy()).toBe('tok');
  documents['/other'] = { status: 401 };
  const resource = `${origin}/other`;
  documents[RESOURCE.replace('/mcp', '/other')] = { body: { resource, authorization_servers: [origin] } };
  change('/token', { access_token: 'of-the-other' });
  expect(await logInBy('/other')).toBe('of-the-other');
  const logins = new Logins(stateDir, new Redactor());
  const { signal } = new AbortController();
  const tokens = ['/mcp', '/other', '/third'].map((path) =>
    logins.of(remoteSpec(`${origin}${path}`))?.token(signal),
  );
  expect(await Promise.all(tokens)).toEqual(['tok', 'of-the-other', undefined]);
});

it('a name that would write on the terminal is not shown', async () => {
  const issuer = `${origin}/\u001b[31m`;
  change(RESOURCE, { authorization_servers: [issuer] });
  documents[`${ISSUER}/%1B[31m`] = { body: { ...Object(documents[ISSUER]?.body), issuer } };
  const thrown = await logInBy().catch((error: unknown) => String(error));
  expect(thrown).toContain('which is not a usable name');
  expect(thrown).not.toContain('\u001b');
});

it('a page in the browser that asks for what is no address ends nothing', async () => {
  const said = logInBy('/mcp', async (callback) => {
    const socket = connect(Number(callback.port), '127.0.0.1');
    socket.end('GET // HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1.1 404/);
    await fetch(callback);
  });
  expect(await said).toBe('tok');
});
