// The login itself, at a real authorization server, by a browser with a person before it.

import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Redactor } from '../../../src/base/secrets/redact.js';
import { logIn, logOut } from '../../../src/servers/login/log-in.js';
import {
  Browser,
  CLIENT_DOCUMENT,
  REGISTERED,
  startAuthServer,
  startOpenServer,
  startProtectedServer,
} from '../../support/oauth.js';
import { auth, server, useOAuthServers } from '../../support/oauth-servers.js';
import { hints, remoteSpec } from './remote-spec.js';
import { stateDir, store, useTokenFolder } from './token-folder.js';

const CALLBACK = /^http:\/\/(127\.0\.0\.1|localhost):\d+\/callback/;

const callbackPort = await freePort();
let redactor: Redactor;

useOAuthServers({ callbackPort });
useTokenFolder();
beforeEach(() => {
  redactor = new Redactor();
});

const { signal } = new AbortController();

/** What the browser does with the address that it is given; its end is awaited by `browsed`. */
type Visit = (url: string, paste: (address: string) => string | undefined) => Promise<unknown>;

/** Logs in while `visit` is the browser; gives what came of both. */
async function loggedIn(
  visit: Visit,
  spec = remoteSpec(server.url),
  more: Partial<Parameters<typeof logIn>[1]> = {},
) {
  let seen: Promise<unknown> | undefined;
  const onUrl: (url: string, paste: (address: string) => string | undefined) => void = (url, paste) => {
    seen = visit(url, paste);
  };
  const options = { store, redactor, scopes: [], clientMetadataUrl: undefined, onUrl, ...more };
  const login = await logIn(spec, options, signal).catch(async (thrown: unknown) => {
    await seen;
    throw thrown;
  });
  return { login, page: await seen };
}

const visit: Visit = (url) => new Browser().visit(url);

describe('a login', () => {
  it('registers the bridge, and keeps tokens that the server takes', async () => {
    const { login, page } = await loggedIn(visit);
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('You can close this window.') });
    expect(login).toMatchObject({ issuer: auth.issuer, resource: server.url, scopes: ['mcp:tools'] });
    expect(login.refreshToken).toBeTypeOf('string');
    expect(store.read(server.url)).toEqual({ state: 'kept', login });
    expect(auth.requests).toContain('POST /reg');
    const answer = await fetch(server.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${login.accessToken}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    expect(answer.status).toBe(200);
  });

  it('is kept where nobody else can read it', async () => {
    await loggedIn(visit);
    expect(statSync(store.fileOf(server.url)).mode & 0o777).toBe(0o600);
    expect(statSync(join(stateDir, 'tokens')).mode & 0o777).toBe(0o700);
  });

  it('uses the client of the entry, its secret, and the port it was registered with', async () => {
    const registered = auth.requests.filter((request) => request === 'POST /reg').length;
    const oauth = hints({ clientId: REGISTERED.id, clientSecret: REGISTERED.secret, callbackPort });
    const { login, page } = await loggedIn(visit, remoteSpec(server.url, { oauth }));
    expect(page).toMatchObject({ url: expect.stringContaining(`http://localhost:${callbackPort}/callback`) });
    expect(login.client.client_id).toBe(REGISTERED.id);
    expect(auth.requests.filter((request) => request === 'POST /reg')).toHaveLength(registered);
  });

  it('shows the client id metadata document where the authorization server takes one', async () => {
    const more = { clientMetadataUrl: CLIENT_DOCUMENT };
    const { login } = await loggedIn(visit, remoteSpec(server.url), more);
    expect(login.client).toEqual({ client_id: CLIENT_DOCUMENT });
    expect(login.accessToken).toBeTypeOf('string');
  });

  it('asks for the scopes of the command on top of what was granted before', async () => {
    await loggedIn(visit);
    const { login } = await loggedIn(visit, remoteSpec(server.url), { scopes: ['mcp:admin'] });
    expect([...login.scopes].sort()).toEqual(['mcp:admin', 'mcp:tools']);
  });

  it('asks for the scopes of the entry and no others', async () => {
    let asked = '';
    const spec = remoteSpec(server.url, { oauth: hints({ scopes: ['mcp:tools', 'mcp:admin'] }) });
    await loggedIn((url) => {
      asked = new URL(url).searchParams.get('scope') ?? '';
      return new Browser().visit(url);
    }, spec);
    expect(asked).toBe('mcp:tools mcp:admin');
  });

  it('takes its metadata from where the entry says', async () => {
    const authServerMetadataUrl = `${auth.issuer}/.well-known/openid-configuration`;
    const { login } = await loggedIn(
      visit,
      remoteSpec(server.url, { oauth: hints({ authServerMetadataUrl }) }),
    );
    expect(login.issuer).toBe(auth.issuer);
  });

  it('can end on another machine, whose last address is pasted', async () => {
    const objections: (string | undefined)[] = [];
    const { login, page } = await loggedIn(async (url, paste) => {
      const end = await new Browser().visit(url, CALLBACK);
      objections.push(paste('hello'), paste('http://127.0.0.1/callback?code=x&state=y'), paste(end.url));
      return end;
    });
    expect(objections).toEqual([
      'That is not an address.',
      'That address does not belong to this login.',
      undefined,
    ]);
    expect(page).toMatchObject({ status: 0 });
    expect(login.accessToken).toBeTypeOf('string');
  });
});

