// Who sent a request, by named tokens and by the connection; access tokens of issuers have a file of their own.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { LOCAL_USER } from '../../../src/base/principal.js';
import { Authenticator } from '../../../src/service/access/authenticator.js';
import { newTokenText, TokenFile } from '../../../src/service/access/token-file.js';
import type {
  AuthenticationFacts,
  AuthenticationRefusal,
} from '../../../src/service/principals/authentication.js';
import { NEVER } from '../../support/time.js';

let folder: string;
let events: BridgeEvent[];
let authenticator: Authenticator;
let good: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'authenticator-'));
  events = [];
  authenticator = new Authenticator({ stateDir: folder, oauth: undefined }, (event) => events.push(event));
  const terms = { servers: ['github'], scopes: [], expiresAtMs: undefined };
  good = (await new TokenFile(folder).add('ci', terms, () => {}, NEVER)).text;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const request = (more: Partial<AuthenticationFacts>): AuthenticationFacts => ({
  authorization: undefined,
  method: 'POST',
  target: '/mcp',
  remoteAddress: '127.0.0.1',
  isPrivateSocket: false,
  isSecure: false,
  ...more,
});
const bearer = (token: string, more: Partial<AuthenticationFacts> = {}) =>
  authenticator.authenticate(request({ authorization: [`Bearer ${token}`], ...more }));

async function refusalOf(answer: ReturnType<Authenticator['authenticate']>): Promise<AuthenticationRefusal> {
  const found = await answer;
  if ('refusal' in found) return found.refusal;
  throw new Error('it was let in');
}
const saying = ({ body }: AuthenticationRefusal) => body.error_description;

describe('a good token', () => {
  it('lets its holder in, whatever the case of the scheme', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER '])
      expect(
        await authenticator.authenticate(request({ authorization: [`${scheme} ${good}`] })),
      ).toMatchObject({ principal: { name: 'ci', servers: ['github'] } });
  });

  it.each([
    ['over TLS', { remoteAddress: '203.0.113.7', isSecure: true }],
    ['from this machine', { remoteAddress: '::ffff:127.0.0.1' }],
    ['from this machine by IPv6', { remoteAddress: '::1' }],
    ['over a unix socket of a group', { remoteAddress: undefined }],
    [
      'over a private socket, as itself and not as its user',
      { remoteAddress: undefined, isPrivateSocket: true },
    ],
  ])('counts %s', async (_where, facts) => {
    expect(await bearer(good, facts)).toMatchObject({ principal: { name: 'ci' } });
  });

  it.each(['203.0.113.7', '10.0.0.5', '::ffff:10.0.0.5', 'fe80::1', '127.0.0.1.evil'])(
    'is refused where %s could have sent it unencrypted',
    async (remoteAddress) => {
      const refusal = await refusalOf(bearer(good, { remoteAddress }));
      expect(refusal.status).toBe(403);
      expect(saying(refusal)).toContain('unencrypted');
    },
  );

  it('that is revoked while in use is refused at the next request', async () => {
    expect(await bearer(good)).toHaveProperty('principal');
    await new TokenFile(folder).change(() => [], NEVER);
    expect((await refusalOf(bearer(good))).status).toBe(401);
  });
});

describe('without a credential', () => {
  it('a request is told what to send, and nothing of this machine', async () => {
    const refusal = await refusalOf(authenticator.authenticate(request({})));
    expect(refusal.status).toBe(401);
    expect(refusal.headers['www-authenticate']).toBe('Bearer realm="mcp-sandbox-bridge"');
    expect(saying(refusal)).toContain('mcp-sandbox-bridge token create NAME');
    expect(saying(refusal)).not.toContain('OAuth');
    expect(JSON.stringify(refusal)).not.toContain(folder);
    expect(events).toEqual([]);
  });

  it('the user of a private socket is the local user', async () => {
    const facts = request({ isPrivateSocket: true, remoteAddress: undefined });
    expect(await authenticator.authenticate(facts)).toEqual({ principal: LOCAL_USER });
  });

  it('somebody behind a proxy on that socket is not', async () => {
    const facts = request({ isPrivateSocket: true, remoteAddress: undefined, isForwarded: true });
    expect((await refusalOf(authenticator.authenticate(facts))).status).toBe(401);
  });

  it('an empty list of headers is none', async () => {
    expect((await refusalOf(authenticator.authenticate(request({ authorization: [] })))).status).toBe(401);
  });
});

