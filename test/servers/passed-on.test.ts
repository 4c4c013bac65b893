// What servers ask of the agent through the bridge: put once, one at a time, under the server's name and only while a
// call of it is under way; declined or cancelled otherwise; and nobody's clock runs while the person thinks.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { type AgentCapabilities, Callers, NO_AGENT } from '../../src/servers/asking/agent-capabilities.js';
import { CallsUnderWay } from '../../src/servers/asking/calls-under-way.js';
import { ServerRequests } from '../../src/servers/asking/passed-on.js';
import type { DownstreamTimes } from '../../src/servers/server/connect.js';
import { npmServer } from '../support/start-bridge.js';
import { HANGS_MS, NEVER, nodeStarts, PATIENTLY, until } from '../support/time.js';
import { call, hostile, poolOf, spec, type TestPool } from './hostile.js';

type Params = Readonly<Record<string, unknown>>;
type Answer = (params: Params, signal: AbortSignal) => Promise<Params>;

/** An agent that has everything, and what it was asked. */
function agent(answer: Answer, change: Partial<AgentCapabilities> = {}) {
  const asked: Params[] = [];
  let roots = 0;
  const face: AgentCapabilities = {
    ...NO_AGENT,
    elicits: () => ({ form: true, url: true }),
    elicit: (params, signal) => {
      asked.push(params);
      return answer(params, signal);
    },
    hasRoots: () => true,
    tellsRootsChanges: () => true,
    listRoots: () => {
      roots++;
      return Promise.resolve({ roots: [{ uri: 'file:///work', name: 'work' }, { name: 'no uri' }] });
    },
    ...change,
  };
  return { face, asked, rootsAsked: () => roots };
}

const accept: Answer = async () => ({ action: 'accept', content: { name: 'Ada' }, _meta: { x: 1 } });
/** Answers when it is no longer asked. */
const silent: Answer = (_params, signal) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('gone'))));

/** The clock of the bridge; the servers are processes, and have their own. */
const CLOCK: Parameters<typeof vi.useFakeTimers>[0] = {
  toFake: ['setTimeout', 'clearTimeout', 'performance'],
};
/** Far more than a question needs on its way. */
const MEANWHILE_MS = nodeStarts(10);

let pool: TestPool | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await pool?.[Symbol.asyncDispose]();
});

async function open(face: AgentCapabilities, times: Partial<DownstreamTimes> = {}, change = {}) {
  pool = poolOf([{ ...hostile(), ...change }], times, face);
  return { pool, server: await pool.get('hostile', NEVER) };
}

const answersOf = ({ structuredContent = {} }: { structuredContent?: Record<string, unknown> }) =>
  structuredContent['answers'] as Params[];
const told = (events: readonly BridgeEvent[]) =>
  events.flatMap((event) => (event.type === 'downstream.asked' ? [event.answer] : []));

