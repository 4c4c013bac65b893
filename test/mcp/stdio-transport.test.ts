// The last gate before the agent: what leaves can be parsed by any client, and an agent that does not read costs no
// more memory than it is owed.

import { PassThrough, Writable } from 'node:stream';
import { isJSONRPCNotification, isJSONRPCRequest, type JSONRPCMessage } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import { AgentTransport } from '../../src/mcp/requests/stdio-transport.js';
import { PATIENTLY, pause } from '../support/time.js';

/** A transport whose agent reads only when told to. */
async function start(reading: boolean) {
  const input = new PassThrough();
  const lines: string[] = [];
  let next: (() => void) | undefined;
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString());
      if (reading) done();
      else next = done;
    },
  });
  const transport = new AgentTransport(input, output);
  const received: unknown[] = [];
  transport.onmessage = (message) => void received.push(message);
  await transport.start();
  const readAll = () => {
    reading = true;
    next?.();
  };
  return { transport, input, output, lines, received, readAll };
}

const answer = (result: Record<string, unknown>, id: string | number = 1) =>
  ({ jsonrpc: '2.0', id, result }) as JSONRPCMessage;

const nested = (levels: number) => new RawJson('['.repeat(levels) + ']'.repeat(levels));

describe('what is sent', () => {
  it.each([
    ['a lone surrogate', { text: 'a\ud800b' }],
    ['an escaped one in relayed text', { structuredContent: new RawJson('{"a":"\\ud800","\\udfff":1}') }],
  ])('%s becomes U+FFFD', async (_what, result) => {
    const { transport, lines } = await start(true);
    await transport.send(answer(result));
    expect(lines[0]).toMatch(/\ufffd|\\ufffd/);
    expect(lines[0]).not.toMatch(/\\ud[89a-f]/i);
  });

  it.each([
    ['too long', { text: 'x'.repeat(8 * 1024 * 1024) }, /has [0-9]{7} characters, more than the 7340032/],
    ['too deep', { structuredContent: nested(190) }, /deeper/],
    [
      'of too many values',
      { structuredContent: new RawJson(`[${'1,'.repeat(1_000_000)}1]`) },
      /longer|values/,
    ],
  ])('an answer that is %s becomes an error to its request', async (_what, result, reason) => {
    const { transport, lines } = await start(true);
    await transport.send(answer(result, 'seven'));
    const error = { code: -32603, message: expect.stringMatching(reason) };
    expect(JSON.parse(lines[0] ?? '')).toEqual({ jsonrpc: '2.0', id: 'seven', error });
  });

  it('an answer at the depth of the deepest result passes', async () => {
    const { transport, lines } = await start(true);
    await transport.send(answer({ structuredContent: { result: nested(127) } }));
    expect(lines[0]).toContain('[[[[');
  });
});

describe('an agent that does not read', () => {
  const progress = { jsonrpc: '2.0', method: 'notifications/progress' } as JSONRPCMessage;

  it('is told no progress above 16 MiB, and nothing more is taken from it until it has caught up', async () => {
    const { transport, input, output, received, readAll } = await start(false);
    const sent = Array.from({ length: 40 }, (_, id) =>
      transport.send(answer({ text: 'x'.repeat(900_000) }, id)),
    );
    const owed = output.writableLength;
    for (let n = 0; n < 100_000; n++) void transport.send(progress);
    expect(output.writableLength).toBe(owed);
    for (let n = 0; n < 1_000; n++) input.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await pause(50);
    expect(received).toHaveLength(0);
    readAll();
    await Promise.all(sent);
    await vi.waitFor(() => expect(received).toHaveLength(1_000), PATIENTLY);
    expect(output.listenerCount('drain')).toBe(0);
  });

  it('is owed no more than that for messages that are wrong, and nothing more is taken from it', async () => {
    const { input, output, received, readAll } = await start(false);
    const wrong = `{"jsonrpc":"1.0","id":"${'x'.repeat(900_000)}","method":"ping"}\n`;
    for (let n = 0; n < 40; n++) input.write(wrong);
    input.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await vi.waitFor(() => expect(input.isPaused()).toBe(true), PATIENTLY);
    expect(output.writableLength).toBeLessThan(18 * 1024 ** 2);
    expect(received).toHaveLength(0);
    readAll();
    await vi.waitFor(() => expect(received).toHaveLength(1), PATIENTLY);
    expect(output.listenerCount('drain')).toBe(0);
  });

  it('that goes away ends the wait', async () => {
    const { transport, output } = await start(false);
    const sent = transport.send(answer({ text: 'x'.repeat(1_900_000) }));
    output.destroy();
    await sent;
  });
});

