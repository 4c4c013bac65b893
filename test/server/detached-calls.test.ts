// Calls that are answered before their end: what their client is told, who may go on with them, and for how long.

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { OutputStream } from '../../src/base/process/streams.js';
import {
  DetachedCalls,
  type GoingOn,
  MAX_ENDED,
  MAX_ENDED_CHARS,
  NoDetachedCall,
} from '../../src/mcp/calls/detached-calls.js';
import { goOnIn } from '../../src/mcp/calls/tool-calls.js';
import type { AgentContext } from '../../src/mcp/requests/agent-request.js';
import type { ToolAnswer } from '../../src/mcp/tools/definitions.js';
import { OUTCOME_KEY, OUTPUT_METHOD } from '../../src/run/answer/whole-outcome.js';
import type { CallContext } from '../../src/run/calls/call-context.js';
import type { Bridge } from '../../src/tenant/bridge.js';
import { HANGS_MS, until } from '../support/time.js';
import { byHand, fakeBridge } from './fake-bridge.js';

/** A call that ends when the test says so, with so much text. */
function pretended(text = 'ended') {
  let end = (_how: string): void => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const told: (AgentContext | undefined)[] = [];
  const cancelled: unknown[] = [];
  const state = { hasEnded: false, parts: 0 };
  const answer = (text: string) => ({ text }) as unknown as ToolAnswer;
  const call: GoingOn = {
    ended,
    get hasEnded() {
      return state.hasEnded;
    },
    tell: (request) => void told.push(request),
    cancel: (reason) => {
      cancelled.push(reason);
      state.hasEnded = true;
      end(text);
    },
    part: (handle) => answer(`${handle} part ${++state.parts}`),
    glance: () => answer('a glance'),
    rest: () => Promise.resolve(answer('the rest')),
  };
  return {
    call,
    told,
    cancelled,
    finish: () => {
      state.hasEnded = true;
      end(text);
    },
  };
}

function requestOf(controller = new AbortController(), isWaitedFor = () => true): AgentContext {
  const { signal } = controller;
  return {
    signal,
    get isWaitedFor() {
      return isWaitedFor();
    },
  } as unknown as AgentContext;
}

const textOf = (answer: ToolAnswer): string => (answer as unknown as { text: string }).text;
const handleIn = (answer: ToolAnswer): string => textOf(answer).split(' ')[0] ?? '';

function held(keepSeconds = 60): DetachedCalls {
  const calls = new DetachedCalls(keepSeconds);
  onTestFinished(() => calls[Symbol.dispose]());
  return calls;
}

const INITIALIZE = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
};

/** A bridge whose run prints what the test says, until it says that it is over. */
function printing() {
  const { bridge, hold } = fakeBridge({ MCP_BRIDGE_TOOLS: 'run_python' });
  let finish = (): void => {};
  hold(
    new Promise((resolve) => {
      finish = resolve;
    }),
  );
  let tell: CallContext['tell'] = () => {};
  const run: Bridge['run'] = (input, context) => {
    ({ tell } = context);
    return bridge.run(input, context);
  };
  const print = (stream: OutputStream, text: string, base64: string | null) =>
    tell({ type: 'output', stream, text, base64 });
  return { bridge: { ...bridge, run } as unknown as Bridge, print, finish };
}

