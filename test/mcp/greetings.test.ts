// What `initialize` gets, by the version that the client asks for: on a connection of its own and over HTTP.

import { afterEach, describe, expect, it } from 'vitest';
import { agentOf } from '../service/http/front-of-bridge.js';
import { ask } from '../support/http-agent.js';
import type { Message } from '../support/raw-agent.js';
import { byHand, fakeBridge, newJobs } from './fake-bridge.js';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const greetingFor = (protocolVersion: string) => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'c', version: '1' },
});
const VERSIONS = [
  ['2024-11-05', '2024-11-05'],
  ['2025-03-26', '2025-03-26'],
  ['2025-06-18', '2025-06-18'],
  ['2025-11-25', '2025-11-25'],
  // What is not known gets the newest that a greeting can agree on.
  ['1999-01-01', '2025-11-25'],
  ['2099-01-01', '2025-11-25'],
  ['2026-07-28', '2025-11-25'],
] as const;

function expectGreeting(result: Message['result'], agreed: string) {
  expect(result).toMatchObject({
    protocolVersion: agreed,
    capabilities: { tools: { listChanged: true }, resources: { listChanged: true }, logging: {} },
    serverInfo: { name: 'mcp-sandbox-bridge' },
    instructions: expect.stringContaining('run_python'),
  });
  // Of what only later clients know there is nothing in it.
  expect(Object.keys(result ?? {}).sort()).toEqual([
    'capabilities',
    'instructions',
    'protocolVersion',
    'serverInfo',
  ]);
  expect(result?.['capabilities']).not.toHaveProperty('extensions');
}

describe.each(VERSIONS)('asked for %s', (asked, agreed) => {
  it('agrees on a version, and goes on in it', async () => {
    const { ask: say } = await byHand(fakeBridge().bridge);
    const greeted = await say({ id: 1, method: 'initialize', params: greetingFor(asked) });
    expectGreeting(greeted?.['result'] as Message['result'], agreed);
    expect(await say({ id: 2, method: 'ping' })).toMatchObject({ result: {} });
    const listed = await say({ id: 3, method: 'tools/list' });
    expect(Object.keys(Object(listed?.['result']))).toEqual(['tools']);
  });

  it('does so over HTTP, with a session', async () => {
    const agent = await agentOf(fakeBridge().bridge, newJobs(), opened);
    const post = (id: number, method: string, params: object | undefined, headers: object = {}) =>
      ask(agent.place, {
        headers: { ...agent.headers, ...headers },
        body: { jsonrpc: '2.0', id, method, params },
      });
    const { headers, messages } = await post(1, 'initialize', greetingFor(asked));
    expectGreeting(messages[0]?.result, agreed);
    const session = String(headers['mcp-session-id']);
    expect(session).toMatch(/^[\w-]{43}$/);
    const own = { 'mcp-session-id': session, 'mcp-protocol-version': agreed };
    expect((await post(2, 'ping', undefined, own)).messages[0]).toMatchObject({ id: 2, result: {} });
    const listed = await post(3, 'tools/list', undefined, own);
    expect(Object.keys(listed.messages[0]?.result ?? {})).toEqual(['tools']);
    const wrong = await post(4, 'tools/list', undefined, { ...own, 'mcp-protocol-version': '1999-01-01' });
    expect(wrong.status).toBe(400);
  });
});
