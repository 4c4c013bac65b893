// `subscriptions/listen` for tasks: on a connection of an agent's own and over HTTP, what is acknowledged, told and refused.

import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import type { Jobs } from '../../src/mcp/calls/jobs.js';
import { watchTasks } from '../../src/mcp/calls/tasks.js';
import { serveConnection } from '../../src/mcp/connection/stdio-connection.js';
import { AgentServer } from '../../src/mcp/requests/agent-server.js';
import { send } from '../support/http-agent.js';
import { stubFront } from '../support/http-front.js';
import { openTask } from '../support/open-task.js';
import type { Message } from '../support/raw-agent.js';
import { PATIENTLY, pause } from '../support/time.js';
import { newJobs } from './fake-bridge.js';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const TASKS = { extensions: { [EXTENSION]: {} } };
const ANN = 'token:ann';
const RESULT = { content: [], structuredContent: { n: new RawJson('12345678901234567890') } };

type Told = {
  readonly messages: () => readonly Message[];
  readonly text: () => string;
  readonly stop: () => void;
};

const paramsOf = (notifications: unknown, capabilities: object = TASKS) => ({
  notifications,
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  },
});
const newServer = (era: 'legacy' | 'modern') => {
  const capabilities = { tools: { listChanged: true }, resources: { listChanged: true } };
  return new AgentServer({ era, capabilities, instructions: '' });
};

/** An agent over stdio, with the bytes left out; its server object can tell of changed lists. */
async function overStdio(calls: Jobs) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  let server: AgentServer | undefined;
  const connection = await serveConnection(
    ours as never,
    (era) => {
      server = newServer(era);
      return server;
    },
    undefined,
    (taskIds, tell) => watchTasks(calls, taskIds, tell),
  );
  onTestFinished(() => connection.close());
  const heard: Message[] = [];
  theirs.onmessage = (message) => void heard.push(message as Message);
  await theirs.start();
  const listen = async (id: number, params: object): Promise<Told> => {
    await theirs.send({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params } as never);
    const isOwn = ({ id: answered, params: told }: Message) =>
      answered === id || Object(told?.['_meta'])[SUBSCRIPTION] === id;
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } };
    return {
      messages: () => heard.filter(isOwn),
      text: () => '',
      stop: () => void theirs.send(cancelled as never),
    };
  };
  return { listen, toolsChanged: () => server?.sendToolListChanged(), end: () => connection.close() };
}

async function overHttp(calls: Jobs) {
  const opened: AsyncDisposable[] = [];
  onTestFinished(async () => {
    for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });
  let changed = () => {};
  const { url, front } = await stubFront(opened, {
    parts: {
      serverFor: (_principal, { era, onListChanged }) => {
        changed = () => onListChanged?.('tools');
        return newServer(era);
      },
      watchTasks:
        ({ id }) =>
        (taskIds, tell) =>
          watchTasks(id === ANN ? calls : newJobs(), taskIds, tell),
    },
  });
  const listen = async (id: number, params: object, more: object = {}): Promise<Told> => {
    const exchange = send(
      { port: Number(url.port) },
      {
        headers: {
          authorization: 'Bearer ann',
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'subscriptions/listen',
          ...more,
        },
        body: { jsonrpc: '2.0', id, method: 'subscriptions/listen', params },
      },
    );
    await exchange.begun;
    return { messages: () => exchange.messages, text: exchange.text, stop: exchange.abort };
  };
  return { listen, toolsChanged: () => changed(), end: () => front[Symbol.asyncDispose]() };
}

