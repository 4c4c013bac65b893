// What a server of 2026-07-28 asks by its answer: put to the agent as pushed questions are, and answered by the same call
// once more, with the server's state as it was.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { type AgentCapabilities, NO_AGENT } from '../../src/servers/asking/agent-capabilities.js';
import { withInput } from '../../src/servers/asking/passed-on.js';
import type { DownstreamTimes } from '../../src/servers/server/connect.js';
import { NEVER, pause, until } from '../support/time.js';
import { call, poolOf, type TestPool } from './hostile.js';
import { modernFar, modernProgram } from './modern-servers.js';

type Params = Readonly<Record<string, unknown>>;

let pool: TestPool | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await pool?.[Symbol.asyncDispose]();
});

function agent(change: Partial<AgentCapabilities> = {}) {
  const asked: Params[] = [];
  const face: AgentCapabilities = {
    ...NO_AGENT,
    elicits: () => ({ form: true, url: true }),
    elicit: async (params) => {
      asked.push(params);
      return { action: 'accept', content: { name: 'Ada' }, _meta: { x: 1 } };
    },
    hasRoots: () => true,
    listRoots: async () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }),
    ...change,
  };
  return { face, asked };
}

describe.each([
  ['stdio', async () => modernProgram()],
  ['http', () => modernFar()],
] as const)('over %s', (_name, entryOf) => {
  async function open(face: AgentCapabilities, times: Partial<DownstreamTimes> = {}) {
    // It is asked for as long as it takes: on a busy machine it would be greeted as one of 2025, which it can be as well.
    pool = poolOf([{ ...(await entryOf()), versionNegotiation: '2026-07-28' }], times, face);
    return pool.get('modern', NEVER);
  }
  const answersOf = async (face: AgentCapabilities, how: string) =>
    (await call(await open(face), 'ask', { how })).structuredContent;

  it('a form is put under the name of the server, and its answer goes back with the state', async () => {
    const { face, asked } = agent();
    expect(await answersOf(face, 'form')).toEqual({
      inputResponses: { who: { action: 'accept', content: { name: 'Ada' } } },
      state: 'état "1"',
    });
    expect(asked).toEqual([expect.objectContaining({ message: "[server 'modern'] Who are you?" })]);
  });

  it('a page to open is put with an id, which agents of 2025 want', async () => {
    const { face, asked } = agent();
    expect(await answersOf(face, 'url')).toMatchObject({ inputResponses: { page: { action: 'accept' } } });
    expect(asked).toEqual([
      expect.objectContaining({
        mode: 'url',
        url: 'https://a.test/x',
        elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      }),
    ]);
  });

  it('hands the roots of the agent to the server', async () => {
    expect(await answersOf(agent().face, 'roots')).toEqual({
      inputResponses: { where: { roots: [{ uri: 'file:///work', name: 'work' }] } },
      state: 'r',
    });
  });

  it('several questions are put one at a time, and answered together', async () => {
    let atOnce = 0;
    let most = 0;
    const { face } = agent({
      elicit: async () => {
        most = Math.max(most, ++atOnce);
        await pause(20);
        atOnce--;
        return { action: 'decline' };
      },
    });
    expect(await answersOf(face, 'many')).toEqual({
      inputResponses: { a: { action: 'decline' }, b: { action: 'decline' } },
      state: 'm',
    });
    expect(most).toBe(1);
  });

  it('a call that is only put off is made again', async () => {
    expect(await answersOf(agent().face, 'later')).toEqual({ inputResponses: null, state: 'l' });
  });

  it('sampling is never passed on', async () => {
    const server = await open(agent().face);
    await expect(call(server, 'ask', { how: 'sampling' })).rejects.toMatchObject({ code: 'E_TOOL_FAILED' });
    expect(await call(server, 'echo', { text: 'a' })).toMatchObject({ content: [{ text: 'a' }] });
  });

  it('a server that never stops asking is stopped', async () => {
    const { face, asked } = agent();
    const server = await open(face);
    await expect(call(server, 'ask', { how: 'endless' })).rejects.toMatchObject({
      code: 'E_TOOL_FAILED',
      message: "Tool 'ask' of server 'modern' still asks for input after 10 rounds.",
    });
    expect(asked).toHaveLength(10);
  });

  it('while the person thinks the silence of the server is no fault', async () => {
    const { face } = agent({
      elicit: async () => {
        vi.advanceTimersByTime(1_500);
        return { action: 'cancel' };
      },
    });
    const server = await open(face, { silenceMs: 1_000 });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    expect((await call(server, 'ask')).structuredContent).toMatchObject({
      inputResponses: { who: { action: 'cancel' } },
    });
  });

  it('a call that is cancelled takes its question with it', async () => {
    let gone = false;
    const { face, asked } = agent({
      elicit: (params, signal) => {
        asked.push(params);
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            gone = true;
            reject(new Error('gone'));
          }),
        );
      },
    });
    const server = await open(face);
    const given = new AbortController();
    const asking = call(server, 'ask', {}, given.signal);
    await until(() => asked.length === 1);
    given.abort('cancelled');
    await expect(asking).rejects.toMatchObject({ code: 'E_CANCELLED' });
    await until(() => gone);
  });
});

it.each([
  [
    { inputRequests: { a: { method: 'sampling/createMessage' } } },
    "T asks for the use of the agent's model (sampling)",
  ],
  [
    { inputRequests: { a: { method: 'tools/call' } } },
    "T asks for 'tools/call', which the agent does not offer.",
  ],
  [{ inputRequests: { a: 7 } }, "T asks for 'undefined'"],
  [{}, 'T asks for input, but names neither a question nor a state.'],
  [{ requestState: 7 }, 'T asks for input with a state that is not a text.'],
  [
    { requestState: 's'.repeat(1_000_001) },
    'T asks for input with a state of 1000001 characters; at most 1000000 are allowed.',
  ],
  [
    { inputRequests: Object.fromEntries([...'abcdefghi'].map((key) => [key, { method: 'roots/list' }])) },
    'T asks 9 questions at once; at most 8 are allowed.',
  ],
])('what cannot be answered ends the call: %#', async (asked, message) => {
  const send = async () => ({ resultType: 'input_required', ...asked });
  const parts = { what: 'T', failure: 'E_TOOL_FAILED', send, answer: () => undefined } as const;
  const ended = await withInput({}, parts, NEVER).catch((thrown: unknown) => thrown);
  expect(ended).toMatchObject({ code: 'E_TOOL_FAILED', message: expect.stringContaining(message) });
});
