// What whoever operates it sees: where it listens and where it refuses to, health, TLS, draining, and what is told of each
// request.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { listenFd, parseHttpAddress, pathOfSocket } from '../../../src/service/http/address.js';
import { withRequests } from '../../../src/service/http/parts.js';
import { ownFolder, principalOf, type Stub, stubFront } from '../../support/http-front.js';
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
const call = (name: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });
const post = ({ url }: Stub, body: string, more: Readonly<Record<string, string>> = {}) =>
  fetch(url, { method: 'POST', headers: { ...HEADERS, ...more }, body });
const get = async ({ url }: Stub, path: string) => {
  const response = await fetch(new URL(path, url));
  return [response.status, await response.json()] as const;
};

describe('where it listens', () => {
  it.each([
    ['8808', { at: 'tcp', host: '127.0.0.1', port: 8808 }],
    ['0.0.0.0:1', { at: 'tcp', host: '0.0.0.0', port: 1 }],
    ['[::1]:1', { at: 'tcp', host: '::1', port: 1 }],
    ['box.local:65535', { at: 'tcp', host: 'box.local', port: 65_535 }],
    ['unix:/run/x.sock', { at: 'unix', path: '/run/x.sock' }],
    ['systemd', { at: 'systemd' }],
  ])('%s', (text, address) => expect(parseHttpAddress(text)).toEqual(address));

  it.each(['', 'x', '65536', '::1:80', 'unix:', 'unix:x', 'http://localhost:1', '1:2:3'])(
    'the address %j is refused with what is allowed',
    (text) => {
      expect(() => parseHttpAddress(text)).toThrow(
        expect.objectContaining({
          message: `--http: '${text}' is not an address.`,
          remedy: expect.stringContaining('unix:/path/of/socket'),
        }),
      );
    },
  );

  it.each(['0.0.0.0:0', '[::]:0'])('%s needs credentials', async (address) => {
    await expect(stubFront(opened, { address, parts: { hasCredentials: false } })).rejects.toMatchObject({
      code: 'E_SETTINGS',
      message: expect.stringContaining('other machines can reach'),
      remedy: expect.stringContaining('token create'),
    });
    expect(opened).toEqual([]);
  });

  it('says when others can read along', async () => {
    const clear = await stubFront(opened, { address: '0.0.0.0:0' });
    expect(clear.events).toContainEqual(expect.objectContaining({ type: 'http.listening', isInClear: true }));
    const own = await stubFront(opened);
    expect(own.events).toContainEqual(expect.objectContaining({ type: 'http.listening', isInClear: false }));
  });

  it('a port that is taken is named', async () => {
    const { url } = await stubFront(opened);
    await expect(stubFront(opened, { address: url.host })).rejects.toMatchObject({
      message: expect.stringContaining('EADDRINUSE'),
      remedy: expect.stringContaining('another address'),
    });
  });
});

