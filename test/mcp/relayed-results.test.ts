// Results that the bridge hands on: structured as the era of the agent knows it, and digit by digit as they were written.

import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import { serveAgent } from '../../src/mcp/connection/server.js';
import { AgentTransport } from '../../src/mcp/requests/stdio-transport.js';
import { PATIENTLY } from '../support/time.js';
import { byHand, ENVELOPE, FAILED, fakeBridge, type Message, newJobs } from './fake-bridge.js';

describe('what a server answers to a command of the agent', () => {
  it.each([
    ['legacy', { result: [1, 2] }],
    ['modern', [1, 2]],
  ] as const)('is structured as its era knows it: %s', async (era, structuredContent) => {
    const { bridge } = fakeBridge({ MCP_BRIDGE_EXECUTE_SERVER: 'box' });
    const answer = { content: [{ type: 'text', text: 'x' }], structuredContent: [1, 2] };
    Object.assign(bridge, { callServer: () => Promise.resolve(new RawJson(JSON.stringify(answer))) });
    const { ask } = await byHand(bridge);
    const params = {
      name: 'execute',
      arguments: { command: 'ls' },
      ...(era === 'legacy' ? {} : { _meta: ENVELOPE }),
    };
    const { result } = (await ask({ id: 1, method: 'tools/call', params })) as { result: Message };
    expect(result['structuredContent']).toEqual(structuredContent);
  });

  it.each([
    ['a text', 'x'],
    ['one block', { type: 'text', text: 'x' }],
  ])('has its content as blocks where it is %s', async (_what, content) => {
    const { bridge } = fakeBridge({ MCP_BRIDGE_EXECUTE_SERVER: 'box' });
    Object.assign(bridge, { callServer: () => Promise.resolve(new RawJson(JSON.stringify({ content }))) });
    const { ask } = await byHand(bridge);
    const params = { name: 'execute', arguments: { command: 'ls' } };
    const { result } = (await ask({ id: 1, method: 'tools/call', params })) as { result: Message };
    expect(result['content']).toEqual([{ type: 'text', text: 'x' }]);
  });

  it.each(['legacy', 'modern'] as const)('passes without what it says of itself: %s', async (era) => {
    const { bridge } = fakeBridge({ MCP_BRIDGE_EXECUTE_SERVER: 'box' });
    const answer = {
      content: [],
      resultType: 'input_required',
      requestState: 'theirs',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'them', version: '1' }, 'a/b': 1 },
    };
    Object.assign(bridge, { callServer: () => Promise.resolve(new RawJson(JSON.stringify(answer))) });
    const { ask } = await byHand(bridge);
    const params = {
      name: 'execute',
      arguments: { command: 'ls' },
      ...(era === 'legacy' ? {} : { _meta: ENVELOPE }),
    };
    const { result } = (await ask({ id: 1, method: 'tools/call', params })) as { result: Message };
    expect(result['resultType']).toBe(era === 'legacy' ? undefined : 'complete');
    const { 'io.modelcontextprotocol/serverInfo': info, ...rest } = result['_meta'] as Message;
    expect(rest).toEqual({ 'a/b': 1 });
    expect((info as Message | undefined)?.['name']).toBe(era === 'legacy' ? undefined : 'mcp-sandbox-bridge');
  });
});

it.each(['legacy', 'modern'] as const)(
  'numbers of a result leave in their own characters: %s',
  async (era) => {
    const json = `{"a":1.0,"b":12345678901234567890,"c":1e400,"d":[${'0.10,'.repeat(20_000)}1]}`;
    const result = { repr: '{}', json: new RawJson(json) };
    const { bridge } = fakeBridge({}, { ...FAILED, status: 'success', error: undefined, result });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const connection = await serveAgent(bridge, newJobs(), new AgentTransport(input, output), () => {});
    onTestFinished(() => connection.close());
    let written = '';
    output.on('data', (chunk: Buffer) => (written += chunk.toString()));
    const params = {
      name: 'run_python',
      arguments: { code: '1' },
      ...(era === 'legacy' ? {} : { _meta: ENVELOPE }),
    };
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`);
    await expect.poll(() => written.endsWith('\n'), PATIENTLY).toBe(true);
    expect(written).toContain(`"result":${json}`);
  },
);
