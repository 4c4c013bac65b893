// Handlers that a server object gets when they are first asked for, and what others put around them meanwhile.

import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { expect, it, onTestFinished } from 'vitest';
import { AgentServer } from '../../src/mcp/requests/agent-server.js';

async function connected(server: AgentServer): Promise<Client> {
  const [one, other] = InMemoryTransport.createLinkedPair();
  await server.connect(other);
  const client = new Client({ name: 'agent', version: '1' });
  await client.connect(one);
  onTestFinished(() => client.close());
  return client;
}

const newServer = () => new AgentServer({ era: 'legacy', capabilities: { tools: {} }, instructions: '' });

it('are registered once, for all who ask at the same time', async () => {
  const server = newServer();
  let times = 0;
  server.answerLater(['tools/list'], async () => {
    times++;
    server.answer('tools/list', () => ({ tools: [] }));
  });
  const client = await connected(server);
  await Promise.all([client.listTools(), client.listTools()]);
  expect(times).toBe(1);
});

it('are those that were registered, also where another handler asks them', async () => {
  const server = newServer();
  const given = new Map<string, Parameters<AgentServer['answer']>[1]>();
  const answer = server.answer.bind(server);
  server.answer = (method, handler) => {
    given.set(method, handler);
    answer(method, handler);
  };
  const named = (name: string) => ({ name, inputSchema: { type: 'object' } });
  server.answerLater(['tools/list'], async () =>
    server.answer('tools/list', () => ({ tools: [named('own')] })),
  );
  const inner = given.get('tools/list') ?? (() => ({}));
  answer('tools/list', async (params, request) => {
    const { tools } = (await inner(params, request)) as { tools: object[] };
    return { tools: [...tools, named('added')] };
  });
  const client = await connected(server);
  for (let time = 0; time < 2; time++)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['own', 'added']);
});
