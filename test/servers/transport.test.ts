import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { afterEach, expect, it, vi } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import { Redactor } from '../../src/base/secrets/redact.js';
import { rawResultOf, readMessage, readOversized } from '../../src/servers/connection/inbound.js';
import { LastWords, StdioTransport } from '../../src/servers/stdio/stdio-transport.js';
import { envelopeOf } from '../../src/wire/envelope.js';
import { isAlive } from '../support/processes.js';
import { until } from '../support/time.js';
import { hostile } from './hostile.js';
import { cpuMsOf, LINEAR, plainTransferMs } from './plain-transfer.js';

const open: StdioTransport[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((transport) => transport.close()));
});

/** A transport with everything that it received, and a way to ask and wait for one answer. */
async function start(command: string, args: readonly string[]) {
  const env = { PATH: process.env['PATH'] ?? '' };
  const transport = new StdioTransport({ command, args, env, cwd: undefined }, (text) => text);
  open.push(transport);
  const received: JSONRPCMessage[] = [];
  transport.onmessage = (message) => void received.push(message);
  await transport.start();
  let id = 0;
  const ask = async (tool: string, args: object = {}) => {
    const mine = ++id;
    const message = {
      jsonrpc: '2.0' as const,
      id: mine,
      method: 'tools/call',
      params: { name: tool, arguments: args },
    };
    await transport.send(message);
    const answer = () => received.find((message) => 'id' in message && message.id === mine);
    await until(() => answer() !== undefined || transport.ending !== undefined);
    return answer();
  };
  return { transport, ask, received };
}

/** The server's process and those that it started. */
function pidsIn(answer: JSONRPCMessage | undefined): number[] {
  if (answer === undefined || !('result' in answer)) throw new Error('no result');
  const { pid, grandchildren } = Object(answer.result['structuredContent']);
  return [pid, ...grandchildren].map(Number);
}

const node = (...modes: string[]) => {
  const { command, args } = hostile(...modes);
  return start(command, args);
};

it('40 MB on one line arrive in linear time, with their own text', async () => {
  const { transport, received } = await node();
  const bytes = 40 * 1024 * 1024;
  const plainMs = await plainTransferMs(bytes);
  const tookMs = await cpuMsOf(async () => {
    await transport.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'big', arguments: { bytes } },
    });
    await until(() => received.length > 0);
  });
  const [answer] = received;
  if (answer === undefined || !('result' in answer)) throw new Error('no result');
  const raw = rawResultOf(answer.result)?.text ?? '';
  expect(raw.startsWith('{"content":[{"type":"text","text":"xxx')).toBe(true);
  expect(raw.length).toBeGreaterThan(bytes);
  expect(tookMs / plainMs).toBeLessThan(LINEAR);
});

it.each([[[]], [['id-last']]])('an answer above 64 MiB fails its own request only %j', async (modes) => {
  const { ask, transport } = await node(...modes);
  const [big, small] = await Promise.all([
    ask('big', { bytes: 65 * 1024 * 1024 }),
    ask('echo', { text: 'still here' }),
  ]);
  expect(big).toMatchObject({ error: { data: { code: 'E_FRAME_TOO_LARGE', fault: 'downstream' } } });
  expect(small).toMatchObject({ result: { content: [{ text: 'still here' }] } });
  expect(transport.ending).toBeUndefined();
});

it('an answer that is too deep fails its own request only', async () => {
  const { ask } = await node();
  expect(await ask('deep', { levels: 100_000 })).toMatchObject({
    error: { data: { code: 'E_FRAME_TOO_LARGE' } },
  });
  expect(await ask('deep', { levels: 400 })).toHaveProperty('result');
});

it('noise on stdout is kept as last words and disturbs nothing', async () => {
  const { ask, transport } = await node('noise');
  expect(await ask('echo', { text: 'a' })).toMatchObject({ result: { content: [{ text: 'a' }] } });
  expect(transport.lastWords).toContain('stdout: Info: answering {"not": "a message"');
});

it('a crash is noticed though a grandchild would hold stdout for ever, and it does not outlive it', async () => {
  const { ask, transport } = await node('grandchild');
  const [, grandchild] = pidsIn(await ask('pid'));
  await ask('crash', { code: 9, text: 'out of luck' });
  expect(transport.ending).toBe('exited with code 9');
  expect(transport.lastWords).toBe('out of luck');
  await transport.close();
  await until(() => !isAlive(Number(grandchild)));
});

it('what a server wrote before it exited is still read', async () => {
  const { ask, transport } = await node();
  expect(await ask('last_breath')).toMatchObject({ result: { content: [{ text: 'gone' }] } });
  await until(() => transport.ending !== undefined);
  expect(transport.ending).toBe('exited with code 0');
});