describe('a unix socket', () => {
  it('is for its owner alone, and goes with the bridge', async () => {
    const path = join(ownFolder(opened), 's');
    const { front } = await stubFront(opened, { address: `unix:${path}` });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await front[Symbol.asyncDispose]();
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('replaces one of a dead process, and none of a living one', async () => {
    const path = join(ownFolder(opened), 's');
    // It ends before it can tidy up.
    spawnSync(process.execPath, [
      '-e',
      `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`,
    ]);
    expect(statSync(path).isSocket()).toBe(true);
    await stubFront(opened, { address: `unix:${path}` });
    await expect(stubFront(opened, { address: `unix:${path}` })).rejects.toMatchObject({
      message: expect.stringContaining('another process listens there'),
    });
    expect(statSync(path).isSocket()).toBe(true);
  });

  it.each([
    ['no folder', (path: string) => join(path, 'absent', 's'), 'there is no folder'],
    [
      'a folder for all',
      (path: string) => {
        mkdirSync(join(path, 'open'));
        chmodSync(join(path, 'open'), 0o777);
        return join(path, 'open', 's');
      },
      'can be written by other users',
    ],
    [
      'a folder below one for all',
      (path: string) => {
        mkdirSync(join(path, 'open', 'own'), { recursive: true });
        chmodSync(join(path, 'open'), 0o777);
        return join(path, 'open', 'own', 's');
      },
      'can be written by other users',
    ],
    [
      'a folder such as /tmp',
      (path: string) => {
        mkdirSync(join(path, 'tmp'));
        chmodSync(join(path, 'tmp'), 0o1777);
        return join(path, 'tmp', 's');
      },
      'can be written by other users',
    ],
    [
      'a file',
      (path: string) => {
        writeFileSync(join(path, 's'), 'precious');
        return join(path, 's');
      },
      'that is not a socket',
    ],
  ])('is refused in place of %s', async (_what, at, sentence) => {
    const path = at(ownFolder(opened));
    await expect(stubFront(opened, { address: `unix:${path}` })).rejects.toMatchObject({
      code: 'E_SETTINGS',
      message: expect.stringContaining(sentence),
    });
    if (sentence === 'that is not a socket') expect(readFileSync(path, 'utf8')).toBe('precious');
  });
});

describe('the socket that systemd hands over', () => {
  const handedOver = async (path: string, mode: number) => {
    const holder = net.createServer();
    await new Promise<void>((resolve) => holder.listen(path, () => resolve()));
    opened.push({ [Symbol.asyncDispose]: async () => void holder.close() });
    chmodSync(path, mode);
    return (holder as unknown as { readonly _handle: { readonly fd: number } })._handle.fd;
  };

  it('is found with its path, and whose it is', async () => {
    const path = join(ownFolder(opened), 'handed over');
    const fd = await handedOver(path, 0o600);
    expect(pathOfSocket(fd)).toBe(path);
  });

  it('is wanted, and one', () => {
    expect(listenFd({ LISTEN_FDS: '1', LISTEN_PID: '7' }, 7)).toBe(3);
    for (const env of [{}, { LISTEN_FDS: '2', LISTEN_PID: '7' }, { LISTEN_FDS: '1', LISTEN_PID: '8' }])
      expect(() => listenFd(env, 7)).toThrow(expect.objectContaining({ code: 'E_SETTINGS' }));
  });
});

describe('health', () => {
  it('tells life from readiness, without a credential and under any name', async () => {
    let isReady = true;
    const stub = await stubFront(opened, { parts: { readiness: () => isReady } });
    expect(await get(stub, '/healthz')).toEqual([200, { status: 'ok' }]);
    expect(await get(stub, '/readyz')).toEqual([200, { status: 'ready' }]);
    isReady = false;
    expect(await get(stub, '/readyz')).toEqual([503, expect.objectContaining({ status: 503 })]);
    expect(await get(stub, '/healthz')).toEqual([200, { status: 'ok' }]);
  });
});

describe('TLS', () => {
  const certificate = (folder: string, name: string) => {
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
        ...['-days', '2', '-subj', `/CN=${name}`, '-keyout', files.key, '-out', files.cert],
      ],
      { stdio: 'ignore' },
    );
    return files;
  };
  const nameShown = (url: URL) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ port: Number(url.port), host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on('error', reject);
    });

  it('serves, and takes a new certificate when its files have changed', async () => {
    const folder = ownFolder(opened);
    const { cert, key } = certificate(folder, 'first');
    const env = { MCP_BRIDGE_HTTP_CERT: cert, MCP_BRIDGE_HTTP_KEY: key };
    const stub = await stubFront(opened, { env, limits: { lookMs: 50 } });
    expect(stub.url.protocol).toBe('https:');
    const answer = await new Promise<string>((resolve, reject) => {
      const request = https.request(
        stub.url,
        { method: 'POST', headers: HEADERS, rejectUnauthorized: false, agent: false },
        (response) => {
          let got = '';
          response.on('data', (chunk: Buffer) => {
            got += chunk.toString();
          });
          response.on('end', () => resolve(got));
        },
      );
      request.on('error', reject);
      request.end(call('whoami'));
    });
    expect(answer).toContain('ann');
    expect(await nameShown(stub.url)).toBe('first');
    writeFileSync(cert, 'no certificate');
    await vi.waitFor(
      () => expect(stub.events).toContainEqual(expect.objectContaining({ type: 'http.tls', is: 'kept' })),
      PATIENTLY,
    );
    expect(await nameShown(stub.url)).toBe('first');
    certificate(folder, 'second');
    await vi.waitFor(async () => expect(await nameShown(stub.url)).toBe('second'), PATIENTLY);
  });

  it('goes on with what it has where the files cannot even be looked at', async () => {
    const folder = ownFolder(opened);
    const { cert, key } = certificate(folder, 'first');
    const env = { MCP_BRIDGE_HTTP_CERT: cert, MCP_BRIDGE_HTTP_KEY: key };
    const stub = await stubFront(opened, { env, limits: { lookMs: 50 } });
    rmSync(cert);
    symlinkSync(cert, cert);
    await vi.waitFor(
      () =>
        expect(stub.events).toContainEqual(
          expect.objectContaining({
            type: 'http.tls',
            is: 'kept',
            message: expect.stringContaining('ELOOP'),
          }),
        ),
      PATIENTLY,
    );
    expect(await nameShown(stub.url)).toBe('first');
    rmSync(cert);
    certificate(folder, 'second');
    await vi.waitFor(async () => expect(await nameShown(stub.url)).toBe('second'), PATIENTLY);
  });

  it('refuses a key that is not of the certificate', async () => {
    const { cert } = certificate(ownFolder(opened), 'one');
    const { key } = certificate(ownFolder(opened), 'other');
    const env = { MCP_BRIDGE_HTTP_CERT: cert, MCP_BRIDGE_HTTP_KEY: key };
    await expect(stubFront(opened, { env })).rejects.toMatchObject({
      code: 'E_SETTINGS',
      remedy: expect.stringContaining('MCP_BRIDGE_HTTP_KEY'),
    });
  });

  it('whoever connects and does not speak TLS is cut off', async () => {
    const { cert, key } = certificate(ownFolder(opened), 'first');
    const env = { MCP_BRIDGE_HTTP_CERT: cert, MCP_BRIDGE_HTTP_KEY: key };
    const { url } = await stubFront(opened, { env, limits: { handshakeMs: 200 } });
    await new Promise<void>((resolve) => {
      const socket = net.connect(Number(url.port), '127.0.0.1');
      socket.on('error', () => {});
      socket.once('close', () => resolve());
    });
  });
});

