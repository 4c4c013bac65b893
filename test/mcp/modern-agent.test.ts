// What an agent of 2026-07-28 says with each request, and what it is told while it listens.

import { describe, expect, it, onTestFinished } from 'vitest';
import { factsFrom, rememberFacts } from '../../src/sandbox/python/image-facts.js';
import type { Bridge } from '../../src/tenant/bridge.js';
import { PATIENTLY, pause } from '../support/time.js';
import {
  byHand,
  CAPABILITIES,
  client,
  ENVELOPE,
  fakeBridge,
  LEFT,
  LOG_LEVEL,
  type Message,
  served,
} from './fake-bridge.js';

describe('an agent of 2026-07-28', () => {
  it('is told with every list and read for how long it is current', async () => {
    const { ask } = await byHand(fakeBridge().bridge);
    const uri = 'resource://mcp-sandbox-bridge/capabilities';
    const asked = [
      ['tools/list', {}, 300_000],
      ['resources/list', {}, 0],
      ['resources/templates/list', {}, 3_600_000],
      ['resources/read', { uri }, 60_000],
    ] as const;
    for (const [id, [method, params, ttlMs]] of asked.entries()) {
      const { result } = (await ask({ id, method, params: { ...params, _meta: ENVELOPE } })) as {
        result: Message;
      };
      expect([method, result]).toMatchObject([
        method,
        { ttlMs, cacheScope: 'private', resultType: 'complete' },
      ]);
    }
  });

  it.each([
    ['debug', ['hello']],
    ['error', []],
    [undefined, []],
  ])('says with each call what it wants to be told: log level %s', async (level, texts) => {
    const { ask, answers } = await byHand(fakeBridge().bridge);
    const _meta = { ...ENVELOPE, ...(level === undefined ? {} : { [LOG_LEVEL]: level }) };
    await ask({
      id: 1,
      method: 'tools/call',
      params: { name: 'run_python', arguments: { code: '1' }, _meta },
    });
    const told = answers.filter(({ method }) => method === 'notifications/message');
    expect(told.map(({ params }) => (params as { data: { text: string } }).data.text)).toEqual(texts);
  });

  it.each([
    [
      'is told that the resources have changed where it listens for that',
      { resourcesListChanged: true },
      [7],
    ],
    ['is not told so where it listens for something else', { toolsListChanged: true }, []],
  ])('%s', async (_what, notifications, subscriptions) => {
    const { ask, answers, transport } = await byHand(fakeBridge({}, LEFT).bridge);
    const listen = { notifications, _meta: ENVELOPE };
    await transport.send({ jsonrpc: '2.0', id: 7, method: 'subscriptions/listen', params: listen } as never);
    await ask({
      id: 1,
      method: 'tools/call',
      params: { name: 'run_python', arguments: { code: '1' }, _meta: ENVELOPE },
    });
    const told = answers.filter(({ method }) => method === 'notifications/resources/list_changed');
    const ids = told.map(
      ({ params }) => (params as { _meta: Message })._meta['io.modelcontextprotocol/subscriptionId'],
    );
    expect(ids).toEqual(subscriptions);
    expect(answers.find(({ method }) => method === 'notifications/subscriptions/acknowledged')).toBeDefined();
  });

  it('is another client with each request', async () => {
    const { bridge, callers } = fakeBridge();
    const { ask } = await byHand(bridge);
    for (const [id, name] of ['a', 'b'].entries()) {
      const _meta = { ...ENVELOPE, 'io.modelcontextprotocol/clientInfo': { name, version: '1' } };
      await ask({
        id,
        method: 'tools/call',
        params: { name: 'run_python', arguments: { code: '1' }, _meta },
      });
    }
    await ask({
      id: 3,
      method: 'tools/call',
      params: { name: 'run_python', arguments: { code: '1' }, _meta: ENVELOPE },
    });
    expect(callers.map(({ client: said }) => said)).toEqual(['a 1', 'b 1', 'unknown']);
  });

  it('can be asked what it declares with the call, whatever it declared before', async () => {
    const { bridge, callers } = fakeBridge();
    const { ask } = await byHand(bridge);
    const declared = [{ elicitation: { form: {}, url: {} }, roots: {} }, { elicitation: {} }, {}];
    for (const [index, capabilities] of declared.entries())
      await ask({
        id: index + 1,
        method: 'tools/call',
        params: {
          name: 'run_python',
          arguments: { code: '1' },
          _meta: { ...ENVELOPE, [CAPABILITIES]: capabilities },
        },
      });
    expect(callers.map(({ agent }) => [agent.elicits(), agent.hasRoots()])).toEqual([
      [{ form: true, url: true }, true],
      [{ form: true, url: false }, false],
      [{ form: false, url: false }, false],
    ]);
  });

  it('is asked by an answer of a call that has not ended, and goes on with it', async () => {
    const { bridge } = fakeBridge();
    const answered: unknown[] = [];
    const run: Bridge['run'] = async (input, context) => {
      answered.push(await context.caller.agent.elicit({ message: 'Who?' }, context.signal));
      return await bridge.run(input, context);
    };
    const { ask } = await byHand({ ...bridge, run } as unknown as Bridge);
    const _meta = { ...ENVELOPE, [CAPABILITIES]: { elicitation: {} } };
    const params = { name: 'run_python', arguments: { code: '1' }, _meta };
    const asked = await ask({ id: 1, method: 'tools/call', params });
    expect(asked).toMatchObject({ result: { resultType: 'input_required', inputRequests: { q1: {} } } });
    const { requestState } = Object(asked?.['result']);
    const again = { ...params, requestState, inputResponses: { q1: { action: 'accept' } } };
    expect(await ask({ id: 2, method: 'tools/call', params: again })).toMatchObject({
      result: { isError: true },
    });
    expect(answered).toEqual([{ action: 'accept' }]);
    const more = await ask({ id: 3, method: 'tasks/get', params: { taskId: 'none', _meta } });
    expect(more).toMatchObject({ error: { message: expect.stringContaining('tasks/get is for clients') } });
    const discovered = await ask({ id: 4, method: 'server/discover', params: { _meta: ENVELOPE } });
    expect(discovered).toMatchObject({
      result: { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    });
  });

  it('cancels a call by its id, also where that is 0', async () => {
    const { bridge, signals, hold } = fakeBridge();
    hold(new Promise(() => {}));
    const { transport } = await byHand(bridge);
    const params = { name: 'run_python', arguments: { code: '1' }, _meta: ENVELOPE };
    await transport.send({ jsonrpc: '2.0', id: 0, method: 'tools/call', params } as never);
    await expect.poll(() => signals.length, PATIENTLY).toBe(1);
    const cancelled = { requestId: 0, _meta: ENVELOPE };
    await transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: cancelled } as never);
    await expect.poll(() => signals[0]?.aborted, PATIENTLY).toBe(true);
  });

  it('that listens is told when the tools have changed, once, and no longer when it has stopped', async () => {
    const { bridge, seen } = fakeBridge();
    const agent = client({ pin: '2026-07-28' });
    let changes = 0;
    agent.setNotificationHandler('notifications/tools/list_changed', () => void ++changes);
    await agent.connect(await served(bridge));
    onTestFinished(() => agent.close());
    const listening = await agent.listen({ toolsListChanged: true, promptsListChanged: true });
    expect(listening.honoredFilter).toEqual({ toolsListChanged: true, promptsListChanged: true });
    await agent.listTools();
    const becomesKnown = (version: string) => {
      const facts = factsFrom(version, []);
      if (facts !== undefined) rememberFacts(bridge.settings, 'sha256:a', facts);
      for (const listener of seen.listeners) listener();
    };
    becomesKnown('3.12.1');
    await expect.poll(() => changes, PATIENTLY).toBe(1);
    // It has not listed again, so it has been told.
    becomesKnown('3.14.1');
    await agent.listTools();
    becomesKnown('3.14.1');
    await pause(50);
    expect(changes).toBe(1);
    await listening.close();
    becomesKnown('3.11.1');
    await pause(50);
    expect([changes, seen.listeners.size]).toEqual([1, 1]);
    await agent.close();
    await expect.poll(() => seen.listeners.size, PATIENTLY).toBe(0);
  });
});