describe('a question during a call', () => {
  it('is put under the name of the server, and answered', async () => {
    const { face, asked } = agent(accept);
    const { server, pool } = await open(face);
    const answers = answersOf(await call(server, 'ask', { message: 'Who \u001b[31mare\u202e you?' }));
    expect(answers).toEqual([{ action: 'accept', content: { name: 'Ada' } }]);
    expect(asked).toEqual([
      {
        message: "[server 'hostile'] Who are\\u202e you?",
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: [] },
      },
    ]);
    expect(told(pool.events)).toEqual(['accept']);
  });

  it('is put by a reference server as well, labels and all', async () => {
    const { face, asked } = agent(accept);
    const { command, args = [] } = npmServer('@modelcontextprotocol/server-everything');
    pool = poolOf([spec('everything', command, args)], {}, face);
    const server = await pool.get('everything', NEVER);
    const { content } = await call(server, 'trigger-elicitation-request');
    expect(content.map(({ text }) => text).join('\n')).toContain('- Name: Ada');
    expect(asked[0]).toMatchObject({
      message: "[server 'everything'] Please provide inputs for the following fields:",
      requestedSchema: { properties: { name: { description: 'Your full, legal name' } } },
    });
    const roots = await call(server, 'get-roots-list');
    expect(roots.content[0]?.text).toContain('file:///work');
    const url = await call(server, 'trigger-url-elicitation', {
      url: 'https://example.com/a',
      elicitationId: 'e',
    });
    expect(url.content[0]?.text).toContain('User completed');
    expect(asked[1]).toMatchObject({ mode: 'url', url: 'https://example.com/a', elicitationId: 'e' });
  });

  it('waits for the one before; of a flood most are declined', async () => {
    let isFree = (): void => {};
    const free = new Promise<void>((resolve) => {
      isFree = resolve;
    });
    let now = 0;
    let most = 0;
    const { face, asked } = agent(async () => {
      most = Math.max(most, ++now);
      await free;
      now--;
      return { action: 'accept', content: {} };
    });
    const { server, pool } = await open(face);
    const asking = call(server, 'ask', { times: 1_000 });
    await until(() => told(pool.events).length >= 991);
    isFree();
    const actions = answersOf(await asking).map(({ action }) => action);
    expect([most, asked.length, actions.length]).toEqual([1, 9, 1_000]);
    expect(actions.filter((action) => action === 'decline')).toHaveLength(991);
  });

  it('stops the clock of silence', async () => {
    let think = (): void => {};
    const thinking: Answer = () =>
      new Promise((resolve) => {
        think = () => resolve({ action: 'accept', content: {} });
      });
    const { face, asked } = agent(thinking);
    const { server } = await open(face, { silenceMs: 200 });
    vi.useFakeTimers(CLOCK);
    // Another call of the server is just as silent: nothing says which of them asks.
    let isOver = false;
    const other = call(server, 'hang').finally(() => {
      isOver = true;
    });
    other.catch(() => {});
    const asking = call(server, 'ask');
    await until(() => asked.length > 0);
    vi.advanceTimersByTime(500);
    think();
    expect(answersOf(await asking)).toEqual([{ action: 'accept', content: {} }]);
    expect(isOver).toBe(false);
    vi.advanceTimersByTime(200);
    await expect(other).rejects.toMatchObject({ code: 'E_TOOL_FAILED' });
  });

  it('stops the clock that a host has set, which goes on with what is left of it', async () => {
    let think = (): void => {};
    const { face, asked } = agent(
      () =>
        new Promise((resolve) => {
          think = () => resolve({ action: 'accept', content: {} });
        }),
    );
    const { server } = await open(face, {}, { callTimeoutMs: 200 });
    vi.useFakeTimers(CLOCK);
    const other = call(server, 'hang');
    other.catch(() => {});
    vi.advanceTimersByTime(150);
    const asking = call(server, 'ask');
    await until(() => asked.length > 0);
    vi.advanceTimersByTime(60_000);
    think();
    expect(answersOf(await asking)).toEqual([{ action: 'accept', content: {} }]);
    let isOver = false;
    void other.catch(() => {
      isOver = true;
    });
    vi.advanceTimersByTime(49);
    await Promise.resolve();
    expect(isOver).toBe(false);
    vi.advanceTimersByTime(1);
    await expect(other).rejects.toMatchObject({ message: expect.stringContaining('0.2 s') });
  });

  it('stops the clock of what the call is a part of, once, until it is answered or its call has ended', async () => {
    const { face, asked } = agent(silent);
    const { server } = await open(face);
    const clock: string[] = [];
    const stopClock = () => {
      clock.push('stands');
      return () => void clock.push('goes on');
    };
    const timed = server.during({ stopClock });
    expect(answersOf(await call(timed, 'ask', { times: 0 }))).toEqual([]);
    expect(clock).toEqual([]);
    const controller = new AbortController();
    const asking = call(timed, 'ask', { times: 3 }, controller.signal);
    asking.catch(() => {});
    await until(() => asked.length > 0);
    expect(clock).toEqual(['stands']);
    controller.abort('cancelled');
    await expect(asking).rejects.toMatchObject({ code: 'E_CANCELLED' });
    expect(clock).toEqual(['stands', 'goes on']);
  });

  it.each([
    ['the agent has no way to ask in the mode form', { elicits: () => ({ form: false, url: false }) }, {}],
    [
      'the agent has no way to ask in the mode url',
      { elicits: () => ({ form: true, url: false }) },
      { mode: 'url' },
    ],
    ['the agent could not ask: no', { elicit: () => Promise.reject(new Error('no')) }, {}],
    ['its answer holds no action', { elicit: () => Promise.resolve({}) }, {}],
    ['its answer is too long', { elicit: () => accepts('x'.repeat(2_000_000)) }, {}],
  ])('is declined because %s', async (why, change, params) => {
    const { server, pool } = await open(agent(accept, change).face);
    expect(answersOf(await call(server, 'ask', params))).toEqual([{ action: 'decline' }]);
    expect(told(pool.events)[0]).toContain(why);
  });
});

