// Servers that ask the user: through the bridge to a client that can ask, declined by one that cannot, taken back when
// the run has ended, while its clock and its code stand; and the progress of their tools on its way to whoever wanted progress.

import {
  type ElicitRequest,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileServer, npmServer, startBridge, type TestBridge } from '../support/start-bridge.js';
import { PATIENTLY, pause } from '../support/time.js';
import { REACH_SECONDS } from './reached.js';

const SERVERS = {
  everything: npmServer('@modelcontextprotocol/server-everything'),
  h: hostileServer(),
};

describe('a client that can ask', () => {
  let bridge: TestBridge;
  const asked: ElicitRequest['params'][] = [];
  let takenBack = 0;
  let folder = 'one';
  beforeAll(async () => {
    bridge = await startBridge(SERVERS, {
      // Then the clock of a run goes on, whether or not there is an answer.
      env: { MCP_BRIDGE_APPROVE_WAIT: '1' },
      capabilities: { elicitation: { form: {}, url: {} }, roots: { listChanged: true } },
      prepare: (client) => {
        client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => {
          asked.push(params);
          if (params.message.includes('silence'))
            return new Promise(() => signal.addEventListener('abort', () => takenBack++));
          return { action: 'accept', content: { name: 'Ada' } };
        });
        client.setRequestHandler(ListRootsRequestSchema, () => ({
          roots: [{ uri: `file:///work/${folder}`, name: folder }],
        }));
      },
    });
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  it('asks for a reference server, in its name', async () => {
    const code = `
said = await mcp_everything["trigger-elicitation-request"]()
roots = await mcp_everything["get-roots-list"]()
["- Name: Ada" in str(said), "file:///work/one" in str(roots)]
`;
    const payload = await bridge.run(code, { servers: ['everything'] });
    expect(payload).toMatchObject({ status: 'success', result: [true, true] });
    expect(asked[0]?.message).toBe("[server 'everything'] Please provide inputs for the following fields:");
  });

  it('takes the question back when the run ends, and the run ends in time', async () => {
    const code = 'await mcp_h.ask(message="silence")';
    const payload = await bridge.run(code, { servers: ['h'], timeout: REACH_SECONDS });
    expect(payload.status).toBe('timeout');
    expect(payload.error).toContain('waiting for h.ask, while the user had a question of h to answer');
    await expect.poll(() => takenBack, PATIENTLY).toBe(1);
    expect(await bridge.run('await mcp_h.ask(times=2)', { servers: ['h'] })).toMatchObject({
      status: 'success',
      result: { answers: Array(2).fill({ action: 'accept', content: { name: 'Ada' } }) },
    });
  });

  it('is not asked by a server that nobody calls', async () => {
    const before = asked.length;
    const code = `
import asyncio
await mcp_h.ask_later(ms=50)
await asyncio.sleep(${REACH_SECONDS})
(await mcp_h.answers()).answers[-1].action
`;
    expect(await bridge.run(code, { servers: ['h'] })).toMatchObject({ result: 'decline' });
    expect(asked).toHaveLength(before);
  });

  it('has its roots passed on, and their change', async () => {
    const read = '[(await mcp_h.roots(times=3)).answers[2].roots[0].uri, (await mcp_h.roots_news()).times]';
    expect(await bridge.run(read, { servers: ['h'] })).toMatchObject({ result: ['file:///work/one', 0] });
    folder = 'two';
    await bridge.client.sendRootsListChanged();
    expect(await bridge.run(read, { servers: ['h'] })).toMatchObject({ result: ['file:///work/two', 1] });
  });

  it('hears how far a tool is, and nothing after the answer', async () => {
    const messages: string[] = [];
    let isOver = false;
    const onprogress = ({ message = '' }) => {
      messages.push(isOver ? `late: ${message}` : message);
    };
    const code =
      'await mcp_everything["trigger-long-running-operation"](duration=4.5, steps=3)\nawait mcp_h.report(steps=50)';
    await bridge.run(code, { servers: ['everything', 'h'], onprogress });
    isOver = true;
    await pause(300);
    expect(messages).toContain('everything.trigger-long-running-operation: 1 of 3');
    expect(messages).toContain('everything.trigger-long-running-operation: 2 of 3');
    expect(messages.filter((message) => /^h\.report|late/.test(message)).length).toBeLessThan(3);
    expect(messages.filter((message) => message.startsWith('late'))).toEqual([]);
  });
});

describe('a person who thinks for longer than the run may take', () => {
  // Code that computes is held two seconds after the question, and what it has computed until then counts.
  const TIMEOUT_SECONDS = 6;
  const THINKS_SECONDS = TIMEOUT_SECONDS + 6;
  let bridge: TestBridge;
  beforeAll(async () => {
    bridge = await startBridge(SERVERS, {
      capabilities: { elicitation: {} },
      prepare: (client) =>
        client.setRequestHandler(ElicitRequestSchema, async () => {
          await pause(THINKS_SECONDS * 1000);
          return { action: 'accept', content: {} };
        }),
    });
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  const busy = (rest: string) => `
import threading, time
stop = False
def spin():
    while not stop:
        pass
thread = threading.Thread(target=spin, daemon=True)
thread.start()
before = time.process_time()
${rest}
used = time.process_time() - before
stop = True
thread.join()
`;

  it.each([undefined, 'asked'])(
    'costs it nothing, and its code computes no longer than a moment: session %s',
    async (session) => {
      const code = `${busy('action = (await mcp_h.ask()).answers[0].action')}[action, used < ${THINKS_SECONDS / 2}]`;
      const { structuredContent } = await bridge.call({
        code,
        servers: ['h'],
        timeout: TIMEOUT_SECONDS,
        ...(session === undefined ? {} : { session }),
      });
      expect(structuredContent).toMatchObject({ status: 'success', result: ['accept', true] });
    },
  );

  it('control: a server that is as slow and asks nobody costs it its time', async () => {
    const code = `await mcp_h.sleep(ms=${THINKS_SECONDS * 1000})`;
    expect(await bridge.run(code, { servers: ['h'], timeout: TIMEOUT_SECONDS })).toMatchObject({
      status: 'timeout',
    });
  });
});

describe('a client that cannot ask', () => {
  let bridge: TestBridge;
  beforeAll(async () => {
    bridge = await startBridge(SERVERS, { env: { MCP_BRIDGE_LOG_LEVEL: 'debug' } });
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  it('is not promised to servers, and its servers hear a decline', async () => {
    const code = `
answers = (await mcp_h.ask(times=2)).answers
roots = (await mcp_h.roots()).answers
[[a.action for a in answers], roots[0].error.code, [t for t in runtime.list_tools_sync("everything") if "elicit" in t]]
`;
    expect(await bridge.run(code, { servers: ['everything', 'h'] })).toMatchObject({
      result: [['decline', 'decline'], -32601, []],
    });
  });

  it('has what its servers say in the log, and nowhere else', async () => {
    const payload = await bridge.run('await mcp_h.chatter(lines=2)', { servers: ['h'] });
    expect(JSON.stringify(payload)).not.toContain('line 1');
    expect(bridge.stderr()).toMatch(/h said \(info\): line 1 x+…/);
  });
});
