// Logins that need no person, against an authorization server that checks what it is sent: client credentials with a secret
// and with a signed assertion, and cross-app access by way of an identity provider.

import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importSPKI, jwtVerify } from 'jose';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { Redactor } from '../../../src/base/secrets/redact.js';
import type { MachineLogin } from '../../../src/hosts/downstream-spec.js';
import { Logins, noLoginReason } from '../../../src/servers/login/logins.js';
import { DownstreamPool } from '../../../src/servers/pool/pool.js';
import { NEVER } from '../../support/time.js';
import { call } from '../hostile.js';
import { hints, remoteSpec } from './remote-spec.js';

const SECRET = 'the-client-secret-0123456789';
const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

type Form = Readonly<Record<string, string>>;

/** An MCP server, its authorization server and an identity provider, each by its path at one origin. */
async function startWorld({ seconds = 3600, names = true } = {}) {
  const valid = new Set<string>();
  const forms: Form[] = [];
  let origin = '';
  let given = 0;
  const isClient = async (form: Form, authorization: string | undefined) => {
    const pair = `Basic ${Buffer.from(`us:${SECRET}`).toString('base64')}`;
    if (authorization === pair) return true;
    const { client_assertion: assertion } = form;
    if (assertion === undefined) return false;
    const { payload } = await jwtVerify(assertion, await importSPKI(publicKey, 'RS256'), {
      audience: `${origin}/as`,
      issuer: 'us',
    });
    return payload.sub === 'us';
  };
  const server = createServer(async (request, response) => {
    const json = (status: number, value: object, headers = {}) =>
      void response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(value));
    let body = '';
    for await (const chunk of request) body += chunk;
    const { pathname } = new URL(request.url ?? '/', origin);
    const metadata = (path: string) => ({
      issuer: `${origin}${path}`,
      token_endpoint: `${origin}${path}/token`,
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'private_key_jwt'],
    });
    if (pathname === '/.well-known/oauth-authorization-server/as') return json(200, metadata('/as'));
    if (pathname === '/.well-known/oauth-authorization-server/idp') return json(200, metadata('/idp'));
    if (pathname === '/.well-known/oauth-protected-resource/mcp') {
      const authorization_servers = [names ? `${origin}/as` : 'https://thief.test'];
      return json(200, { resource: `${origin}/mcp`, authorization_servers, scopes_supported: ['mcp:tools'] });
    }
    const form: Form = Object.fromEntries(new URLSearchParams(body));
    if (pathname === '/idp/token') {
      forms.push(form);
      if (form['subject_token'] !== 'id-token-of-ada') return json(400, { error: 'invalid_grant' });
      return json(200, {
        issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
        access_token: 'the-id-jag',
        token_type: 'N_A',
      });
    }
    if (pathname === '/as/token') {
      forms.push(form);
      if (!(await isClient(form, request.headers.authorization).catch(() => false)))
        return json(401, { error: 'invalid_client', error_description: `no client ${SECRET}` });
      if (form['grant_type'] !== 'client_credentials' && form['assertion'] !== 'the-id-jag')
        return json(400, { error: 'invalid_grant' });
      const token = `token-${++given}-0123456789`;
      valid.add(token);
      return json(200, { access_token: token, token_type: 'Bearer', expires_in: seconds });
    }
    if (pathname !== '/mcp') return json(404, {});
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    if (!valid.has(token)) {
      const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
      return json(401, { error: 'invalid_token' }, { 'www-authenticate': challenge });
    }
    const { id, method } = JSON.parse(body || '{}');
    const result = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        serverInfo: { name: 's', version: '1' },
      },
      'tools/list': { tools: [{ name: 'whoami', inputSchema: {} }] },
      'tools/call': { content: [{ type: 'text', text: token }] },
    }[String(method)];
    if (id === undefined) return void response.writeHead(202).end();
    json(200, { jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'no' } }) });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, forms, valid };
}

