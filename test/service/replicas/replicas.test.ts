// Two replicas behind one address, as fronts on two addresses of the loopback with one port, and Leases that are kept in memory as the
// API of a cluster keeps them. A real cluster has them in test/cluster/chart.test.ts.

import { createHmac, randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AskCluster, Holders } from '../../../src/service/replicas/holders.js';
import { Replicas } from '../../../src/service/replicas/replicas.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';
import { type Stub, stubFront } from '../../support/http-front.js';
import { removeFolder } from '../../support/remove-folder.js';
import { HANGS_MS, until } from '../../support/time.js';

type Lease = { metadata: { name: string; resourceVersion: string }; spec: { holderIdentity: string } };

/** Leases as an API server keeps them: each change has a version, and a delete may ask for one. */
class Leases {
  readonly all = new Map<string, Lease>();
  #version = 0;

  readonly ask: AskCluster = async (method, path, _signal, body) => {
    const name = /leases\/(.+)$/.exec(path)?.[1] ?? Object(body).metadata?.name;
    const found = this.all.get(name);
    if (method === 'POST') {
      if (found !== undefined) throw Object.assign(new Error('exists'), { status: 409 });
      const made = structuredClone(body) as Lease;
      made.metadata.resourceVersion = String(++this.#version);
      this.all.set(name, made);
      return structuredClone(made);
    }
    if (found === undefined) throw Object.assign(new Error('absent'), { status: 404 });
    if (method === 'GET') return structuredClone(found);
    const asked = Object(body).preconditions?.resourceVersion;
    if (asked !== undefined && asked !== found.metadata.resourceVersion)
      throw Object.assign(new Error('changed'), { status: 409 });
    this.all.delete(name);
    return {};
  };

  get holders(): readonly string[] {
    return [...this.all.values()].map(({ spec }) => spec.holderIdentity);
  }
}

const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
};
const call = (name: string) => ({ method: 'tools/call', params: { name, arguments: {} } });

