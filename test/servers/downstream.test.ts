import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { RawJson, stringify } from '../../src/base/json/json-text.js';
import type { DownstreamSpec } from '../../src/hosts/downstream-spec.js';
import { toServerDoc } from '../../src/servers/catalog/catalog.js';
import { HANGS_MS, NEVER, nodeStarts, until } from '../support/time.js';
import { call, hostile, poolOf, spec, type TestPool } from './hostile.js';

/** Greets, lists one tool and never reads again. */
const DEAF = `
let seen = '';
process.stdin.on('data', (chunk) => {
  seen += chunk;
  const lines = seen.split('\\n');
  seen = lines.pop();
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    const result = method === 'initialize'
      ? { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'deaf', version: '1' } }
      : { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    if (method === 'tools/list') process.stdin.pause();
  }
});
setInterval(() => {}, 1000);
`;

const pools: TestPool[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(pools.splice(0).map((pool) => pool[Symbol.asyncDispose]()));
});

async function open(spec: DownstreamSpec, times = {}) {
  const pool = poolOf([spec], times);
  pools.push(pool);
  return pool.get(spec.name, NEVER);
}

it('arguments and results are relayed to the last character', async () => {
  const server = await open(hostile());
  const args =
    '{"n":12345678901234567890,"f":1.0,"e":1e400,"neg":-0,"__proto__":{"x":[1,{"arguments":2}]},"s":"}\\"{\\u0000é\\ud800"}';
  const answer = await server.callTool('echo_raw', new RawJson(args), () => {}, NEVER);
  expect(answer.text).toBe(`{"content":[],"structuredContent":${args}}`);
});

it('a large argument goes out whole', async () => {
  const server = await open(hostile());
  const text = 'é"\\\n'.repeat(500_000);
  const { content } = await call(server, 'echo', { text });
  expect(content[0]?.text === text).toBe(true);
});

it('every tool is listed, however odd, but for the one without a name', async () => {
  const server = await open(hostile('pages=5'));
  const byName = new Map(server.tools().map((tool) => [tool.name, tool]));
  for (const name of ['a-b', 'a_b', 'a_b_2', '__proto__', 'class', '1st', 'naïve'])
    expect(byName.has(name)).toBe(true);
  expect(byName.get('bad_output_schema')?.outputSchema).toEqual({ $ref: '#/nowhere', pattern: '(' });
  expect(byName.get('bad_input_schema')?.inputSchema).toEqual({
    properties: { x: { type: 'no such type' } },
  });
  expect(byName.get('null_schema')).toMatchObject({ inputSchema: {}, description: '' });
  expect(server.problems()).toEqual(['left out because they have no name of their own: 1 of its tools']);
  expect(server).toMatchObject({ serverVersion: '6.6.6', instructions: 'Handle with care.\nSecond line.' });
  expect(await call(server, '__proto__')).toMatchObject({ content: [{ text: '__proto__' }] });
});

it.each([
  ['repeat-cursor', 2],
  ['endless-pages', 100],
])('a list that does not end is cut: %s', async (mode, pages) => {
  const server = await open(hostile(mode));
  expect(server.tools().length).toBeGreaterThan(20);
  expect(server.problems()).toContain(`tools/list does not end: stopped after ${pages} pages`);
});

it.each(['empty', 'number', 'object', 'empty-end'])(
  'a list is read to its end however its pages are named: %s',
  async (kind) => {
    const plain = await open(hostile());
    const server = await open(hostile(`cursors=${kind}`));
    expect(server.tools()).toEqual(plain.tools());
    expect(server.problems()).toEqual(plain.problems());
  },
);

it.each([
  ['strict', 'tools/list names its next page by 0 and then refuses that: stopped there'],
  ['no-list', 'tools/list gives {"echo":{}} as its `tools`, which is not a list'],
])('what cannot be read of a list is told: %s', async (kind, problem) => {
  expect((await open(hostile(`cursors=${kind}`))).problems()).toContain(problem);
});

