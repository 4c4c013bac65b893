// Logins of people to the page at an issuer: which answers of an issuer are taken for whom.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { PageLogin } from '../../../src/service/oauth/page-login.js';
import { Issuer, newKey } from './issuer.js';

const CLIENT = 'page';
const REDIRECT = 'https://mcp.example.com/ui/callback';
const DAY_SECONDS = 86_400;

let issuer: Issuer;
let login: PageLogin;
let told: BridgeEvent[];

beforeEach(async () => {
  issuer = await Issuer.start(await newKey('one'));
  const { url } = issuer;
  issuer.json('/.well-known/oauth-authorization-server', {
    ...{ issuer: url, jwks_uri: `${url}/keys` },
    ...{ authorization_endpoint: `${url}/authorize?tenant=1`, token_endpoint: `${url}/token` },
  });
  told = [];
  login = loginAt(url);
});
afterEach(() => issuer[Symbol.asyncDispose]());

function loginAt(url: string): PageLogin {
  const made = PageLogin.of(
    {
      oauth: { issuers: [url], resource: 'https://mcp.example.com/mcp', audiences: [], scopes: [] },
      pageLogin: { client: CLIENT, admin: { claim: 'realm.roles', value: 'admin' }, scopes: ['roles'] },
    },
    (event) => void told.push(event),
  );
  if (made === undefined) throw new Error('there is no login');
  return made;
}

/** A login from its beginning to its end; the ID token has `claims` besides those of a good one. */
async function logIn({
  claims = {},
  sign = {},
  change = () => {},
}: {
  readonly claims?: Record<string, unknown>;
  readonly sign?: Parameters<Issuer['token']>[1];
  /** Changes what the browser brings back. */
  readonly change?: (answer: URLSearchParams, browser: { secret: string }) => void;
} = {}) {
  const { location, secret } = await login.begin(REDIRECT);
  const asked = new URL(location).searchParams;
  const own = { aud: CLIENT, nonce: asked.get('nonce'), scope: undefined, ...claims };
  issuer.json('/token', {
    id_token: await issuer.token(own, { ...sign, header: { typ: 'JWT', ...sign?.header } }),
  });
  const answer = new URLSearchParams({ code: 'c', state: asked.get('state') ?? '' });
  const browser = { secret, from: '192.0.2.7' };
  change(answer, browser);
  return await login.end(REDIRECT, answer, browser);
}

