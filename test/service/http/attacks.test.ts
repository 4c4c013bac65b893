// Whoever does not keep to the protocol: slow, greedy, lying or forged requests. Each is answered or cut off in bounded time
// and memory, and others are served beside it.

import { once } from 'node:events';
import net from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { BridgeError } from '../../../src/base/errors.js';

import type { Principal } from '../../../src/base/principal.js';

import { type Stub, stubFront } from '../../support/http-front.js';
import { HANGS_MS, PATIENTLY } from '../../support/time.js';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const HEADERS = {
  authorization: 'Bearer ann',
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const post = (
  { url }: Pick<Stub, 'url'>,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  init: RequestInit = {},
) =>
  fetch(url, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  });
const call = (name: string, id: unknown = 1, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};
async function openSession(stub: Stub, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const response = await post(stub, INITIALIZE, headers);
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}

/** A connection that sends `text`; resolves with all that came back when the other end has closed. */
async function raw({ url }: Stub, text: string): Promise<string> {
  const socket = net.connect(Number(url.port), url.hostname);
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString();
  });
  socket.on('error', () => {});
  socket.write(text);
  await once(socket, 'close');
  return got;
}
const head = (lines: readonly string[]) =>
  `${['POST /mcp HTTP/1.1', 'Host: localhost', 'Authorization: Bearer ann', 'Content-Type: application/json', ...lines].join('\r\n')}\r\n`;

const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string } }).error.message;

describe('slow and endless', () => {
  it('headers that do not end are cut off', async () => {
    const stub = await stubFront(opened, { limits: { headersMs: 300 } });
    expect(await raw(stub, 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-A: ')).toContain('408');
  });

  it('a connection that says nothing is cut off', async () => {
    const stub = await stubFront(opened, { limits: { headersMs: 300 } });
    expect(await raw(stub, '')).not.toContain('200');
  });

  it('a body that stops coming is refused', async () => {
    const stub = await stubFront(opened, { limits: { bodyIdleMs: 200 } });
    const got = await raw(stub, `${head(['Content-Length: 100'])}\r\n{"jsonrpc"`);
    expect(got).toContain('HTTP/1.1 408');
    expect(got).toContain('did not arrive in time');
  });

  it('a chunked body without an end is refused at the limit', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_BODY_MB: '1' } });
    const socket = net.connect(Number(stub.url.port), '127.0.0.1');
    socket.on('error', () => {});
    let got = '';
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString();
    });
    socket.write(`${head(['Transfer-Encoding: chunked'])}\r\n`);
    const piece = `10000\r\n${' '.repeat(65_536)}\r\n`;
    const sending = setInterval(() => socket.write(piece), 1);
    // It may be cut off while it writes, which `once` would take for the end of the test.
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    clearInterval(sending);
    expect(got).toContain('HTTP/1.1 413');
  });

  it('a body that says it is too large is refused before it comes', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_BODY_MB: '1' } });
    const got = await raw(stub, `${head(['Content-Length: 2000000', 'Expect: 100-continue'])}\r\n`);
    expect(got).toMatch(/^HTTP\/1\.1 413/);
    expect(got).toContain('MCP_BRIDGE_HTTP_BODY_MB');
  });

  it('a reader that takes nothing loses its connection, and its call is cancelled', async () => {
    const stub = await stubFront(opened, { limits: { unreadMs: 300, unreadBytes: 8_000_000 } });
    const socket = net.connect(Number(stub.url.port), '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    const body = JSON.stringify({
      ...call('chatter'),
      params: { name: 'chatter', _meta: { progressToken: 1 } },
    });
    socket.write(
      `${head(['Accept: application/json, text/event-stream', `Content-Length: ${body.length}`])}\r\n${body}`,
    );
    await vi.waitFor(
      () =>
        expect(stub.events).toContainEqual(
          expect.objectContaining({ type: 'http.request', isWhole: false, status: 200 }),
        ),
      PATIENTLY,
    );
    expect((await stub.front.figures()).unreadBytes).toBe(0);
    socket.destroy();
  });

  it('what waits for all readers together is bounded, and the greediest goes', async () => {
    const stub = await stubFront(opened, { limits: { unreadBytesInAll: 10_000_000 } });
    const socket = net.connect(Number(stub.url.port), '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    const body = JSON.stringify(call('large', 1, { bytes: 30_000_000 }));
    socket.write(
      `${head(['Accept: application/json, text/event-stream', `Content-Length: ${body.length}`])}\r\n${body}`,
    );
    await vi.waitFor(
      () =>
        expect(stub.events).toContainEqual(expect.objectContaining({ type: 'http.request', isWhole: false })),
      PATIENTLY,
    );
    const answer = await post(stub, call('whoami'));
    expect(await answer.text()).toContain('ann');
    socket.destroy();
  });
});