it.each([
  [
    'with a reason',
    { reason: 'the quota\u001b[1m is used up' },
    'The server has cancelled it: the quota is used up.',
  ],
  ['without one', {}, 'The server has cancelled it, and does not say why.'],
  [
    'with a reason that is none',
    { reason: { code: 7 } },
    'The server has cancelled it, and does not say why.',
  ],
])('a call that the server cancels ends at once, and no other: %s', async (_how, args, said) => {
  const server = await open(hostile());
  const other = call(server, 'sleep', { ms: 300 });
  await expect(call(server, 'withdraw', args)).rejects.toMatchObject({
    code: 'E_TOOL_FAILED',
    message: `Tool 'withdraw' of server 'hostile' failed. ${said}`,
  });
  expect(await other).toMatchObject({ content: [{ text: 'slept 300 ms' }] });
});

it('a server that cancels what it has asked itself, or what is no call of ours, ends no call', async () => {
  const server = await open(hostile());
  expect(await call(server, 'withdraw', { ask: true })).toMatchObject({
    content: [{ text: 'answered after all' }],
  });
  const given = new AbortController();
  const ids = [987_654, 'q0', { id: 1 }, '7 ', false];
  const hanging = ids.map((id) => call(server, 'withdraw', { id }, given.signal).catch(({ code }) => code));
  expect(await call(server, 'sleep', { ms: 200 })).toMatchObject({ content: [{ text: 'slept 200 ms' }] });
  given.abort('cancelled');
  expect(await Promise.all(hanging)).toEqual(ids.map(() => 'E_CANCELLED'));
});

describe('an answer that is no line of its own', () => {
  const hows = ['glued', 'behind', 'between', 'behind a quotation', 'two messages', 'an array'];
  const more = [
    'an array of several',
    'an array behind a mark',
    'laid out',
    'an array, laid out with tabs',
    'laid out behind something else that is',
  ];
  it.each([...hows, ...more, 'without a line break', 'quoted'])('is heard: %s', async (how) => {
    const server = await open(hostile());
    const others = ['a', 'b'].map((text) => call(server, 'echo', { text }));
    const args = new RawJson(JSON.stringify({ how }));
    const { text } = await server.callTool('amiss', args, () => {}, NEVER);
    expect(JSON.parse(text)).toMatchObject({ content: [{ text: 'heard }{ " 1' }] });
    expect(text).toMatch(how.includes('laid out') ? /"n":/ : /"n":12345678901234567890\}$/);
    expect((await Promise.all(others)).map(({ content }) => content[0]?.text)).toEqual(['a', 'b']);
  });

  it.each(['garbled', 'torn'])('ends its call, and no other, where it cannot be read: %s', async (how) => {
    const server = await open(hostile());
    const other = call(server, 'sleep', { ms: 3_000 });
    await expect(call(server, 'amiss', { how })).rejects.toMatchObject({
      code: 'E_TOOL_FAILED',
      message: expect.stringMatching(
        /^Tool 'amiss' .* cannot be read: DEBUG \{"jsonrpc":"2.0","id":\d+,"result"/,
      ),
    });
    expect(await other).toMatchObject({ content: [{ text: 'slept 3000 ms' }] });
  });

  it('is told with what came instead of it', async () => {
    const silenceMs = Math.max(500, nodeStarts(20));
    const server = await open(hostile(), { silenceMs });
    await expect(call(server, 'amiss', { how: 'something else' })).rejects.toMatchObject({
      message: expect.stringMatching(
        /did not answer within [\d.]+ s. Instead it wrote 2 lines to its stdout that are not MCP messages[\s\S]*KeyError: 7/,
      ),
    });
    await expect(call(server, 'hang')).rejects.toMatchObject({
      message: expect.stringMatching(/^Tool 'hang' of server 'hostile' did not answer within [\d.]+ s\.$/),
    });
  });
});

