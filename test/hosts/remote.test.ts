// Remote servers, whichever host names them: what becomes of an entry, and what is refused.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: hosts write variables this way

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { explainSkip } from '../../src/hosts/discovery/explain-skip.js';
import { Home, only, reasonsIn, remote } from './home.js';

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => {
  home[Symbol.dispose]();
});

const claude = (servers: object) => home.write('.claude.json', { mcpServers: servers });

it('reads an entry of Claude Code with every field', () => {
  home.env = { HOST: 'x.example', TOKEN: ' t\n' };
  const file = claude({
    a: {
      type: 'http',
      url: 'https://${HOST}/mcp',
      headers: { Authorization: 'Bearer ${TOKEN}', 'X-Number': 3 },
      headersHelper: '~/bin/headers --for ${HOST}',
      oauth: {
        clientId: 'c',
        callbackPort: 8123,
        scopes: 'read write',
        authServerMetadataUrl: 'https://a.example/.well-known/x',
      },
      timeout: 90_000,
      alwaysLoad: true,
    },
  });
  expect(only(home.discover())).toEqual({
    name: 'a',
    transport: 'http',
    url: 'https://x.example/mcp',
    headers: { Authorization: 'Bearer  t', 'X-Number': '3' },
    headersHelper: '~/bin/headers --for x.example',
    oauth: {
      clientId: 'c',
      clientSecret: undefined,
      scopes: ['read', 'write'],
      callbackPort: 8123,
      authServerMetadataUrl: 'https://a.example/.well-known/x',
    },
    description: '',
    callTimeoutMs: 90_000,
    startTimeoutMs: undefined,
    toolFilter: { only: undefined, except: [] },
    source: { host: 'Claude Code', scope: 'user', file, pointer: '/mcpServers/a' },
  });
});

it.each([
  [{ type: 'http' }, 'http'],
  [{ type: 'streamable-http' }, 'http'],
  [{ type: 'sse' }, 'sse'],
  [{}, 'auto'],
  [{ type: null }, 'auto'],
])('Claude Code: %j is %s', (entry, transport) => {
  claude({ a: { url: 'https://x.example', ...entry } });
  expect(remote(only(home.discover())).transport).toBe(transport);
});

it.each([
  [{ type: 'streamableHttp', url: 'https://x.example' }, 'http'],
  [{ type: 'remote', url: 'https://x.example' }, 'auto'],
  [{ serverUrl: 'https://x.example' }, 'auto'],
  [{ httpUrl: 'https://x.example' }, 'http'],
])('files of no host: %j is %s', (entry, transport) => {
  home.write('MCPs/a.json', entry);
  expect(remote(only(home.discover())).transport).toBe(transport);
});

it('a plain address is allowed, as hosts allow it', () => {
  claude({ a: { type: 'http', url: 'http://192.168.1.5:8080/mcp' } });
  expect(remote(only(home.discover())).url).toBe('http://192.168.1.5:8080/mcp');
});

it.each([
  [0, undefined],
  [999, undefined],
  [1_000, 1_000],
  [1e12, 2 ** 31 - 1],
])('a timeout of %d ms is one of %s', (timeout, expected) => {
  claude({ a: { url: 'https://x.example', timeout } });
  expect(only(home.discover()).callTimeoutMs).toBe(expected);
});

