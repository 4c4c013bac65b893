// Real clients of both eras of the protocol on a connection of their own, a probe, and what is asked of an agent of 2025.

import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport as ServerTransport } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentServer } from '../../src/mcp/connection/server.js';
import type { CallContext } from '../../src/run/calls/call-context.js';
import type { RunInput } from '../../src/run/life/run-request.js';
import { PATIENTLY, pause, until } from '../support/time.js';
import {
  byHand,
  client,
  ENVELOPE,
  FAILED,
  fakeBridge,
  type Message,
  newJobs,
  served,
} from './fake-bridge.js';

describe('real clients', () => {
  it.each([
    ['legacy', 'legacy', '2025-11-25'],
    ['auto', 'modern', '2026-07-28'],
    [{ pin: '2026-07-28' }, 'modern', '2026-07-28'],
  ] as const)('of the second line, mode %j: lists, reads and calls', async (mode, era, version) => {
    const { bridge, callers } = fakeBridge();
    const agent = client(mode);
    await agent.connect(await served(bridge));
    onTestFinished(() => agent.close());
    expect([agent.getProtocolEra(), agent.getNegotiatedProtocolVersion()]).toEqual([era, version]);
    expect(agent.getInstructions()).toContain('alpha');
    expect((await agent.listTools()).tools.map(({ name }) => name)).toEqual(['run_python', 'execute']);
    const { resources } = await agent.listResources();
    const { contents } = await agent.readResource({ uri: resources[0]?.uri ?? '' });
    expect(contents).toMatchObject([{ mimeType: 'text/markdown' }]);
    await expect(agent.readResource({ uri: 'x:y' })).rejects.toMatchObject({ code: -32_602 });
    await expect(agent.callTool({ name: 'nope' })).rejects.toMatchObject({ code: -32_602 });
    const told: unknown[] = [];
    const result = await agent.callTool(
      { name: 'run_python', arguments: { code: '1' } },
      { onprogress: (progress) => void told.push(progress) },
    );
    expect(result.isError).toBe(true);
    expect(told).toMatchObject([{ progress: 1, total: 2, message: 'half' }]);
    expect(callers.map(({ client: name }) => name)).toEqual(['agent 7']);
  });

  it('of the first line is answered as ever, without a member that only later clients know', async () => {
    const { bridge } = fakeBridge();
    const agent = new OldClient({ name: 'agent', version: '7' });
    await agent.connect((await served(bridge)) as never);
    onTestFinished(() => agent.close());
    const listed = [
      await agent.listTools(),
      await agent.listResources(),
      await agent.listResourceTemplates(),
    ];
    const read = await agent.readResource({ uri: 'resource://mcp-sandbox-bridge/capabilities' });
    const called = await agent.callTool({ name: 'run_python', arguments: { code: '1' } });
    for (const answer of [...listed, read, called]) {
      for (const name of ['resultType', 'ttlMs', 'cacheScope', '_meta'])
        expect(answer).not.toHaveProperty(name);
    }
  });
});

describe('a probe', () => {
  it('starts nothing, and an agent of 2025 may come after it', async () => {
    const { bridge, seen } = fakeBridge();
    const { ask } = await byHand(bridge);
    const discovered = await ask({ id: 1, method: 'server/discover', params: { _meta: ENVELOPE } });
    expect(discovered).toMatchObject({
      result: { supportedVersions: ['2026-07-28'], resultType: 'complete', cacheScope: 'private' },
    });
    expect([seen.warmUps, seen.listeners.size]).toEqual([0, 0]);
    const clientInfo = { name: 'x', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    expect(await ask({ id: 2, method: 'initialize', params })).toMatchObject({
      result: { protocolVersion: '2025-06-18' },
    });
    const { result } = (await ask({ id: 3, method: 'tools/list' })) as { result: Message };
    expect(Object.keys(result)).toEqual(['tools']);
  });

  it.each([
    ['that probes', [{ method: 'server/discover', params: { _meta: ENVELOPE } }], 0],
    [
      'that probes and lists',
      [
        { method: 'server/discover', params: { _meta: ENVELOPE } },
        { method: 'tools/list', params: { _meta: ENVELOPE } },
      ],
      1,
    ],
  ])('house-keeping waits for a list: an agent %s', async (_what, messages, warmUps) => {
    const { bridge, seen } = fakeBridge();
    const { ask } = await byHand(bridge);
    for (const [id, message] of messages.entries()) await ask({ id, ...message });
    await until(() => seen.warmUps >= warmUps);
    await pause(400);
    expect(seen.warmUps).toBe(warmUps);
  });
});

it('what is asked of an agent of 2025 goes with the answer to its call', async () => {
  const { bridge } = fakeBridge();
  const run = async (_input: RunInput, { caller: { agent }, signal }: CallContext) => {
    await agent.elicit({ mode: 'form', message: 'Who?', requestedSchema: {} }, signal);
    return FAILED;
  };
  const server = agentServer({
    bridge: Object.assign(bridge, { run }),
    jobs: newJobs(),
    observer: () => {},
    era: 'legacy',
  });
  const sent: { readonly message: Message; readonly related: unknown }[] = [];
  const transport: ServerTransport = {
    start: () => Promise.resolve(),
    close: () => Promise.resolve(transport.onclose?.()),
    send: (message, options) => {
      sent.push({ message: message as Message, related: options?.relatedRequestId });
      return Promise.resolve();
    },
  };
  await server.connect(transport);
  onTestFinished(() => server.close());
  const say = (message: Message) => transport.onmessage?.({ jsonrpc: '2.0', ...message } as never);
  const clientInfo = { name: 'x', version: '1' };
  const capabilities = { elicitation: {} };
  say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities, clientInfo } });
  say({ id: 'call', method: 'tools/call', params: { name: 'run_python', arguments: { code: '1' } } });
  const asked = () => sent.find(({ message }) => message['method'] === 'elicitation/create');
  await expect.poll(() => asked()?.related, PATIENTLY).toBe('call');
  say({ id: asked()?.message['id'], result: { action: 'decline' } });
  await expect.poll(() => sent.some(({ message }) => message['id'] === 'call'), PATIENTLY).toBe(true);
});
