// Tokens, an issuer, a principals file and an exchange put together, as an HTTP endpoint asks for them.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { HttpAccess } from '../../../src/service/access/authenticator.js';
import type { AuthenticationFacts } from '../../../src/service/principals/authentication.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';
import { Issuer, newKey, RESOURCE } from '../oauth/issuer.js';

let folder: string;
let file: string;
let issuer: Issuer;
let access: HttpAccess;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'access-'));
  file = join(folder, 'principals.yaml');
  write({});
  issuer = await Issuer.start(await newKey('k1'));
  const oauth = { issuers: [issuer.url], resource: RESOURCE, audiences: [RESOURCE], scopes: ['mcp:use'] };
  access = new HttpAccess({ stateDir: folder, oauth, principalsFile: file }, hostFacts(), {}, () => {});
});
afterEach(async () => {
  await issuer[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const write = (content: object) =>
  writeFileSync(file, JSON.stringify({ version: 1, ...content }), { mode: 0o600 });
const METADATA_URL = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';
const send = (token: string | undefined) =>
  access.authenticate({
    authorization: token === undefined ? undefined : [`Bearer ${token}`],
    method: 'POST',
    target: '/mcp',
    remoteAddress: '203.0.113.7',
    isPrivateSocket: false,
    isSecure: true,
  } satisfies AuthenticationFacts);

async function comesIn(token: string) {
  const found = await send(token);
  if ('principal' in found) return found.principal;
  throw new Error(found.refusal.body.error_description);
}

it('a client without a token is led to the issuer', async () => {
  expect(access.credentialsConfigured()).toBe(true);
  const found = await send(undefined);
  if (!('refusal' in found)) throw new Error('it was let in');
  expect(found.refusal.status).toBe(401);
  expect(found.refusal.body.error_description).toMatch(/^A credential is needed: log in by OAuth/);
  expect(found.refusal.headers['www-authenticate']).toBe(
    `Bearer realm="mcp-sandbox-bridge", scope="mcp:use", resource_metadata="${METADATA_URL}"`,
  );
  const document = {
    resource: RESOURCE,
    authorization_servers: [issuer.url],
    bearer_methods_supported: ['header'],
    resource_name: 'mcp-sandbox-bridge',
    scopes_supported: ['mcp:use'],
  };
  for (const path of [new URL(METADATA_URL).pathname, '/.well-known/oauth-protected-resource'])
    expect(access.metadataAt(path)).toEqual(document);
  for (const path of [
    '/.well-known/oauth-protected-resource/other',
    '/.well-known/openid-configuration',
    '/mcp',
  ])
    expect(access.metadataAt(path)).toBeUndefined();
});

it.each([
  [{ scope: 'mail' }, 403, 'insufficient_scope', 'scope="mcp:use mail"'],
  [{ aud: 'https://else.example.com' }, 401, 'invalid_token', 'error="invalid_token"'],
])(
  'a token that is not good enough is answered with what is: %j',
  async (claims, status, error, challenge) => {
    const found = await send(await issuer.token(claims));
    expect(found).toMatchObject({ refusal: { status, body: { error } } });
    if (!('refusal' in found)) throw new Error('it was let in');
    expect(found.refusal.headers['www-authenticate']).toContain(challenge);
    expect(found.refusal.headers['www-authenticate']).toContain(METADATA_URL);
  },
);

it('an issuer that is down from the start is 503, and only for its own tokens', async () => {
  issuer.answers.set('/.well-known/oauth-authorization-server', (response) => void response.destroy());
  expect(await send(await issuer.token())).toMatchObject({
    refusal: { status: 503, headers: { 'retry-after': '5' }, body: { error: 'temporarily_unavailable' } },
  });
  expect(await send('msb_x')).toMatchObject({ refusal: { status: 401 } });
});

it('groups and scopes decide what is reached, as the file is now', async () => {
  const ann = await comesIn(await issuer.token({ roles: ['eng'], groups: ['ops'] }));
  expect(access.book.rulesOf(ann).servers).toEqual([]);
  write({
    groups: { eng: { servers: ['github'] }, ops: { servers: ['mail'] } },
    scopes: { 'mail:send': { servers: ['mail'] } },
  });
  expect(access.book.rulesOf(ann).servers).toEqual(['mail']);
  const call = { method: 'tools/call', params: { name: 'run_python', arguments: { servers: ['mail'] } } };
  expect(access.stepUp(ann, call)?.headers['www-authenticate']).toContain('scope="mcp:use mail:send"');
  const more = await comesIn(await issuer.token({ groups: ['ops'], scope: 'mcp:use mail:send' }));
  expect(access.stepUp(more, call)).toBeUndefined();
  expect(more.id).toBe(ann.id);
  write({ groupsClaim: 'roles', groups: { eng: { servers: ['github'] } } });
  const byRole = await comesIn(await issuer.token({ roles: ['eng'] }));
  expect(access.book.rulesOf(byRole).servers).toEqual(['github']);
});

it('the token of a caller is passed on where the file says so and its issuer made it for that server too', async () => {
  write({
    default: {
      servers: '*',
      headers: { wiki: { Authorization: { passThrough: 'https://wiki.example.com' } } },
    },
  });
  const text = await issuer.token({ aud: [RESOURCE, 'https://wiki.example.com'] });
  const ann = await comesIn(text);
  const asked = (server: string) => ({ principal: ann, server, url: 'https://wiki.example.com/mcp' });
  const { signal } = new AbortController();
  expect(access.book.rulesOf(ann).headers).toEqual({ wiki: { Authorization: { from: 'exchange' } } });
  expect(await access.exchange(asked('wiki'), signal)).toBe(text);
  await expect(access.exchange(asked('mail'), signal)).rejects.toThrow(/no longer says/);
});
