import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import type { RemoteSpec } from '../../src/hosts/downstream-spec.js';
import { NEVER, nodeStarts, pause, until } from '../support/time.js';
import { call, poolOf, type TestPool } from './hostile.js';
import { cpuMsOf, LINEAR, plainTransferMs } from './plain-transfer.js';
import { everythingWeb, hostileWeb, type RemoteServer, remote, socketsTo } from './remote-servers.js';

const pools: TestPool[] = [];
const servers: RemoteServer[] = [];
afterEach(async () => {
  vi.useRealTimers();
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

/** For each face side by side, since most of a test is waiting; names the face that failed. */
async function overEach<T extends string>(faces: readonly T[], check: (face: T) => Promise<void>) {
  const told = faces.map((face) =>
    check(face).catch((cause: unknown) => {
      throw new Error(`over ${face}: ${cause}`, { cause });
    }),
  );
  for (const result of await Promise.allSettled(told)) if (result.status === 'rejected') throw result.reason;
}

const undisturbed = new Map<Face, Promise<RemoteServer>>();
afterAll(async () => {
  for (const server of undisturbed.values()) await (await server).kill();
});

/** The hostile server for tests that neither end it nor count what it has done: they share one of each face. */
function sharedServer(face: Face): Promise<RemoteServer> {
  const server = undisturbed.get(face) ?? hostileWeb(face).start();
  undisturbed.set(face, server);
  return server;
}

/** A pool that reaches the shared server. */
async function sharedPool(face: Face, more: Partial<RemoteSpec> = {}, times = {}) {
  const server = await sharedServer(face);
  const pool = pooled(remote('far', server.url(), { transport: transportOf(face), ...more }), times);
  return { pool, get: () => pool.get('far', NEVER) };
}

const transportOf = (face: Face) => (face === 'sse' ? 'sse' : 'http');

/** A hostile server of its own by one of its faces, and the pool that reaches it. */
async function hostilePool(face: Face, modes: readonly string[] = [], more: Partial<RemoteSpec> = {}) {
  const server = await started(hostileWeb(face, ...modes));
  const pool = pooled(remote('far', server.url(), { transport: transportOf(face), ...more }));
  return { server, pool, get: () => pool.get('far', NEVER) };
}

type Face = 'http' | 'http-json' | 'sse';
const FACES: readonly Face[] = ['http', 'http-json', 'sse'];
const STREAMS = ['http', 'sse'] as const;

describe.each(FACES)('over %s', (face) => {
  // Its own, since one of the tests starts it again.
  const server = hostileWeb(face);
  let pool: TestPool;
  const get = () => pool.get('far', NEVER);
  beforeAll(async () => {
    await server.start();
    pool = poolOf([remote('far', server.url(), { transport: transportOf(face) })]);
  });
  afterAll(async () => {
    await pool[Symbol.asyncDispose]();
    await server.kill();
  });

  it('arguments and results are relayed to the last character', async () => {
    const args =
      '{"n":9007199254740993,"f":1.0,"e":1e400,"neg":-0,"__proto__":{"x":[1,{"arguments":2}]},"s":"}\\"{\\u0000é"}';
    const answer = await (await get()).callTool('echo_raw', new RawJson(args), () => {}, NEVER);
    expect(answer.text).toBe(`{"content":[],"structuredContent":${args}}`);
  });

  it('40 MB arrive in linear time, and above 64 MiB one request fails', async () => {
    const far = await get();
    const bytes = 40 * 1024 * 1024;
    const plainMs = await plainTransferMs(bytes);
    const tookMs = await cpuMsOf(async () => {
      const { text } = await far.callTool('big', new RawJson(`{"bytes":${bytes}}`), () => {}, NEVER);
      expect(text.length).toBeGreaterThan(bytes);
    });
    expect(tookMs / plainMs).toBeLessThan(LINEAR);
    const [big, small] = await Promise.allSettled([
      call(far, 'big', { bytes: 65 * 1024 * 1024 }),
      call(far, 'echo', { text: 'still here' }),
    ]);
    expect(big).toMatchObject({ reason: { code: 'E_FRAME_TOO_LARGE' } });
    expect(small).toMatchObject({ value: { content: [{ text: 'still here' }] } });
  });

  it('a restart costs nobody a call', async () => {
    const first = await get();
    expect(await call(first, 'echo', { text: 'a' })).toMatchObject({ content: [{ text: 'a' }] });
    await server.restart();
    const answers = await Promise.all(['b', 'c', 'd'].map((text) => call(first, 'echo', { text })));
    expect(answers.map(({ content }) => content[0]?.text)).toEqual(['b', 'c', 'd']);
    expect(await get()).toBe(first);
  });
});

it.each([['ends=cr'], ['ends=crlf'], ['mark'], ['mark', 'ends=cr']])(
  'a server is heard however it writes its lines: %s',
  async (...modes) => {
    await overEach(FACES, async (face) => {
      const { get } = await hostilePool(face, modes);
      const answer = await call(await get(), 'echo', { text: 'heard' });
      expect(answer).toMatchObject({ content: [{ text: 'heard' }] });
    });
  },
);

it.each([
  ['streamableHttp', 'http', 'mcp'],
  ['sse', 'sse', 'sse'],
] as const)('works with the reference server by %s, also restarted', async (mode, named, file) => {
  const server = await started(everythingWeb(mode));
  const transports = [named, 'auto'] as const;
  const found = await Promise.all(
    transports.map((transport) =>
      pooled(remote('everything', server.url(file), { transport })).get('everything', NEVER),
    ),
  );
  const echo = (message: string) =>
    Promise.all(found.map(async (one) => (await call(one, 'echo', { message })).content[0]?.text));
  expect(found.map((one) => one.tools().length)).toEqual([13, 13]);
  expect(await echo('hi')).toEqual(['Echo: hi', 'Echo: hi']);
  await server.restart();
  expect(await echo('ho')).toEqual(['Echo: ho', 'Echo: ho']);
});

it('headers of the entry go with every request', async () => {
  const { get } = await hostilePool('http', ['needs=Bearer key-123456'], {
    headers: { Authorization: 'Bearer key-123456', 'X-Team': 'blue' },
  });
  const { structuredContent } = await call(await get(), 'headers');
  expect(structuredContent).toMatchObject({ 'x-team': 'blue', 'mcp-protocol-version': '2025-11-25' });
});

/** Streamable HTTP has an answer for each request, so one that is odd is known to be. */
describe.each(['http', 'http-json'] as const)('one odd answer over %s costs one call', (face) => {
  let pool: TestPool;
  beforeAll(async () => {
    pool = poolOf([remote('far', (await sharedServer(face)).url())]);
  });
  afterAll(() => pool[Symbol.asyncDispose]());

  it.each([
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
    const before = call(far, 'sleep', { ms: 30 });
    await expect(call(far, tool, args)).rejects.toThrow(said);
    expect(await call(far, 'echo', { text: 'on' })).toMatchObject({ content: [{ text: 'on' }] });
    expect(await before).toMatchObject({ content: [{ text: 'slept 30 ms' }] });
    expect(await pool.get('far', NEVER)).toBe(far);
  });
});

it('a crash fails the calls that were under way, and says that they may have run', () =>
  overEach(FACES, async (face) => {
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
  }));

it('a call waits for a server that is just being restarted', async () => {
  const { server, get } = await hostilePool('http');
  const far = await get();
  for (;;) {
    await server.kill();
    const beganAt = performance.now();
    const answer = call(far, 'echo', { text: 'a' }).catch((thrown: unknown) => thrown);
    await server.start();
    // It waits for a second, in which this machine has to start one: else that was no restart, and is tried again.
    const isInTime = performance.now() - beganAt < RESTART_MS - nodeStarts(1);
    if (!isInTime) continue;
    expect(await answer).toMatchObject({ content: [{ text: 'a' }] });
    return;
  }
});

it.each([[[]], [['session-400']]])('a forgotten session is greeted anew, once for all %j', async (modes) => {
  const { get } = await hostilePool('http', modes);
  const far = await get();
  await call(far, 'forget');
  await Promise.all(['a', 'b', 'c'].map((text) => call(far, 'echo', { text })));
  const { requests } = (await call(far, 'requests')).structuredContent as { requests: string[] };
  // The question for its era, and two greetings.
  expect(requests.filter((request) => request === 'POST -')).toHaveLength(3);
});

it.each(['error', 'null', 'stream', '410', '422'])(
  'a session that is lost in other words is greeted anew, once for all: %s',
  async (how) => {
    const { get } = await hostilePool('http', [`lost=${how}`]);
    const far = await get();
    await call(far, 'forget');
    const answers = await Promise.all(['b', 'c', 'd'].map((text) => call(far, 'echo', { text })));
    expect(answers.map(({ content }) => content[0]?.text)).toEqual(['b', 'c', 'd']);
  },
);

it('a session that only fails is greeted anew, and nothing that may have been done is repeated', async () => {
  const { get } = await hostilePool('http', ['lost=500']);
  const far = await get();
  await call(far, 'forget');
  for (const text of ['b', 'c']) await expect(call(far, 'echo', { text })).rejects.toThrow('500');
  expect(await call(far, 'echo', { text: 'd' })).toMatchObject({ content: [{ text: 'd' }] });
});

it('a cancelled call is told to the server, and lets go of its connection', () =>
  overEach(FACES, async (face) => {
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
  }));

/** As remote-link.ts has it. */
const RESTART_MS = 1_000;

/** The clock of the bridge; the servers are processes, and have their own. */
const CLOCK: Parameters<typeof vi.useFakeTimers>[0] = {
  toFake: ['setTimeout', 'clearTimeout', 'performance'],
};

it.each(FACES)("the time limit of a call is the entry's own over %s", async (face) => {
  const { get } = await sharedPool(face, { callTimeoutMs: 300 });
  const far = await get();
  vi.useFakeTimers(CLOCK);
  const late = expect(call(far, face === 'http' ? 'endless' : 'hang')).rejects.toThrow(
    'did not answer within 0.3 s',
  );
  vi.advanceTimersByTime(300);
  await late;
  expect(await call(far, 'echo', { text: 'on' })).toMatchObject({ content: [{ text: 'on' }] });
});

it.each(STREAMS)('progress keeps a long call alive over %s', async (face) => {
  const { get } = await sharedPool(face, {}, { silenceMs: 400 });
  const far = await get();
  vi.useFakeTimers(CLOCK);
  const given = new AbortController();
  let heard = 0;
  const onProgress = () => {
    vi.advanceTimersByTime(300);
    if (++heard === 5) given.abort('cancelled');
  };
  const sleeping = far.callTool('sleep', new RawJson('{"ms":600000,"every":20}'), onProgress, given.signal);
  await expect(sleeping).rejects.toMatchObject({ code: 'E_CANCELLED' });
});

it('a call that the server cancels ends at once, and its session goes on', async () => {
  await overEach(STREAMS, async (face) => {
    const { get } = await sharedPool(face);
    const withdrawn = call(await get(), 'withdraw', { reason: 'no more' });
    await expect(withdrawn).rejects.toMatchObject({
      message: expect.stringContaining('The server has cancelled it: no more.'),
    });
    expect(await call(await get(), 'echo', { text: 'on' })).toMatchObject({ content: [{ text: 'on' }] });
  });
});

it('what a server asks is answered, and what it tells is heard to the last word', () =>
  overEach(STREAMS, async (face) => {
    const { get } = await sharedPool(face);
    const far = await get();
    expect((await call(far, 'ask_back')).structuredContent).toEqual({ answer: {} });
    const heard: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => void heard.push(progress);
    await far.callTool('report', new RawJson('{"steps":3}'), onProgress, NEVER);
    expect(heard).toEqual([1, 2, 3]);
    // The stream that tells it is opened after the greeting.
    await until(async () => {
      await call(far, 'grow');
      return far.tools().some(({ name }) => name === 'grown_1');
    });
  }));

it('a server that wants to be asked again at once is asked once a second', async () => {
  const { get } = await hostilePool('http', ['short-streams']);
  const startedAt = performance.now();
  const far = await get();
  const asked = async () => {
    const { requests } = (await call(far, 'requests')).structuredContent as { requests: string[] };
    return requests.filter((request) => request.startsWith('GET')).length;
  };
  await until(async () => (await asked()) > 0);
  await pause(700);
  const times = await asked();
  expect(times).toBeLessThanOrEqual(1 + Math.floor((performance.now() - startedAt) / 1_000));
});

it.each(['resumed', 'resumed=torn'])(
  'an answer that the server continues elsewhere is followed there: %s',
  async (mode) => {
    const { get } = await hostilePool('http', [mode]);
    expect(await call(await get(), 'echo', { text: 'later' })).toMatchObject({
      content: [{ text: 'later' }],
    });
  },
);

it.each([
  [['pages=5', 'noise', 'id-last']],
  [['repeat-cursor', 'poisoned', 'no-sessions']],
  [['endless-pages', 'no-stream']],
  [['wrong-ids']],
  [['redirect=here']],
])('every face lists and answers with %j', async (modes) => {
  // Where there is no stream, the first line is the whole answer.
  const odd = modes.includes('redirect=here') ? STREAMS.slice(0, 1) : STREAMS;
  const faces = modes.includes('wrong-ids') || modes.includes('redirect=here') ? odd : FACES;
  await overEach<Face>(faces, async (face) => {
    const { get } = await hostilePool(face, modes);
    const far = await get();
    const names = far.tools().map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['a-b', '__proto__', 'bad_output_schema', 'null_schema']));
    expect(await call(far, 'unknown_block')).toMatchObject({ content: [{ type: 'hologram' }] });
    expect(await call(far, 'echo', { text: face })).toMatchObject({ content: [{ text: face }] });
  });
});