describe('draining', () => {
  it('begins nothing new, and lets what runs finish', async () => {
    const stub = await stubFront(opened);
    const running = post(stub, call('slow'));
    await vi.waitFor(() => expect(stub.slow.begun).toBe(1), PATIENTLY);
    const draining = stub.front.drain(HANGS_MS);
    expect((await get(stub, '/readyz'))[0]).toBe(503);
    expect((await get(stub, '/healthz'))[0]).toBe(200);
    const refused = await post(stub, call('whoami'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    const listing = await post(stub, JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' }));
    expect(await listing.text()).toContain('whoami');
    stub.release();
    expect(await (await running).text()).toContain('done');
    expect(await draining).toBe(0);
  });

  it('gives up at its bound, and says how much was left', async () => {
    const stub = await stubFront(opened);
    const running = post(stub, call('slow')).then((response) => response.text());
    await vi.waitFor(() => expect(stub.slow.begun).toBe(1), PATIENTLY);
    expect(await stub.front.drain(100)).toBe(1);
    await stub.front[Symbol.asyncDispose]();
    await expect(running).rejects.toThrow();
    await vi.waitFor(() => expect(stub.slow.cancelled).toBe(1), PATIENTLY);
  });

  it('waits for runs whose request has ended', async () => {
    let left = 1;
    const stub = await stubFront(opened, { parts: { runsBesideRequests: () => left } });
    const draining = stub.front.drain(HANGS_MS);
    setTimeout(() => {
      left = 0;
    }, 100);
    expect(await draining).toBe(0);
  });
});

it('each request is told of, with its id and whose it is', async () => {
  const stub = await stubFront(opened);
  const response = await post(stub, call('whoami'));
  await response.text();
  await vi.waitFor(
    () =>
      expect(stub.events).toContainEqual({
        type: 'http.request',
        request: response.headers.get('x-request-id'),
        principal: 'token:ann',
        address: '127.0.0.1',
        method: 'POST',
        path: '/mcp',
        calls: ['tools/call'],
        status: 200,
        isWhole: true,
        durationMs: expect.any(Number),
        run: undefined,
      }),
    PATIENTLY,
  );
});

it('a request that is refused is told of with whose it is, where that is known, and how long it took', async () => {
  const refusal = { status: 401, body: {} };
  const stub = await stubFront(opened, {
    env: { MCP_BRIDGE_HTTP_RATE: '2' },
    parts: {
      authenticate: async ({ authorization }) =>
        authorization?.[0] === 'Bearer old'
          ? { refusal, principalId: 'token:ann#01' }
          : { principal: principalOf('ben') },
    },
  });
  const toldOf = async (status: number) =>
    await vi.waitFor(() => {
      const told = stub.events.find((event) => event.type === 'http.request' && event.status === status);
      expect(told).toBeDefined();
      return told;
    }, PATIENTLY);
  await post(stub, call('whoami'), { authorization: 'Bearer old' });
  const known = { address: '127.0.0.1', method: 'POST', durationMs: expect.any(Number) };
  expect(await toldOf(401)).toMatchObject({ ...known, principal: 'token:ann#01' });
  for (let count = 0; count < 3; count++) await (await post(stub, call('whoami'))).text();
  expect(await toldOf(429)).toMatchObject({ ...known, principal: 'token:ben' });
});

it('a request is told of with the first run that it has begun', async () => {
  const told = withRequests(() => {});
  const stub = await stubFront(opened, {
    parts: {
      turn: async () => {
        for (const run of ['a-1', 'a-2']) told({ type: 'run.queued', run, ahead: 1 });
        return { [Symbol.dispose]: () => {} };
      },
    },
  });
  await (await post(stub, call('whoami'))).text();
  await vi.waitFor(
    () => expect(stub.events).toContainEqual(expect.objectContaining({ type: 'http.request', run: 'a-1' })),
    PATIENTLY,
  );
});
