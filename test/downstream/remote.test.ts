import { afterEach, describe, expect, test } from 'vitest';
import type { RemoteSpec } from '../../src/config/downstream-spec.js';
import { RawJson } from '../../src/protocol/json-text.js';
import { call, NEVER, poolOf, type TestPool, until } from './hostile.js';
import { everythingWeb, hostileWeb, type RemoteServer, remote } from './remote-servers.js';

const pools: TestPool[] = [];
const servers: RemoteServer[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool[Symbol.asyncDispose]()));
  await Promise.all(servers.splice(0).map((server) => server.kill()));
});

async function started(server: RemoteServer): Promise<RemoteServer> {
  servers.push(server);
  return server.start();
}

function pooled(spec: RemoteSpec, times = {}): TestPool {
  const pool = poolOf([spec], times);
  pools.push(pool);
  return pool;
}

/** The hostile server by one of its faces, and the pool that reaches it. */
async function hostilePool(face: Face, modes: readonly string[] = [], more: Partial<RemoteSpec> = {}) {
  const server = await started(hostileWeb(face, ...modes));
  const transport = face === 'sse' ? 'sse' : 'http';
  const pool = pooled(remote('far', server.url(), { transport, ...more }));
  return { server, pool, get: () => pool.get('far', NEVER) };
}

type Face = 'http' | 'http-json' | 'sse';
const FACES: readonly Face[] = ['http', 'http-json', 'sse'];

describe.each(FACES)('over %s', (face) => {
  test('arguments and results are relayed to the last character', async () => {
    const { get } = await hostilePool(face);
    const args =
      '{"n":9007199254740993,"f":1.0,"e":1e400,"neg":-0,"__proto__":{"x":[1,{"arguments":2}]},"s":"}\\"{\\u0000é"}';
    const answer = await (await get()).callTool('echo_raw', new RawJson(args), NEVER);
    expect(answer.text).toBe(`{"content":[],"structuredContent":${args}}`);
  });

  test('40 MB arrive within two seconds, and above 64 MiB one request fails', async () => {
    const { get } = await hostilePool(face);
    const server = await get();
    const startedAt = performance.now();
    const { text } = await server.callTool('big', new RawJson(`{"bytes":${40 * 1024 * 1024}}`), NEVER);
    expect(text.length).toBeGreaterThan(40 * 1024 * 1024);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    const [big, small] = await Promise.allSettled([
      call(server, 'big', { bytes: 65 * 1024 * 1024 }),
      call(server, 'echo', { text: 'still here' }),
    ]);
    expect(big).toMatchObject({ reason: { code: 'E_FRAME_TOO_LARGE' } });
    expect(small).toMatchObject({ value: { content: [{ text: 'still here' }] } });
  });

  test('a restart costs nobody a call', async () => {
    const { server, get } = await hostilePool(face);
    const first = await get();
    expect(await call(first, 'echo', { text: 'a' })).toMatchObject({ content: [{ text: 'a' }] });
    await server.restart();
    const answers = await Promise.all(['b', 'c', 'd'].map((text) => call(first, 'echo', { text })));
    expect(answers.map(({ content }) => content[0]?.text)).toEqual(['b', 'c', 'd']);
    expect(await get()).toBe(first);
  });
});

test.each([
  ['streamableHttp', 'http', 'mcp'],
  ['sse', 'sse', 'sse'],
  ['streamableHttp', 'auto', 'mcp'],
  ['sse', 'auto', 'sse'],
] as const)('the reference server by %s as %s, restarted', async (mode, transport, file) => {
  const server = await started(everythingWeb(mode));
  const pool = pooled(remote('everything', server.url(file), { transport }));
  const everything = await pool.get('everything', NEVER);
  expect(everything.tools()).toHaveLength(13);
  expect(await call(everything, 'echo', { message: 'hi' })).toMatchObject({
    content: [{ text: 'Echo: hi' }],
  });
  await server.restart();
  expect(await call(everything, 'echo', { message: 'ho' })).toMatchObject({
    content: [{ text: 'Echo: ho' }],
  });
});

test('headers of the entry go with every request', async () => {
  const { get } = await hostilePool('http', ['needs=Bearer key-123456'], {
    headers: { Authorization: 'Bearer key-123456', 'X-Team': 'blue' },
  });
  const { structuredContent } = await call(await get(), 'headers');
  expect(structuredContent).toMatchObject({ 'x-team': 'blue', 'mcp-protocol-version': '2025-11-25' });
});

void until;
