// Questions and tasks over HTTP, where each request has a server object of its own: two principals behind one address, each
// with a bridge, and a third bridge as another process of the same server would be.

import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Jobs } from '../../../src/mcp/calls/jobs.js';
import { agentServer } from '../../../src/mcp/connection/server.js';
import { parseSettings } from '../../../src/settings/environment/settings.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';
import { Bridge } from '../../../src/tenant/bridge.js';
import type { Message } from '../../support/raw-agent.js';
import { PATIENTLY } from '../../support/time.js';
import { askingHome } from './asking-home.js';

const CAPABILITIES = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const ADA = { action: 'accept', content: { name: 'Ada' } };

/** One principal of one server process. */
function principal(more: Readonly<Record<string, string>> = {}) {
  const { home, settings: env, events } = askingHome();
  const host = { ...hostFacts(), home };
  const { settings } = parseSettings({ ...env, ...more }, host);
  const observer = () => {};
  const bridge = new Bridge({ settings, discovery: { settings, env: {}, host }, observer });
  const jobs = new Jobs(settings.keepSeconds);
  const handler = createMcpHandler(({ era }) => agentServer({ bridge, jobs, observer, era }));
  onTestFinished(async () => {
    await handler.close();
    jobs[Symbol.dispose]();
    await bridge[Symbol.asyncDispose]();
  });

  let ids = 0;
  const post = async (
    method: string,
    params: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ): Promise<Message> => {
    const id = ++ids;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } });
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': String(params['name'] ?? params['taskId']),
    };
    const request = new Request('http://bridge/mcp', {
      method: 'POST',
      headers,
      body,
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await (await handler.fetch(request)).text();
    const lines = text.split('\n').map((line) => line.replace(/^data: /, ''));
    const messages = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Message);
    return messages.find((message) => message.id === id) ?? {};
  };
  return { post, events, jobs };
}

const execute = (command: string, ...args: readonly string[]) => ({
  name: 'execute',
  arguments: { command, args },
});
const textOf = (result: unknown): unknown => Object(result)['content']?.[0]?.text;

describe('over HTTP', () => {
  it('a call goes on with another request, and only for its principal and in its process', async () => {
    const [ann, ben] = [principal(), principal()];
    const call = execute('ask', 'Who?');
    const { result } = await ann.post('tools/call', call);
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { q1: {} } });
    const retry = { ...call, requestState: result?.['requestState'], inputResponses: { q1: ADA } };
    const refused = (await ben.post('tools/call', retry)).error;
    expect(refused).toEqual({
      code: -32_602,
      message: expect.stringContaining('it was not made by this server process for you'),
      data: { reason: 'invalid_request_state' },
    });
    expect(ben.events()).toEqual(['']);
    expect(ann.jobs.size).toBe(1);
    expect(textOf((await ann.post('tools/call', retry)).result)).toBe(JSON.stringify([ADA]));
    expect(ann.jobs.size).toBe(0);
    expect(ann.events()).toEqual(['begun ask']);
  });

  it('a broken request cancels its call', async () => {
    const { post, events, jobs } = principal();
    const controller = new AbortController();
    const answer = post('tools/call', execute('wait', '600000'), controller.signal).catch(() => {});
    await expect.poll(events, PATIENTLY).toEqual(['begun wait']);
    controller.abort();
    await answer;
    await expect.poll(events, PATIENTLY).toEqual(['begun wait', 'cancelled']);
    await expect.poll(() => jobs.size, PATIENTLY).toBe(0);
  });

  it('a task is found by its principal alone', async () => {
    const [ann, ben] = [principal({ MCP_BRIDGE_TASK_AFTER: '0' }), principal()];
    const { result } = await ann.post('tools/call', execute('wait', '200'));
    expect(result).toMatchObject({ resultType: 'task', status: 'working' });
    const taskId = result?.['taskId'];
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect((await ben.post(method, { taskId, inputResponses: {} })).error).toMatchObject({
        code: -32_602,
        message: expect.stringContaining('of yours here'),
      });
    const state = async () => (await ann.post('tasks/get', { taskId })).result;
    await expect.poll(async () => (await state())?.['status'], PATIENTLY).toBe('completed');
    expect(textOf((await state())?.['result'])).toBe('waited 200 ms');
  });
});