describe('a call', () => {
  it('that ends in time is answered as ever, and nobody can ask for it again', async () => {
    const calls = held();
    const { call, finish } = pretended();
    const answer = calls.answer(call, requestOf(), HANGS_MS);
    finish();
    expect(textOf(await answer)).toBe('the rest');
    expect(calls.size).toBe(0);
  });

  it('without a bound is waited for', async () => {
    const calls = held();
    const { call, finish } = pretended();
    setTimeout(finish, 50);
    expect(textOf(await calls.answer(call, requestOf(), undefined))).toBe('the rest');
  });

  it('that no request waits for, such as a task, is given its end', async () => {
    const calls = held();
    const { call, finish } = pretended();
    let isWaitedFor = false;
    const answer = calls.answer(
      call,
      requestOf(undefined, () => isWaitedFor),
      5,
    );
    setTimeout(finish, 60);
    expect(textOf(await answer)).toBe('the rest');
    const other = pretended();
    const late = calls.answer(
      other.call,
      requestOf(undefined, () => isWaitedFor),
      5,
    );
    setTimeout(() => {
      isWaitedFor = true;
    }, 30);
    expect(textOf(await late)).toMatch(/^r-.* part 1$/);
  });

  it('ends with its request, until it is answered, and not after that', async () => {
    const calls = held();
    const early = pretended();
    const controller = new AbortController();
    const answer = calls.answer(early.call, requestOf(controller), HANGS_MS);
    controller.abort('taken back');
    await answer;
    expect(early.cancelled).toEqual(['taken back']);
    const late = pretended();
    const other = new AbortController();
    await calls.answer(late.call, requestOf(other), 1);
    other.abort('taken back');
    expect(late.cancelled).toEqual([]);
  });

  it('gives part after part, and its rest as often as it is asked', async () => {
    const calls = held();
    const { call, told, finish } = pretended();
    const first = await calls.answer(call, requestOf(), 1);
    const handle = handleIn(first);
    expect(handle).toMatch(/^r-[a-z2-9]{16}$/);
    const leg = requestOf();
    expect(textOf(await calls.goOn({ wait: handle }, leg, 1))).toBe(`${handle} part 2`);
    expect(told).toEqual([leg]);
    finish();
    for (let again = 0; again < 2; again++)
      expect(textOf(await calls.goOn({ wait: handle }, requestOf(), 1_000))).toBe('the rest');
  });

  it('keeps its output for the next one where a request that waits is taken back', async () => {
    const calls = held();
    const { call } = pretended();
    const handle = handleIn(await calls.answer(call, requestOf(), 1));
    const controller = new AbortController();
    const waiting = calls.goOn({ wait: handle }, requestOf(controller), HANGS_MS);
    controller.abort();
    expect(textOf(await waiting)).toBe('a glance');
    expect(textOf(await calls.goOn({ wait: handle }, requestOf(), 1))).toBe(`${handle} part 2`);
  });

  it('is ended by a word', async () => {
    const calls = held();
    const { call, cancelled } = pretended();
    const handle = handleIn(await calls.answer(call, requestOf(), 1));
    expect(textOf(await calls.goOn({ stop: handle }, requestOf(), 1))).toBe('the rest');
    expect(cancelled).toEqual(['stopped']);
  });

  it('that was never there is told from one that is gone', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const calls = held(600);
    await expect(calls.goOn({ wait: 'r-never' }, requestOf(), 1)).rejects.toThrow(
      /^wait: there is no run 'r-never' of yours\. This bridge has been running since .*UTC, and runs end with the bridge/,
    );
    const { call, finish } = pretended();
    const answer = calls.answer(call, requestOf(), 1);
    await vi.advanceTimersByTimeAsync(1);
    const handle = handleIn(await answer);
    finish();
    await vi.advanceTimersByTimeAsync(599_000);
    expect(textOf(await calls.goOn({ wait: handle }, requestOf(), 1))).toBe('the rest');
    await vi.advanceTimersByTimeAsync(2_000);
    await expect(calls.goOn({ wait: handle }, requestOf(), 1)).rejects.toThrow(NoDetachedCall);
    await expect(calls.goOn({ stop: handle }, requestOf(), 1)).rejects.toThrow(/^stop: '/);
    await expect(calls.goOn({ wait: handle }, requestOf(), 1)).rejects.toThrow(
      /has ended, .* was kept for 600 s/,
    );
  });

  it('that has ended gives way when many others have ended since', async () => {
    const calls = held();
    const handles: string[] = [];
    for (let made = 0; made <= MAX_ENDED; made++) {
      const { call, finish } = pretended();
      handles.push(handleIn(await calls.answer(call, requestOf(), 1)));
      finish();
      await call.ended;
    }
    expect(calls.size).toBe(MAX_ENDED);
    await expect(calls.goOn({ wait: handles[0] ?? '' }, requestOf(), 1)).rejects.toThrow(
      /others have ended since/,
    );
    expect(textOf(await calls.goOn({ wait: handles[1] ?? '' }, requestOf(), 1))).toBe('the rest');
  });

  it('that has ended gives way when too much is kept, and the last one never', async () => {
    const calls = held();
    const third = 'x'.repeat(MAX_ENDED_CHARS / 3 + 1);
    const ended = [];
    for (const text of [third, third, third, 'x'.repeat(MAX_ENDED_CHARS + 1)]) {
      const { call, finish } = pretended(text);
      ended.push(handleIn(await calls.answer(call, requestOf(), 1)));
      finish();
      await call.ended;
      if (ended.length === 2) expect(calls.size).toBe(2);
      if (ended.length === 3) expect(calls.size).toBe(2);
    }
    expect(calls.size).toBe(1);
    await expect(calls.goOn({ wait: ended[0] ?? '' }, requestOf(), 1)).rejects.toThrow(
      /no more than 64 MB are kept/,
    );
    expect(textOf(await calls.goOn({ wait: ended[3] ?? '' }, requestOf(), 1))).toBe('the rest');
  });

  it('ends with its bridge', async () => {
    const calls = new DetachedCalls(60);
    const { call, cancelled } = pretended();
    await calls.answer(call, requestOf(), 1);
    calls[Symbol.dispose]();
    expect(cancelled).toEqual(['shutdown']);
  });
});

