// Servers that ask the user, towards an agent of 2026-07-28: the built bridge on stdio, a real client of that revision, and one
// that writes its JSON by hand. No container is needed: `execute` is a server's own.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Message, RawAgent } from '../../support/raw-agent.js';
import { bridgeEnv, MAIN } from '../../support/start-bridge.js';
import { PATIENTLY } from '../../support/time.js';
import { askingHome } from './asking-home.js';

const ASKS = { elicitation: { form: {}, url: {} } };
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
/** The programs are waited for, on a machine that may be busy. */
const PROGRESS = { progressToken: 'p1' };
const ADA = { action: 'accept', content: { name: 'Ada' } };

/** A home whose bridge hands commands to the server that asks. */
function setUp(more: Readonly<Record<string, string>> = {}) {
  const { home, settings, events } = askingHome();
  const env = bridgeEnv(home, { ...settings, ...more });
  return { home, env, events };
}

function rawAgent(more: Readonly<Record<string, string>> = {}) {
  const { home, env, events } = setUp(more);
  const agent = new RawAgent(env, home);
  onTestFinished(() => agent[Symbol.asyncDispose]());
  return { agent, events };
}

const execute = (command: string, ...args: readonly string[]) => ({
  name: 'execute',
  arguments: { command, args },
});

const textOf = ({ result }: Message): string =>
  (result?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? '';

type Asks = {
  readonly resultType: string;
  readonly requestState: string;
  readonly inputRequests: Readonly<
    Record<string, { readonly method: string; readonly params?: Readonly<Record<string, unknown>> }>
  >;
};

const asksOf = ({ result, error }: Message): Asks => {
  expect(error).toBeUndefined();
  expect(result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
  return result as unknown as Asks;
};

describe('a client made with the SDK', () => {
  async function connected(capabilities: object, autoFulfill: boolean) {
    const { home, env, events } = setUp();
    const asked: string[] = [];
    const transport = new StdioClientTransport({ command: process.execPath, args: [MAIN], env, cwd: home });
    const client = new Client(
      { name: 'sdk', version: '2' },
      {
        capabilities,
        versionNegotiation: { mode: { pin: '2026-07-28' } },
        inputRequired: { autoFulfill },
      },
    );
    if ('elicitation' in capabilities)
      client.setRequestHandler('elicitation/create', ({ params }) => {
        asked.push(params.message);
        return { action: 'accept', content: { name: 'Ada' } };
      });
    if ('roots' in capabilities)
      client.setRequestHandler('roots/list', () => {
        asked.push('roots');
        return { roots: [{ uri: 'file:///work' }] };
      });
    await client.connect(transport);
    onTestFinished(() => client.close());
    return { client, asked, events };
  }

  it('answers what it is asked by itself, and the server is called once', async () => {
    const { client, asked, events } = await connected(ASKS, true);
    const result = await client.callTool(execute('ask', 'Who?', 'And you?'));
    expect(textOf({ result })).toBe(JSON.stringify([ADA, ADA]));
    expect(asked).toEqual(["[server 'asking'] Who?", "[server 'asking'] And you?"]);
    expect(events()).toEqual(['begun ask']);
  });

  it('is asked for roots once in a call', async () => {
    const { client, asked } = await connected({ roots: {} }, true);
    const result = await client.callTool(execute('roots', '3'));
    expect(JSON.parse(textOf({ result }))).toEqual(Array(3).fill({ roots: [{ uri: 'file:///work' }] }));
    expect(asked).toEqual(['roots']);
  });

  it('that asks for it gets the questions, and goes on itself', async () => {
    const { client, asked } = await connected(ASKS, false);
    const call = execute('ask', 'Who?');
    const options = { allowInputRequired: true };
    const first = (await client.callTool(call, options)) as unknown as Asks;
    expect(first.inputRequests).toEqual({
      q1: {
        method: 'elicitation/create',
        params: {
          message: "[server 'asking'] Who?",
          requestedSchema: {
            type: 'object',
            properties: { name: { type: 'string', title: 'Name' } },
            required: ['name'],
          },
        },
      },
    });
    const { requestState } = first;
    const retry = { ...call, inputResponses: { q1: { action: 'decline' } }, requestState };
    expect(textOf({ result: await client.callTool(retry as never, options) })).toBe('[{"action":"decline"}]');
    expect(asked).toEqual([]);
  });

  it('that offers nothing is asked nothing', async () => {
    const { client } = await connected({}, true);
    const result = await client.callTool(execute('ask', 'Who?'));
    expect(textOf({ result })).toMatch(/refused|decline/);
  });
});

describe('an agent that writes its own JSON', () => {
  const ask = (agent: RawAgent, params: Readonly<Record<string, unknown>>, meta = {}) =>
    agent.request('tools/call', params, { capabilities: ASKS, meta });

  it('is told of progress by whichever request is open', async () => {
    const { agent } = rawAgent();
    const call = execute('steps', '2');
    const { requestState } = asksOf(await ask(agent, call, PROGRESS).answer);
    const before = agent.heard.length;
    const retry = { ...call, requestState, inputResponses: { q1: ADA } };
    expect(textOf(await ask(agent, retry, { progressToken: 'p2' }).answer)).toBe('all steps done');
    const told = agent.heard.map(({ params }) => [params?.['progressToken'], params?.['message']]);
    expect(told.slice(0, before)).toContainEqual(['p1', expect.stringContaining('step 1')]);
    expect(told.slice(before)).toContainEqual(['p2', expect.stringContaining('step 4')]);
    expect(told.slice(before).filter(([token]) => token === 'p1')).toEqual([]);
  });

  it('gets a clear error for a state that is not to be taken, and the call goes on with the right one', async () => {
    const { agent, events } = rawAgent();
    const call = execute('ask', 'Who?');
    const { requestState } = asksOf(await ask(agent, call).answer);
    const inputResponses = { q1: ADA };
    const refused = async (changed: object) => {
      const { error } = await ask(agent, { ...call, requestState, inputResponses, ...changed }).answer;
      return error;
    };
    const invalid = { code: -32_602, data: { reason: 'invalid_request_state' } };
    for (const foreign of ['', 'nonsense', `${requestState.slice(0, -4)}AAAA`, `v1.W10.${'A'.repeat(43)}`])
      expect(await refused({ requestState: foreign })).toEqual({
        ...invalid,
        message: expect.stringMatching(/^requestState: it was not made by this server process for you, or/),
      });
    expect(await refused({ arguments: { command: 'ask', args: ['Whom?'] } })).toEqual({
      ...invalid,
      message: expect.stringMatching(/^requestState: it belongs to a call of another tool or with other arg/),
    });
    expect(await refused({ requestState: 7 })).toMatchObject({
      code: -32_602,
      message: expect.stringMatching(
        /^requestState: got 7, expected the requestState of the answer that asked/,
      ),
    });
    expect(await refused({ inputResponses: { q1: { action: 'perhaps' } } })).toMatchObject({
      code: -32_602,
      message: 'inputResponses.q1.action: got "perhaps", expected accept, decline or cancel.',
    });
    expect(textOf(await ask(agent, { ...call, requestState, inputResponses }).answer)).toBe(
      JSON.stringify([ADA]),
    );
    expect(await refused({})).toEqual({
      ...invalid,
      message: expect.stringMatching(
        /^requestState: it was used already, or its call has ended\. Call the to/,
      ),
    });
    expect(events()).toEqual(['begun ask']);
  });

  it('is told by another process that the call was lost, and can make it again', async () => {
    const call = execute('ask', 'Who?');
    const { requestState } = asksOf(await ask(rawAgent().agent, call).answer);
    const { agent, events } = rawAgent();
    const { error } = await ask(agent, { ...call, requestState, inputResponses: { q1: ADA } }).answer;
    expect(error?.message).toMatch(
      /If another process of this server made it, the call has been lost and can be made again\. Call the tool again without requestState and inputResponses\.$/,
    );
    expect(events()).toEqual(['']);
    expect(asksOf(await ask(agent, call).answer).inputRequests).toHaveProperty('q1');
  });

  it('asks again where an answer is missing, or wrapped as some peers do', async () => {
    const { agent } = rawAgent();
    const call = execute('ask', 'Who?');
    const first = asksOf(await ask(agent, { ...call, requestState: null }).answer);
    const wrapped = { q1: { method: 'elicitation/create', result: ADA } };
    const again = { ...call, requestState: first.requestState, inputResponses: wrapped };
    const second = asksOf(await ask(agent, again).answer);
    expect(second.inputRequests).toEqual(first.inputRequests);
    const last = { ...call, requestState: second.requestState, inputResponses: { q1: ADA } };
    expect(textOf(await ask(agent, last).answer)).toBe(JSON.stringify([ADA]));
  });

  it('is shown an address without an id', async () => {
    const { agent } = rawAgent();
    const { inputRequests } = asksOf(await ask(agent, execute('page', 'https://example.com/a')).answer);
    expect(inputRequests['q1']?.params).toEqual({
      mode: 'url',
      message: "[server 'asking'] Open it.",
      url: 'https://example.com/a',
    });
  });

  it('is asked what two calls at a time want to know, whichever of them it is asked by', async () => {
    const { agent, events } = rawAgent();
    const goOn = async (call: object, answer: Promise<Message>): Promise<string> => {
      const message = await answer;
      if (message.result?.['resultType'] !== 'input_required') return textOf(message);
      const { requestState, inputRequests } = asksOf(message);
      const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, ADA]));
      return await goOn(call, ask(agent, { ...call, requestState, inputResponses }).answer);
    };
    const calls = ['Who?', 'And who?'].map((message) => execute('ask', message));
    const answers = await Promise.all(calls.map((call) => goOn(call, ask(agent, call).answer)));
    expect(answers).toEqual(Array(2).fill(JSON.stringify([ADA])));
    expect(events()).toEqual(['begun ask', 'begun ask']);
  });

  it('cancels the call with the request that is open', async () => {
    const { agent, events } = rawAgent();
    const { id } = ask(agent, execute('wait', '600000'));
    await expect.poll(events, PATIENTLY).toEqual(['begun wait']);
    agent.notify('notifications/cancelled', { requestId: id });
    await expect.poll(events, PATIENTLY).toEqual(['begun wait', 'cancelled']);
  });

  it('may cancel the request that was answered with a question: the call waits on', async () => {
    const { agent } = rawAgent();
    const call = execute('ask', 'Who?');
    const { id, answer } = ask(agent, call);
    const { requestState } = asksOf(await answer);
    agent.notify('notifications/cancelled', { requestId: id });
    const retry = { ...call, requestState, inputResponses: { q1: ADA } };
    expect(textOf(await ask(agent, retry).answer)).toBe(JSON.stringify([ADA]));
  });
});

