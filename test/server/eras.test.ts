// Agents of both eras of the protocol on a connection of their own: real clients of the SDK's two lines, and messages by hand
// where no client would send them. The bridge behind the server says what has reached it, and starts nothing.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Client, InMemoryTransport, type Transport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { createMcpHandler, type Transport as ServerTransport } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseSettings } from '../../src/config/settings.js';
import { RawJson } from '../../src/protocol/json-text.js';
import { type Outcome, outcomeWithoutRun } from '../../src/run/outcome/outcome.js';
import { factsFrom, rememberFacts } from '../../src/sandbox/image-facts.js';
import type { Bridge, RunHooks, RunInput } from '../../src/server/bridge.js';
import type { ModernCalls } from '../../src/server/call-leg.js';
import type { Caller } from '../../src/server/caller.js';
import type { ToolCalls } from '../../src/server/modern-calls.js';
import { OpenCalls } from '../../src/server/open-calls/open-calls.js';
import { agentServer, serveAgent } from '../../src/server/server.js';
import { AgentTransport } from '../../src/server/stdio-transport.js';

const HOST = { home: '/h', platform: 'linux', cores: 2, cwd: '/', uid: 1000, exists: () => false } as const;
const FAILED = outcomeWithoutRun('error', { type: 'E', message: 'no', remedy: undefined }, 30);
const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const ENVELOPE = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} };

/** All of its output can be read. */
const WHOLE = {
  uri: 'resource://x/1/stdout.txt',
  name: 'stdout.txt',
  mimeType: 'text/plain',
  sizeBytes: 9,
  path: '/x',
};
const LEFT: Outcome = { ...FAILED, stdout: { text: 'x', dropped: 8, whole: WHOLE } };

type Message = Readonly<Record<string, unknown>>;

let stateDir: string;
beforeAll(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'eras-'));
});
afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

/** A bridge whose runs print a line, tell of progress and end with `outcome`. */
function fakeBridge(env: Readonly<Record<string, string>> = {}, outcome: Outcome = FAILED) {
  const { settings } = parseSettings(
    { MCP_BRIDGE_TOOLS: 'run_python,execute', MCP_BRIDGE_STATE_DIR: stateDir, ...env },
    HOST,
  );
  const callers: Caller[] = [];
  const signals: AbortSignal[] = [];
  const seen = { warmUps: 0, listeners: new Set<() => void>() };
  let held: Promise<void> = Promise.resolve();
  const run = async (_input: RunInput, caller: Caller, hooks: RunHooks, signal: AbortSignal) => {
    callers.push(caller);
    signals.push(signal);
    hooks.onOutput('stdout', 'hello\n', null);
    hooks.onProgress({ done: 1, total: 2, message: 'half' });
    await Promise.race([held, new Promise((resolve) => signal.addEventListener('abort', resolve))]);
    return outcome;
  };
  const openCalls: ToolCalls = new OpenCalls();
  onTestFinished(() => openCalls[Symbol.dispose]());
  const bridge = {
    settings,
    servers: { names: ['alpha'] },
    snippets: { folder: undefined },
    openCalls,
    kept: { list: () => [], isOn: true, keepSeconds: 60, read: () => Promise.resolve(undefined) },
    warmUp: () => void ++seen.warmUps,
    sweepOnce: () => {},
    onImageKnown: (listener: () => void) => {
      seen.listeners.add(listener);
      return () => seen.listeners.delete(listener);
    },
    run,
    runCommand: async (...asked: Parameters<typeof run>) => ({ failed: await run(...asked) }),
    callServer: () => Promise.resolve(new RawJson('{"content":[]}')),
  } as unknown as Bridge;
  const hold = (until: Promise<void>) => {
    held = until;
  };
  return { bridge, callers, signals, seen, hold };
}

async function served(bridge: Bridge, modernCalls?: ModernCalls): Promise<Transport> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const connection = await serveAgent(bridge, ours as never, () => {}, [], modernCalls);
  onTestFinished(() => connection.close());
  return theirs;
}

/** Sends messages by hand; `answers` are all that came back. */
async function byHand(bridge: Bridge, modernCalls?: ModernCalls) {
  const transport = await served(bridge, modernCalls);
  const answers: Message[] = [];
  transport.onmessage = (message) => void answers.push(message as Message);
  await transport.start();
  const ask = async (message: Message): Promise<Message | undefined> => {
    await transport.send({ jsonrpc: '2.0', ...message } as never);
    const found = () => answers.find(({ id, method }) => id === message['id'] && method === undefined);
    await expect.poll(found, { timeout: 5_000 }).toBeDefined();
    return found();
  };
  return { ask, answers, transport };
}