describe('greedy', () => {
  it('headers of sixteen kilobytes are refused', async () => {
    const stub = await stubFront(opened);
    expect(await raw(stub, `${head([`X-A: ${'a'.repeat(20_000)}`])}\r\n`)).toContain('431');
  });

  it('one connection has at most sixteen requests under way', async () => {
    const stub = await stubFront(opened);
    const body = JSON.stringify(call('slow'));
    const request = `${head(['Accept: application/json, text/event-stream', `Content-Length: ${body.length}`])}\r\n${body}`;
    expect(await raw(stub, request.repeat(40))).not.toContain('done');
    await vi.waitFor(() => expect(stub.slow.cancelled).toBe(stub.slow.begun), PATIENTLY);
    expect(stub.slow.begun).toBeLessThanOrEqual(16);
  });

  it('connections of one address are bounded, and new requests still come through', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_CONNECTIONS: '100' } });
    const sockets = Array.from({ length: 1_000 }, () => net.connect(Number(stub.url.port), '127.0.0.1'));
    const closed = sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.on('error', () => {});
          socket.once('close', () => resolve());
        }),
    );
    let gone = 0;
    for (const each of closed) void each.then(() => gone++);
    await vi.waitFor(() => expect(gone).toBeGreaterThanOrEqual(900), PATIENTLY);
    expect((await stub.front.figures()).connections).toBeLessThanOrEqual(100);
    expect(stub.events).toContainEqual(expect.objectContaining({ type: 'http.dropped' }));
    for (const socket of sockets) socket.destroy();
    await vi.waitFor(async () => expect((await stub.front.figures()).connections).toBe(0), PATIENTLY);
    expect((await post(stub, call('whoami'))).status).toBe(200);
  });

  it('a principal that sends too much is told when to come back; others are not', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_RATE: '3' } });
    const statuses = [];
    for (let at = 0; at < 4; at++) statuses.push((await post(stub, call('whoami'))).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const refused = await post(stub, call('whoami'));
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await errorOf(refused)).toMatch(/come back in \d+ s/);
    expect((await post(stub, call('whoami'), { authorization: 'Bearer bob' })).status).toBe(200);
  });

  it('large bodies count as several requests, also those that are refused for what they say', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_RATE: '6' } });
    const filled = (chars: number) =>
      `{"jsonrpc":"2.0","id":1,"method":"no/such","params":{"x":"${'y'.repeat(chars)}"}}`;
    // The control: five of them are no more than five requests.
    for (let at = 0; at < 5; at++)
      expect((await post(stub, filled(200_000), { authorization: 'Bearer bob' })).status).not.toBe(429);
    expect((await post(stub, filled(3_000_000))).status).not.toBe(429);
    expect((await post(stub, call('whoami'))).status).toBe(429);
    const broken = { authorization: 'Bearer cleo' };
    expect((await post(stub, filled(3_000_000).slice(1), broken)).status).toBe(400);
    expect((await post(stub, call('whoami'), broken)).status).toBe(429);
  });

  it('each request has its turn, what is refused for its credential too; one too many is told when to come back', async () => {
    const owners: string[] = [];
    const held: string[] = [];
    const refused = new BridgeError('E_BUSY', 'Nothing was done.', {
      fault: 'agent',
      remedy: 'Make the same call again in 7 s.',
      retryAfterSeconds: 7,
    });
    const stub = await stubFront(opened, {
      parts: {
        turn: async (owner) => {
          owners.push(owner);
          if (owner === 'token:ann') return { refused };
          held.push(owner);
          return { [Symbol.dispose]: () => void held.splice(held.indexOf(owner), 1) };
        },
      },
    });
    const busy = await post(stub, call('whoami', 5));
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '7']);
    expect(await busy.json()).toMatchObject({
      id: 5,
      error: { message: 'Nothing was done. Make the same call again in 7 s.' },
    });
    const other = post(stub, call('slow'), { authorization: 'Bearer bob' });
    await vi.waitFor(() => expect(stub.slow.begun).toBe(1), PATIENTLY);
    expect(held).toEqual(['token:bob']);
    stub.release();
    await (await other).text();
    await vi.waitFor(() => expect(held).toEqual([]), PATIENTLY);
    expect((await post(stub, call('whoami'), { authorization: 'Bearer ?' })).status).toBe(401);
    expect(owners).toEqual(['token:ann', 'token:bob', 'refused requests']);
  });

  it('a large body is looked at in the turn of its principal, and a small one, which may be a cancellation, at once', async () => {
    const refused = new BridgeError('E_BUSY', 'Nothing was done.', {
      fault: 'agent',
      remedy: 'Make the same call again in 7 s.',
      retryAfterSeconds: 7,
    });
    const stub = await stubFront(opened, { parts: { turn: async () => ({ refused }) } });
    const broken = (chars: number) =>
      `{"jsonrpc":"2.0","id":5,"method":"x","params":{"x":"${'y'.repeat(chars)}"`;
    expect((await post(stub, broken(10))).status).toBe(400);
    const large = await post(stub, broken(100_000));
    expect([large.status, await large.json()]).toMatchObject([429, { id: 5 }]);
  });

  it('a request that waits for its turn is answered before a drain is over', async () => {
    let grant = () => {};
    const granted = new Promise<void>((resolve) => {
      grant = resolve;
    });
    const asked: string[] = [];
    const stub = await stubFront(opened, {
      parts: {
        turn: async (owner) => {
          asked.push(owner);
          await granted;
          return { [Symbol.dispose]: () => {} };
        },
      },
    });
    const waiting = post(stub, call('whoami'));
    await vi.waitFor(() => expect(asked).toHaveLength(1), PATIENTLY);
    expect(await stub.front.drain(100)).toBe(1);
    grant();
    const answer = await waiting;
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await stub.front.drain(HANGS_MS)).toBe(0);
  });

  it('a cancellation does not wait behind what it is about', async () => {
    let isFull = false;
    const stub = await stubFront(opened, {
      parts: { turn: async () => (isFull ? new Promise(() => {}) : { [Symbol.dispose]: () => {} }) },
    });
    const id = await openSession(stub);
    const calling = post(stub, call('slow', 77), { 'mcp-session-id': id });
    await vi.waitFor(() => expect(stub.slow.begun).toBe(1), PATIENTLY);
    isFull = true;
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } };
    expect((await post(stub, cancelled, { 'mcp-session-id': id })).status).toBe(202);
    await vi.waitFor(() => expect(stub.slow.cancelled).toBe(1), PATIENTLY);
    stub.release();
    await (await calling).body?.cancel();
  });

  it('each message of a batch counts', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_RATE: '5' } });
    const batch = Array.from({ length: 20 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
    await (await post(stub, batch)).text();
    expect((await post(stub, call('whoami'))).status).toBe(429);
  });

  it('one principal fills a quarter of all sessions and no more, and ends nobody else’s', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_SESSIONS: '8' } });
    const first = await openSession(stub, { authorization: 'Bearer bob' });
    for (let at = 0; at < 5; at++) await openSession(stub);
    expect((await stub.front.figures()).sessions).toBe(3);
    const answer = await post(stub, call('whoami'), {
      authorization: 'Bearer bob',
      'mcp-session-id': first,
    });
    expect(await answer.text()).toContain('bob');
  });

  it('sessions that are all in use are not taken away', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_SESSIONS: '4' } });
    const id = await openSession(stub);
    const calling = post(stub, call('slow'), { 'mcp-session-id': id });
    await vi.waitFor(() => expect(stub.slow.begun).toBe(1), PATIENTLY);
    const refused = await post(stub, INITIALIZE);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).not.toBeNull();
    stub.release();
    expect(await (await calling).text()).toContain('done');
  });
});