describe('arguments', () => {
  it.each([
    [{ wait: 'r-1' }, { wait: 'r-1' }],
    [{ stop: 'r-1' }, { stop: 'r-1' }],
    [{ code: '1' }, undefined],
    [{}, undefined],
    ['text', undefined],
  ])('%j ask for %j', (args, asked) => {
    expect(goOnIn(args)).toEqual(asked);
  });

  it.each([
    [{ wait: 'r-1', stop: 'r-1' }, /^stop: got it together with wait, expected one of the two/],
    [{ wait: 7 }, /^wait: got 7, expected the handle of a run/],
    [{ wait: 'r-1', code: '1', timeout: 3 }, /^wait: got it together with code, timeout, expected it alone/],
  ])('%j are refused', (args, sentence) => {
    expect(goOnIn(args)).toMatchObject({ type: 'E_ARGUMENTS', message: expect.stringMatching(sentence) });
  });
});

describe('the command line', () => {
  it('is given each piece of output once and in order, also what was printed between two requests', async () => {
    const { bridge, print, finish } = printing();
    const { ask, answers } = await byHand({ ...bridge, isForCommandLine: true } as unknown as Bridge);
    await ask(INITIALIZE);
    const call = (id: number, args: object) =>
      ask({ id, method: 'tools/call', params: { name: 'run_python', arguments: args } });
    const long = 'x'.repeat(70_000);
    const begun = call(2, { code: '1' });
    await until(() => answers.some(({ method }) => method === OUTPUT_METHOD));
    print('stdout', long, null);
    const handle = /r-[a-z2-9]{16}/.exec(JSON.stringify(await begun))?.[0];
    const answeredAt = answers.length;
    print('stdout', `${long}between`, null);
    print('stderr', '\ufffd', '/w==');
    expect(answers.length).toBe(answeredAt);
    const next = call(3, { wait: handle });
    await until(() => answers.length > answeredAt);
    print('stdout', 'last', null);
    finish();
    expect(JSON.stringify(await next)).toContain(OUTCOME_KEY);
    const pieces = answers.flatMap(({ method, params }) => (method === OUTPUT_METHOD ? [params] : []));
    expect(pieces).toEqual([
      { stream: 'stdout', text: 'hello\n', base64: null },
      { stream: 'stdout', text: long, base64: null },
      { stream: 'stdout', text: `${long}between`, base64: null },
      { stream: 'stderr', text: '\ufffd', base64: '/w==' },
      { stream: 'stdout', text: 'last', base64: null },
    ]);
    expect(answers.at(-1)).toHaveProperty('id', 3);
  });

  it('nobody else is', async () => {
    const { bridge, print, finish } = printing();
    const { ask, answers } = await byHand(bridge);
    await ask(INITIALIZE);
    finish();
    await ask({ id: 2, method: 'tools/call', params: { name: 'run_python', arguments: { code: '1' } } });
    print('stdout', 'late', null);
    expect(answers.filter(({ method }) => method === OUTPUT_METHOD)).toEqual([]);
  });
});

describe('a client', () => {
  it('hears of a call until it is answered, and of the rest while it waits for that', async () => {
    const { bridge, hold } = fakeBridge({ MCP_BRIDGE_PATIENCE: '1', MCP_BRIDGE_TOOLS: 'run_python' });
    let finish = (): void => {};
    hold(
      new Promise((resolve) => {
        finish = resolve;
      }),
    );
    const { ask, answers } = await byHand(bridge);
    const call = (id: number, args: object) =>
      ask({
        id,
        method: 'tools/call',
        params: { name: 'run_python', arguments: args, _meta: { progressToken: id } },
      });
    await ask({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
    });
    const first = JSON.stringify(await call(2, { code: '1' }));
    expect(first).toMatch(/\[running r-[a-z2-9]{16}\] .* The rest: run_python\(wait=/);
    expect(first).toContain('hello');
    const handle = /r-[a-z2-9]{16}/.exec(first)?.[0];
    const next = call(3, { wait: handle });
    finish();
    expect(JSON.stringify(await next)).not.toContain('hello');
    const tokens = answers.map(
      ({ params }) => (params as { progressToken?: number } | undefined)?.progressToken,
    );
    const answeredAt = answers.findIndex(({ id }) => id === 2);
    expect(tokens.slice(answeredAt)).not.toContain(2);
  });
});