it('what came instead of an answer is known while its call waits, and no longer', async () => {
  const pool = poolOf([hostile()]);
  pools.push(pool);
  using lease = pool.lease(['hostile']);
  const server = await lease.get('hostile', NEVER);
  expect(lease.insteadSentence('hostile')).toBe('');
  const ends = new AbortController();
  const args = new RawJson('{"how":"something else"}');
  const waiting = server.callTool('amiss', args, () => {}, ends.signal);
  await until(() => lease.insteadSentence('hostile').includes('2 lines'));
  expect(lease.insteadSentence('hostile')).toMatch(
    /^ Instead 'hostile' wrote 2 lines .* MCP messages\.[\s\S]*KeyError: 7/,
  );
  ends.abort('cancelled');
  await expect(waiting).rejects.toMatchObject({ code: 'E_CANCELLED' });
  expect([lease.insteadSentence('hostile'), lease.insteadSentence('another')]).toEqual(['', '']);
});

it('a question that is quoted in a log is answered once', async () => {
  expect(await call(await open(hostile()), 'ask_twice')).toMatchObject({ structuredContent: { answers: 2 } });
});

it('a poisoned list is data: capped and unresolved, or it would have no end', async () => {
  const server = await open(hostile('poisoned'));
  const doc = toServerDoc(server, 'h', () => undefined);
  const byName = new Map(doc.tools.map((tool) => [tool.name, tool]));
  expect(byName.get('literal')?.description).toBe('Use __CODE_LITERAL__ or $& or {code} or %s.');
  const painted = byName.get('painted')?.description ?? '';
  expect(painted).toBe('red \\u202egnirts\\u202c \\x07 \ufffd');
  expect(byName.get('manual')?.description).toHaveLength(20_000);
  expect(byName.get('remote')?.inputSchema).toMatchObject({
    properties: { a: { $ref: 'http://127.0.0.1:9/schema.json' } },
  });
  for (const name of ['deep', 'wide']) expect(byName.get(name)?.inputSchema).toEqual({});
  expect(byName.has('n'.repeat(300))).toBe(false);
  expect(server.problems()).toEqual([
    'left out because they have no name of their own: 2 of its tools',
    'shown without a schema, which is too large or too deep: 2 of its tools',
  ]);
  // The code of the frame that a sandbox gets, with every word of it in place.
  const frame = stringify({ type: 'run', code: 'x', timeoutSeconds: 1, loaded: [doc], discovered: [] });
  expect(JSON.parse(frame)).toMatchObject({ code: 'x', loaded: [{ name: 'hostile' }] });
});

it("an answer under an id that is not its own, or a second one, is nobody's", async () => {
  const server = await open(hostile('wrong-ids'));
  const answers = await Promise.all(['a', 'b', 'c'].map((text) => call(server, 'echo', { text })));
  expect(answers.map(({ content }) => content[0]?.text)).toEqual(['a', 'b', 'c']);
  expect(await call(server, 'echo', { text: 'd' })).toMatchObject({ content: [{ text: 'd' }] });
});

it('a server that does not read its requests costs no more than its limit', async () => {
  const deaf = spec('deaf', process.execPath, ['-e', DEAF]);
  const server = await open(deaf);
  const args = new RawJson(JSON.stringify({ text: 'x'.repeat(30 * 1024 * 1024) }));
  const before = process.memoryUsage();
  const refusals: unknown[] = [];
  for (let round = 0; round < 20; round++) {
    const given = new AbortController();
    const answer = server
      .callTool('echo', args, () => {}, given.signal)
      .catch((thrown: unknown) => refusals.push(thrown));
    given.abort('cancelled');
    await answer;
  }
  const grown = process.memoryUsage().arrayBuffers - before.arrayBuffers;
  expect(grown).toBeLessThan(200 * 1024 * 1024);
  await expect(server.callTool('echo', args, () => {}, NEVER)).rejects.toMatchObject({
    code: 'E_SERVER_UNAVAILABLE',
    message: expect.stringMatching(/requests unread/),
  });
});

it('a server without tools/list has no tools', async () => {
  const server = await open(hostile('no-tools'));
  expect(server.tools()).toEqual([]);
});

