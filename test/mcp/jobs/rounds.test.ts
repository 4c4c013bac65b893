// Calls that outlive the request that began them: what a request is answered with, how a client comes back, and what a
// client can do to a call that is not its own.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Job } from '../../../src/mcp/calls/job.js';
import { Jobs, MAX_ASKING } from '../../../src/mcp/calls/jobs.js';
import { ANSWER_WITHIN_MS } from '../../../src/mcp/calls/questions.js';
import type { ClientOffers } from '../../../src/mcp/requests/agent-request.js';
import { begun, requestOf, type Work } from '../../support/open-task.js';
import { NEVER, PATIENTLY } from '../../support/time.js';

const EVERYTHING: ClientOffers = { form: true, url: true, roots: true, tasks: false };
const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
const ALICE = { tool: 'run_python', args: { code: '1', servers: ['a'] } };
const NOT_AGAIN: Work = () => Promise.reject(new Error('The work was begun a second time.'));

let calls: Jobs;
beforeEach(() => {
  vi.useFakeTimers();
  calls = new Jobs(60);
});
afterEach(() => {
  calls[Symbol.dispose]();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

type Asked = {
  readonly identity?: typeof ALICE;
  readonly name?: string;
  readonly offers?: Partial<ClientOffers>;
  readonly signal?: AbortSignal;
  readonly state?: string;
  readonly responses?: unknown;
  readonly client?: object;
  /** Those of whom; default: ALICE's. */
  readonly jobs?: Jobs;
};

type Answered =
  | { readonly result: unknown }
  | { readonly inputRequests: object; readonly requestState: string };

/** An answer as its client is sent it; no client here knows tasks. */
const ask = async (work: Work, asked: Asked = {}): Promise<Answered> => {
  const { identity = ALICE, name = 'first', offers = {}, signal = NEVER, client = {} } = asked;
  const { state, responses, jobs = calls } = asked;
  const request = requestOf({ connection: client, offers: { ...EVERYTHING, ...offers }, signal, name });
  const answer =
    state === undefined
      ? await begun({ jobs, request, work, ...identity, taskAfterMs: 20_000 })
      : await jobs.answer(jobs.resume(request, identity, state, responses), request, identity, {
          softTimeoutMs: undefined,
          taskAfterMs: 20_000,
        });
  if ('task' in answer) throw new Error('It is a task.');
  return 'answer' in answer ? { result: answer.answer } : answer;
};

/** Begins a call that asks, and returns its state. */
async function askedState(work: Work, asked: Asked = {}): Promise<string> {
  const answer = await ask(work, asked);
  if (!('requestState' in answer)) throw new Error(`It did not ask: ${JSON.stringify(answer)}`);
  return answer.requestState;
}

/** Asks once, and returns what was answered. */
const askOnce: Work = async (call) => JSON.stringify(await call.caller.agent.elicit(FORM, call.signal));
const ACCEPT = { action: 'accept', content: { name: 'Ada' } };

describe('a call that asks nothing', () => {
  it('is answered with its result', async () => {
    expect(await ask(async () => 'done')).toEqual({ result: 'done' });
  });

  it('fails as its work does', async () => {
    await expect(ask(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });

  it('is cancelled with its request', async () => {
    const controller = new AbortController();
    const answered = ask(
      (call) => new Promise((resolve) => call.signal.addEventListener('abort', () => resolve('cancelled'))),
      { signal: controller.signal },
    );
    controller.abort();
    expect(await answered).toEqual({ result: 'cancelled' });
  });

  it('is cancelled where the request was taken back before it began', async () => {
    const signal = AbortSignal.abort();
    const work: Work = (call) =>
      new Promise((resolve) => call.signal.addEventListener('abort', () => resolve('cancelled')));
    expect(await ask(work, { signal })).toEqual({ result: 'cancelled' });
  });
});

/** Other texts that a tolerant reader of base64url reads as the same bytes. */
function sameBytes(state: string): readonly string[] {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = letters.indexOf(state.slice(-1));
  const twins = [1, 2, 3].map((bits) => `${state.slice(0, -1)}${letters[last ^ bits]}`);
  return [...twins, `${state}=`, `${state} `, `${state}\n`, `${state}*`, state.replace(/.$/, '\u0100$&')];
}

it('a state of which one bit was changed is not ours', async () => {
  const state = ((await ask(askOnce)) as { requestState: string }).requestState;
  const mac = (text: string) =>
    Buffer.from(text.slice(text.lastIndexOf('.') + 1), 'base64url').toString('hex');
  const changed = sameBytes(state);
  expect(changed.filter((text) => mac(text) === mac(state))).not.toEqual([]);
  for (const text of changed)
    await expect(
      ask(NOT_AGAIN, { state: text, responses: { q1: ACCEPT } }),
      JSON.stringify(text),
    ).rejects.toThrow('it was not made by this server process for you, or it was changed');
  expect(await ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } })).toEqual({
    result: JSON.stringify(ACCEPT),
  });
});

describe('a call that asks', () => {
  it('is answered with the question, and goes on with what the client answers', async () => {
    const answer = await ask(askOnce);
    expect(answer).toEqual({
      inputRequests: { q1: { method: 'elicitation/create', params: FORM } },
      requestState: expect.any(String),
    });
    const state = (answer as { requestState: string }).requestState;
    expect(await ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } })).toEqual({
      result: JSON.stringify(ACCEPT),
    });
  });

  it('asks all that is open at once, each under a key of its own', async () => {
    const work: Work = async (call) => {
      const all = [1, 2].map((n) => call.caller.agent.elicit({ ...FORM, message: `Who ${n}?` }, call.signal));
      const answers = await Promise.all(all);
      return answers.map(({ action }) => action).join();
    };
    const answer = (await ask(work)) as { inputRequests: object; requestState: string };
    expect(Object.keys(answer.inputRequests)).toEqual(['q1', 'q2']);
    const responses = { q2: { action: 'decline' }, q1: ACCEPT };
    expect(await ask(NOT_AGAIN, { state: answer.requestState, responses })).toEqual({
      result: 'accept,decline',
    });
  });

  it('asks again for what was not answered, under the same key', async () => {
    const state = await askedState(async (call) => {
      const all = [call.caller.agent.elicit(FORM, call.signal), call.caller.agent.elicit(FORM, call.signal)];
      await Promise.all(all);
      return 'both';
    });
    const answer = (await ask(NOT_AGAIN, { state, responses: { q1: ACCEPT, other: 1 } })) as {
      inputRequests: object;
      requestState: string;
    };
    expect(Object.keys(answer.inputRequests)).toEqual(['q2']);
    expect(await ask(NOT_AGAIN, { state: answer.requestState, responses: { q2: ACCEPT } })).toEqual({
      result: 'both',
    });
  });

  it('asks as often as it has to, and never twice under one key', async () => {
    const work: Work = async (call) => {
      for (let n = 0; n < 3; n++) await call.caller.agent.elicit(FORM, call.signal);
      return 'thrice';
    };
    let answer = await ask(work);
    const keys: string[] = [];
    while ('inputRequests' in answer) {
      const [key = ''] = Object.keys(answer.inputRequests);
      keys.push(key);
      answer = await ask(NOT_AGAIN, { state: answer.requestState, responses: { [key]: ACCEPT } });
    }
    expect([keys, answer]).toEqual([['q1', 'q2', 'q3'], { result: 'thrice' }]);
  });

  it('tells whichever request is open, and nobody while there is none', async () => {
    const heard: (string | undefined)[] = [];
    let call: Job | undefined;
    const state = await askedState(async (begun) => {
      call = begun;
      heard.push(begun.request?.caller.client);
      await begun.caller.agent.elicit(FORM, begun.signal);
      heard.push(begun.request?.caller.client);
      return 'done';
    });
    heard.push(call?.request?.caller.client);
    await ask(NOT_AGAIN, { state, responses: { q1: ACCEPT }, name: 'second' });
    heard.push(call?.request?.caller.client);
    expect(heard).toEqual(['first', undefined, 'second', undefined]);
  });

  it('is cancelled with the request that has come back, once nothing is asked any more', async () => {
    const controller = new AbortController();
    const state = await askedState(async (call) => {
      await call.caller.agent.elicit(FORM, call.signal);
      await expect.poll(() => call.signal.aborted, PATIENTLY).toBe(true);
      return 'cancelled';
    });
    const answered = ask(NOT_AGAIN, { state, responses: { q1: ACCEPT }, signal: controller.signal });
    controller.abort();
    expect(await answered).toEqual({ result: 'cancelled' });
  });

  it('outlives the request that was answered with its question', async () => {
    const controller = new AbortController();
    const state = await askedState(askOnce, { signal: controller.signal });
    controller.abort();
    expect(await ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } })).toHaveProperty('result');
  });

  it('keeps its result for a client that comes back when the question was withdrawn', async () => {
    const withdraw = new AbortController();
    const state = await askedState((call) =>
      call.caller.agent.elicit(FORM, withdraw.signal).then(
        () => 'answered',
        () => 'went on',
      ),
    );
    withdraw.abort();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } })).toEqual({ result: 'went on' });
  });

  it('asks for roots once, and only where they are wanted', async () => {
    const work: Work = async (call) => {
      const all = await Promise.all([1, 2, 3].map(() => call.caller.agent.listRoots(call.signal)));
      return JSON.stringify(all[2]);
    };
    const answer = (await ask(work)) as { inputRequests: object; requestState: string };
    expect(answer.inputRequests).toEqual({ q1: { method: 'roots/list' } });
    const roots = { roots: [{ uri: 'file:///work' }] };
    expect(await ask(NOT_AGAIN, { state: answer.requestState, responses: { q1: roots } })).toEqual({
      result: JSON.stringify(roots),
    });
  });

  it('has no id in a question about a page, which this revision does not know', async () => {
    const params = { mode: 'url', message: 'Go', url: 'https://example.com/', elicitationId: 'e1' };
    const answer = await ask((call) => call.caller.agent.elicit(params, call.signal).then(() => 'done'));
    expect(answer).toMatchObject({
      inputRequests: { q1: { params: { mode: 'url', message: 'Go', url: 'https://example.com/' } } },
    });
    expect(JSON.stringify(answer)).not.toContain('elicitationId');
  });

  it('sees what the newest request declares, and withdraws what that no longer covers', async () => {
    const seen: unknown[] = [];
    const state = await askedState(
      async (call) => {
        seen.push(call.caller.agent.elicits(), call.caller.agent.hasRoots());
        const refused = await call.caller.agent
          .elicit(FORM, call.signal)
          .catch((error: Error) => error.message);
        seen.push(call.caller.agent.elicits(), call.caller.agent.hasRoots());
        return String(refused);
      },
      { offers: { url: false, roots: false } },
    );
    const answer = await ask(NOT_AGAIN, { state, offers: { form: false } });
    expect(answer).toEqual({ result: 'The client no longer offers to answer this.' });
    expect(seen).toEqual([{ form: true, url: false }, false, { form: false, url: true }, true]);
  });
});

