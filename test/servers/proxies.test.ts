// HTTP_PROXY, HTTPS_PROXY and NO_PROXY towards remote servers: which addresses go which way, and real requests through a
// real proxy. Names under `.test` lead nowhere, so that only the proxy can have reached the server.

import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Redactor } from '../../src/base/secrets/redact.js';
import { oauthFetch } from '../../src/servers/login/oauth-fetch.js';
import { DownstreamPool } from '../../src/servers/pool/pool.js';
import { HttpClient } from '../../src/servers/remote/http-client.js';
import { proxiesOf } from '../../src/servers/remote/proxies.js';
import { NEVER } from '../support/time.js';
import { call } from './hostile.js';
import { modernWeb } from './modern-servers.js';
import { remote } from './remote-servers.js';

const open: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const proxy = (url: string, env: Record<string, string>) => proxiesOf(env)(new URL(url))?.href;

describe('which proxy', () => {
  it.each<[string, Record<string, string>, string | undefined]>([
    ['http://a.test/', { http_proxy: 'http://p:1' }, 'http://p:1/'],
    ['http://a.test/', { HTTP_PROXY: 'p:1' }, 'http://p:1/'],
    ['http://a.test/', { HTTP_PROXY: 'http://large:1', http_proxy: 'http://small:1' }, 'http://small:1/'],
    ['https://a.test/', { HTTPS_PROXY: 'http://p:2' }, 'http://p:2/'],
    ['https://a.test/', { http_proxy: 'http://p:1' }, undefined],
    ['https://a.test/', { ALL_PROXY: 'https://p:3' }, 'https://p:3/'],
    ['https://a.test/', { https_proxy: '' }, undefined],
    ['http://localhost:8080/', { http_proxy: 'http://p:1' }, undefined],
    ['http://x.localhost/', { http_proxy: 'http://p:1' }, undefined],
    ['http://127.3.2.1/', { http_proxy: 'http://p:1' }, undefined],
    ['http://[::1]:80/', { http_proxy: 'http://p:1' }, undefined],
  ])('%s with %j: %s', (url, env, expected) => {
    expect(proxy(url, env)).toBe(expected);
  });

  it.each<[string, string, boolean]>([
    ['https://a.test/', '*', true],
    ['https://a.test/', 'a.test', true],
    ['https://b.a.test/', 'a.test', true],
    ['https://b.a.test/', '.a.test', true],
    ['https://a.test/', '.a.test', true],
    ['https://b.a.test/', '*.a.test', true],
    ['https://ba.test/', 'a.test', false],
    ['https://A.test/', 'x.test, a.TEST', true],
    ['https://a.test./', 'a.test', true],
    ['https://a.test/', 'x.test a.test', true],
    ['https://a.test:8443/', 'a.test:8443', true],
    ['https://a.test/', 'a.test:443', true],
    ['https://a.test/', 'a.test:8443', false],
    ['http://10.1.2.3/', '10.0.0.0/8', true],
    ['http://11.1.2.3/', '10.0.0.0/8', false],
    ['http://10.1.2.3/', '10.1.2.3', true],
    ['http://10.1.2.3:81/', '10.1.2.3:80', false],
    ['http://[fd00::7]/', 'fd00::/8', true],
    ['http://[fe00::7]/', 'fd00::/8', false],
    ['http://[fd00::7]:81/', '[fd00::7]:81', true],
    ['http://10.1.2.3/', '10.0.0.0/99', false],
    ['https://a.test/', '', false],
  ])('%s with no_proxy %j goes straight: %s', (url, NO_PROXY, straight) => {
    const env = { HTTP_PROXY: 'http://p:1', HTTPS_PROXY: 'http://p:1', NO_PROXY };
    expect(proxy(url, env) === undefined).toBe(straight);
  });

  it.each([['socks5://u:geheim@p:1'], ['http://']])(
    'says what is wrong with %s, and shows no password',
    (HTTPS_PROXY) => {
      expect(() => proxy('https://a.test/', { HTTPS_PROXY })).toThrow(
        /^The variable HTTPS_PROXY .*allowed: http/,
      );
      expect(() => proxy('https://a.test/', { HTTPS_PROXY })).not.toThrow(/geheim/);
    },
  );
});

/** A proxy that leads every name to `port` of this machine, and what it was asked. */
async function startProxy(port: number, allows: (request: IncomingMessage) => number = () => 200) {
  const asked: string[] = [];
  const authorizations: Array<string | undefined> = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    authorizations.push(request.headers['proxy-authorization']);
    const status = allows(request);
    if (status !== 200) return void response.writeHead(status).end();
    const { pathname } = new URL(request.url ?? '');
    const { 'proxy-authorization': _own, ...headers } = request.headers;
    const onward = httpRequest({ port, host: '127.0.0.1', path: pathname, method: request.method, headers });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
    onward.on('error', () => response.destroy());
  });
  server.on('connect', (request: IncomingMessage, socket) => {
    asked.push(`CONNECT ${request.url}`);
    authorizations.push(request.headers['proxy-authorization']);
    const status = allows(request);
    if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    for (const each of [socket, onward]) each.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked, authorizations };
}

async function modernServer() {
  const server = await modernWeb().start();
  open.push(() => server.kill());
  return server;
}

function poolBy(env: Record<string, string>, url: string) {
  const redactor = new Redactor();
  const pool = new DownstreamPool({
    specs: [remote('far', url)],
    hostEnv: env,
    extraEnvNames: [],
    depth: 0,
    observer: () => {},
    redactor,
  });
  open.push(() => pool[Symbol.asyncDispose]());
  return pool;
}

