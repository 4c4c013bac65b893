// Connections that end when they should not, at servers of Node's own http and net.

import { once } from 'node:events';
import http, { type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, it } from 'vitest';
import { HttpClient, type HttpRequest } from '../../src/servers/remote/http-client.js';
import { NEVER, pause, until } from '../support/time.js';
import { poolOf } from './hostile.js';
import { remote } from './remote-servers.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function listen(listener: RequestListener, host = '127.0.0.1'): Promise<string> {
  const server = http.createServer(listener).listen(0, host);
  await once(server, 'listening');
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`;
}

function clientOf(url: string, client = new HttpClient()) {
  ends.push(() => client.close());
  return async (more: Partial<HttpRequest> = {}) => {
    const request = { method: 'POST', url: new URL(url), headers: {}, body: '{}', mayRepeat: false } as const;
    const answer = await client.request({ ...request, ...more }, NEVER);
    let text = '';
    for await (const chunk of answer) text += chunk;
    return text;
  };
}

/** Keeps a connection for longer than a busy machine takes for the next request. */
const PATIENT = { plain: 10_000, tls: 10_000 };

/** Answers the first request of each connection, and ends it without a word at the second. */
async function onceOnly(): Promise<{ readonly url: string; readonly seen: string[] }> {
  const seen: string[] = [];
  const served = new WeakSet<object>();
  const url = await listen(({ socket, headers }, response) => {
    seen.push(String(headers['x-name']));
    if (served.has(socket)) return void socket.destroy();
    served.add(socket);
    response.end('yes');
  });
  return { url, seen };
}

it('what may be repeated is sent again where a used connection ends without a word', async () => {
  const { url, seen } = await onceOnly();
  const ask = clientOf(url, new HttpClient(PATIENT));
  for (const name of ['a', 'b', 'c'])
    expect(await ask({ mayRepeat: true, headers: { 'x-name': name } })).toBe('yes');
  expect(seen).toEqual(['a', 'b', 'b', 'c', 'c']);
});

it('what may not is sent once, and the error says so', async () => {
  const { url, seen } = await onceOnly();
  const ask = clientOf(url, new HttpClient(PATIENT));
  expect(await ask({ headers: { 'x-name': 'a' } })).toBe('yes');
  await expect(ask({ headers: { 'x-name': 'b' } })).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(seen).toEqual(['a', 'b']);
});

it('a new connection that ends without a word is not tried again', async () => {
  let requests = 0;
  const url = await listen(({ socket }) => {
    requests++;
    socket.destroy();
  });
  await expect(clientOf(url)({ mayRepeat: true })).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(requests).toBe(1);
});

it('without TLS only those share a connection who come right after another', async () => {
  const sockets = new Set<object>();
  const url = await listen(({ socket }, response) => {
    sockets.add(socket);
    response.end('yes');
  });
  const ask = clientOf(url);
  for (let call = 0; call < 3; call++) await ask();
  const together = sockets.size;
  expect(together).toBeLessThanOrEqual(3);
  await pause(50);
  await ask();
  expect(sockets.size).toBe(together + 1);
});

it('servers by IPv6, and whatever `localhost` is', async () => {
  const listener: RequestListener = (_request, response) => response.end('yes');
  expect(await clientOf(await listen(listener, '::1'))()).toBe('yes');
  expect(await clientOf((await listen(listener)).replace('127.0.0.1', 'localhost'))()).toBe('yes');
});

it.each<[string, RequestListener, string, string]>([
  [
    'turns a POST into a GET',
    (_request, response) => response.writeHead(301, { location: '/mcp/' }).end(),
    'it redirects with status 301, which would turn a POST into a GET.',
    'only a slash at the end is missing or too much',
  ],
  [
    'leads round and round',
    (_request, response) => response.writeHead(307, { location: '/mcp' }).end(),
    'it redirects without end.',
    'Put the address that it means into its `url`',
  ],
  [
    'leads nowhere',
    (_request, response) => response.writeHead(308).end(),
    'it redirects nowhere.',
    'Put the address that it means into its `url`',
  ],
  [
    'compresses what nobody asked it to',
    ({ headers }, response) => {
      const isAsked = headers['accept-encoding'] !== 'identity';
      const encoding = isAsked ? 'asked-for' : 'gzip';
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding });
      response.end(gzipSync('{}'));
    },
    'it answered in the encoding gzip, although asked for none.',
    'Check that its `url` is that of an MCP server',
  ],
])('a server that %s is told of as such', async (_what, listener, reason, remedy) => {
  const pool = poolOf([remote('far', await listen(listener))]);
  ends.push(() => pool[Symbol.asyncDispose]());
  await expect(pool.get('far', NEVER)).rejects.toMatchObject({
    message: `Server 'far' could not be reached: ${reason}`,
    remedy: expect.stringContaining(remedy),
  });
});

it('a server that has not noticed that its stream is gone is listened to later', async () => {
  let listens = 0;
  const url = await listen(async (request, response) => {
    if (request.method === 'GET') {
      if (listens++ === 0) return void response.writeHead(409).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      return;
    }
    let text = '';
    for await (const chunk of request) text += chunk;
    const { id, method } = JSON.parse(text || '{}');
    if (id === undefined) return void response.writeHead(202).end();
    const greeting = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'x', version: '1' },
    };
    const result = method === 'initialize' ? greeting : { tools: [] };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  const pool = poolOf([remote('far', url)]);
  ends.push(() => pool[Symbol.asyncDispose]());
  await pool.get('far', NEVER);
  await until(() => listens === 2);
});
