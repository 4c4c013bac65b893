// The keys of an issuer: rotation, floods, an issuer that is down, and one that points where it should not.

import { errors } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { fetchJson, isPublicAddress, MAX_DOCUMENT_BYTES } from '../../../src/service/oauth/issuer-fetch.js';
import {
  FAILURE_PAUSE_MS,
  FETCH_PAUSE_MS,
  IssuerKeys,
  IssuerUnavailable,
} from '../../../src/service/oauth/issuer-keys.js';
import { HANGS_MS, PATIENTLY } from '../../support/time.js';
import { Issuer, newKey } from './issuer.js';

let issuer: Issuer;
let events: BridgeEvent[];
let nowMs: number;
let keys: IssuerKeys;

beforeEach(async () => {
  issuer = await Issuer.start(await newKey('k1'));
  events = [];
  nowMs = 1_000_000;
  keys = keysOf(issuer.url);
});
afterEach(() => issuer[Symbol.asyncDispose]());

const keysOf = (url: string, timeoutMs = HANGS_MS) =>
  new IssuerKeys(url, { observer: (event) => events.push(event), nowMs: () => nowMs, timeoutMs });
const ask = (kid: string, from = keys) => from.keyFor({ alg: 'ES256', kid });
const told = () => events.map((event) => ('message' in event ? event.message : ''));
const METADATA = '/.well-known/oauth-authorization-server';
const down = () => issuer.answers.set(METADATA, (response) => void response.destroy());
const up = () => issuer.answers.delete(METADATA);