describe('a login to the page', () => {
  it('asks the issuer for a code with PKCE, state and nonce, and keeps what the endpoint has in its own address', async () => {
    const [one, other] = [await login.begin(REDIRECT), await login.begin(REDIRECT)];
    const { pathname, searchParams } = new URL(one.location);
    expect([pathname, searchParams.get('tenant')]).toEqual(['/authorize', '1']);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      ...{ response_type: 'code', client_id: CLIENT, redirect_uri: REDIRECT, scope: 'openid roles' },
      code_challenge_method: 'S256',
    });
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(searchParams.get(name)).toMatch(/^[\w-]{43}$/);
      expect(searchParams.get(name)).not.toBe(new URL(other.location).searchParams.get(name));
    }
    expect(one.location).not.toContain(one.secret);
  });

  it('is that of the principal whom access tokens of the issuer name, and of an administrator by the claim alone', async () => {
    const principal = `oauth:${issuer.url} ann`;
    expect(await logIn()).toEqual({ principal, isAdmin: false });
    expect(await logIn({ claims: { realm: { roles: ['user', 'admin'] } } })).toEqual({
      principal,
      isAdmin: true,
    });
    for (const roles of [['administrator'], 'user', { admin: true }, undefined])
      expect(await logIn({ claims: { realm: { roles }, admin: 'admin' } })).toMatchObject({ isAdmin: false });
    expect(told).toContainEqual(
      expect.objectContaining({ type: 'auth.accepted', principal, from: '192.0.2.7' }),
    );
  });

  it.each<[string, Record<string, unknown>]>([
    ['another issuer', { iss: 'https://evil.example' }],
    ['another audience', { aud: 'https://mcp.example.com/mcp' }],
    ['several audiences and no party', { aud: [CLIENT, 'other'] }],
    ['another party', { azp: 'other' }],
    ['no nonce', { nonce: undefined }],
    ['the nonce of another login', { nonce: 'x'.repeat(43) }],
    ['no end', { exp: undefined }],
    ['an end that is over', { exp: Math.floor(Date.now() / 1_000) - DAY_SECONDS }],
    ['a beginning in the future', { iat: Math.floor(Date.now() / 1_000) + DAY_SECONDS }],
    ['no subject', { sub: undefined }],
    ['a subject that does not show', { sub: 'ann\u202e' }],
  ])('refuses an ID token with %s', async (_what, claims) => {
    await expect(logIn({ claims })).rejects.toThrow(/ID token|subject/);
    expect(told).toContainEqual(expect.objectContaining({ type: 'auth.refused', status: 403 }));
  });

  it('refuses an ID token that another key has signed, and one that nobody has', async () => {
    const key = await newKey('one');
    await expect(logIn({ sign: { key } })).rejects.toThrow('ID token');
    const unsigned = (claims: object) =>
      [{ alg: 'none' }, claims]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
    const { location, secret } = await login.begin(REDIRECT);
    const { state, nonce } = Object.fromEntries(new URL(location).searchParams);
    const inAnHour = Math.floor(Date.now() / 1_000) + 3_600;
    issuer.json('/token', {
      id_token: `${unsigned({ iss: issuer.url, aud: CLIENT, sub: 'ann', nonce, iat: 1, exp: inAnHour })}.`,
    });
    const answer = new URLSearchParams({ code: 'c', state: state ?? '' });
    await expect(login.end(REDIRECT, answer, { secret, from: '' })).rejects.toThrow('ID token');
  });

  it('is taken from the browser alone that has begun it, and in its time', async () => {
    const foreign = await login.begin(REDIRECT);
    const changes: ReadonlyArray<NonNullable<Parameters<typeof logIn>[0]>['change']> = [
      (_answer, browser) => Object.assign(browser, { secret: '' }),
      (_answer, browser) => Object.assign(browser, { secret: foreign.secret }),
      (answer) => answer.set('state', new URL(foreign.location).searchParams.get('state') ?? ''),
      (answer) => answer.delete('state'),
      (answer) => answer.append('state', answer.get('state') ?? ''),
      (_answer, browser) =>
        Object.assign(browser, {
          secret: browser.secret.replace(/^\d+/, String(Date.now() - DAY_SECONDS * 1_000)),
        }),
    ];
    for (const change of changes)
      await expect(logIn({ change: change ?? (() => {}) })).rejects.toThrow('has not begun');
    expect(issuer.asked).not.toContain('/token');
  });

  it('is not taken from another issuer, nor where the issuer refuses', async () => {
    const of = (name: string, value: string) => logIn({ change: (answer) => void answer.set(name, value) });
    await expect(of('iss', 'https://evil.example')).rejects.toThrow('another issuer');
    await expect(of('error', 'access_denied\u001b[2J')).rejects.toThrow(
      /refuses the login: access_denied[ -~]*\.$/,
    );
    expect(issuer.asked).not.toContain('/token');
    expect(await of('iss', issuer.url)).toMatchObject({ isAdmin: false });
    issuer.json('/token', { error: 'invalid_grant' }, 400);
    const { location, secret } = await login.begin(REDIRECT);
    const answer = new URLSearchParams({
      code: 'c',
      state: new URL(location).searchParams.get('state') ?? '',
    });
    await expect(login.end(REDIRECT, answer, { secret, from: '' })).rejects.toThrow('cannot be finished');
  });

  it('says where the issuer cannot be asked, and sends nobody to an address that is not https', async () => {
    issuer.json('/.well-known/oauth-authorization-server', {
      ...{ issuer: issuer.url, authorization_endpoint: 'http://login.example.com/', token_endpoint: '' },
    });
    await expect(login.begin(REDIRECT)).rejects.toThrow();
    issuer.json('/.well-known/oauth-authorization-server', {}, 503);
    await expect(login.begin(REDIRECT)).rejects.toThrow('cannot be asked now');
    expect(told.at(-1)).toMatchObject({ type: 'auth.trouble' });
  });
});

it('there is no login without a client, and none without an issuer', () => {
  const pageLogin = { client: CLIENT, admin: undefined, scopes: [] };
  expect(PageLogin.of({ oauth: undefined, pageLogin }, () => {})).toBeUndefined();
});