describe('an agent that says more than anybody can mean', () => {
  const notice = '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}';
  const long = `{"jsonrpc":"2.0","method":"x","params":{"a":"${'x'.repeat(1_000_000)}"}}`;
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['notifications', notice, 1, 20_000, 5_000],
    ['requests', '{"jsonrpc":"2.0","id":1,"method":"ping"}', 1, 20_000, 5_000],
    ['batches', `[${Array(100).fill(notice).join(',')}]`, 100, 20_000, 5_000],
    ['long notifications', long, 1, 64, 4],
  ])('has to wait until it is read: %s', async (_what, line, each, burst, perSecond) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { transport, input, received } = await start(true);
    const lines = Math.ceil((2.5 * burst) / each);
    const text = `${line}\n`.repeat(Math.ceil(lines / 10));
    for (let n = 0; n < 10; n++) input.write(text);
    const settled = async () => {
      for (let before = -1; before !== received.length; ) {
        before = received.length;
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
      return received.length;
    };
    // What has come at once is read at once, and is waited for afterwards.
    const piece = burst / 4;
    expect(await settled()).toBeGreaterThan(burst - piece);
    expect(received.length).toBeLessThan(burst + 2 * piece);
    for (let second = 1; second <= 120; second++) {
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await settled()).toBeLessThan(burst + perSecond * second + 2 * piece);
    }
    expect(received.length).toBeGreaterThanOrEqual(lines * each);
    await transport.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('what cannot be read', () => {
  const DEEP = `${'['.repeat(200)}${']'.repeat(200)}`;
  const LONG = 'x'.repeat(66 * 1024 * 1024);

  it.each([
    ['too deep, id last', `{"method":"tools/call","params":${DEEP},"id":7}`, 7],
    ['too deep, a word as id', `{"id":"a-7","method":"tools/call","params":${DEEP}}`, 'a-7'],
    ['too many values', `{"method":"m","params":[${'1,'.repeat(1_000_000)}1],"id":8}`, 8],
    ['not JSON', '{"id":9,"method":"tools/call","params":{"x":NaN}}', 9],
    [
      'too long, id in the middle',
      `{"params":"${LONG}","id":10,"method":"m","more":"${LONG.slice(0, 9999)}"}`,
      10,
    ],
    ['a notification', `{"method":"m","params":${DEEP}}`, null],
    ['no message', 'hello', null],
    ['a list that has no message', '[1]', null],
    ['an empty batch', '[]', null],
    ['a batch in a batch', '[[{"jsonrpc":"2.0","id":4,"method":"ping"}]]', null],
  ])('is answered by its own id: %s', async (_what, line, id) => {
    const { input, lines, received } = await start(true);
    input.write(`${line}\n`);
    input.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await vi.waitFor(() => expect(received).toHaveLength(1), PATIENTLY);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ id, error: { code: -32700 } });
  });

  it('a batch is taken apart, and each request answered by its own id', async () => {
    const { input, lines, received } = await start(true);
    const ping = { jsonrpc: '2.0', id: 'a', method: 'ping' };
    const told = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const answer = { jsonrpc: '2.0', id: 3, result: {} };
    input.write(
      `${JSON.stringify([ping, told, { ...ping, id: 5, jsonrpc: '1.0' }, 7, answer, { ...ping, id: 6 }])}\n`,
    );
    await vi.waitFor(() => expect(received).toHaveLength(4), PATIENTLY);
    expect(received).toEqual([ping, told, answer, { ...ping, id: 6 }]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { id: 5, error: { code: -32600, message: expect.stringContaining('jsonrpc: got') } },
      { id: null, error: { code: -32700 } },
    ]);
  });

  it('an id is answered in its own characters', async () => {
    const { input, lines } = await start(true);
    input.write(`{"id":12345678901234567890,"method":"m","params":${DEEP}}\n`);
    await vi.waitFor(() => expect(lines[0]).toContain('"id":12345678901234567890,'), PATIENTLY);
  });

  it('an answer of the agent fails what we had asked, and is not answered', async () => {
    const { input, lines, received } = await start(true);
    input.write(`{"jsonrpc":"2.0","id":0,"result":{"content":${DEEP}}}\n`);
    await vi.waitFor(() => expect(received).toMatchObject([{ id: 0, error: { code: -32700 } }]), PATIENTLY);
    expect(lines).toEqual([]);
  });
});