describe('an agent that knows tasks', () => {
  const AT_ONCE = { MCP_BRIDGE_TASK_AFTER: '0' };
  const offers = { capabilities: { ...ASKS, ...TASKS } };
  const task = async (agent: RawAgent, method: string, taskId: unknown, more: object = {}) =>
    agent.request(`tasks/${method}`, { taskId, ...more }, offers).answer;
  const begin = async (agent: RawAgent, ...[command, ...args]: readonly [string, ...string[]]) => {
    const { result } = await agent.request('tools/call', execute(command, ...args), offers).answer;
    expect(result).toMatchObject({ resultType: 'task', status: 'working', pollIntervalMs: 1_000 });
    expect(result).not.toHaveProperty('content');
    return String(result?.['taskId']);
  };
  const stateOf = async (agent: RawAgent, taskId: string) => (await task(agent, 'get', taskId)).result;

  it('finds the extension among what the bridge offers', async () => {
    const { agent } = rawAgent();
    const { result } = await agent.request('server/discover', {}).answer;
    expect(result?.['capabilities']).toMatchObject(TASKS);
  });

  it('fetches the result of a call', async () => {
    const { agent } = rawAgent(AT_ONCE);
    const taskId = await begin(agent, 'wait', '300');
    await expect.poll(async () => (await stateOf(agent, taskId))?.['status'], PATIENTLY).toBe('completed');
    expect(await stateOf(agent, taskId)).toMatchObject({
      resultType: 'complete',
      result: { content: [{ type: 'text', text: 'waited 300 ms' }] },
    });
  });

  it('is asked by its task', async () => {
    const { agent } = rawAgent(AT_ONCE);
    const taskId = await begin(agent, 'ask', 'Who?');
    await expect
      .poll(async () => (await stateOf(agent, taskId))?.['status'], PATIENTLY)
      .toBe('input_required');
    expect((await stateOf(agent, taskId))?.['inputRequests']).toMatchObject({
      q1: { method: 'elicitation/create', params: { message: "[server 'asking'] Who?" } },
    });
    const { result } = await task(agent, 'update', taskId, { inputResponses: { q1: ADA } });
    expect(result).toMatchObject({ resultType: 'complete' });
    await expect.poll(async () => (await stateOf(agent, taskId))?.['status'], PATIENTLY).toBe('completed');
    expect(textOf({ result: (await stateOf(agent, taskId))?.['result'] as Record<string, unknown> })).toBe(
      JSON.stringify([ADA]),
    );
  });

  it('cancels a call by cancelling its task', async () => {
    const { agent, events } = rawAgent(AT_ONCE);
    const taskId = await begin(agent, 'wait', '600000');
    await expect.poll(events, PATIENTLY).toEqual(['begun wait']);
    expect((await task(agent, 'cancel', taskId)).result).toMatchObject({ resultType: 'complete' });
    await expect.poll(events, PATIENTLY).toEqual(['begun wait', 'cancelled']);
    expect((await stateOf(agent, taskId))?.['status']).toBe('cancelled');
  });

  it('hears that there is no such task, and that it has to declare the extension', async () => {
    const { agent } = rawAgent();
    for (const method of ['get', 'update', 'cancel']) {
      const { error } = await task(agent, method, 'A'.repeat(32), { inputResponses: {} });
      expect(error).toMatchObject({
        code: -32_602,
        message: expect.stringMatching(/^taskId: there is no task/),
      });
      const undeclared = await agent.request(`tasks/${method}`, { taskId: 'x' }, { capabilities: ASKS })
        .answer;
      expect(undeclared.error).toMatchObject({ code: -32_021, data: { requiredCapabilities: TASKS } });
    }
    expect((await agent.request('tasks/list', {}, offers).answer).error).toMatchObject({ code: -32_601 });
  });
});