describe('what one call asks in place of another of the same client', () => {
  const CLIENT = {};

  it('is asked by the other when it has ended, and by nobody of another client', async () => {
    let first: Job | undefined;
    const none = await ask(
      async (call) => {
        first = call;
        return 'ended';
      },
      { client: CLIENT },
    );
    expect(none).toEqual({ result: 'ended' });
    await expect(first?.caller.agent.elicit(FORM, NEVER)).rejects.toThrow('The call has ended.');
    const endless: Work = (call) =>
      new Promise((resolve) => call.signal.addEventListener('abort', () => resolve('ended')));
    void ask(endless, { client: {} });
    await expect(first?.caller.agent.elicit(FORM, NEVER)).rejects.toThrow('The call has ended.');
    const silent = new AbortController();
    const without = { client: CLIENT, offers: { form: false }, signal: silent.signal };
    const mute = ask(endless, without);
    await expect(first?.caller.agent.elicit(FORM, NEVER)).rejects.toThrow(
      'The client does not offer to answer',
    );
    silent.abort();
    await mute;
    const other = ask(endless, { client: CLIENT });
    const late = first?.caller.agent.elicit(FORM, NEVER);
    const { requestState: state } = (await other) as { requestState: string };
    void ask(NOT_AGAIN, { state, responses: { q1: ACCEPT }, client: CLIENT });
    expect(await late).toEqual(ACCEPT);
  });

  it('is asked by the other when it ends while the question is open', async () => {
    let finish = (_: string) => {};
    let answer: Promise<unknown> | undefined;
    const state = await askedState(
      (call) => {
        answer = call.caller.agent.elicit(FORM, NEVER);
        return new Promise<string>((resolve) => {
          finish = resolve;
        });
      },
      { client: CLIENT },
    );
    const other = ask(
      (call) => new Promise((resolve) => call.signal.addEventListener('abort', () => resolve('ended'))),
      { client: CLIENT },
    );
    finish('done');
    const asked = (await other) as { requestState: string; inputRequests: object };
    expect(asked.inputRequests).toEqual({ q1: { method: 'elicitation/create', params: FORM } });
    void ask(NOT_AGAIN, { state: asked.requestState, responses: { q1: ACCEPT }, client: CLIENT });
    expect(await answer).toEqual(ACCEPT);
    expect(await ask(NOT_AGAIN, { state })).toEqual({ result: 'done' });
  });
});