const accepts = (name: string) => Promise.resolve({ action: 'accept', content: { name } });

describe('a page that the person was led to', () => {
  const page = { mode: 'url', url: 'https://example.com/', elicitationId: 'e1' };

  it('is told to be dealt with once, and no page of others', async () => {
    const done: string[] = [];
    const { face } = agent(accept, { elicitationDone: (id) => void done.push(id) });
    const { server } = await open(face);
    await call(server, 'complete', { id: 'e1' });
    await call(server, 'ask', page);
    for (const id of ['e2', 'e1', 'e1']) await call(server, 'complete', { id });
    expect(done).toEqual(['e1']);
  });
});

describe('a question without a call', () => {
  it('is declined, and told in the log', async () => {
    const { face, asked } = agent(accept);
    const { server, pool } = await open(face);
    await call(server, 'ask_later', { ms: MEANWHILE_MS });
    await until(() => told(pool.events).length > 0);
    await expect
      .poll(async () => answersOf(await call(server, 'answers')), PATIENTLY)
      .toEqual([{ action: 'decline' }]);
    expect(asked).toEqual([]);
  });

  it('is cancelled where its call has ended', async () => {
    const { server, pool } = await open(agent(silent).face);
    await call(server, 'ask_and_go', { ms: MEANWHILE_MS });
    await until(() => told(pool.events).length > 0);
    expect(told(pool.events)).toEqual(['cancel, because the call has ended']);
    await expect
      .poll(async () => answersOf(await call(server, 'answers')), PATIENTLY)
      .toEqual([{ action: 'cancel' }]);
  });

  it('is cancelled where its call has ended, whatever is called since', async () => {
    const { face, asked } = agent(silent);
    const { server, pool } = await open(face);
    const asking = call(server, 'ask_and_go', { ms: MEANWHILE_MS });
    await until(() => asked.length > 0);
    const given = new AbortController();
    const since = call(server, 'hang', {}, given.signal);
    await asking;
    await until(() => told(pool.events).length > 0);
    expect(told(pool.events)).toEqual(['cancel, because the call has ended']);
    given.abort('cancelled');
    await expect(since).rejects.toMatchObject({ code: 'E_CANCELLED' });
  });

  it('is cancelled with its call', async () => {
    const { face, asked } = agent(silent);
    const { server, pool } = await open(face);
    const controller = new AbortController();
    const asking = call(server, 'ask', { times: 3 }, controller.signal);
    const other = call(server, 'sleep', { ms: 1 });
    await other;
    await until(() => asked.length > 0);
    controller.abort('cancelled');
    await expect(asking).rejects.toMatchObject({ code: 'E_CANCELLED' });
    await until(() => told(pool.events).length === 3);
    expect([told(pool.events), asked.length]).toEqual([
      Array(3).fill('cancel, because the call has ended'),
      1,
    ]);
    expect(answersOf(await call(server, 'ask', { times: 0 }))).toEqual([]);
  });

  it('is cancelled when the server ends', async () => {
    const signals: AbortSignal[] = [];
    const { server } = await open(
      agent((params, signal) => {
        signals.push(signal);
        return silent(params, signal);
      }).face,
    );
    const asking = call(server, 'ask');
    await until(() => signals.length > 0);
    await Promise.all([expect(call(server, 'crash')).rejects.toThrow(), expect(asking).rejects.toThrow()]);
    expect(signals[0]?.aborted).toBe(true);
  });
});

