// A method that the bridge does not have, over HTTP: 2026-07-28 wants the status 404 beside the error of JSON-RPC.

import { afterEach, expect, it } from 'vitest';
import { AgentServer } from '../../src/mcp/requests/agent-server.js';
import { stubFront } from '../support/http-front.js';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

async function asker(): Promise<(method: string) => Promise<{ status: number; message: unknown }>> {
  const { url } = await stubFront(opened, {
    parts: {
      serverFor: (_principal, { era }) => {
        const server = new AgentServer({ era, capabilities: { tools: {} }, instructions: '' });
        server.answer('tools/list', () => ({ tools: [] }));
        return server;
      },
    },
  });
  return async (method) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: 'Bearer ann',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { _meta } }),
    });
    return { status: response.status, message: await response.json() };
  };
}

it('is answered with 404, and a method that there is with 200', async () => {
  const ask = await asker();
  const error = { code: -32_601, message: 'Method not found' };
  for (const method of ['unknown/method', 'prompts/list', 'initialize', 'tools/listing'])
    expect(await ask(method), method).toEqual({ status: 404, message: { jsonrpc: '2.0', id: 7, error } });
  const { status, message } = await ask('tools/list');
  expect(status).toBe(200);
  expect(message).toMatchObject({ id: 7, result: { tools: [] } });
});