const client = (mode: 'legacy' | 'auto' | { pin: string }, capabilities = {}) =>
  new Client({ name: 'agent', version: '7' }, { versionNegotiation: { mode }, capabilities });

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
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(seen.warmUps).toBe(warmUps);
  });
});

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

  it('is asked by what is given from outside, which may answer before the call has ended', async () => {
    const { bridge } = fakeBridge();
    const asked = { resultType: 'input_required', requestState: 'state-1' };
    const seen: unknown[] = [];
    const { ask } = await byHand(bridge, {
      capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
      offer: (server) => server.answer('example/more', () => ({ more: true })),
      answer: ({ request, own }, begin) => {
        seen.push(request.context.mcpReq.inputResponses, request.capabilities);
        return request.context.mcpReq.inputResponses === undefined ? Promise.resolve(asked) : begin(own);
      },
    });
    const params = { name: 'run_python', arguments: { code: '1' }, _meta: ENVELOPE };
    expect(await ask({ id: 1, method: 'tools/call', params })).toMatchObject({ result: asked });
    const again = { ...params, requestState: 'state-1', inputResponses: { q1: { action: 'accept' } } };
    expect(await ask({ id: 2, method: 'tools/call', params: again })).toMatchObject({
      result: { isError: true },
    });
    expect(seen).toEqual([undefined, {}, { q1: { action: 'accept' } }, {}]);
    const more = await ask({ id: 3, method: 'example/more', params: { _meta: ENVELOPE } });
    expect(more).toMatchObject({ result: { more: true, resultType: 'complete' } });
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
    await expect.poll(() => signals.length).toBe(1);
    const cancelled = { requestId: 0, _meta: ENVELOPE };
    await transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: cancelled } as never);
    await expect.poll(() => signals[0]?.aborted).toBe(true);
  });

  it('that listens is told when the tools have changed, once, and no longer when it has stopped', async () => {
    const { bridge, seen } = fakeBridge();
    const agent = client({ pin: '2026-07-28' });
    let changes = 0;
    agent.setNotificationHandler('notifications/tools/list_changed', () => void ++changes);
    await agent.connect(await served(bridge));
    onTestFinished(() => agent.close());
    const listening = await agent.listen({ toolsListChanged: true, promptsListChanged: true });
    expect(listening.honoredFilter).toEqual({ toolsListChanged: true });
    await agent.listTools();
    const becomesKnown = (version: string) => {
      const facts = factsFrom(version, []);
      if (facts !== undefined) rememberFacts(bridge.settings, 'sha256:a', facts);
      for (const listener of seen.listeners) listener();
    };
    becomesKnown('3.12.1');
    await expect.poll(() => changes).toBe(1);
    // It has not listed again, so it has been told.
    becomesKnown('3.14.1');
    await agent.listTools();
    becomesKnown('3.14.1');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(changes).toBe(1);
    await listening.close();
    becomesKnown('3.11.1');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([changes, seen.listeners.size]).toEqual([1, 1]);
    await agent.close();
    await expect.poll(() => seen.listeners.size).toBe(0);
  });
});

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

  it.each(['ping', 'logging/setLevel', 'initialize', 'roots/list', 'prompts/list'])(
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
    const connection = await serveAgent(bridge, new AgentTransport(input, output), () => {});
    onTestFinished(() => connection.close());
    let written = '';
    output.on('data', (chunk: Buffer) => (written += chunk.toString()));
    const params = {
      name: 'run_python',
      arguments: { code: '1' },
      ...(era === 'legacy' ? {} : { _meta: ENVELOPE }),
    };
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`);
    await expect.poll(() => written.endsWith('\n')).toBe(true);
    expect(written).toContain(`"result":${json}`);
  },
);

it('over HTTP a method that there is not has the status of a page that there is not', async () => {
  const { bridge } = fakeBridge();
  const handler = createMcpHandler(({ era }) => agentServer({ bridge, observer: () => {}, era }));
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

it('what is asked of an agent of 2025 goes with the answer to its call', async () => {
  const { bridge } = fakeBridge();
  const run = async (_input: RunInput, { agent }: Caller, _hooks: RunHooks, signal: AbortSignal) => {
    await agent.elicit({ mode: 'form', message: 'Who?', requestedSchema: {} }, signal);
    return FAILED;
  };
  const server = agentServer({ bridge: Object.assign(bridge, { run }), observer: () => {}, era: 'legacy' });
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
  await expect.poll(() => asked()?.related).toBe('call');
  say({ id: asked()?.message['id'], result: { action: 'decline' } });
  await expect.poll(() => sent.some(({ message }) => message['id'] === 'call')).toBe(true);
});