describe('JSON that is no message', () => {
  it.each([
    ['no version of JSON-RPC', '{"id":1,"method":"ping"}', 1, -32600, 'jsonrpc: got nothing'],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 1, -32600, 'jsonrpc: got "1.0"'],
    ['no method', '{"jsonrpc":"2.0","id":"a"}', 'a', -32600, 'method: got nothing'],
    ['a method that is no text', '{"jsonrpc":"2.0","id":1,"method":7}', 1, -32600, 'method: got 7'],
    ['an id that is none', '{"jsonrpc":"2.0","id":{},"method":"ping"}', null, -32600, 'id: got {}'],
    ['a fraction as id', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', null, -32600, 'id: got 1.5'],
    ['nothing', '{}', null, -32600, 'jsonrpc: got nothing'],
    ['params in a list', '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}', 1, -32602, 'params: got [1]'],
    [
      'params that are null',
      '{"jsonrpc":"2.0","id":1,"method":"m","params":null}',
      1,
      -32602,
      'params: got null',
    ],
    [
      '_meta that is a text',
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":"x"}}',
      1,
      -32602,
      '_meta: got "x"',
    ],
    [
      'a progress token that is an object',
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":{}}}}',
      1,
      -32602,
      'progressToken: got {}',
    ],
  ])('is answered, and the next one is taken: %s', async (_what, line, id, code, reason) => {
    const { input, lines, received } = await start(true);
    input.write(`${line}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n`);
    await vi.waitFor(() => expect(received).toMatchObject([{ id: 2, method: 'ping' }]), PATIENTLY);
    expect(lines.map((each) => JSON.parse(each))).toEqual([
      { jsonrpc: '2.0', id, error: { code, message: expect.stringContaining(reason) } },
    ]);
  });

  it.each([
    ['a notification', '{"method":"notifications/initialized"}'],
    ['a notification with wrong parameters', '{"jsonrpc":"2.0","method":"m","params":7}'],
    ['an answer that answers nothing', '{"jsonrpc":"2.0","result":{}}'],
    ['an answer that is no object', '{"jsonrpc":"2.0","id":1,"result":7}'],
  ])('is not answered: %s', async (_what, line) => {
    const { input, lines, received } = await start(true);
    input.write(`${line}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n`);
    await vi.waitFor(() => expect(received).toMatchObject([{ id: 2 }]), PATIENTLY);
    expect(lines).toEqual([]);
  });

  const TASK = 'io.modelcontextprotocol/related-task';
  const WRONG_META = /^_meta: got \{.*\}, expected what MCP says of it\.$/;
  it.each<[params: string | undefined, refused?: RegExp]>([
    [undefined],
    ['{}'],
    ['{"name":"a","arguments":[],"__proto__":{"_meta":7}}'],
    ['{"_meta":{}}'],
    ['{"_meta":{"progressToken":"a","x/y":[null],"__proto__":7}}'],
    ['{"_meta":{"progressToken":""}}'],
    ['{"_meta":{"progressToken":-1}}'],
    ['{"_meta":{"progressToken":1e2}}'],
    [`{"_meta":{"${TASK}":{"taskId":"a","more":1}}}`],
    ['{"_meta":{"progressToken":9007199254740991}}'],
    ['{"_meta":{"progressToken":9007199254740992}}', WRONG_META],
    ['{"_meta":{"progressToken":1e400}}', /^progressToken: got /],
    ['{"_meta":{"progressToken":1.5}}', /^progressToken: got 1\.5, expected a text or a whole number\.$/],
    ['{"_meta":{"progressToken":null}}', /^progressToken: got null, /],
    ['{"_meta":{"progressToken":true}}', /^progressToken: got true, /],
    [`{"_meta":{"${TASK}":{}}}`, WRONG_META],
    [`{"_meta":{"${TASK}":{"taskId":7}}}`, WRONG_META],
    [`{"_meta":{"${TASK}":null}}`, WRONG_META],
    [`{"_meta":{"${TASK}":["taskId"]}}`, WRONG_META],
    ['{"_meta":null}', /^_meta: got null, expected an object\.$/],
    ['{"_meta":[]}', /^_meta: got \[\], expected an object\.$/],
    ['{"_meta":7}', /^_meta: got 7, /],
    ['[]', /^params: got \[\], expected an object\.$/],
    ['"x"', /^params: got "x", /],
    ['false', /^params: got false, /],
    ['null', /^params: got null, /],
  ])(
    'parameters are taken where the SDK would take them, and refused in words: %s',
    async (params, refused) => {
      const { input, lines, received } = await start(true);
      const rest = params === undefined ? '' : `,"params":${params}`;
      const messages = ['"id":1,', '"id":"","__proto__":7,', ''].map(
        (id) => `{"jsonrpc":"2.0",${id}"method":"m"${rest}}`,
      );
      const parsed = messages.map((text) => {
        const { ['__proto__']: _unknown, ...known } = JSON.parse(text);
        return known;
      });
      const taken = parsed.filter((message) => isJSONRPCRequest(message) || isJSONRPCNotification(message));
      expect(taken).toHaveLength(refused === undefined ? messages.length : 0);
      const last = { jsonrpc: '2.0', id: 'last', method: 'ping' };
      input.write(`${[...messages, JSON.stringify(last)].join('\n')}\n`);
      await vi.waitFor(() => expect(received).toContainEqual(last), PATIENTLY);
      expect(received).toEqual([...taken, last]);
      const error = { code: -32602, message: expect.stringMatching(refused ?? /never/) };
      const answers = refused === undefined ? [] : [1, ''].map((id) => ({ jsonrpc: '2.0', id, error }));
      expect(lines.map((each) => JSON.parse(each))).toEqual(answers);
    },
  );

  it('members that JSON-RPC does not know cost nobody the answer', async () => {
    const { input, received } = await start(true);
    input.write(
      '{"jsonrpc":"2.0","id":1,"method":"ping","trace":"x"}\n{"jsonrpc":"2.0","id":5,"result":{},"trace":1}\n',
    );
    await vi.waitFor(() => expect(received).toHaveLength(2), PATIENTLY);
    expect(received).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', id: 5, result: {} },
    ]);
  });
});

it('says when the agent has gone', async () => {
  const { transport, input } = await start(true);
  input.end();
  await transport.closed;
});