describe('the way back', () => {
  it('is closed to another state, which ends nothing, and to a second answer', async () => {
    const statuses: number[] = [];
    await loggedIn(async (url) => {
      const { url: last } = await new Browser().visit(url, CALLBACK);
      const wrong = new URL(last);
      wrong.searchParams.set('state', 'guessed');
      const denied = new URL('/callback?error=access_denied', last);
      const elsewhere = new URL('/favicon.ico', last);
      for (const address of [wrong, denied, elsewhere]) statuses.push((await fetch(address)).status);
      const [first, second] = await Promise.all([fetch(last), fetch(last)]);
      statuses.push(first.status, second.status);
    });
    expect(statuses).toEqual([400, 400, 404, 200, 410]);
  });

  it('shows nothing of what it was sent', async () => {
    const texts: string[] = [];
    await loggedIn(async (url) => {
      const { url: last } = await new Browser().visit(url, CALLBACK);
      for (const address of [last.replace(/state=[^&]*/, 'state=<script>'), last])
        texts.push(await (await fetch(address)).text());
      texts.push(new URL(last).searchParams.get('code') ?? '');
    });
    const code = texts.pop() ?? '';
    expect(code).not.toBe('');
    for (const text of texts) expect(text).not.toMatch(new RegExp(`<script|${code}`));
  });

  it('a person who refuses is told of as such', async () => {
    const denying: Visit = (url) => new Browser({ denies: true }).visit(url);
    await expect(loggedIn(denying)).rejects.toMatchObject({
      code: 'E_LOGIN',
      message: expect.stringMatching(`^${auth.issuer} refused the login: access_denied`),
    });
    expect(store.read(server.url)).toEqual({ state: 'absent' });
  });

  it.each(['https://other.example', ''])("an answer that names the issuer '%s' is not used", async (iss) => {
    const tokens = auth.requests.filter((request) => request === 'POST /token').length;
    const mixedUp: Visit = async (url) => {
      const last = new URL((await new Browser().visit(url, CALLBACK)).url);
      if (iss === '') last.searchParams.delete('iss');
      else last.searchParams.set('iss', iss);
      expect((await fetch(last)).status).toBe(400);
    };
    await expect(loggedIn(mixedUp)).rejects.toThrow(`The answer does not come from ${auth.issuer}`);
    expect(auth.requests.filter((request) => request === 'POST /token')).toHaveLength(tokens);
  });

  it('a code that is refused is not in the error', async () => {
    let code = '';
    const forged: Visit = async (url) => {
      const last = new URL((await new Browser().visit(url, CALLBACK)).url);
      code = `${last.searchParams.get('code')}x`;
      last.searchParams.set('code', code);
      await fetch(last);
    };
    const thrown = await loggedIn(forged).catch((error: unknown) => error);
    expect(thrown).toMatchObject({
      code: 'E_LOGIN',
      message: expect.stringContaining('grant request is invalid'),
    });
    expect(String(thrown)).not.toContain(code);
    expect(redactor.redact(`GET /callback?x=${code}`)).toBe('GET /callback?x=[authorization code]');
  });

  it('gives up when nobody comes', async () => {
    const nobody: Visit = async () => {};
    await expect(loggedIn(nobody, remoteSpec(server.url), { timeoutMs: 30 })).rejects.toThrow(
      'Nobody logged in within 0.03 s.',
    );
  });

  it('the person gives up', async () => {
    const giving = new AbortController();
    const onUrl = () => giving.abort('SIGINT');
    const options = { store, redactor, scopes: [], clientMetadataUrl: undefined, onUrl };
    await expect(logIn(remoteSpec(server.url), options, giving.signal)).rejects.toMatchObject({
      code: 'E_CANCELLED',
      message: 'The login was cancelled.',
    });
  });

  it('a port that is taken is named', async () => {
    await using taken = await listener((_request, response) => response.end());
    const { port } = new URL(taken.origin);
    const oauth = hints({ clientId: 'x', callbackPort: Number(port) });
    await expect(loggedIn(visit, remoteSpec(server.url, { oauth }))).rejects.toMatchObject({
      message: expect.stringContaining(`Port ${port}, to which the login comes back, cannot be used`),
      remedy: expect.stringContaining('oauth.callbackPort'),
    });
  });
});