describe.each([
  ['stdio', overStdio],
  ['http', overHttp],
] as const)('over %s', (_name, agentOf) => {
  const setUp = async () => {
    const calls = newJobs();
    return { calls, ...(await agentOf(calls)) };
  };
  const count = (told: Told, least: number) =>
    expect.poll(() => told.messages().length, PATIENTLY).toBeGreaterThanOrEqual(least);

  it('what a task becomes is told, with lists beside it', async () => {
    const { calls, listen, toolsChanged, end } = await setUp();
    const { id, end: finish } = await openTask(calls);
    const told = await listen(5, paramsOf({ toolsListChanged: true, taskIds: [id, 'unknown'] }));
    await count(told, 2);
    expect(told.messages()[0]).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true, taskIds: [id] }, _meta: { [SUBSCRIPTION]: 5 } },
    });
    expect(told.messages()[1]).toMatchObject({
      method: 'notifications/tasks',
      params: { taskId: id, status: 'working', _meta: { [SUBSCRIPTION]: 5 } },
    });
    toolsChanged();
    await count(told, 3);
    expect(told.messages()[2]?.method).toBe('notifications/tools/list_changed');
    finish(RESULT);
    await count(told, 4);
    expect(told.messages()[3]).toMatchObject({ params: { status: 'completed', result: { content: [] } } });
    await end();
    await count(told, 5);
    expect(told.messages()[4]).toMatchObject({
      id: 5,
      result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: 5 } },
    });
  });

  it('tasks alone are told of, until the client has heard enough', async () => {
    const { calls, listen } = await setUp();
    const [one, other] = [await openTask(calls), await openTask(calls)];
    const [first, second] = [
      await listen(1, paramsOf({ taskIds: [one.id] })),
      await listen(2, paramsOf({ taskIds: [one.id, other.id] })),
    ];
    await count(first, 2);
    await count(second, 3);
    first.stop();
    await pause(100);
    one.end(RESULT);
    await count(second, 4);
    expect(first.messages()).toHaveLength(2);
    second.stop();
  });

  it('tasks of somebody else are as unknown as any', async () => {
    const { listen } = await setUp();
    const { id } = await openTask(newJobs());
    const told = await listen(1, paramsOf({ taskIds: [id] }));
    await count(told, 1);
    expect(told.messages()[0]?.params).toEqual({ notifications: {}, _meta: { [SUBSCRIPTION]: 1 } });
    told.stop();
  });

  it('who does not declare the extension is refused, and told what to declare', async () => {
    const { calls, listen } = await setUp();
    const { id } = await openTask(calls);
    const told = await listen(1, paramsOf({ taskIds: [id] }, {}));
    await count(told, 1);
    expect(told.messages()).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        error: {
          code: -32_021,
          message: expect.stringContaining(`declare the extension ${EXTENSION}`),
          data: { requiredCapabilities: { extensions: { [EXTENSION]: {} } } },
        },
      },
    ]);
  });

  it('what is no list of ids is refused', async () => {
    const { listen } = await setUp();
    const told = await listen(1, paramsOf({ taskIds: [7] }));
    await count(told, 1);
    expect(told.messages()[0]?.error).toMatchObject({
      code: -32_602,
      message: 'notifications.taskIds: got [7], expected a list of ids, as calls were answered with them.',
    });
  });
});

it('over HTTP a request with wrong headers is refused as any, and results keep their digits', async () => {
  const calls = newJobs();
  const { listen } = await overHttp(calls);
  const { id, end } = await openTask(calls);
  const wrong = await listen(1, paramsOf({ taskIds: [id] }), { 'mcp-method': 'tools/list' });
  await expect.poll(() => wrong.messages()[0]?.error?.code, PATIENTLY).toBe(-32_020);
  const told = await listen(2, paramsOf({ taskIds: [id] }));
  end(RESULT);
  await expect.poll(told.text, PATIENTLY).toContain('"n":12345678901234567890');
  told.stop();
});

it("the SDK's client hears what it knows of where tasks are told as well", async () => {
  const calls = newJobs();
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const connection = await serveConnection(ours as never, newServer, undefined, (taskIds, tell) =>
    watchTasks(calls, taskIds, tell),
  );
  onTestFinished(() => connection.close());
  const client = new Client({ name: 'a', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(theirs);
  const { honoredFilter } = await client.listen({ toolsListChanged: true });
  expect(honoredFilter).toEqual({ toolsListChanged: true });
  await client.close();
});
