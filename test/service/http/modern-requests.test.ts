// The rules of revision 2026-07-28 for requests over Streamable HTTP, in the bytes that are sent and come back.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeBridge, newJobs } from '../../mcp/fake-bridge.js';
import { ask, type HttpAgent, send } from '../../support/http-agent.js';
import { PATIENTLY } from '../../support/time.js';
import { agentOf } from './front-of-bridge.js';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
const ENVELOPE = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} };
const CALL = { name: 'run_python', arguments: { code: '1' } };

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

let fake: ReturnType<typeof fakeBridge>;
let agent: HttpAgent;
beforeEach(async () => {
  fake = fakeBridge();
  agent = await agentOf(fake.bridge, newJobs(), opened);
});

const HEADERS = { 'mcp-protocol-version': '2026-07-28' };
/** A request whose headers and parameters are as the test writes them; undefined leaves a header out. */
async function post(
  method: string,
  params: object | undefined,
  headers: Readonly<Record<string, string | undefined>> = {},
) {
  const all = { ...agent.headers, ...HEADERS, 'mcp-method': method, ...headers };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const body = { jsonrpc: '2.0', id: 'r1', method, ...(params === undefined ? {} : { params }) };
  const answered = await ask(agent.place, { headers: given, body });
  return { ...answered, answer: answered.messages.find(({ id }) => id === 'r1') };
}

describe('headers that contradict the body, or are not there', () => {
  const withMeta = { ...CALL, _meta: ENVELOPE };
  const right = { 'mcp-name': 'run_python' };
  it.each([
    ['no version', { ...right, 'mcp-protocol-version': undefined }],
    ['no method', { ...right, 'mcp-method': undefined }],
    ['no name', {}],
    ['another method', { ...right, 'mcp-method': 'tools/list' }],
    ['a method in other letters', { ...right, 'mcp-method': 'Tools/Call' }],
    ['another name', { 'mcp-name': 'execute' }],
    ['another name in base64', { 'mcp-name': '=?base64?ZXhlY3V0ZQ==?=' }],
    ['base64 that is none', { 'mcp-name': '=?base64?!!!?=' }],
  ])('%s: refused with -32020 and status 400', async (_what, headers) => {
    const { status, answer } = await post('tools/call', withMeta, headers);
    expect([status, answer?.error?.code]).toEqual([400, -32_020]);
    expect(fake.callers).toEqual([]);
  });

  it('a name in base64 is the same name, and names of headers have no case', async () => {
    const name = `=?base64?${Buffer.from('run_python').toString('base64')}?=`;
    const { status, answer } = await post('tools/call', withMeta, { 'MCP-NAME': name });
    expect([status, answer?.result?.['resultType']]).toEqual([200, 'complete']);
  });

  it('a version of the body that is another than that of the header', async () => {
    const headers = { 'mcp-protocol-version': '2025-11-25' };
    const { status, answer } = await post('tools/list', { _meta: ENVELOPE }, headers);
    expect([status, answer?.error?.code]).toEqual([400, -32_020]);
  });
});

describe('what a request says of its client', () => {
  it('a version that there is not: -32022 with those that there are', async () => {
    const _meta = { ...ENVELOPE, [VERSION]: '1900-01-01' };
    const { status, answer } = await post('tools/list', { _meta }, { 'mcp-protocol-version': '1900-01-01' });
    const data = { supported: ['2026-07-28'], requested: '1900-01-01' };
    expect([status, answer?.error]).toMatchObject([400, { code: -32_022, data }]);
  });

  it.each([
    ['nothing', undefined],
    ['no _meta', {}],
    ['no capabilities', { _meta: { [VERSION]: '2026-07-28' } }],
    ['no version', { _meta: { [CAPABILITIES]: {} } }],
    ['capabilities that are none', { _meta: { ...ENVELOPE, [CAPABILITIES]: 7 } }],
  ])('%s: -32602 with status 400', async (_what, params) => {
    const { status, answer } = await post('tools/list', params);
    expect([status, answer?.error?.code]).toEqual([400, -32_602]);
  });

  it('no name of the client is needed', async () => {
    expect((await post('tools/list', { _meta: ENVELOPE })).status).toBe(200);
  });
});

describe('what there is not', () => {
  it.each(['ping', 'logging/setLevel', 'resources/subscribe', 'roots/list', 'no/such'])(
    '%s: -32601 with status 404',
    async (method) => {
      const { status, answer } = await post(method, { _meta: ENVELOPE });
      expect([status, answer?.error?.code]).toEqual([404, -32_601]);
    },
  );

  it.each(['GET', 'DELETE'])('answers %s with 405', async (method) => {
    expect((await ask(agent.place, { method, headers: { ...agent.headers, ...HEADERS } })).status).toBe(405);
  });

  it('refuses a batch of messages', async () => {
    const one = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: ENVELOPE } };
    const { status } = await ask(agent.place, {
      headers: { ...agent.headers, ...HEADERS },
      body: [one, one],
    });
    expect(status).toBe(400);
  });

  it('sessions: one that is named is ignored, and none is given', async () => {
    const { status, headers } = await post(
      'tools/list',
      { _meta: ENVELOPE },
      { 'mcp-session-id': 'x', 'last-event-id': '7' },
    );
    expect([status, headers['mcp-session-id']]).toEqual([200, undefined]);
  });
});