async function open(origin: string, change: Partial<MachineLogin>) {
  const machine: MachineLogin = {
    grant: 'client_credentials',
    issuer: `${origin}/as`,
    clientId: 'us',
    secret: undefined,
    privateKey: undefined,
    identity: undefined,
    ...change,
  };
  const folder = mkdtempSync(join(tmpdir(), 'machine-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const redactor = new Redactor();
  const logins = new Logins(folder, redactor);
  const entry = remoteSpec(`${origin}/mcp`, { oauth: hints({ machine }) });
  const events: BridgeEvent[] = [];
  const pool = new DownstreamPool({
    specs: [entry],
    hostEnv: {},
    extraEnvNames: [],
    depth: 0,
    observer: (event) => void events.push(event),
    redactor,
    loginFor: async (spec) => logins.of(spec),
    times: { restMs: 0 },
  });
  onTestFinished(() => pool[Symbol.asyncDispose]());
  const whoami = async () => (await call(await pool.get('linear', NEVER), 'whoami')).content[0]?.text;
  return { whoami, entry, folder, events };
}

it('client credentials with a secret: one token for all calls, for the scopes and the resource of the server', async () => {
  const { origin, forms } = await startWorld();
  const { whoami } = await open(origin, { secret: { value: SECRET } });
  expect([await whoami(), await whoami()]).toEqual(['token-1-0123456789', 'token-1-0123456789']);
  expect(forms).toEqual([
    { grant_type: 'client_credentials', scope: 'mcp:tools', resource: `${origin}/mcp` },
  ]);
});

it('a secret in a file is read anew for each token', async () => {
  const { origin, valid } = await startWorld();
  const folder = mkdtempSync(join(tmpdir(), 'secret-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'secret');
  writeFileSync(file, 'wrong');
  chmodSync(file, 0o600);
  const { whoami } = await open(origin, { secret: { file } });
  await expect(whoami()).rejects.toMatchObject({
    message: expect.stringContaining('its token could not be fetched'),
    remedy: expect.stringContaining('Correct the `oauth` of its entry'),
  });
  writeFileSync(file, `${SECRET}\n`);
  expect(await whoami()).toBe('token-1-0123456789');
  // A token that is refused is asked for anew, and the call goes on.
  valid.clear();
  expect(await whoami()).toBe('token-2-0123456789');
});

it('a token that is about to end is asked for anew', async () => {
  const { origin } = await startWorld({ seconds: 3_600 });
  const { whoami } = await open(origin, { secret: { value: SECRET } });
  expect(await whoami()).toBe('token-1-0123456789');
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await whoami()).toMatch(/^token-[2-9]/);
});

it('a client that signs needs no secret', async () => {
  const { origin, forms } = await startWorld();
  const { whoami } = await open(origin, {
    privateKey: { pem: { value: privateKey }, algorithm: 'RS256' },
  });
  expect(await whoami()).toBe('token-1-0123456789');
  expect(forms[0]).toMatchObject({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  });
});

it('cross-app access: the ID token goes to the identity provider alone, and its grant to the authorization server', async () => {
  const { origin, forms } = await startWorld();
  const identity = {
    issuer: `${origin}/idp`,
    clientId: 'bridge',
    secret: undefined,
    token: { value: 'id-token-of-ada' },
  };
  const { whoami } = await open(origin, {
    grant: 'cross_app_access',
    secret: { value: SECRET },
    identity,
  });
  expect(await whoami()).toBe('token-1-0123456789');
  expect(forms).toEqual([
    expect.objectContaining({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      subject_token: 'id-token-of-ada',
      audience: `${origin}/as`,
      resource: `${origin}/mcp`,
      client_id: 'bridge',
    }),
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'the-id-jag',
      scope: 'mcp:tools',
      resource: `${origin}/mcp`,
    },
  ]);
});

it('a secret goes to no authorization server that only the MCP server names', async () => {
  const { origin, forms } = await startWorld({ names: false });
  const { whoami } = await open(origin, { secret: { value: SECRET } });
  await expect(whoami()).rejects.toThrow(
    `accepts tokens of https://thief.test, not of ${origin}/as, which its entry names`,
  );
  expect(forms).toEqual([]);
});

it('what an authorization server quotes of a secret is nowhere to be read', async () => {
  const { origin } = await startWorld();
  const { whoami, events } = await open(origin, { clientId: 'other', secret: { value: SECRET } });
  const refused = await whoami().catch((thrown: unknown) => thrown);
  expect(String(refused)).toContain('its token could not be fetched: no client [client secret of linear]');
  expect(JSON.stringify([String(refused), events])).not.toContain(SECRET);
});

it('nobody is asked to log in', async () => {
  const { origin } = await startWorld();
  const { entry } = await open(origin, { secret: { value: SECRET } });
  expect(noLoginReason(entry)).toContain("Server 'linear' needs no login: its entry names a client");
});