describe('two replicas', () => {
  const opened: AsyncDisposable[] = [];
  let folder = '';
  let leases = new Leases();
  beforeEach(() => {
    leases = new Leases();
    folder = mkdtempSync(join(tmpdir(), 'replicas-'));
    writeFileSync(join(folder, 'key'), randomBytes(32).toString('hex'), { mode: 0o600 });
  });
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
    await removeFolder(folder);
  });

  async function replica(address: string, port = 0): Promise<Stub & { readonly replicas: Replicas }> {
    const place = { namespace: 'bridges', pod: `pod-${address}`, uid: 'u', address };
    const replicas = new Replicas(new Holders(leases.ask, place), join(folder, 'key'), hostFacts());
    const parts = { replicas, knowsJob: () => false };
    return { ...(await stubFront(opened, { address: `${address}:${port}`, parts })), replicas };
  }
  async function pair(): Promise<readonly [Stub, Stub]> {
    const first = await replica('127.0.0.1');
    return [first, await replica('127.0.0.2', Number(first.url.port))];
  }
  const post = (of: Stub, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(of.url, {
      method: 'POST',
      headers: {
        authorization: 'Bearer ann',
        connection: 'close',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
    });
  async function session(of: Stub, as = 'ann'): Promise<Record<string, string>> {
    const answer = await post(of, INITIALIZE, { authorization: `Bearer ${as}` });
    await answer.text();
    return { authorization: `Bearer ${as}`, 'mcp-session-id': answer.headers.get('mcp-session-id') ?? '' };
  }

  it('a session is reached whichever is asked, and a principal has one replica', async () => {
    const [first, second] = await pair();
    const ann = await session(first);
    expect(await (await post(second, call('whoami'), ann)).text()).toContain('"text":"ann"');
    expect(await (await post(second, call('whoami'))).text()).toContain('"text":"ann"');
    const ben = await session(second, 'ben');
    expect(await (await post(first, call('whoami'), ben)).text()).toContain('"text":"ben"');
    expect(leases.holders).toEqual(['pod-127.0.0.1', 'pod-127.0.0.2']);
    expect(
      await Promise.all([first, second].map(async ({ front }) => (await front.figures()).sessions)),
    ).toEqual([1, 1]);
  });

  it('one that leaves finishes what it began, and the other one has all that is new', async () => {
    const [first, second] = await pair();
    const ann = await session(first);
    const slow = post(second, call('slow'), ann);
    await until(() => first.slow.begun === 1);
    const drained = first.front.drain(HANGS_MS);
    // What goes on reaches the one that leaves, by way of the other; what begins does not.
    const later = { jsonrpc: '2.0', method: 'notifications/initialized' };
    expect((await post(second, { ...later, id: undefined }, ann)).status).toBe(202);
    const refused = await post(first, call('whoami'));
    expect(refused.status).toBe(503);
    expect(await (await post(second, call('whoami'))).text()).toContain('"text":"ann"');
    expect(leases.holders).toEqual(['pod-127.0.0.2']);
    // The new holder still leads to the old one.
    expect((await post(second, { ...later, id: undefined }, ann)).status).toBe(202);
    first.release();
    expect(await (await slow).text()).toContain('done');
    expect(await drained).toBe(0);
  });

  it('what was with one that is gone is lost with a word, and the other one takes over', async () => {
    const [first, second] = await pair();
    const ann = await session(first);
    const slow = post(second, call('slow'), ann);
    await until(() => first.slow.begun === 1);
    await first.front[Symbol.asyncDispose]();
    const text = await slow.then((answer) => answer.text()).catch(String);
    expect(text).not.toContain('done');
    expect(text).toContain('are lost with it');
    const next = await post(second, call('whoami'), ann);
    expect(next.status).toBe(404);
    expect(await next.text()).toContain('There is no such session, or it has ended.');
    expect(await (await post(second, call('whoami'))).text()).toContain('"text":"ann"');
    expect(leases.holders).toEqual(['pod-127.0.0.2']);
  });

  /** Whoever has the address of a replica that has ended, and what they heard of requests while `act` went on. */
  async function strangerAt(
    { url }: Stub,
    answer: (request: http.IncomingMessage) => Promise<string>,
    act: () => Promise<void>,
  ): Promise<readonly http.IncomingHttpHeaders[]> {
    const heard: http.IncomingHttpHeaders[] = [];
    const stranger = http.createServer((request, response) => {
      heard.push(request.headers);
      response.setHeader('content-type', 'text/event-stream');
      response.flushHeaders();
      answer(request).then((text) => response.end(text));
    });
    await new Promise<void>((resolve) => stranger.listen(Number(url.port), '127.0.0.1', resolve));
    try {
      await act();
    } finally {
      stranger.closeAllConnections();
      await new Promise((resolve) => stranger.close(resolve));
    }
    return heard;
  }
  const withCredentials = (heard: readonly http.IncomingHttpHeaders[]) =>
    heard.filter(({ authorization }) => authorization !== undefined);

  it('nobody but a replica is told anything, and nobody else is believed to be one', async () => {
    const [first, second] = await pair();
    await session(first);
    await first.front[Symbol.asyncDispose]();
    const heard = await strangerAt(
      first,
      async () => '0'.repeat(64),
      async () => {
        expect(await (await post(second, call('whoami'))).text()).toContain('"text":"ann"');
      },
    );
    expect([heard.length > 0, withCredentials(heard)]).toEqual([true, []]);
    const forged = {
      'x-mcp-bridge-replica': `${Date.now()}.${'0'.repeat(64)}`,
      'x-forwarded-host': 'evil.example',
    };
    // Its word for the host is not taken: the request is served under the one that it came to.
    expect((await post(second, call('whoami'), forged)).status).toBe(200);
  });

  it('a proof that another replica has given is none of whoever hands it on', async () => {
    const [first, second] = await pair();
    await session(first);
    await first.front[Symbol.asyncDispose]();
    const ofSecond = async ({ headers }: http.IncomingMessage): Promise<string> => {
      const nonce = String(headers['x-mcp-bridge-nonce'] ?? '');
      const given = await fetch(new URL('/replica', second.url), {
        headers: { 'x-mcp-bridge-nonce': nonce, connection: 'close' },
      });
      const text = await given.text();
      expect(text).toMatch(/^[0-9a-f]{64}$/);
      return text;
    };
    const heard = await strangerAt(first, ofSecond, async () => {
      expect(await (await post(second, call('whoami'))).text()).toContain('"text":"ann"');
    });
    expect([heard.length > 0, withCredentials(heard)]).toEqual([true, []]);
  });

  it('a stream that ends after nothing but keepalives has a last word', async () => {
    const [first, second] = await pair();
    const ann = await session(first);
    await first.front[Symbol.asyncDispose]();
    const key = readFileSync(join(folder, 'key'), 'utf8').trim();
    // As a replica that is killed while it has the request: it has shown the key.
    const killed = async ({ url, headers }: http.IncomingMessage): Promise<string> =>
      url === '/replica'
        ? createHmac('sha256', key)
            .update(JSON.stringify(['proof', headers['x-mcp-bridge-nonce'], '127.0.0.1']))
            .digest('hex')
        : ': keepalive\n\n';
    await strangerAt(first, killed, async () => {
      expect(await (await post(second, call('whoami'), ann)).text()).toContain('are lost with it');
    });
  });

  it('a key that cannot be used is refused with the reason', () => {
    const place = { namespace: 'bridges', pod: 'pod-a', uid: 'u', address: '127.0.0.1' };
    const refusal = (key: string | undefined): string => {
      try {
        new Replicas(new Holders(leases.ask, place), key, hostFacts());
        return 'taken';
      } catch (thrown) {
        return String(thrown);
      }
    };
    writeFileSync(join(folder, 'short'), 'abc', { mode: 0o600 });
    writeFileSync(join(folder, 'open'), randomBytes(32).toString('hex'));
    chmodSync(join(folder, 'open'), 0o666);
    expect(refusal(undefined)).toContain('MCP_BRIDGE_HTTP_REPLICA_KEY: it is not set');
    expect(refusal(join(folder, 'none'))).toContain(`there is no file ${join(folder, 'none')}`);
    expect(refusal(join(folder, 'short'))).toContain('has fewer than 32 characters');
    expect(refusal(join(folder, 'open'))).toContain('can be written by other users');
  });

  it('a cluster that does not say who holds a principal is told of, and nothing is done', async () => {
    const place = { namespace: 'bridges', pod: 'pod-a', uid: 'u', address: '127.0.0.1' };
    const silent: AskCluster = () => Promise.reject(new Error('the API server is away'));
    const replicas = new Replicas(new Holders(silent, place), join(folder, 'key'), hostFacts());
    const stub = await stubFront(opened, { parts: { replicas } });
    const answer = await post(stub, call('whoami'));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await answer.text()).toContain('Nothing was done');
  });
});
