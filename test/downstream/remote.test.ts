import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RemoteSpec } from '../../src/config/downstream-spec.js';
import { RawJson } from '../../src/protocol/json-text.js';
import { call, NEVER, poolOf, type TestPool, until } from './hostile.js';
import { everythingWeb, hostileWeb, type RemoteServer, remote, socketsTo } from './remote-servers.js';

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
    const answer = await (await get()).callTool('echo_raw', new RawJson(args), () => {}, NEVER);
    expect(answer.text).toBe(`{"content":[],"structuredContent":${args}}`);
  });

  test('40 MB arrive in linear time, and above 64 MiB one request fails', async () => {
    const { get } = await hostilePool(face);
    const server = await get();
    const startedAt = performance.now();
    const { text } = await server.callTool(
      'big',
      new RawJson(`{"bytes":${40 * 1024 * 1024}}`),
      () => {},
      NEVER,
    );
    expect(text.length).toBeGreaterThan(40 * 1024 * 1024);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
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

/** Streamable HTTP has an answer for each request, so one that is odd is known to be. */
describe.each(['http', 'http-json'] as const)('one odd answer over %s costs one call', (face) => {
  const server = hostileWeb(face);
  let pool: TestPool;
  beforeAll(async () => {
    await server.start();
    pool = poolOf([remote('far', server.url())]);
  });
  afterAll(async () => {
    await pool[Symbol.asyncDispose]();
    await server.kill();
  });

  test.each([
    ['a web page', 'odd', {}, 'It answered with a web page instead of MCP.'],
    ['another type', 'odd', { type: 'image/png' }, 'It answered with image/png instead of MCP.'],
    [
      'no type',
      'odd',
      { status: 202, type: '', body: '' },
      'It answered with status 202 and nothing instead',
    ],
    [
      'JSON of another',
      'odd',
      { type: 'application/json', body: '{"id":9999,"result":{}}' },
      'JSON that answers',
    ],
    ['an error page', 'odd', { status: 502 }, 'It answered with status 502 (Bad Gateway).'],
    [
      'an explained error',
      'odd',
      { status: 500, type: 'text/plain', body: 'disk full' },
      'status 500: disk full.',
    ],
    ['what is gone', 'odd', { status: 410 }, 'It answered with status 410 (Gone).'],
    [
      'half of it',
      'half',
      {},
      'The connection broke before the answer was there, so it may or may not have been',
    ],
    ['a reset', 'reset', {}, 'The connection broke before the answer was there'],
    ['no result', 'null_result', {}, 'no result object'],
    ['too deep', 'deep', { levels: 100_000 }, 'nested deeper than'],
  ])('%s', async (_what, tool, args, said) => {
    const far = await pool.get('far', NEVER);
    const before = call(far, 'sleep', { ms: 100 });
    await expect(call(far, tool, args)).rejects.toThrow(said);
    expect(await call(far, 'echo', { text: 'on' })).toMatchObject({ content: [{ text: 'on' }] });
    expect(await before).toMatchObject({ content: [{ text: 'slept 100 ms' }] });
    expect(await pool.get('far', NEVER)).toBe(far);
  });
});

test.each(FACES)(
  'a crash over %s fails the calls that were under way, and says that they may have run',
  async (face) => {
    const { server, get } = await hostilePool(face);
    const far = await get();
    const hanging = expect(call(far, 'hang')).rejects.toMatchObject({
      code: 'E_SERVER_UNAVAILABLE',
      message: expect.stringContaining('may or may not have been carried out'),
    });
    await until(async () => Number((await call(far, 'max_in_flight')).structuredContent?.['max']) > 1);
    await Promise.all([server.kill(), hanging]);
    await expect(call(far, 'echo', { text: 'a' })).rejects.toMatchObject({
      code: 'E_SERVER_UNAVAILABLE',
      message: expect.stringContaining(`Nothing listens at http://127.0.0.1:${server.port}.`),
    });
    await server.start();
    expect(await call(far, 'echo', { text: 'b' })).toMatchObject({ content: [{ text: 'b' }] });
  },
);

test('a call waits for a server that is just being restarted', async () => {
  const { server, get } = await hostilePool('http');
  const far = await get();
  await server.kill();
  const [answer] = await Promise.all([call(far, 'echo', { text: 'a' }), server.start()]);
  expect(answer).toMatchObject({ content: [{ text: 'a' }] });
});

test.each([[[]], [['session-400']]])(
  'a forgotten session is greeted anew, once for all %j',
  async (modes) => {
    const { get } = await hostilePool('http', modes);
    const far = await get();
    await call(far, 'forget');
    await Promise.all(['a', 'b', 'c'].map((text) => call(far, 'echo', { text })));
    const { requests } = (await call(far, 'requests')).structuredContent as { requests: string[] };
    expect(requests.filter((request) => request === 'POST -')).toHaveLength(2);
  },
);

test.each(FACES)(
  'a cancelled call over %s is told to the server, and lets go of its connection',
  async (face) => {
    const { server, get } = await hostilePool(face);
    const far = await get();
    const given = new AbortController();
    const hanging = call(far, 'hang', {}, given.signal);
    await until(async () => Number((await call(far, 'max_in_flight')).structuredContent?.['max']) > 1);
    given.abort('cancelled');
    await expect(hanging).rejects.toMatchObject({ code: 'E_CANCELLED' });
    await until(async () => Object((await call(far, 'cancelled')).structuredContent)['ids'].length === 1);
    // One for what the server says by itself, one for requests.
    await until(() => socketsTo(server.port) <= 2);
  },
);

test.each(['http', 'sse'] as const)('what a server asks over %s is answered', async (face) => {
  const { get } = await hostilePool(face);
  const { structuredContent } = await call(await get(), 'ask_back');
  expect(structuredContent).toEqual({ answer: {} });
});

test.each(FACES)(
  "the time limit of a call over %s is the entry's own; progress is passed on",
  async (face) => {
    const { get } = await hostilePool(face, [], { callTimeoutMs: 300 });
    const far = await get();
    await expect(call(far, face === 'http' ? 'endless' : 'hang')).rejects.toThrow(
      'did not answer within 0.3 s',
    );
    expect(await call(far, 'echo', { text: 'on' })).toMatchObject({ content: [{ text: 'on' }] });
  },
);

test.each(['http', 'sse'] as const)('progress keeps a long call over %s alive', async (face) => {
  const { pool } = await hostilePool(face);
  const [spec] = [...pool.states()];
  expect(spec).toMatchObject({ state: 'idle' });
  const server = await started(hostileWeb(face));
  const quick = pooled(remote('far', server.url(), { transport: face }), { silenceMs: 400 });
  const far = await quick.get('far', NEVER);
  expect(await call(far, 'sleep', { ms: 900, every: 100 })).toMatchObject({
    content: [{ text: 'slept 900 ms' }],
  });
});

test.each(['http', 'sse'] as const)(
  'the last progress over %s is told, right before the answer',
  async (face) => {
    const { get } = await hostilePool(face);
    const heard: number[] = [];
    await (await get()).callTool(
      'report',
      new RawJson('{"steps":3}'),
      ({ progress }) => void heard.push(progress),
      NEVER,
    );
    expect(heard).toEqual([1, 2, 3]);
  },
);

test('a server that wants to be asked again at once is asked once a second', async () => {
  const { get } = await hostilePool('http', ['short-streams']);
  const far = await get();
  await new Promise((resolve) => setTimeout(resolve, 700));
  const { requests } = (await call(far, 'requests')).structuredContent as { requests: string[] };
  expect(requests.filter((request) => request.startsWith('GET'))).toHaveLength(1);
});

test('an answer that the server continues elsewhere is followed there', async () => {
  const { get } = await hostilePool('http', ['resumed']);
  expect(await call(await get(), 'echo', { text: 'later' })).toMatchObject({ content: [{ text: 'later' }] });
});

test.each(['http', 'sse'] as const)('tools that come later over %s are listed', async (face) => {
  const { get } = await hostilePool(face);
  const far = await get();
  const isListed = (name: string) => far.tools().some((tool) => tool.name === name);
  // The stream that tells it is opened after the greeting.
  await until(async () => {
    await call(far, 'grow');
    return isListed('grown_1');
  });
});

test.each([
  [[]],
  [['pages=5']],
  [['repeat-cursor']],
  [['endless-pages']],
  [['poisoned']],
  [['noise']],
  [['id-last']],
  [['wrong-ids']],
  [['no-sessions']],
  [['no-stream']],
  [['redirect=here']],
])('every face lists and answers with %j', async (modes) => {
  const check = async (face: Face) => {
    // Where there is no stream, the first line is the whole answer.
    if (face !== 'http' && modes.includes('redirect=here')) return;
    if (face === 'http-json' && modes.includes('wrong-ids')) return;
    const { get } = await hostilePool(face, modes);
    const far = await get();
    const names = far.tools().map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['a-b', '__proto__', 'bad_output_schema', 'null_schema']));
    expect(await call(far, 'unknown_block')).toMatchObject({ content: [{ type: 'hologram' }] });
    expect(await call(far, 'echo', { text: face })).toMatchObject({ content: [{ text: face }] });
  };
  await Promise.all(FACES.map(check));
});