describe('roots', () => {
  it('are the agent’s, as often as they are asked for', async () => {
    const { face } = agent(accept);
    const { server } = await open(face);
    const answers = answersOf(await call(server, 'roots', { times: 1_000 }));
    expect(answers).toHaveLength(1_000);
    expect(answers[999]).toEqual({ roots: [{ uri: 'file:///work', name: 'work' }] });
  });

  it('are what a reference server works in, as under a host', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'root-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const roots = [{ uri: pathToFileURL(folder).href }];
    const { face } = agent(accept, { listRoots: () => Promise.resolve({ roots }) });
    const { command, args = [] } = npmServer('@modelcontextprotocol/server-filesystem');
    pool = poolOf([spec('files', command, args)], {}, face);
    const server = await pool.get('files', NEVER);
    const allowed = async () => (await call(server, 'list_allowed_directories')).content[0]?.text;
    await expect.poll(allowed, PATIENTLY).toContain(folder);
  });

  it('are told as changed to a server that has read them, and to no other', async () => {
    const { face } = agent(accept);
    const { server, pool } = await open(face);
    const news = async () => (await call(server, 'roots_news')).structuredContent?.['times'];
    pool.rootsChanged(face);
    expect(await news()).toBe(0);
    await call(server, 'roots');
    pool.rootsChanged(face);
    expect(await news()).toBe(1);
  });

  it('that change over and over are told once to a server that does not ask again', async () => {
    const { face } = agent(accept);
    const { server, pool } = await open(face);
    const news = async () => (await call(server, 'roots_news')).structuredContent?.['times'];
    await call(server, 'roots');
    for (let times = 0; times < 1_000; times++) pool.rootsChanged(face);
    expect(await news()).toBe(1);
    await call(server, 'roots');
    for (let times = 0; times < 1_000; times++) pool.rootsChanged(face);
    expect(await news()).toBe(2);
  });

  it('are not there where the agent has none, and neither is anything else', async () => {
    const { server } = await open(NO_AGENT);
    expect(answersOf(await call(server, 'roots'))).toEqual([
      { error: { code: -32601, message: 'Method not found' } },
    ]);
    await pool?.[Symbol.asyncDispose]();
    const { command, args = [] } = npmServer('@modelcontextprotocol/server-everything');
    pool = poolOf([spec('everything', command, args)]);
    const names = (await pool.get('everything', NEVER)).tools().map(({ name }) => name);
    expect(names.filter((name) => /elicitation|roots|sampling/.test(name))).toEqual([]);
  });
});

describe('what a server tells', () => {
  it('of its progress is told on until its call has ended', async () => {
    const { server } = await open(NO_AGENT);
    const heard: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => void heard.push(progress);
    await server.callTool('report', new RawJson('{"steps":3}'), onProgress, NEVER);
    await call(server, 'sleep', { ms: 100 });
    expect(heard).toEqual([1, 2, 3]);
  });

  it('in its log is for our log, and not without end', async () => {
    const { server, pool } = await open(NO_AGENT);
    await call(server, 'chatter', { lines: 500 });
    const said = pool.events.filter((event) => event.type === 'downstream.said');
    expect(said).toHaveLength(100);
    expect(said[0]).toMatchObject({ level: 'info', text: expect.stringMatching(/^line 1 x+…$/) });
    const flooding = () => pool.events.filter((event) => event.type === 'downstream.flooding');
    await until(() => flooding().length > 0);
    expect(flooding()).toEqual([{ type: 'downstream.flooding', server: 'hostile', leftOut: 400 }]);
  });

  it('of a page that has to be opened first is said with the address', async () => {
    const { server } = await open(NO_AGENT);
    await expect(call(server, 'needs_url')).rejects.toMatchObject({
      message: 'log in first.',
      remedy: 'The user has to open https://example.com/login first.',
    });
  });
});

it('questions that a server has taken back while they waited leave their places to others', async () => {
  let isBack = (): void => {};
  const back = new Promise<void>((resolve) => {
    isBack = resolve;
  });
  const { face, asked } = agent(async () => {
    await back;
    return asked.length === 1 ? { action: 'decline' } : { action: 'accept', content: { name: 'Ada' } };
  });
  const [callers, calls] = [new Callers(), new CallsUnderWay()];
  callers.noteAgent(face);
  using _call = calls.begin({ ms: HANGS_MS, of: 'whole' }, NEVER, { agent: face, stopClock: () => () => {} });
  const told = { redact: (text: string) => text, observer: () => {} };
  const requests = new ServerRequests({ server: 'asks', callers, calls, ...told });
  const question = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
  const ask = (signal: AbortSignal) => requests.answer('elicitation/create', question, signal);
  const first = ask(NEVER);
  const takenBack = new AbortController();
  const waiting = Array.from({ length: 8 }, () => ask(takenBack.signal));
  takenBack.abort();
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ action: 'cancel' })));
  const next = ask(NEVER);
  isBack();
  expect(await first).toEqual({ action: 'decline' });
  expect(await next).toEqual({ action: 'accept', content: { name: 'Ada' } });
  expect(asked).toHaveLength(2);
});
