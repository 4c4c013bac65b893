// Access tokens at an issuer in this process: what is taken, and what attackers, other resources and clocks send.

import { createHmac } from 'node:crypto';
import { base64url, exportJWK, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { AccessTokens, type AccessTokenVerdict } from '../../../src/service/oauth/access-token.js';
import { Issuer, type NamedKey, newKey, publicPem, RESOURCE } from './issuer.js';

let issuer: Issuer;
let key: NamedKey;
let rsa: NamedKey;
let stranger: NamedKey;
let events: BridgeEvent[];
let tokens: AccessTokens;

beforeAll(async () => {
  [key, rsa, stranger] = await Promise.all([newKey('k1'), newKey('r1', 'RS256'), newKey('k1')]);
  issuer = await Issuer.start(key);
  issuer.keys = [key, rsa];
});
afterAll(() => issuer[Symbol.asyncDispose]());
beforeEach(() => {
  events = [];
  tokens = accessTokens();
});

const accessTokens = (more: { audiences?: string[]; scopes?: string[]; groupsClaim?: string } = {}) =>
  new AccessTokens(
    {
      issuers: [issuer.url, 'https://other.example.com'],
      resource: RESOURCE,
      audiences: more.audiences ?? [RESOURCE],
      scopes: more.scopes ?? ['mcp:use'],
    },
    { observer: (event) => events.push(event), groupsClaim: () => more.groupsClaim ?? 'groups' },
  );

function principalOf(verdict: AccessTokenVerdict) {
  if (verdict.state === 'known') return verdict.principal;
  throw new Error(`refused: ${JSON.stringify(verdict)}`);
}
const now = () => Math.floor(Date.now() / 1000);
const segment = (value: unknown): string => base64url.encode(JSON.stringify(value));

describe('a good token', () => {
  it('is its subject at its issuer, with scopes, groups and end; it names no server', async () => {
    const exp = now() + 300;
    const text = await issuer.token({ exp, scope: 'mcp:use mail', groups: ['eng', 7, 'ops'] });
    expect(await tokens.verdict(text)).toEqual({
      state: 'known',
      principal: {
        id: `oauth:${issuer.url} ann`,
        name: 'ann',
        servers: undefined,
        scopes: ['mcp:use', 'mail'],
        groups: ['eng', 'ops'],
        expiresAtMs: exp * 1000,
      },
      callerToken: { text, issuer: issuer.url, audiences: [RESOURCE], expiresAtMs: exp * 1000 },
    });
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['of type JWT', {}, { typ: 'JWT' }],
    ['of type application/at+jwt', {}, { typ: 'application/at+jwt' }],
    ['without a type', {}, { typ: undefined }],
    ['for several audiences', { aud: ['https://else.example.com', RESOURCE] }, {}],
    ['with scopes as a list in scp', { scope: undefined, scp: ['mcp:use'] }, {}],
    ['by a clock that is 20 seconds ahead', { iat: now() + 20, nbf: now() + 20 }, {}],
    ['that ended 10 seconds ago by our clock', { exp: now() - 10 }, {}],
    ['that names no key', {}, { kid: undefined }],
  ])('may be %s', async (_what, claims, header) => {
    expect(principalOf(await tokens.verdict(await issuer.token(claims, { header })))).toMatchObject({
      name: 'ann',
    });
  });

  it('may be signed by RSA', async () => {
    expect(principalOf(await tokens.verdict(await issuer.token({}, { key: rsa }))).name).toBe('ann');
  });

  it('without a subject is its client, and not a subject of that name', async () => {
    const client = principalOf(
      await tokens.verdict(await issuer.token({ sub: undefined, client_id: 'ann' })),
    );
    expect(client.id).toBe(`oauth-client:${issuer.url} ann`);
  });

  it('has groups where the operator says, down a path too', async () => {
    const nested = accessTokens({ groupsClaim: 'realm_access.roles' });
    expect(
      principalOf(await nested.verdict(await issuer.token({ realm_access: { roles: ['admin'] } }))).groups,
    ).toEqual(['admin']);
    const spelled = accessTokens({ groupsClaim: 'https://example.com/groups' });
    expect(
      principalOf(await spelled.verdict(await issuer.token({ 'https://example.com/groups': 'eng' }))).groups,
    ).toEqual(['eng']);
    expect(
      principalOf(await accessTokens({ groupsClaim: 'constructor.name' }).verdict(await issuer.token()))
        .groups,
    ).toEqual([]);
  });
});

describe('a token is refused', () => {
  const refusals: [string, () => Promise<string> | string, RegExp][] = [
    [
      'of another issuer',
      () => issuer.token({ iss: 'https://evil.example.com' }),
      /issuer that is not trusted/,
    ],
    ['of the issuer with a slash more', () => issuer.token({ iss: `${issuer.url}/` }), /not trusted/],
    ['without an issuer', () => issuer.token({ iss: undefined }), /not trusted/],
    [
      'for another audience',
      () => issuer.token({ aud: 'https://other.example.com/mcp' }),
      /another audience/,
    ],
    ['for the origin alone', () => issuer.token({ aud: 'https://mcp.example.com' }), /another audience/],
    ['without an audience', () => issuer.token({ aud: undefined }), /another audience/],
    ['that has expired', () => issuer.token({ exp: now() - 31 }), /expired/],
    ['without an end', () => issuer.token({ exp: undefined }), /`exp`/],
    ['that is not valid yet', () => issuer.token({ nbf: now() + 40 }), /not valid yet/],
    ['made in the future', () => issuer.token({ iat: now() + 40 }), /in the future/],
    ['with an end that is no number', () => issuer.token({ exp: '9999999999' }), /`exp`/],
    ['without subject and client', () => issuer.token({ sub: undefined }), /neither a subject/],
    ['with an empty subject', () => issuer.token({ sub: '' }), /neither a subject/],
    ['with a subject of two lines', () => issuer.token({ sub: 'ann\nroot' }), /cannot be used/],
    ['with a subject that hides something', () => issuer.token({ sub: 'ann\u200b' }), /cannot be used/],
    ['with a huge subject', () => issuer.token({ sub: 'a'.repeat(256) }), /cannot be used/],
    [
      'that is an ID token by its type',
      () => issuer.token({}, { header: { typ: 'id_token+jwt' } }),
      /of type/,
    ],
    ['that is a logout token', () => issuer.token({}, { header: { typ: 'logout+jwt' } }), /of type/],
    [
      'that is an ID token called JWT',
      () => issuer.token({ nonce: 'n', aud: RESOURCE }, { header: { typ: 'JWT' } }),
      /ID token/,
    ],
    ['that is bound to a key', () => issuer.token({ cnf: { jkt: 'x' } }), /bound to a key/],
    [
      'with an unknown critical header',
      () => issuer.token({}, { header: { crit: ['b64x'], b64x: 1 } }).catch(() => 'x'),
      /neither/,
    ],
    ['by a key of another who took its name', () => issuer.token({}, { key: stranger }), /signature/],
    [
      'that names no key and is by none of the issuer',
      () => issuer.token({}, { key: stranger, header: { kid: undefined } }),
      /signature|no key/,
    ],
    ['that is no JWT', () => 'opaque-token', /neither one of this bridge/],
    ['of empty parts', () => '..', /neither/],
    ['of five parts', () => 'a.b.c.d.e', /neither/],
    ['whose payload is a list', () => `${segment({ alg: 'ES256' })}.${segment([])}.x`, /neither/],
  ];
  it.each(refusals)('%s', async (_what, make, said) => {
    const verdict = await tokens.verdict(await make());
    expect(verdict).toMatchObject({ state: 'invalid', description: expect.stringMatching(said) });
  });

  it('whose payload was changed after it was signed', async () => {
    const [header = '', , signature = ''] = (await issuer.token()).split('.');
    const payload = segment({ iss: issuer.url, aud: RESOURCE, sub: 'root', exp: now() + 600 });
    expect(await tokens.verdict(`${header}.${payload}.${signature}`)).toMatchObject({
      description: expect.stringContaining('signature'),
    });
  });

  it.each(['none', 'None', 'nOnE'])('refuses a token with algorithm %s', async (alg) => {
    const claims = { iss: issuer.url, aud: RESOURCE, sub: 'ann', exp: now() + 600 };
    const unsecured = new UnsecuredJWT(claims).encode();
    for (const text of [
      unsecured,
      `${segment({ alg })}.${segment(claims)}.`,
      `${segment({ alg })}.${segment(claims)}.x`,
    ])
      expect((await tokens.verdict(text)).state).toBe('invalid');
  });

  it('refuses one that is signed by HS256 with the public key as its secret', async () => {
    const claims = segment({ iss: issuer.url, aud: RESOURCE, sub: 'root', exp: now() + 600 });
    const secrets = [await publicPem(rsa), JSON.stringify(await exportJWK(rsa.publicKey))];
    for (const secret of secrets) {
      const signed = `${segment({ alg: 'HS256', kid: 'r1', typ: 'at+jwt' })}.${claims}`;
      const text = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
      expect(await tokens.verdict(text)).toMatchObject({
        state: 'invalid',
        description: expect.stringContaining('algorithm that is not accepted'),
      });
    }
  });

  it('that brings a key or an address of one, which nobody looks at', async () => {
    issuer.asked.length = 0;
    const evil = {
      jwk: await exportJWK(stranger.publicKey),
      jku: `${issuer.url}/evil`,
      x5u: `${issuer.url}/evil`,
    };
    expect((await tokens.verdict(await issuer.token({}, { key: stranger, header: evil }))).state).toBe(
      'invalid',
    );
    expect(issuer.asked).not.toContain('/evil');
  });

  it.each([
    '../../../../etc/passwd',
    '/dev/null',
    "' OR 1=1 --",
    'http://127.0.0.1/',
    'x'.repeat(5_000),
    '__proto__',
  ])('with the key name %.30s, which is no path, no address and no query', async (kid) => {
    issuer.asked.length = 0;
    const verdict = await tokens.verdict(await issuer.token({}, { key: stranger, header: { kid } }));
    expect(verdict).toMatchObject({ description: expect.stringContaining('no key with the id') });
    expect(new Set(issuer.asked)).toEqual(new Set(['/.well-known/oauth-authorization-server', '/keys']));
  });
});

it('without a scope that everybody needs a token is told all that a new one must have', async () => {
  const verdict = await accessTokens({ scopes: ['mcp:use', 'mcp:more'] }).verdict(
    await issuer.token({ scope: 'mcp:use mail' }),
  );
  expect(verdict).toEqual({
    state: 'insufficient',
    principalId: `oauth:${issuer.url} ann`,
    scopes: ['mcp:use', 'mcp:more', 'mail'],
  });
});

it('an audience of another form counts where the operator names it, and the resource no longer', async () => {
  const named = accessTokens({ audiences: ['api://bridge'] });
  expect((await named.verdict(await issuer.token({ aud: 'api://bridge' }))).state).toBe('known');
  expect((await named.verdict(await issuer.token())).state).toBe('invalid');
});
