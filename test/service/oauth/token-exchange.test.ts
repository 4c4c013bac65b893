// A caller's token for a server: exchanged at a token endpoint in this process, or passed on where that is allowed.

import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Principal } from '../../../src/base/principal.js';
import { Redactor } from '../../../src/base/secrets/redact.js';
import type { RemoteSpec } from '../../../src/hosts/downstream-spec.js';
import { CallerTokens, TokenExchanges } from '../../../src/service/oauth/token-exchange.js';
import { exchangedLogin } from '../../../src/service/principals/principal-access.js';
import type { PrincipalsBook } from '../../../src/service/principals/principals-book.js';
import { NEVER } from '../../support/time.js';

type Asked = { readonly headers: IncomingHttpHeaders; readonly form: Record<string, string> };
const asked: Asked[] = [];
let reply: { status: number; body: unknown };
const server = createServer(async (request, response) => {
  asked.push({
    headers: request.headers,
    form: Object.fromEntries(new URLSearchParams(await text(request))),
  });
  response.writeHead(reply.status, { location: '/elsewhere' }).end(JSON.stringify(reply.body));
});
let tokenEndpoint: string;
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  tokenEndpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
});
afterAll(() => new Promise((done) => server.close(done)));

const ANN: Principal = {
  id: 'oauth:https://i ann',
  name: 'ann',
  servers: undefined,
  scopes: [],
  expiresAtMs: undefined,
};
let nowMs: number;
let grant: ReturnType<PrincipalsBook['grantOf']>;
let tokens: CallerTokens;
let exchanges: TokenExchanges;
const have = (of: string) => exchanges.exchange({ principal: ANN, server: of, url: 'https://x' }, NEVER);
const keep = (token: string, more: object = {}) =>
  tokens.keep(ANN.id, { text: token, issuer: 'https://i', audiences: ['wiki'], expiresAtMs: 9e12, ...more });

beforeEach(() => {
  asked.length = 0;
  nowMs = 1_000_000;
  reply = { status: 200, body: { access_token: 'new-1', token_type: 'Bearer', expires_in: 300 } };
  tokens = new CallerTokens(() => nowMs);
  exchanges = new TokenExchanges({ grantOf: () => grant }, tokens, { SECRET: 's:e c' }, () => nowMs);
  grant = {
    kind: 'exchange',
    exchange: {
      tokenEndpoint,
      clientId: 'bridge',
      clientSecretVariable: 'SECRET',
      audience: 'mail',
      scopes: ['mail:send', 'mail:read'],
    },
  };
  keep('callers-own');
});

describe('an exchange', () => {
  it('asks as RFC 8693 says, as its client', async () => {
    expect(await have('mail')).toBe('new-1');
    expect(asked[0]?.form).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'callers-own',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: 'mail',
      scope: 'mail:send mail:read',
    });
    expect(asked[0]?.headers.authorization).toBe(`Basic ${btoa('bridge:s%3Ae+c')}`);
  });

  it('is made once for all who want it, and again before its token ends', async () => {
    await Promise.all([have('mail'), have('mail'), have('mail')]);
    nowMs += 269_000;
    await have('mail');
    expect(asked).toHaveLength(1);
    nowMs += 1_001;
    await have('mail');
    expect(asked).toHaveLength(2);
  });

  it('is another for another server and for another token of the caller', async () => {
    await have('mail');
    await have('calendar');
    keep('callers-next');
    await have('mail');
    expect(asked.map(({ form }) => form['subject_token'])).toEqual([
      'callers-own',
      'callers-own',
      'callers-next',
    ]);
  });

  it('does not outlive the token that it was had for', async () => {
    keep('short', { expiresAtMs: nowMs + 10_000 });
    await have('mail');
    nowMs += 10_000;
    await expect(have('mail')).rejects.toThrow(/the caller has no access token/);
  });

  it.each([
    [400, { error: 'invalid_target', error_description: 'no\u0007 such' }, /refuses: invalid_target: no/],
    [500, 'oops', /refuses: status 500/],
    [200, { access_token: 'x', token_type: 'DPoP' }, /no bearer token/],
    [200, { access_token: 'a\nb', token_type: 'Bearer' }, /no bearer token/],
    [302, {}, /cannot be asked/],
  ])(
    'that is answered %d %j fails without a word of what was sent, and is tried again',
    async (status, body, said) => {
      reply = { status, body };
      const failure = await have('mail').catch((thrown: Error) => thrown);
      expect(String(failure)).toMatch(said);
      expect(String(failure)).not.toMatch(/callers-own|s:e c/);
      reply = { status: 200, body: { access_token: 'new-2', token_type: 'bearer' } };
      expect(await have('mail')).toBe('new-2');
    },
  );

  it('whose endpoint quotes what it was sent shows none of it', async () => {
    tokens = new CallerTokens(() => nowMs);
    const env = { SECRET: 'secret-of-the-client' };
    exchanges = new TokenExchanges({ grantOf: () => grant }, tokens, env, () => nowMs);
    keep('callers-own-token');
    const description = 'got callers-own-token with secret-of-the-client';
    reply = { status: 400, body: { error: 'invalid_request', error_description: description } };
    const failure = await have('mail').catch((thrown: Error) => thrown);
    expect(String(failure)).toContain("got [caller's token] with [client secret]");
  });

  it('without its secret is not made', async () => {
    exchanges = new TokenExchanges({ grantOf: () => grant }, tokens, {}, () => nowMs);
    await expect(have('mail')).rejects.toThrow(/variable SECRET/);
    expect(asked).toEqual([]);
  });
});