describe('the answer of', () => {
  let pool: TestPool;
  beforeAll(() => {
    pool = poolOf([hostile()]);
  });
  afterAll(() => pool[Symbol.asyncDispose]());

  it.each([
    'image',
    'many_blocks',
    'json_text',
    'structured',
    'unknown_block',
    'bad_meta',
    'bad_output_schema',
  ])('%s is handed on as it is', async (tool) => {
    const server = await pool.get('hostile', NEVER);
    expect((await call(server, tool)).content.length).toBeGreaterThan(0);
  });
});

it('isError is a result; a JSON-RPC error, a missing result and a task tool are refusals', async () => {
  const server = await open(hostile());
  expect(await call(server, 'fail', { text: 'no luck' })).toMatchObject({
    isError: true,
    content: [{ text: 'no luck' }],
  });
  await expect(call(server, 'rpc_error')).rejects.toMatchObject({
    code: 'E_TOOL_FAILED',
    message: 'refused on purpose',
  });
  // The SDK uses these two codes itself, for a closed connection and for its timeouts.
  for (const code of [-32000, -32001, -32042]) {
    const args = { code, message: '\u001b[2Jtheirs' };
    await expect(call(server, 'rpc_error', args)).rejects.toMatchObject({
      code: 'E_TOOL_FAILED',
      message: 'theirs',
    });
  }
  await expect(call(server, 'null_result')).rejects.toMatchObject({
    code: 'E_TOOL_FAILED',
    message: expect.stringContaining('no result object'),
  });
  await expect(call(server, 'task_only')).rejects.toMatchObject({
    message: expect.stringContaining('only as an MCP task'),
  });
  await expect(call(server, 'nowhere')).rejects.toMatchObject({ message: 'Unknown tool: nowhere' });
});

it('100 calls are in flight at once', async () => {
  const server = await open(hostile());
  const given = new AbortController();
  const hanging = Array.from({ length: 100 }, () => call(server, 'hang', {}, given.signal));
  const ended = Promise.allSettled(hanging);
  const inFlight = async () => (await call(server, 'max_in_flight')).structuredContent?.['max'];
  // With the one that asks.
  await until(async () => (await inFlight()) === 101);
  given.abort('cancelled');
  for (const end of await ended) expect(end).toMatchObject({ reason: { code: 'E_CANCELLED' } });
});

it('an aborted call ends at once and the server is told, once, and only of that call', async () => {
  const server = await open(hostile());
  const run = new AbortController();
  await call(server, 'echo', { text: 'done before' }, run.signal);
  const hanging = call(server, 'hang', {}, run.signal);
  run.abort();
  await expect(hanging).rejects.toMatchObject({ code: 'E_CANCELLED' });
  await expect(call(server, 'echo', {}, run.signal)).rejects.toMatchObject({ code: 'E_CANCELLED' });
  const { structuredContent } = await call(server, 'cancelled');
  expect(structuredContent?.['ids']).toHaveLength(1);
});

it('silence ends a call, progress keeps it alive, and the limit of the spec is a hard one', async () => {
  const server = await open(hostile(), { silenceMs: 200 });
  const strict = await open({ ...hostile(), callTimeoutMs: 200 });
  // The clock of the bridge; the servers are processes, and have their own.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const silent = expect(call(server, 'hang')).rejects.toMatchObject({
    code: 'E_TOOL_FAILED',
    message: "Tool 'hang' of server 'hostile' did not answer within 0.2 s.",
  });
  vi.advanceTimersByTime(200);
  await silent;
  /** How often it has reported when it ends: at the fifth time by itself. */
  const reports = async (of: typeof server, code: string) => {
    const given = new AbortController();
    let heard = 0;
    const onProgress = () => {
      vi.advanceTimersByTime(150);
      if (++heard === 5) given.abort('cancelled');
    };
    const args = new RawJson('{"ms":600000,"every":20}');
    await expect(of.callTool('sleep', args, onProgress, given.signal)).rejects.toMatchObject({ code });
    return heard;
  };
  expect(await reports(server, 'E_CANCELLED')).toBe(5);
  expect(await reports(strict, 'E_TOOL_FAILED')).toBe(2);
});

it('a limit beyond what a timer can hold is no limit', async () => {
  const server = await open({ ...hostile(), callTimeoutMs: 1e12 });
  expect(await call(server, 'sleep', { ms: 50 })).toMatchObject({ content: [{ text: 'slept 50 ms' }] });
});