describe('refused', () => {
  it.each<[string, object, string]>([
    ['no address', { type: 'http' }, "field 'url': expected string, received undefined"],
    ['an empty one', { type: 'http', url: '' }, "field 'url': must not be empty"],
    ['none at all', { url: 'x.example' }, "field 'url': is not an address such as https://…"],
    [
      'of a file',
      { url: 'file:///etc/passwd' },
      "field 'url': begins with file://; allowed: http:// and https://",
    ],
    [
      'with a password',
      { url: 'https://me:hunter2@x.example' },
      "field 'url': has a user name or password; put them into an Authorization header",
    ],
    ['NUL', { url: 'https://x.example/\0' }, "field 'url': must not contain a NUL character"],
    [
      'a header’s name',
      { url: 'https://x.example', headers: { 'A B': '1' } },
      "field 'headers.A B': is not a header name",
    ],
    [
      'a header’s value',
      { url: 'https://x.example', headers: { A: 'a\r\nX-Evil: 1' } },
      "header 'A' has characters that are not allowed in a header",
    ],
    [
      'headers as text',
      { url: 'https://x.example', headers: 'A: b' },
      "field 'headers': expected record, received string",
    ],
    ['a variable', { url: 'https://${NO}/mcp' }, 'needs environment variable NO'],
    [
      'several things',
      { url: 'ws://x.example', headers: { A: '${NO}' } },
      "needs environment variable NO; field 'url': begins with ws://; allowed: http:// and https://",
    ],
    [
      'a proxy of the account',
      { type: 'claudeai-proxy', url: 'https://x.example', id: '1' },
      "is of type 'claudeai-proxy', which works only in its host",
    ],
    [
      'a timeout',
      { url: 'https://x.example', timeout: -1 },
      "field 'timeout': expected a positive number, received -1",
    ],
  ])('refuses the entry: %s', (_what, entry, reason) => {
    claude({ bad: entry, good: { url: 'https://good.example' } });
    const found = home.discover();
    expect(found.ready.map((spec) => spec.name)).toEqual(['good']);
    expect(reasonsIn(found)).toEqual({ bad: reason });
    expect(JSON.stringify(found.skipped)).not.toContain('hunter2');
  });
});

it('a remote server is never this bridge, but a bridge inside a bridge offers none either', () => {
  claude({ a: { url: 'https://mcp-sandbox-bridge.example/mcp-sandbox-bridge' } });
  expect(remote(only(home.discover())).name).toBe('a');
  home.settings = { ...home.settings, depth: 1 };
  expect(reasonsIn(home.discover())).toEqual({ a: 'this bridge runs inside another bridge' });
});

describe('a login that needs no person', () => {
  const issuer = 'https://a.example';
  const oauthOf = (oauth: object) => {
    claude({ a: { url: 'https://x.example', oauth } });
    return home.discover();
  };

  it('takes its secrets by the name of a variable or of a file', () => {
    home.env = { SECRET: 's' };
    const oauth = { grant: 'client_credentials', issuer, clientId: 'c', clientSecretVariable: 'SECRET' };
    expect(remote(only(oauthOf(oauth))).oauth).toMatchObject({
      machine: { grant: 'client_credentials', issuer, clientId: 'c', secret: { value: 's' } },
    });
    const identity = { issuer, clientId: 'i', tokenFile: '/run/id-token' };
    const crossApp = { grant: 'cross_app_access', issuer, clientId: 'c', privateKeyFile: '/k.pem', identity };
    expect(remote(only(oauthOf({ ...crossApp, algorithm: 'ES256' }))).oauth).toMatchObject({
      machine: {
        grant: 'cross_app_access',
        privateKey: { pem: { file: '/k.pem' }, algorithm: 'ES256' },
        identity: { issuer, clientId: 'i', token: { file: '/run/id-token' } },
      },
    });
  });

  it.each<[object, string]>([
    [{ grant: 'password' }, "field 'oauth.grant': must be client_credentials or cross_app_access"],
    [{ clientId: undefined }, "field 'oauth.clientId': is missing, or is not a string"],
    [{ issuer: 'a.example' }, "field 'oauth.issuer': must be the https address of an authorization server"],
    [{ clientSecret: undefined }, "field 'oauth.clientSecretVariable': is missing; name a secret"],
    [{ clientSecretFile: '/s' }, "field 'oauth.clientSecret': is given in more than one way; keep one"],
    [
      { privateKeyFile: '/k' },
      "field 'oauth.privateKeyFile': is given together with a client secret; give only one of the two",
    ],
    [{ algorithm: 'HS256' }, "field 'oauth.algorithm': must be RS256, RS384"],
    [{ grant: 'cross_app_access' }, "field 'oauth.identity': is missing or names no token"],
  ])('says what is wrong: %j', (change, message) => {
    const oauth = { grant: 'client_credentials', issuer, clientId: 'c', clientSecret: 's', ...change };
    const [skipped] = oauthOf(oauth).skipped;
    if (skipped === undefined) throw new Error('it is used');
    expect(explainSkip(skipped).text).toContain(message);
  });
});