describe('forged', () => {
  it.each([
    ['evil.example', 403],
    ['localhost.evil.example', 403],
    ['localhost@evil.example', 403],
    ['127.0.0.1:1', 200],
    ['[::1]', 200],
    ['LOCALHOST', 200],
    ['', 403],
  ])('the Host %j is answered with %i', async (host, status) => {
    const stub = await stubFront(opened);
    const body = JSON.stringify(call('whoami'));
    const got = await raw(
      stub,
      [
        'POST /mcp HTTP/1.1',
        `Host: ${host}`,
        'Authorization: Bearer ann',
        'Content-Type: application/json',
        'Accept: application/json, text/event-stream',
        'Connection: close',
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n'),
    );
    expect(got).toMatch(new RegExp(`^HTTP/1.1 ${status}`));
  });

  it.each([
    ['Host', ['127.0.0.1', 'evil.example']],
    ['Host', ['evil.example', '127.0.0.1']],
    ['Host', ['127.0.0.1', '127.0.0.1']],
    ['hOST', ['127.0.0.1', '127.0.0.1']],
    ['Authorization', ['Bearer ann', 'Bearer eve']],
    ['Origin', ['http://localhost:5173', 'https://evil.example']],
    ['Content-Type', ['application/json', 'text/plain']],
    ['MCP-Session-Id', ['a', 'b']],
    ['MCP-Protocol-Version', ['2025-06-18', '2025-11-25']],
    ['Content-Length', ['LENGTH', 'LENGTH']],
    ['Content-Length', ['LENGTH', '1']],
    ['Transfer-Encoding', ['chunked', 'LENGTH']],
  ])('%s twice, %j, is answered with 400', async (name, values) => {
    const stub = await stubFront(opened);
    const body = JSON.stringify(call('whoami'));
    const usual: Readonly<Record<string, string>> = {
      host: '127.0.0.1',
      authorization: 'Bearer ann',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      connection: 'close',
      'content-length': 'LENGTH',
    };
    const sent = async (given: readonly string[]) => {
      const others = Object.entries(usual).filter(([usualName]) => usualName !== name.toLowerCase());
      const lines = [...others, ...given.map((value) => [name, value] as const)];
      const head = lines.map(([each, value]) => `${each}: ${value.replace('LENGTH', String(body.length))}`);
      return await raw(stub, ['POST /mcp HTTP/1.1', ...head, '', body].join('\r\n'));
    };
    expect(await sent(values)).toMatch(/^HTTP\/1.1 400/);
    // The control: once, it is what is usual.
    const once = usual[name.toLowerCase()];
    if (once !== undefined) expect(await sent([once])).toMatch(/^HTTP\/1.1 200/);
  });

  it('a Host that the operator has named is taken', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_HOSTS: 'mcp.example.com' } });
    const got = await raw(
      stub,
      'GET /mcp HTTP/1.1\r\nHost: mcp.example.com:443\r\nConnection: close\r\n\r\n',
    );
    expect(got).toMatch(/^HTTP\/1.1 401/);
  });

  it.each([
    ['https://evil.example', 403],
    ['null', 403],
    ['http://localhost.evil.example', 403],
    ['http://localhost:5173', 200],
    ['https://app.example.com', 200],
  ])('the Origin %j is answered with %i', async (origin, status) => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_ORIGINS: 'https://app.example.com' } });
    const response = await post(stub, call('whoami'), { origin });
    expect(response.status).toBe(status);
    expect(response.headers.get('access-control-allow-origin')).toBe(status === 200 ? origin : null);
  });

  it('a preflight is answered for allowed origins only', async () => {
    const { url } = await stubFront(opened);
    const ask = (headers: Readonly<Record<string, string>>) => fetch(url, { method: 'OPTIONS', headers });
    expect((await ask({ origin: 'http://localhost:1' })).status).toBe(204);
    expect((await ask({ origin: 'https://evil.example' })).status).toBe(403);
    const without = await ask({});
    expect([without.status, without.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE']);
  });

  it('a session of somebody else is the same to see as none', async () => {
    const stub = await stubFront(opened);
    const id = await openSession(stub);
    const answers = [];
    for (const session of [id, 'A'.repeat(43)])
      for (const method of ['POST', 'GET', 'DELETE']) {
        const response = await fetch(stub.url, {
          method,
          headers: { ...HEADERS, authorization: 'Bearer bob', 'mcp-session-id': session },
          ...(method === 'POST' ? { body: JSON.stringify(call('whoami')) } : {}),
        });
        const { date: _date, 'x-request-id': _id, ...headers } = Object.fromEntries(response.headers);
        answers.push(JSON.stringify([response.status, headers, await response.text()]));
      }
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain('404');
    const mine = await post(stub, call('whoami'), { 'mcp-session-id': id });
    expect(await mine.text()).toContain('ann');
  });

  it('a scope is asked for each message of a batch', async () => {
    const stub = await stubFront(opened, {
      parts: {
        stepUp: (_principal, message) =>
          (message as { readonly id: unknown }).id === 2
            ? { status: 403, headers: { 'www-authenticate': 'Bearer scope="more"' }, body: {} }
            : undefined,
      },
    });
    const refused = await post(stub, [call('whoami', 1), call('whoami', 2)]);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([403, 'Bearer scope="more"']);
    expect((await post(stub, call('whoami', 1))).status).toBe(200);
  });

  it('ids of sessions cannot be guessed', async () => {
    const stub = await stubFront(opened);
    const ids = [await openSession(stub), await openSession(stub)];
    expect(ids[0]).toMatch(/^[\w-]{43}$/);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it.each<[string, Partial<Principal>]>([
    ['reaches other servers', { servers: [] }],
    ['was granted less', { scopes: [] }],
    ['is of other groups', { groups: ['b'] }],
  ])('a session is no longer found when its credential %s, and its stream ends', async (_, change) => {
    const before = { servers: ['github'], scopes: ['x', 'y'], groups: ['a', 'b'] };
    let principal: Principal = { id: 'oauth:i a', name: 'a', expiresAtMs: undefined, ...before };
    const stub = await stubFront(opened, {
      limits: { lookMs: 50 },
      parts: { authenticate: async () => ({ principal }) },
    });
    const id = await openSession(stub);
    const headers = { 'mcp-session-id': id };
    expect((await post(stub, call('whoami'), headers)).status).toBe(200);
    // The next token of the same person, with the same rights.
    principal = { ...principal, name: 'b', expiresAtMs: 1, scopes: ['y', 'x'] };
    expect((await post(stub, call('whoami'), headers)).status).toBe(200);
    const stream = await fetch(stub.url, { headers: { ...HEADERS, ...headers } });
    const ended = stream.text().catch(() => 'broken off');
    principal = { ...principal, ...change };
    expect((await post(stub, call('whoami'), headers)).status).toBe(404);
    await ended;
  });

  it('an id that is under way is not taken twice', async () => {
    const stub = await stubFront(opened);
    const id = await openSession(stub);
    const calling = post(stub, call('slow', 7), { 'mcp-session-id': id });
    await vi.waitFor(() => expect(stub.slow.begun).toBe(1), PATIENTLY);
    const again = await post(stub, call('whoami', 7), { 'mcp-session-id': id });
    expect(again.status).toBe(400);
    expect(await errorOf(again)).toContain('id 7 is under way');
    const other = await post(stub, call('whoami', '7'), { 'mcp-session-id': id });
    expect(await other.text()).toContain('ann');
    stub.release();
    expect(await (await calling).text()).toContain('done');
    expect((await post(stub, call('whoami', 7), { 'mcp-session-id': id })).status).toBe(200);
  });

  it('a stream ends soon after its token was taken back', async () => {
    const stub = await stubFront(opened, { limits: { lookMs: 50 } });
    const id = await openSession(stub);
    const stream = await fetch(stub.url, { headers: { ...HEADERS, 'mcp-session-id': id } });
    expect(stream.status).toBe(200);
    stub.revoked.add('ann');
    await expect(stream.text()).rejects.toThrow();
  });

  it('headers of a proxy that nobody has named count for nothing', async () => {
    const stub = await stubFront(opened);
    const response = await post(stub, call('whoami'), {
      'x-forwarded-for': '9.9.9.9',
      'x-forwarded-host': 'evil.example',
    });
    expect(response.status).toBe(200);
    await response.text();
    await vi.waitFor(
      () =>
        expect(stub.events).toContainEqual(
          expect.objectContaining({ type: 'http.request', address: '127.0.0.1' }),
        ),
      PATIENTLY,
    );
  });

  it('those of a trusted one do', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_PROXIES: '127.0.0.1' } });
    const refused = await post(stub, call('whoami'), { 'x-forwarded-host': 'evil.example' });
    expect(refused.status).toBe(403);
    const response = await post(stub, call('whoami'), { 'x-forwarded-for': '1.1.1.1, 9.9.9.9' });
    await response.text();
    await vi.waitFor(
      () =>
        expect(stub.events).toContainEqual(
          expect.objectContaining({ type: 'http.request', status: 200, address: '9.9.9.9' }),
        ),
      PATIENTLY,
    );
  });
});