describe('a connection to a server', () => {
  const spec = { name: 'mail', url: 'https://x', transport: 'http', headers: {} } as unknown as RemoteSpec;
  const connection = () => exchangedLogin(spec, ANN, exchanges.exchange, new Redactor());

  it('has no token any longer than the one that it was had for is good', async () => {
    for (const kind of [grant, { kind: 'passThrough', audience: 'wiki' } as const]) {
      grant = kind;
      keep('short', { expiresAtMs: nowMs + 10_000 });
      const login = connection();
      expect(await login.token(NEVER)).toBe(kind?.kind === 'exchange' ? 'new-1' : 'short');
      nowMs += 10_000;
      await expect(login.token(NEVER)).rejects.toThrow(/the caller has no access token/);
    }
  });

  it('has none that the operator allows no more', async () => {
    const login = connection();
    expect(await login.token(NEVER)).toBe('new-1');
    grant = undefined;
    await expect(login.token(NEVER)).rejects.toThrow(/no longer says/);
  });

  it("has one for the caller's last token, not for an earlier one", async () => {
    const login = connection();
    expect(await login.token(NEVER)).toBe('new-1');
    expect(await login.token(NEVER)).toBe('new-1');
    expect(asked).toHaveLength(1);
    reply = { status: 200, body: { access_token: 'new-2', token_type: 'Bearer', expires_in: 300 } };
    keep('narrower');
    expect(await login.token(NEVER)).toBe('new-2');
  });

  it('whose token is refused gets another one, once for all requests that had it', async () => {
    const login = connection();
    expect(await login.token(NEVER)).toBe('new-1');
    reply = { status: 200, body: { access_token: 'new-2', token_type: 'Bearer', expires_in: 300 } };
    await Promise.all([login.renew('new-1', NEVER), login.renew('new-1', NEVER)]);
    await login.renew('new-1', NEVER);
    expect(await login.token(NEVER)).toBe('new-2');
    expect(asked).toHaveLength(2);
  });
});

describe('the token itself', () => {
  it('is passed on only where it was made for that audience', async () => {
    grant = { kind: 'passThrough', audience: 'wiki' };
    expect(await have('wiki')).toBe('callers-own');
    grant = { kind: 'passThrough', audience: 'wik' };
    const failure = await have('wiki').catch((thrown: Error) => thrown);
    expect(String(failure)).toContain("is not for 'wik'");
    expect(String(failure)).not.toContain('callers-own');
    expect(asked).toEqual([]);
  });

  it('is given to no other principal', async () => {
    grant = { kind: 'passThrough', audience: 'wiki' };
    const bob = { ...ANN, id: 'oauth:https://i bob' };
    await expect(
      exchanges.exchange({ principal: bob, server: 'wiki', url: 'https://x' }, NEVER),
    ).rejects.toThrow(/the caller has no access token/);
  });

  it('is sent nowhere once the file no longer says that it may be', async () => {
    grant = undefined;
    await expect(have('wiki')).rejects.toThrow(/no longer says/);
  });
});