it.each([
  ['a well-behaved server', []],
  ['a stubborn server', ['stubborn']],
  ['a stubborn grandchild', ['stubborn-grandchild']],
])('%s is gone when close() resolves', async (_who, modes) => {
  const { ask, transport } = await node(...modes);
  const pids = pidsIn(await ask('pid'));
  let closes = 0;
  transport.onclose = () => closes++;
  // Nobody but the stubborn is waited for in vain: no time passes for the others.
  if (modes.length === 0) vi.useFakeTimers({ toFake: ['performance'] });
  await Promise.all([transport.close(), transport.close()]);
  await until(() => !pids.some(isAlive));
  expect(closes).toBe(1);
  await expect(transport.send({ jsonrpc: '2.0', method: 'x' })).rejects.toThrow('gone');
});

it('a server that closed its input is ended, and sending says so', async () => {
  const script = 'exec 0<&-; echo ready; sleep 60';
  const { transport } = await start('/bin/sh', ['-c', script]);
  await until(() => transport.lastWords.includes('ready'));
  await expect(transport.send({ jsonrpc: '2.0', method: 'x' })).rejects.toThrow('EPIPE');
  await until(() => transport.ending !== undefined);
});

it('a command that does not exist rejects and leaves nothing to close', async () => {
  await expect(start('no-such-command-anywhere', [])).rejects.toThrow('ENOENT');
});

it('messages are read with tolerance', () => {
  expect(readMessage('Server running')).toBeUndefined();
  expect(readMessage('[1,2]')).toBeUndefined();
  expect(readMessage('\ufeff{"id":3,"result":{}}')).toEqual({ jsonrpc: '2.0', id: 3, result: {} });
  expect(readMessage('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}')).toBeUndefined();
  expect(readMessage('{"id":"4","result":{"_meta":3,"a":1},"extra":1}')).toEqual({
    jsonrpc: '2.0',
    id: 4,
    result: { a: 1 },
  });
  expect(readMessage('{"jsonrpc":"2.0","id":5,"result":null}')).toMatchObject({
    id: 5,
    error: { code: -32603 },
  });
  expect(readMessage('{"id":6,"error":"no"}')).toMatchObject({
    id: 6,
    error: { code: -32603, message: 'no' },
  });
});

it('the text of a result is its own, to the last digit', () => {
  const message = readMessage(
    '{"id": 1, "result": {"n": 12345678901234567890, "_meta": [], "x": 1.0} , "jsonrpc":"2.0"}',
  );
  if (message === undefined || !('result' in message)) throw new Error('no result');
  expect(rawResultOf(message.result)?.text).toBe('{"n": 12345678901234567890, "_meta": [], "x": 1.0}');
  expect(rawResultOf({})).toBeUndefined();
});

it('only an answer can be failed for its length, and only by its own id', () => {
  const read = (text: string) => readOversized(99, envelopeOf(text));
  const failed = read('{"result":{"id":3,"text":"…"},"jsonrpc":"2.0","id":12,"more":[]}');
  expect(failed).toMatchObject({ id: 12, error: { data: expect.any(BridgeError) } });
  expect(read('{"method":"sampling/createMessage","id":3,"params":{}}')).toBeUndefined();
  expect(read('{"result":{"x":"…","id":5}}')).toBeUndefined();
});

it.each([
  ['NaN', '{"jsonrpc":"2.0","result":{"content":[],"structuredContent":{"x":NaN}},"id":7}'],
  ['a comment', '{"id":"7","result":{} /* done */}'],
  [
    'a raw line break in a string',
    '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"first',
  ],
  ['an error with Infinity', '{"id":7,"error":{"code":1,"message":"no","data":Infinity}}'],
])('an answer that is not JSON fails the request that it answers: %s', (_what, line) => {
  expect(readMessage(line)).toMatchObject({
    id: 7,
    error: { message: 'The server sent an answer that is not JSON.', data: { code: 'E_TOOL_FAILED' } },
  });
});

it('noise that looks like an answer is none', () => {
  expect(readMessage('{"id":7, working: 3}')).toBeUndefined();
  expect(readMessage('result {"id":7,"result":NaN}')).toBeUndefined();
  expect(readMessage('{"id":7,"method":"x","result":NaN}')).toBeUndefined();
});

it('last words are few, harmless and without secrets', () => {
  const redactor = new Redactor();
  redactor.addAll({ TOKEN: 'sk-1234567890', MODE: 'on' });
  const words = new LastWords((text) => redactor.redact(text));
  for (let line = 0; line < 10_000; line++) words.add(`line ${line}\n`);
  words.add('\u001b[31mbad key sk-1234567890 on');
  words.addLine('stdout: hello');
  const lines = words.toString().split('\n');
  expect(lines).toHaveLength(40);
  expect(lines.slice(-3)).toEqual(['line 9999', 'bad key [TOKEN] on', 'stdout: hello']);
});

it.each([
  ['too deep', `{"\\x":${'['.repeat(600)}`],
  ['too deep, with half a key', `{"\\${'['.repeat(600)}`],
])('a line that is %s and no JSON either is noise, not an exception', (_what, line) => {
  expect(readMessage(line)).toBeUndefined();
  expect(readOversized(line.length, envelopeOf(line))).toBeUndefined();
});