describe('keys', () => {
  it('are fetched once for all who ask at the same time, and kept', async () => {
    await Promise.all([ask('k1'), ask('k1'), ask('k1')]);
    await ask('k1');
    expect(issuer.keyFetches).toBe(1);
  });

  it('are found by OpenID Connect discovery, where that is all that there is', async () => {
    issuer.answers.set(METADATA, undefined);
    issuer.json('/.well-known/openid-configuration', { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` });
    await expect(ask('k1')).resolves.toBeDefined();
  });

  it('of an issuer with a path are looked for in three places', async () => {
    await expect(ask('k1', keysOf(`${issuer.url}/realms/team`))).rejects.toThrow(IssuerUnavailable);
    expect(issuer.asked).toEqual([
      '/.well-known/oauth-authorization-server/realms/team',
      '/.well-known/openid-configuration/realms/team',
      '/realms/team/.well-known/openid-configuration',
    ]);
  });

  it('that are exchanged are fetched when a token names a new one', async () => {
    await ask('k1');
    issuer.keys = [await newKey('k2')];
    nowMs += FETCH_PAUSE_MS;
    await expect(ask('k2')).resolves.toBeDefined();
    await expect(ask('k1')).rejects.toThrow(errors.JWKSNoMatchingKey);
  });

  it('that are old are fetched anew behind the request', async () => {
    await ask('k1');
    nowMs += 10 * 60_000;
    await ask('k1');
    await vi.waitFor(() => expect(issuer.keyFetches).toBe(2), PATIENTLY);
  });
});

it('a flood of foreign key names causes one fetch in half a minute', async () => {
  await ask('k1');
  for (let round = 0; round < 3; round++) {
    const flood = Array.from({ length: 100 }, (_, index) => ask(`foreign-${round}-${index}`));
    expect((await Promise.allSettled(flood)).every(({ status }) => status === 'rejected')).toBe(true);
  }
  expect(issuer.keyFetches).toBe(1);
  nowMs += FETCH_PAUSE_MS;
  await Promise.allSettled(Array.from({ length: 100 }, (_, index) => ask(`later-${index}`)));
  expect(issuer.keyFetches).toBe(2);
  await expect(ask('k1')).resolves.toBeDefined();
});

describe('an issuer that is down', () => {
  it('keeps nobody out whose key is known, and is told once', async () => {
    await ask('k1');
    down();
    for (let count = 0; count < 3; count++) {
      nowMs += 10 * 60_000;
      await expect(ask('k1')).resolves.toBeDefined();
      await vi.waitFor(() => expect(told()).not.toEqual([]), PATIENTLY);
    }
    expect(told()).toEqual([expect.stringMatching(/cannot be reached.*earlier keys stay in use/)]);
  });

  it('keeps everybody out after a day', async () => {
    await ask('k1');
    down();
    nowMs += 24 * 3_600_000;
    await expect(ask('k1')).rejects.toThrow(IssuerUnavailable);
  });

  it('from the start is asked every few seconds, and who comes between is told when to come again', async () => {
    down();
    await expect(ask('k1')).rejects.toThrow(IssuerUnavailable);
    const fetches = issuer.asked.length;
    nowMs += 1_000;
    await expect(ask('k1')).rejects.toMatchObject({ retryAfterSeconds: 4 });
    expect(issuer.asked.length).toBe(fetches);
    up();
    nowMs += FAILURE_PAUSE_MS;
    await expect(ask('k1')).resolves.toBeDefined();
  });

  it('that never answers holds nobody longer than the bound', async () => {
    issuer.answers.set(METADATA, () => {});
    await expect(ask('k1', keysOf(issuer.url, 300))).rejects.toThrow(IssuerUnavailable);
    expect(told()[0]).toContain('no answer in time');
  });
});

describe('an issuer is not believed that', () => {
  it('calls itself otherwise', async () => {
    issuer.json(METADATA, { issuer: 'https://evil.example.com', jwks_uri: `${issuer.url}/keys` });
    await expect(ask('k1')).rejects.toThrow(IssuerUnavailable);
    expect(told()[0]).toContain("calls itself 'https://evil.example.com'");
    expect(issuer.keyFetches).toBe(0);
  });

  it.each([
    ['redirects', 302, 'status 302'],
    ['fails', 500, 'status 500'],
  ])('%s', async (_what, status, said) => {
    issuer.answers.set(METADATA, (response) => {
      response.writeHead(status, { location: `${issuer.url}/elsewhere` }).end();
    });
    await expect(ask('k1')).rejects.toThrow(IssuerUnavailable);
    expect(told()[0]).toContain(said);
    expect(issuer.asked).not.toContain('/elsewhere');
  });

  it.each([
    ['says too much', (size: number) => 'x'.repeat(size), 'more than'],
    ['says no JSON', () => '<html>', 'something other than JSON'],
    ['says something else', () => '[1]', 'no `issuer`'],
  ])('%s', async (_what, body, said) => {
    issuer.answers.set(METADATA, (response) => void response.end(body(MAX_DOCUMENT_BYTES + 1)));
    await expect(ask('k1')).rejects.toThrow(IssuerUnavailable);
    expect(told()[0]).toContain(said);
  });

  it.each([
    ['http elsewhere', 'http://keys.example.com/keys', 'not https'],
    ['another port of this machine', 'http://127.0.0.1:1/keys', 'not https'],
    ['this machine', 'https://127.0.0.1:1/keys', 'private network'],
    ['this machine in other digits', 'https://0x7f.1/keys', 'private network'],
    ['this machine as a number', 'https://2130706433/keys', 'private network'],
    ['this machine in IPv6', 'https://[::ffff:127.0.0.1]/keys', 'private network'],
    ['this machine by name', 'https://localhost:1/keys', 'private network'],
    ['a cloud', 'https://169.254.169.254/keys', 'private network'],
    ['a neighbour', 'https://10.1.2.3/keys', 'private network'],
    ['a file', 'file:///etc/passwd', 'not https'],
    ['nowhere', 'keys', 'names something that is not an address'],
  ])('has its keys at %s', async (_what, jwks_uri, said) => {
    issuer.json(METADATA, { issuer: issuer.url, jwks_uri });
    await expect(ask('k1')).rejects.toThrow(IssuerUnavailable);
    expect(told()[0]).toContain(said);
  });

  it('has a thousand keys', async () => {
    issuer.json('/keys', { keys: Array.from({ length: 1_000 }, () => ({ kty: 'EC' })) });
    await expect(ask('k1')).rejects.toThrow(IssuerUnavailable);
  });
});

it.each([
  ['93.184.215.14', true],
  ['2606:4700::1111', true],
  ['127.0.0.1', false],
  ['100.64.0.1', false],
  ['172.31.255.255', false],
  ['::1', false],
  ['::ffff:93.184.215.14', false],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['fe80::1', false],
  ['fd00::1', false],
  ['example.com', false],
])('%s is public: %s', (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic);
});

it('a document is fetched without any credential', async () => {
  let headers: Record<string, unknown> = {};
  issuer.answers.set('/x', (response) => {
    headers = response.req.headers;
    response.end('{}');
  });
  await fetchJson(`${issuer.url}/x`, issuer.url, AbortSignal.timeout(HANGS_MS));
  expect(Object.keys(headers).sort()).toEqual(['accept', 'connection', 'host']);
});