describe('broken', () => {
  it.each([
    ['{', 'not one well-formed JSON value'],
    ['', 'The body is empty'],
    ['['.repeat(200), 'nested deeper'],
  ])('the body %j is refused with a sentence', async (body, sentence) => {
    const response = await post(await stubFront(opened), body);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toContain(sentence);
  });

  it('a body of another type is refused', async () => {
    const response = await post(await stubFront(opened), '{}', { 'content-type': 'text/plain' });
    expect(response.status).toBe(415);
  });

  it('other paths and methods are not there', async () => {
    const { url } = await stubFront(opened);
    const at = (path: string, method = 'GET') =>
      fetch(new URL(path, url), { method, headers: HEADERS }).then(({ status, headers }) => [
        status,
        headers.get('allow'),
      ]);
    expect(await at('/')).toEqual([404, null]);
    expect(await at('/mcp/')).toEqual([404, null]);
    expect(await at('/.well-known/oauth-protected-resource')).toEqual([404, null]);
    expect(await at('/mcp', 'PUT')).toEqual([405, 'POST, GET, DELETE']);
    expect(await at('/mcp', 'GET')).toEqual([405, 'POST']);
    expect(await at('/healthz', 'POST')).toEqual([405, 'GET, HEAD']);
    expect(await at('/healthz', 'HEAD')).toEqual([200, null]);
  });

  it('HEAD is told where to log in, as hosts ask before they open a browser, and is nothing more', async () => {
    const { url } = await stubFront(opened);
    const head = async (headers: Readonly<Record<string, string>>) => {
      const response = await fetch(url, { method: 'HEAD', headers });
      return [response.status, response.headers.get('www-authenticate')];
    };
    expect(await head({})).toEqual([401, 'Bearer']);
    expect(await head(HEADERS)).toEqual([405, null]);
  });

  it('a client that leaves has its call cancelled', async () => {
    const stub = await stubFront(opened);
    for (const headers of [{}, { 'mcp-session-id': await openSession(stub) }]) {
      const { begun } = stub.slow;
      const stop = new AbortController();
      const calling = post(stub, call('slow'), headers, { signal: stop.signal });
      await vi.waitFor(() => expect(stub.slow.begun).toBe(begun + 1), PATIENTLY);
      const response = await calling;
      stop.abort();
      await expect(response.text()).rejects.toThrow();
      await vi.waitFor(() => expect(stub.slow.cancelled).toBe(begun + 1), PATIENTLY);
    }
  });

  it('a session that nobody uses ends', async () => {
    const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_SESSION_IDLE: '1' } });
    const id = await openSession(stub);
    await vi.waitFor(async () => expect((await stub.front.figures()).sessions).toBe(0), PATIENTLY);
    expect((await post(stub, call('whoami'), { 'mcp-session-id': id })).status).toBe(404);
  });
});