describe('a client that does not come back', () => {
  it('has answered cancel after ten minutes, and the call is ended', async () => {
    let signal = NEVER;
    let action: unknown;
    const state = await askedState(async (call) => {
      signal = call.signal;
      ({ action } = await call.caller.agent.elicit(FORM, NEVER));
      await new Promise((resolve) => call.signal.addEventListener('abort', resolve));
      return 'ended';
    });
    await vi.advanceTimersByTimeAsync(ANSWER_WITHIN_MS - 1);
    expect([signal.aborted, action]).toEqual([false, undefined]);
    await vi.advanceTimersByTimeAsync(1);
    expect([signal.aborted, action]).toEqual([true, 'cancel']);
    await expect(ask(NOT_AGAIN, { state })).rejects.toThrow(
      'requestState: it has expired: the answer came too late, and the call was ended. Call the tool again',
    );
  });

  it('that comes back without answers, again and again, does not hold the call for longer', async () => {
    let answer = await ask(askOnce);
    for (let n = 0; n < 3 && 'requestState' in answer; n++) {
      await vi.advanceTimersByTimeAsync(ANSWER_WITHIN_MS / 3 - 1);
      answer = await ask(NOT_AGAIN, { state: answer.requestState });
    }
    expect(answer).toHaveProperty('requestState');
    await vi.advanceTimersByTimeAsync(3);
    const { requestState: state } = answer as { requestState: string };
    expect(await ask(NOT_AGAIN, { state })).toEqual({ result: '{"action":"cancel"}' });
  });

  it('leaves others room to ask only up to a number', async () => {
    const states = [];
    for (let n = 0; n < MAX_ASKING; n++) states.push(await askedState(askOnce));
    const refused: Work = (call) =>
      call.caller.agent.elicit(FORM, call.signal).then(String, (error: Error) => error.message);
    expect(await ask(refused)).toEqual({
      result: `${MAX_ASKING} other calls wait for answers of the user already`,
    });
    using bob = new Jobs(60);
    expect(await ask(refused, { jobs: bob })).toHaveProperty('requestState');
    await ask(NOT_AGAIN, { state: states[0] ?? '', responses: { q1: ACCEPT } });
    expect(await ask(refused)).toHaveProperty('requestState');
  });
});

