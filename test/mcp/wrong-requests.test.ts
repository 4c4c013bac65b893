// Requests that cannot be answered, of either era: each is told why, by a code and by the name of the field.

import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentServer } from '../../src/mcp/connection/server.js';
import { byHand, ENVELOPE, fakeBridge, LOG_LEVEL, newJobs, VERSION } from './fake-bridge.js';

describe('what is wrong with a request', () => {
  const MODERN = [
    ['of a version that there is not', { _meta: { ...ENVELOPE, [VERSION]: '2027-01-01' } }, -32_022],
    ['without a version', {}, -32_602],
    ['without capabilities', { _meta: { [VERSION]: '2026-07-28' } }, -32_602],
    ['of a wrong log level', { _meta: { ...ENVELOPE, [LOG_LEVEL]: 'loud' } }, -32_602],
    ['of a wrong cursor', { cursor: 5, _meta: ENVELOPE }, -32_602],
  ] as const;
  it.each(MODERN)('of 2026-07-28, %s, is answered', async (_what, params, code) => {
    const { ask } = await byHand(fakeBridge().bridge);
    await ask({ id: 1, method: 'tools/list', params: { _meta: ENVELOPE } });
    expect(await ask({ id: 2, method: 'tools/list', params })).toMatchObject({ error: { code } });
    expect(await ask({ id: 3, method: 'tools/list', params: { _meta: ENVELOPE } })).toHaveProperty('result');
  });

  it('is said by name: a version that there is not, and a resource that there is not', async () => {
    const { ask } = await byHand(fakeBridge().bridge);
    const _meta = { ...ENVELOPE, [VERSION]: '2027-01-01' };
    const data = { supported: ['2026-07-28'], requested: '2027-01-01' };
    expect(await ask({ id: 1, method: 'tools/list', params: { _meta } })).toMatchObject({ error: { data } });
    await ask({ id: 2, method: 'tools/list', params: { _meta: ENVELOPE } });
    expect(await ask({ id: 3, method: 'tools/list', params: { _meta } })).toMatchObject({ error: { data } });
    const read = await ask({ id: 4, method: 'resources/read', params: { uri: 'x:y', _meta: ENVELOPE } });
    expect(read).toMatchObject({ error: { code: -32_602, data: { uri: 'x:y' } } });
  });

  it.each(['ping', 'logging/setLevel', 'initialize', 'roots/list', 'sampling/createMessage'])(
    'there is no %s in 2026-07-28',
    async (method) => {
      const { ask } = await byHand(fakeBridge().bridge);
      await ask({ id: 1, method: 'tools/list', params: { _meta: ENVELOPE } });
      expect(await ask({ id: 2, method, params: { _meta: ENVELOPE } })).toMatchObject({
        error: { code: -32_601 },
      });
    },
  );

  it.each([
    ['initialize', { protocolVersion: 5 }, 'protocolVersion: got 5, expected a version of MCP'],
    ['initialize', undefined, 'params: got nothing, expected an object with protocolVersion'],
    ['resources/read', { uri: 7 }, 'uri: got 7, expected'],
    ['resources/read', undefined, 'uri: got nothing, expected'],
    ['resources/list', { cursor: 7 }, 'cursor: got 7, expected'],
    ['logging/setLevel', {}, 'There is no log level nothing.'],
    [
      'tools/call',
      { name: 'run_python', arguments: [] },
      'arguments: got [], expected an object by argument names.',
    ],
  ])('of 2025 names the field: %s %j', async (method, params, message) => {
    const { ask } = await byHand(fakeBridge().bridge);
    const answer = await ask({ id: 1, method, ...(params === undefined ? {} : { params }) });
    expect(answer).toMatchObject({ error: { code: -32_602, message: expect.stringContaining(message) } });
  });
});

it('over HTTP a method that there is not has the status of a page that there is not', async () => {
  const { bridge } = fakeBridge();
  const jobs = newJobs();
  const handler = createMcpHandler(({ era }) => agentServer({ bridge, jobs, observer: () => {}, era }));
  onTestFinished(() => handler.close());
  const status = async (method: string) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: ENVELOPE } });
    const request = new Request('http://localhost/mcp', { method: 'POST', headers, body });
    return (await handler.fetch(request)).status;
  };
  expect([await status('tools/list'), await status('example/none')]).toEqual([200, 404]);
});
