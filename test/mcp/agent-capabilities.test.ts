// What the bridge's servers see of an agent: a real client says what it can do, and is asked no more than it must be.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import {
  type ClientCapabilities,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentCapabilitiesOf } from '../../src/mcp/requests/agent-capabilities.js';
import { AgentServer } from '../../src/mcp/requests/agent-server.js';
import { NEVER, PATIENTLY } from '../support/time.js';

async function connect(capabilities: ClientCapabilities, prepare: (client: Client) => void = () => {}) {
  const server = new AgentServer({ era: 'legacy', capabilities: {}, instructions: '' });
  const changes: string[] = [];
  const agent = agentCapabilitiesOf(server, () => void changes.push('changed'));
  const client = new Client({ name: 'agent', version: '1' }, { capabilities });
  prepare(client);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(ours);
  await client.connect(theirs);
  onTestFinished(() => client.close());
  return { agent, client, changes };
}

describe('what is offered', () => {
  it.each([
    [{}, { form: false, url: false }],
    [{ elicitation: {} }, { form: true, url: false }],
    [{ elicitation: { form: {} } }, { form: true, url: false }],
    [{ elicitation: { url: {} } }, { form: false, url: true }],
    [{ elicitation: { form: {}, url: {} } }, { form: true, url: true }],
  ])('%j is seen', async (capabilities, modes) => {
    const { agent } = await connect(capabilities);
    expect(agent.elicits()).toEqual(modes);
    expect([agent.hasRoots(), agent.tellsRootsChanges()]).toEqual([false, false]);
  });
});

describe('a question', () => {
  const params = { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } };

  it('is put to the agent and answered', async () => {
    const { agent } = await connect({ elicitation: {} }, (client) =>
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
        action: 'accept',
        content: { said: params.message },
      })),
    );
    expect(await agent.elicit(params, NEVER)).toMatchObject({ action: 'accept', content: { said: 'Who?' } });
  });

  // Also when it is the first that the agent is asked: its SDK does not cancel a request with the id 0.
  it('is taken back when it is no longer wanted', async () => {
    const seen: AbortSignal[] = [];
    const { agent } = await connect({ elicitation: {} }, (client) =>
      client.setRequestHandler(ElicitRequestSchema, (_request, { signal }) => {
        seen.push(signal);
        return new Promise(() => {});
      }),
    );
    const controller = new AbortController();
    const asking = agent.elicit(params, controller.signal);
    await expect.poll(() => seen.length, PATIENTLY).toBe(1);
    controller.abort('cancelled');
    await expect(asking).rejects.toThrow();
    await expect.poll(() => seen[0]?.aborted, PATIENTLY).toBe(true);
  });

  it('about a page is told to be over', async () => {
    const done: string[] = [];
    const { agent } = await connect({ elicitation: { url: {} } }, (client) =>
      client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
        done.push(params.elicitationId);
      }),
    );
    agent.elicitationDone('e1');
    await expect.poll(() => done, PATIENTLY).toEqual(['e1']);
  });
});

describe('roots', () => {
  function withRoots(listChanged: boolean) {
    let asked = 0;
    const connected = connect({ roots: { listChanged } }, (client) =>
      client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file:///${++asked}` }] })),
    );
    return connected.then((parts) => ({ ...parts, asked: () => asked }));
  }

  it('are asked for once, however often they are wanted, until they change', async () => {
    const { agent, client, changes, asked } = await withRoots(true);
    const all = await Promise.all(Array.from({ length: 1_000 }, () => agent.listRoots(NEVER)));
    expect([all[999], asked()]).toEqual([{ roots: [{ uri: 'file:///1' }] }, 1]);
    await client.sendRootsListChanged();
    await expect.poll(() => changes, PATIENTLY).toEqual(['changed']);
    expect(await agent.listRoots(NEVER)).toEqual({ roots: [{ uri: 'file:///2' }] });
  });

  it('that cannot be had are asked for again the next time', async () => {
    const { agent } = await connect({});
    await expect(agent.listRoots(NEVER)).rejects.toThrow();
    await expect(agent.listRoots(NEVER)).rejects.toThrow();
  });
});