describe('what is no credential', () => {
  it.each([
    ['two headers', [`Bearer GOOD`, `Bearer GOOD`], 'several Authorization headers'],
    ['two in one', ['Bearer GOOD, Bearer GOOD'], 'not a token'],
    ['another scheme', ['Basic dXNlcjpwYXNz'], 'Bearer TOKEN'],
    ['a proof of possession', ['DPoP GOOD'], 'DPoP'],
    ['no scheme', ['GOOD'], 'Bearer TOKEN'],
    ['a scheme alone', ['Bearer'], 'not a token'],
    ['an empty header', [''], 'Bearer TOKEN'],
    ['a line break', ['Bearer GOOD\nx: y'], 'not a token'],
    ['a huge token', [`Bearer ${'a'.repeat(16_001)}`], 'longer than'],
  ])('answers %s with 400', async (_what, headers, said) => {
    const authorization = headers.map((header) => header.replaceAll('GOOD', good));
    const refusal = await refusalOf(authenticator.authenticate(request({ authorization })));
    expect(refusal.status).toBe(400);
    expect(saying(refusal)).toContain(said);
    expect(JSON.stringify([refusal, events])).not.toContain(good.slice(4, 20));
  });

  it.each([
    '/mcp?access_token=GOOD',
    '/mcp?x=1&ACCESS_TOKEN=x',
    '/mcp?access%5Ftoken=x',
    '/mcp?token=GOOD',
    '/mcp?key=%6dsb_x',
  ])('a token in the address is 400, also beside a good one: %s', async (target) => {
    const refusal = await refusalOf(bearer(good, { target: target.replace('GOOD', good) }));
    expect(refusal.status).toBe(400);
    expect(saying(refusal)).toContain('must not be in the address');
    expect(JSON.stringify([refusal, events])).not.toContain(good.slice(4, 20));
  });

  it('a query without a token is nothing', async () => {
    expect(await bearer(good, { target: '/mcp?x=tokens&y=msb' })).toHaveProperty('principal');
  });
});

describe('a wrong token', () => {
  it.each([
    ['that nobody has made', () => newTokenText(), 'not known here'],
    ['that is cut', () => good.slice(0, -1), 'mistyped or cut'],
    ['of another bridge or service', () => 'ghp_abc', 'tokens begin with msb_'],
    ['that looks like a JWT, where no issuer is configured', () => 'e30.e30.', 'tokens begin with msb_'],
  ])('%s is 401 with a reason', async (_what, text, said) => {
    const refusal = await refusalOf(bearer(text()));
    expect(refusal.status).toBe(401);
    expect(refusal.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(saying(refusal)).toContain(said);
  });

  it('that has expired says when', async () => {
    const terms = { servers: [], scopes: [], expiresAtMs: Date.UTC(2020, 0, 1) };
    const { text } = await new TokenFile(folder).add('old', terms, () => {}, NEVER);
    expect(saying(await refusalOf(bearer(text)))).toContain('expired at 2020-01-01T00:00:00.000Z');
  });
});

describe('what cannot be checked', () => {
  it('is 503 for named tokens while their file cannot be used, and is told once', async () => {
    chmodSync(new TokenFile(folder).path, 0o644);
    for (let count = 0; count < 3; count++) {
      const refusal = await refusalOf(bearer(good));
      expect(refusal.status).toBe(503);
      expect(refusal.headers['retry-after']).toBe('30');
      expect(saying(refusal)).not.toContain(folder);
    }
    expect(events.filter(({ type }) => type === 'auth.trouble')).toHaveLength(1);
    expect(() => authenticator.credentialsConfigured()).toThrow(/can be read or written by other users/);
  });
});

describe('what is told', () => {
  it('names sender, method and reason, and not what was sent', async () => {
    await bearer(good.slice(0, -1), { remoteAddress: '203.0.113.7', isSecure: true });
    expect(events).toEqual([
      {
        type: 'auth.refused',
        from: '203.0.113.7',
        method: 'POST',
        status: 401,
        message: expect.stringContaining('mistyped or cut'),
      },
    ]);
  });

  it('names who came in and from where, and again only from elsewhere', async () => {
    for (const remoteAddress of ['203.0.113.7', '203.0.113.7', '203.0.113.8'])
      await bearer(good, { remoteAddress, isSecure: true });
    const principal = expect.stringMatching(/^token:ci#/);
    expect(events).toEqual([
      { type: 'auth.accepted', principal, from: '203.0.113.7', method: 'POST' },
      { type: 'auth.accepted', principal, from: '203.0.113.8', method: 'POST' },
    ]);
  });

  it('names whose token it was that has ended', async () => {
    await new TokenFile(folder).change((tokens) => tokens.map((one) => ({ ...one, expiresAtMs: 1 })), NEVER);
    await bearer(good);
    expect(events).toMatchObject([{ type: 'auth.refused', principal: expect.stringMatching(/^token:ci#/) }]);
  });

  it('has an end within a minute', async () => {
    for (let count = 0; count < 100; count++) await bearer('x');
    expect(events.length).toBeLessThanOrEqual(40);
  });
});

it('credentials are configured as soon as there is a token that has not expired', async () => {
  expect(authenticator.credentialsConfigured()).toBe(true);
  await new TokenFile(folder).change((tokens) => tokens.map((one) => ({ ...one, expiresAtMs: 1 })), NEVER);
  expect(authenticator.credentialsConfigured()).toBe(false);
});

it('without an issuer there is no metadata of a resource', () => {
  expect(authenticator.metadataAt('/.well-known/oauth-protected-resource')).toBeUndefined();
});