describe('a state that is not to be taken', () => {
  const wrong = async (asked: Asked, message: string | RegExp) => {
    const state = await askedState(askOnce);
    const refused = ask(NOT_AGAIN, { state, responses: { q1: ACCEPT }, ...asked });
    await expect(refused).rejects.toMatchObject({
      code: -32_602,
      data: { reason: 'invalid_request_state' },
      message: expect.stringMatching(message),
    });
    // The call was not disturbed.
    expect(await ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } })).toEqual({
      result: JSON.stringify(ACCEPT),
    });
  };

  it.each(['', '.', 'v1.', 'v1..', 'nonsense', 'v1.W10.AAAA', 'x'.repeat(100_000), '\u0000'])(
    'is refused where it is %.20j',
    (state) => wrong({ state }, /^requestState: it was not made by this server process for you, or it/),
  );

  it('of another principal is as unknown as one that never was', async () => {
    using bob = new Jobs(60);
    await wrong({ jobs: bob }, /^requestState: it was not made by this server process for you, or it/);
  });

  it('is bound to its tool', () =>
    wrong(
      { identity: { ...ALICE, tool: 'execute' } },
      /^requestState: it belongs to a call of another tool/,
    ));

  it.each([
    { code: '2', servers: ['a'] },
    { code: '1', servers: [] },
    {},
    undefined,
    JSON.parse('{"code":"1","servers":["a"],"__proto__":1}'),
  ])('is bound to its arguments: %j', (args) =>
    wrong(
      { identity: { ...ALICE, args: args as never } },
      /^requestState: it belongs to a call of another tool or with/,
    ),
  );

  it('is not bound to the order of its arguments', async () => {
    const state = await askedState(askOnce);
    const identity = { ...ALICE, args: { servers: ['a'], code: '1' } };
    expect(await ask(NOT_AGAIN, { identity, state, responses: { q1: ACCEPT } })).toHaveProperty('result');
  });

  it('cannot be changed anywhere', async () => {
    const state = await askedState(askOnce);
    // The last character has bits that mean nothing.
    for (let at = 0; at < state.length - 1; at++) {
      const other = state[at] === 'A' ? 'B' : 'A';
      const changed = state.slice(0, at) + other + state.slice(at + 1);
      await expect(ask(NOT_AGAIN, { state: changed })).rejects.toThrow('requestState: it was not made by');
    }
    expect(await ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } })).toHaveProperty('result');
  });

  it('is used once, also while the call still runs', async () => {
    let finish = (_: string) => {};
    const state = await askedState(async (call) => {
      await call.caller.agent.elicit(FORM, call.signal);
      return await new Promise<string>((resolve) => {
        finish = resolve;
      });
    });
    const answered = ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } });
    await vi.advanceTimersByTimeAsync(0);
    const used = 'requestState: it was used already, or its call has ended. Call the tool again';
    await expect(ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } })).rejects.toThrow(used);
    finish('done');
    expect(await answered).toEqual({ result: 'done' });
    await expect(ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } })).rejects.toThrow(used);
  });

  it('of an earlier round does not answer a later one', async () => {
    const state = await askedState(async (call) => {
      await call.caller.agent.elicit(FORM, call.signal);
      return await askOnce(call);
    });
    const second = (await ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } })) as { requestState: string };
    await expect(ask(NOT_AGAIN, { state, responses: { q2: ACCEPT } })).rejects.toThrow('it was used already');
    expect(
      await ask(NOT_AGAIN, { state: second.requestState, responses: { q2: { action: 'cancel' } } }),
    ).toEqual({ result: '{"action":"cancel"}' });
  });
});