describe('results', () => {
  it.each([
    ['server/discover', {}],
    ['tools/list', {}],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['resources/read', { uri: 'resource://mcp-sandbox-bridge/capabilities' }],
  ])('of %s say what they are, whose, and how long they are good for', async (method, params) => {
    const headers = 'uri' in params ? { 'mcp-name': params.uri } : {};
    const { answer } = await post(method, { ...params, _meta: ENVELOPE }, headers);
    const { resultType, ttlMs, cacheScope, _meta } = answer?.result ?? {};
    expect([resultType, cacheScope]).toEqual(['complete', 'private']);
    expect(Number.isInteger(ttlMs) && Number(ttlMs) >= 0).toBe(true);
    expect(Object(_meta)[SERVER_INFO]).toMatchObject({ name: 'mcp-sandbox-bridge' });
  });

  it('of a call say what they are and whose', async () => {
    const { answer, headers } = await post(
      'tools/call',
      { ...CALL, _meta: ENVELOPE },
      { 'mcp-name': CALL.name },
    );
    const { resultType, _meta, ttlMs } = answer?.result ?? {};
    expect([resultType, ttlMs]).toEqual(['complete', undefined]);
    expect(Object(_meta)[SERVER_INFO]).toMatchObject({ name: 'mcp-sandbox-bridge' });
    // Proxies that keep a stream back would keep its progress back as well.
    expect(headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
  });

  it('of server/discover have all that a client may want to know first', async () => {
    const { answer } = await post('server/discover', { _meta: ENVELOPE });
    const { supportedVersions, capabilities, instructions } = answer?.result ?? {};
    expect(supportedVersions).toContain('2026-07-28');
    expect(capabilities).toMatchObject({
      tools: { listChanged: true },
      resources: { listChanged: true },
      logging: {},
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    });
    expect(instructions).toContain('run_python');
    expect([fake.seen.warmUps, fake.callers]).toEqual([0, []]);
  });
});

describe('what is told while a call is under way', () => {
  const call = (_meta: object) =>
    post('tools/call', { ...CALL, _meta: { ...ENVELOPE, ..._meta } }, { 'mcp-name': CALL.name });
  const told = async (meta: object) => {
    const { messages } = await call(meta);
    return messages.map(({ method, id }) => method ?? id);
  };

  it('nothing, where nothing was asked for', async () => {
    expect(await told({})).toEqual(['r1']);
  });

  it('progress under the token that was given, an integer or a text, before the result', async () => {
    for (const progressToken of [0, 'abc']) {
      const { messages } = await call({ progressToken });
      expect(messages.map(({ method, id }) => method ?? id)).toEqual(['notifications/progress', 'r1']);
      expect(messages[0]?.params?.['progressToken']).toBe(progressToken);
    }
  });

  it('what is logged, for a request that says from which level on', async () => {
    expect(await told({ [LOG_LEVEL]: 'debug' })).toEqual(['notifications/message', 'r1']);
    expect(await told({ [LOG_LEVEL]: 'emergency' })).toEqual(['r1']);
    expect((await call({ [LOG_LEVEL]: 'loud' })).answer?.error?.code).toBe(-32_602);
  });
});

it('a client that closes its stream has cancelled its call, and only that', async () => {
  fake.hold(new Promise(() => {}));
  const headers = { ...agent.headers, ...HEADERS, 'mcp-method': 'tools/call', 'mcp-name': CALL.name };
  const params = { ...CALL, _meta: ENVELOPE };
  // The same id twice: requests of this revision know nothing of each other.
  const calls = [1, 1].map((id) =>
    send(agent.place, { headers, body: { jsonrpc: '2.0', id, method: 'tools/call', params } }),
  );
  await expect.poll(() => fake.signals.length, PATIENTLY).toBe(2);
  calls[0]?.abort();
  await expect.poll(() => fake.signals.filter(({ aborted }) => aborted).length, PATIENTLY).toBe(1);
  calls[1]?.abort();
  await expect.poll(() => fake.signals.every(({ aborted }) => aborted), PATIENTLY).toBe(true);
});

it('a notification is taken with 202 and no body', async () => {
  const params = { requestId: 5, _meta: ENVELOPE };
  const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params };
  const headers = { ...agent.headers, ...HEADERS, 'mcp-method': 'notifications/cancelled' };
  const { status, text } = await ask(agent.place, { headers, body });
  expect([status, text]).toEqual([202, '']);
});