describe('no login', () => {
  const secret = { authorization: 'Bearer static-token-of-the-entry' };
  it.each([
    [
      'the entry says there is none',
      remoteSpec('https://x.example/mcp', { oauth: false }),
      'its entry says `oauth: false`',
    ],
    [
      'the entry has the header',
      remoteSpec('https://x.example/mcp', { headers: secret }),
      'its entry gives an Authorization header',
    ],
    ['the way is not safe', remoteSpec('http://x.example/mcp'), 'http://x.example is not https'],
  ])('%s', async (_case, spec, complaint) => {
    await expect(loggedIn(visit, spec)).rejects.toMatchObject({
      code: 'E_ARGUMENTS',
      message: expect.stringContaining(complaint),
    });
  });

  it('the server answers without one', async () => {
    await using open = await startOpenServer();
    await expect(loggedIn(visit, remoteSpec(open.url))).rejects.toThrow(
      "Server 'linear' answers without a login and names no authorization server.",
    );
  });

  it('the server wants a key and knows no OAuth', async () => {
    await using keyed = await listener((request, response) =>
      response.writeHead(request.url === '/mcp' ? 401 : 404).end(),
    );
    await expect(loggedIn(visit, remoteSpec(`${keyed.origin}/mcp`))).rejects.toMatchObject({
      message: expect.stringContaining('no authorization server can be found at'),
      remedy: expect.stringContaining('`headers`'),
    });
  });

  it('the server is not there', async () => {
    const port = await freePort();
    await expect(loggedIn(visit, remoteSpec(`http://127.0.0.1:${port}/mcp`))).rejects.toThrow(
      `http://127.0.0.1:${port} cannot be reached: ECONNREFUSED.`,
    );
  });

  it('says so where the authorization server registers nobody', async () => {
    await using closed = await startAuthServer({ registration: false });
    await using guarded = await startProtectedServer(closed);
    await expect(loggedIn(visit, remoteSpec(guarded.url))).rejects.toMatchObject({
      message: `${closed.issuer} does not register clients by itself.`,
      remedy: expect.stringMatching(/oauth\.clientId.*MCP_BRIDGE_CLIENT_METADATA_URL/),
    });
  });

  it.each([
    [
      'claims to be another resource',
      { resource: 'https://bank.example/mcp' },
      'its login would be for another',
    ],
    [
      'sends us to plain http elsewhere',
      { authorization_servers: ['http://auth.example'] },
      'http://auth.example is not https',
    ],
    ['names an issuer that calls itself otherwise', {}, 'calls itself https://other.example'],
  ])('says so of a server that %s', async (_case, lie, complaint) => {
    await using liar = await listener((request, response) => {
      const resource = `${liar.origin}/mcp`;
      const documents: Record<string, object> = {
        '/.well-known/oauth-protected-resource/mcp': {
          resource,
          authorization_servers: [liar.origin],
          ...lie,
        },
        '/.well-known/oauth-authorization-server': {
          issuer: 'https://other.example',
          authorization_endpoint: `${liar.origin}/auth`,
          token_endpoint: `${liar.origin}/token`,
          response_types_supported: ['code'],
        },
      };
      const document = documents[request.url ?? ''];
      response.writeHead(document === undefined ? 401 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(document ?? {}));
    });
    await expect(loggedIn(visit, remoteSpec(`${liar.origin}/mcp`))).rejects.toThrow(complaint);
  });
});

describe('a logout', () => {
  it('revokes the tokens and forgets them', async () => {
    const { login } = await loggedIn(visit);
    expect(await logOut(server.url, { store, redactor }, signal)).toEqual({
      wasLoggedIn: true,
      trouble: undefined,
    });
    expect(store.read(server.url)).toEqual({ state: 'absent' });
    const answer = await fetch(server.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${login.accessToken}` },
    });
    expect(answer.status).toBe(401);
    expect(await logOut(server.url, { store, redactor }, signal)).toEqual({
      wasLoggedIn: false,
      trouble: undefined,
    });
  });

  it('with a client that has a secret', async () => {
    const oauth = hints({ clientId: REGISTERED.id, clientSecret: REGISTERED.secret, callbackPort });
    await loggedIn(visit, remoteSpec(server.url, { oauth }));
    expect(readFileSync(store.fileOf(server.url), 'utf8')).toContain(REGISTERED.secret);
    expect(await logOut(server.url, { store, redactor }, signal)).toEqual({
      wasLoggedIn: true,
      trouble: undefined,
    });
  });

  it('forgets also where the issuer does not answer, and says so', async () => {
    await loggedIn(visit);
    auth.isDown = true;
    const { trouble } = await logOut(server.url, { store, redactor }, signal).finally(() => {
      auth.isDown = false;
    });
    expect(trouble).toBe(`${auth.issuer} answered the revocation with HTTP 503`);
    expect(store.read(server.url)).toEqual({ state: 'absent' });
  });
});

async function listener(listen: RequestListener): Promise<AsyncDisposable & { readonly origin: string }> {
  const made = createServer(listen).listen(0, '127.0.0.1');
  await once(made, 'listening');
  return {
    origin: `http://127.0.0.1:${(made.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      made.close();
      made.closeAllConnections();
    },
  };
}

async function freePort(): Promise<number> {
  await using found = await listener(() => {});
  return Number(new URL(found.origin).port);
}