describe('answers of the wrong shape', () => {
  it.each([
    [[], 'inputResponses: got [], expected an object with one answer for each key of inputRequests.'],
    [{ q1: 'yes' }, 'inputResponses.q1: got "yes", expected the result of elicitation/create.'],
    [{ q1: {} }, 'inputResponses.q1.action: got nothing, expected accept, decline or cancel.'],
    [{ q1: { action: 'yes' } }, 'inputResponses.q1.action: got "yes", expected accept, decline or cancel.'],
    [
      { q1: { action: 'accept', content: [] } },
      'inputResponses.q1.content: got [], expected an object by the names of the form.',
    ],
  ])('are refused, and the call waits on: %j', async (responses, message) => {
    const state = await askedState(askOnce);
    await expect(ask(NOT_AGAIN, { state, responses })).rejects.toMatchObject({ code: -32_602, message });
    expect(await ask(NOT_AGAIN, { state, responses: { q1: ACCEPT } })).toHaveProperty('result');
  });

  it('of roots are refused too', async () => {
    const state = await askedState((call) => call.caller.agent.listRoots(call.signal).then(JSON.stringify));
    await expect(ask(NOT_AGAIN, { state, responses: { q1: { roots: 'all' } } })).rejects.toThrow(
      'inputResponses.q1.roots: got "all", expected a list.',
    );
  });
});

describe('the end of the bridge', () => {
  it('ends every call, and leaves nothing', async () => {
    const signals: AbortSignal[] = [];
    await askedState((call) => {
      signals.push(call.signal);
      return askOnce(call);
    });
    const running = ask(
      (call) =>
        new Promise((resolve) => {
          signals.push(call.signal);
          call.signal.addEventListener('abort', () => resolve('ended'));
        }),
    );
    calls[Symbol.dispose]();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(await running).toEqual({ result: 'ended' });
  });
});