it('an http server is called by way of the proxy, which alone gets its own password', async () => {
  const server = await modernServer();
  const { port, asked, authorizations } = await startProxy(server.port);
  const pool = poolBy({ HTTP_PROXY: `http://us%40er:geheim@127.0.0.1:${port}` }, 'http://mcp.test/mcp');
  const far = await pool.get('far', NEVER);
  expect(await call(far, 'echo', { text: 'a' })).toMatchObject({ content: [{ text: 'a' }] });
  expect(new Set(asked)).toEqual(new Set(['POST http://mcp.test/mcp']));
  const own = `Basic ${Buffer.from('us@er:geheim').toString('base64')}`;
  expect(new Set(authorizations)).toEqual(new Set([own]));
});

it.each([
  [403, 'refuses the connection with status 403'],
  [407, 'wants another name and password (407)'],
])('a tunnel that the proxy refuses with %i is told as such', async (status, why) => {
  const { port, asked } = await startProxy(1, () => status);
  const pool = poolBy({ https_proxy: `http://u:geheim@127.0.0.1:${port}` }, 'https://mcp.test/mcp');
  const refused = await pool.get('far', NEVER).catch((thrown: unknown) => thrown);
  expect(refused).toMatchObject({
    code: 'E_SERVER_UNAVAILABLE',
    message: `Server 'far' could not be reached: the proxy http://127.0.0.1:${port} ${why}.`,
    remedy: 'Correct the variable that names the proxy (https_proxy), or add mcp.test to no_proxy.',
  });
  expect(asked[0]).toBe('CONNECT mcp.test:443');
});

it('a proxy that is not there is told as such', async () => {
  const pool = poolBy({ HTTP_PROXY: 'http://127.0.0.1:1' }, 'http://mcp.test/mcp');
  await expect(pool.get('far', NEVER)).rejects.toThrow(
    "Server 'far' could not be reached: the proxy http://127.0.0.1:1 cannot be reached (ECONNREFUSED).",
  );
});

it('TLS in a tunnel goes to the server itself, whose certificate is looked at', async () => {
  const { createServer: createTls } = await import('node:https');
  const { cert, key } = CERTIFICATE;
  const server = createTls({ cert, key }, (request, response) =>
    response.end(`hello ${request.headers.host}`),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(() => server.close());
  const { port, asked } = await startProxy((server.address() as AddressInfo).port);
  const proxyFor = proxiesOf({ HTTPS_PROXY: `http://127.0.0.1:${port}` });
  const request = { method: 'GET', url: new URL('https://mcp.test/'), headers: {}, mayRepeat: true } as const;
  const trusting = new HttpClient(undefined, proxyFor, { ca: cert });
  open.push(() => trusting.close());
  for (let n = 0; n < 2; n++) {
    const answer = await trusting.request(request, NEVER);
    expect(Buffer.concat(await answer.toArray()).toString()).toBe('hello mcp.test');
  }
  // The tunnel is kept for the next request.
  expect(asked).toEqual(['CONNECT mcp.test:443']);
  const careful = new HttpClient(undefined, proxyFor);
  open.push(() => careful.close());
  await expect(careful.request(request, NEVER)).rejects.toMatchObject({
    cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  });
});

it('authorization servers are asked by way of the proxy as well', async () => {
  const { port, asked } = await startProxy(1, () => 502);
  const proxyFor = proxiesOf({ HTTPS_PROXY: `http://127.0.0.1:${port}` });
  const fetchFn = oauthFetch('https://mcp.test/mcp', NEVER, proxyFor);
  await expect(fetchFn('https://auth.test/.well-known/oauth-authorization-server')).rejects.toThrow(
    `https://auth.test cannot be reached: the proxy http://127.0.0.1:${port} refuses the connection with status 502.`,
  );
  expect(asked).toEqual(['CONNECT auth.test:443']);
});

/** Of mcp.test, signed by itself, for a hundred years; the key is for this test alone. */
const CERTIFICATE = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBkjCCATigAwIBAgIUNp/j8yTL5WAerNA3i3UZpj/3biAwCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIbWNwLnRlc3QwIBcNMjYxMTIzMDcyODQ2WhgPMjEyNjEwMzAw
NzI4NDZaMBMxETAPBgNVBAMMCG1jcC50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAELzrfCRHohDwQ3VFWxB1TRT6MmRE+eTyGtSp7XldwcYiPQq3eIJkYcZnD
GBwYnpTZppu1RY4+LPu4q7KICBSGH6NoMGYwHQYDVR0OBBYEFHoeVLT4ZPyMp4qR
Rg1xJEiqGWXhMB8GA1UdIwQYMBaAFHoeVLT4ZPyMp4qRRg1xJEiqGWXhMA8GA1Ud
EwEB/wQFMAMBAf8wEwYDVR0RBAwwCoIIbWNwLnRlc3QwCgYIKoZIzj0EAwIDSAAw
RQIhAK5EJS/BPN5p5LQWQVwwVGnkkQ0+T4/bH87ju1fhL8nWAiBkC8htBQ0L+XSG
JPDbOdRl3BPDZAv14UeFFuHKd8W1jQ==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgXGYslLEGlAyGs0Zf
xX00D13TY9AuAFkamhTVbOJ0O9WhRANCAAQvOt8JEeiEPBDdUVbEHVNFPoyZET55
PIa1KnteV3BxiI9Crd4gmRhxmcMYHBielNmmm7VFjj4s+7irsogIFIYf
-----END PRIVATE KEY-----
`,
};