it('a crash fails the calls under way with its exit code and last words', async () => {
  const server = await open(hostile());
  const waiting = call(server, 'hang');
  const crash = call(server, 'crash', { code: 5, text: 'disk on fire' });
  for (const lost of [waiting, crash]) {
    await expect(lost).rejects.toMatchObject({
      code: 'E_SERVER_UNAVAILABLE',
      message: expect.stringMatching(/the server exited with code 5\. Its last words:\n> disk on fire\n$/),
      remedy: 'It is restarted on the next call.',
    });
  }
  expect(await server.closed).toBe('exited with code 5');
  await expect(call(server, 'pid')).rejects.toMatchObject({ code: 'E_SERVER_UNAVAILABLE' });
});

it('a server that announces new tools is asked for them', async () => {
  const server = await open(hostile());
  const before = server.tools().length;
  await Promise.all([call(server, 'grow'), call(server, 'grow')]);
  await until(() => server.tools().length === before + 2);
  expect(await call(server, 'grown_2')).toMatchObject({ content: [{ text: 'new' }] });
});

it('a server is told its depth and its own variables, and nothing of the bridge', async () => {
  process.env['HOSTILE_TEST_SECRET'] = 'not yours';
  const server = await open({ ...hostile(), env: { OWN: 'yes' } });
  delete process.env['HOSTILE_TEST_SECRET'];
  const value = async (name: string) => (await call(server, 'env', { name })).structuredContent?.['value'];
  expect(await value('MCP_BRIDGE_DEPTH')).toBe('1');
  expect(await value('OWN')).toBe('yes');
  expect(await value('HOSTILE_TEST_SECRET')).toBeNull();
});

// Side by side, since most of each is waiting.
it.concurrent.each([
  [['exit-early=4'], /exited with code 4 before it was ready\. Its last words:\n> cannot read its key/],
  [['mute'], /was not ready within 0\.5 s/],
  [['garbage'], /was not ready within \d+(?:\.\d+)? s\. Its last words:\n> stdout: <html>/],
  [['slow-start=600000'], /was not ready within 0\.5 s/],
  [['old-protocol'], /protocol version is not supported: 1999-12-31/],
  [['mute', 'secret'], /using \[TOKEN of hostile\]/],
])('a server that does not start is explained: %j', async (modes, message) => {
  const spec = { ...hostile(...modes), env: { TOKEN: 'sk-very-secret' } };
  // What it says first takes a busy machine a while; only one that says nothing is given up soon, and one that ends is not.
  const isSilent = modes.length === 1 && /^(?:mute|slow-start)/.test(modes[0] ?? '');
  const isLeftWaiting = /^(?:mute|garbage)/.test(modes[0] ?? '');
  const patientMs = isLeftWaiting ? Math.max(5_000, nodeStarts(100)) : HANGS_MS;
  const connectTimeoutMs = isSilent ? 500 : patientMs;
  await using pool = poolOf([spec], { connectTimeoutMs });
  await expect(pool.get(spec.name, NEVER)).rejects.toMatchObject({
    code: 'E_SERVER_UNAVAILABLE',
    message: expect.stringMatching(message),
  });
});

it('a flood on stderr does not block the greeting', async () => {
  const server = await open(hostile('stderr-flood=3000000'));
  expect(server.tools().length).toBeGreaterThan(20);
});

it.each([
  [{ command: 'npx-that-is-nowhere' }, 'command not found: npx-that-is-nowhere'],
  [{ cwd: '/no/such/folder' }, 'its working directory does not exist: /no/such/folder'],
  [{ command: '/etc/passwd' }, '/etc/passwd may not be executed'],
])('a command that cannot be started is named: %j', async (wrong, message) => {
  await expect(open({ ...hostile(), ...wrong })).rejects.toMatchObject({
    code: 'E_SERVER_UNAVAILABLE',
    fault: 'operator',
    message: expect.stringContaining(message),
    remedy: expect.stringContaining('mcp-sandbox-bridge servers'),
  });
});
