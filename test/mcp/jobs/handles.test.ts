// Calls that are answered before their end: what their client is told, who may go on with them, and for how long.

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { OutputStream } from '../../../src/base/process/streams.js';
import type { Job } from '../../../src/mcp/calls/job.js';
import { type JobAnswer, Jobs, MAX_ENDED, MAX_ENDED_CHARS, NoSuchJob } from '../../../src/mcp/calls/jobs.js';
import { getTask } from '../../../src/mcp/calls/tasks.js';
import { goOnIn } from '../../../src/mcp/calls/tool-calls.js';
import type { AgentRequest } from '../../../src/mcp/requests/agent-request.js';
import type { CallContext } from '../../../src/run/calls/call-context.js';
import { OUTCOME_KEY, OUTPUT_METHOD, type Outcome } from '../../../src/run/outcome/outcome.js';
import type { Bridge } from '../../../src/tenant/bridge.js';
import { begun, requestOf } from '../../support/open-task.js';
import { HANGS_MS, NEVER, until } from '../../support/time.js';
import { byHand, FAILED, fakeBridge, newJobs } from '../fake-bridge.js';

/** Work that ends when the test says so, or when it is cancelled, with this note in its outcome. */
function pretended(note = 'the rest') {
  let finish = (): void => {};
  const state: { job: Job | undefined } = { job: undefined };
  const work = (job: Job) => {
    state.job = job;
    return new Promise((resolve) => {
      finish = () => resolve({ ...FAILED, note });
      job.signal.addEventListener('abort', finish);
    });
  };
  return {
    work,
    print: (text: string) => state.job?.tell({ type: 'output', stream: 'stdout', text, base64: null }),
    finish: async () => {
      finish();
      await state.job?.ended;
    },
    /** Why it was ended before its time. */
    cancelled: (): unknown => state.job?.signal.reason,
    listener: () => state.job?.request,
  };
}

/** A request whose client cannot be asked, and knows tasks where that is said. */
const request = (controller = new AbortController(), tasks = false): AgentRequest =>
  requestOf({
    connection: {},
    offers: { form: false, url: false, roots: false, tasks },
    signal: controller.signal,
  });

const begin = (
  jobs: Jobs,
  { work }: ReturnType<typeof pretended>,
  softTimeoutMs: number | undefined,
  by = request(),
) => begun({ jobs, request: by, work, softTimeoutMs });

const goOn = (jobs: Jobs, asked: Parameters<Jobs['goOn']>[0], softTimeoutMs: number, by = request()) =>
  jobs.goOn(asked, by, { tool: 't', args: asked }, { softTimeoutMs, taskAfterMs: HANGS_MS });

function outcomeOf(answer: JobAnswer): Outcome {
  if (!('answer' in answer) || 'isRelayed' in answer.answer) throw new Error('It is no outcome.');
  return answer.answer;
}
/** Handle in the answer; empty where it is the end. */
const handleIn = (answer: JobAnswer): string => outcomeOf(answer).goesOn?.handle ?? '';
const noteIn = (answer: JobAnswer): string | undefined => outcomeOf(answer).note;

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
    const jobs = newJobs();
    const one = pretended();
    const answer = begin(jobs, one, HANGS_MS);
    await one.finish();
    expect(noteIn(await answer)).toBe('the rest');
    expect(jobs.size).toBe(0);
  });

  it('without a bound is waited for', async () => {
    const jobs = newJobs();
    const one = pretended();
    setTimeout(() => void one.finish(), 50);
    expect(noteIn(await begin(jobs, one, undefined))).toBe('the rest');
  });

  it('that is a task is not cut short, and is given its end', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const jobs = newJobs();
    const one = pretended();
    const answering = begin(jobs, one, 5, request(undefined, true));
    await vi.advanceTimersByTimeAsync(60);
    const answer = await answering;
    if (!('task' in answer)) throw new Error('It is no task.');
    expect(getTask(jobs, answer.task.id).status).toBe('working');
    await one.finish();
    expect(getTask(jobs, answer.task.id)).toMatchObject({
      status: 'completed',
      result: { note: 'the rest' },
    });
  });

  it('whose client is away with a question is cut short only when that has come back', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const jobs = newJobs();
    const asking = () =>
      requestOf({
        connection: {},
        offers: { form: true, url: false, roots: false, tasks: false },
        signal: NEVER,
      });
    const work = async ({ caller, signal }: Job) => {
      await caller.agent.elicit({ message: 'Who?' }, signal);
      return await new Promise(() => {});
    };
    const asked = await begun({ jobs, request: asking(), work, softTimeoutMs: 5 });
    if (!('requestState' in asked)) throw new Error('It did not ask.');
    await vi.advanceTimersByTimeAsync(60);
    const [again, identity] = [asking(), { tool: 't', args: {} }];
    const job = jobs.resume(again, identity, asked.requestState, { q1: { action: 'accept' } });
    const late = jobs.answer(job, again, identity, { softTimeoutMs: 5, taskAfterMs: 1 });
    await vi.advanceTimersByTimeAsync(5);
    expect(handleIn(await late)).toMatch(/^r-/);
  });

  it('ends with its request, until it is answered, and not after that', async () => {
    const jobs = newJobs();
    const early = pretended();
    const controller = new AbortController();
    const answer = begin(jobs, early, HANGS_MS, request(controller));
    controller.abort('taken back');
    await answer;
    expect(early.cancelled()).toBe('taken back');
    const late = pretended();
    const other = new AbortController();
    await begin(jobs, late, 1, request(other));
    other.abort('taken back');
    expect(late.cancelled()).toBe(undefined);
  });

  it('gives part after part, and its rest as often as it is asked', async () => {
    const jobs = newJobs();
    const one = pretended();
    const answering = begin(jobs, one, 1);
    one.print('first');
    const first = await answering;
    const handle = handleIn(first);
    expect(handle).toMatch(/^r-[a-z2-9]{16}$/);
    expect(outcomeOf(first).stdout.text).toBe('first');
    one.print('second');
    const by = request();
    const next = goOn(jobs, { wait: handle }, 1, by);
    expect(one.listener()).toBe(by);
    const second = await next;
    expect([handleIn(second), outcomeOf(second).stdout.text]).toEqual([handle, 'second']);
    expect(one.listener()).toBe(undefined);
    one.print('third');
    await one.finish();
    for (let again = 0; again < 2; again++) {
      const rest = await goOn(jobs, { wait: handle }, 1_000);
      expect([noteIn(rest), outcomeOf(rest).stdout.text]).toEqual(['the rest', 'third']);
    }
  });

  it('keeps its output for the next one where a request that waits is taken back', async () => {
    const jobs = newJobs();
    const one = pretended();
    const handle = handleIn(await begin(jobs, one, 1));
    const controller = new AbortController();
    const waiting = goOn(jobs, { wait: handle }, HANGS_MS, request(controller));
    one.print('new');
    controller.abort();
    expect(outcomeOf(await waiting).stdout.text).toBe('new');
    expect(one.cancelled()).toBe(undefined);
    expect(outcomeOf(await goOn(jobs, { wait: handle }, 1)).stdout.text).toBe('new');
    expect(outcomeOf(await goOn(jobs, { wait: handle }, 1)).stdout.text).toBe('');
  });

  it('is ended by a word', async () => {
    const jobs = newJobs();
    const one = pretended();
    const handle = handleIn(await begin(jobs, one, 1));
    expect(noteIn(await goOn(jobs, { stop: handle }, 1))).toBe('the rest');
    expect(one.cancelled()).toBe('stopped');
  });

  it('that was never there is told from one that is gone', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const jobs = new Jobs(600);
    onTestFinished(() => jobs[Symbol.dispose]());
    await expect(goOn(jobs, { wait: 'r-never' }, 1)).rejects.toThrow(
      /^wait: there is no run 'r-never' of yours\. This bridge has been running since .*UTC, and runs end with the bridge/,
    );
    const one = pretended();
    const answer = begin(jobs, one, 1);
    await vi.advanceTimersByTimeAsync(1);
    const handle = handleIn(await answer);
    await one.finish();
    await vi.advanceTimersByTimeAsync(599_000);
    expect(noteIn(await goOn(jobs, { wait: handle }, 1))).toBe('the rest');
    await vi.advanceTimersByTimeAsync(2_000);
    await expect(goOn(jobs, { wait: handle }, 1)).rejects.toThrow(NoSuchJob);
    await expect(goOn(jobs, { stop: handle }, 1)).rejects.toThrow(/^stop: '/);
    await expect(goOn(jobs, { wait: handle }, 1)).rejects.toThrow(/has ended, .* was kept for 600 s/);
  });

  it('that has ended gives way when many others have ended since', async () => {
    const jobs = newJobs();
    const handles: string[] = [];
    for (let made = 0; made <= MAX_ENDED; made++) {
      const one = pretended();
      handles.push(handleIn(await begin(jobs, one, 1)));
      await one.finish();
    }
    expect(jobs.size).toBe(MAX_ENDED);
    await expect(goOn(jobs, { wait: handles[0] ?? '' }, 1)).rejects.toThrow(/others have ended since/);
    expect(noteIn(await goOn(jobs, { wait: handles[1] ?? '' }, 1))).toBe('the rest');
  });

  it('that has ended gives way when too much is kept, and the last one never', async () => {
    const jobs = newJobs();
    const third = 'x'.repeat(MAX_ENDED_CHARS / 3 + 1);
    const ended = [];
    for (const note of [third, third, third, 'x'.repeat(MAX_ENDED_CHARS + 1)]) {
      const one = pretended(note);
      ended.push(handleIn(await begin(jobs, one, 1)));
      await one.finish();
      if (ended.length === 2) expect(jobs.size).toBe(2);
      if (ended.length === 3) expect(jobs.size).toBe(2);
    }
    expect(jobs.size).toBe(1);
    await expect(goOn(jobs, { wait: ended[0] ?? '' }, 1)).rejects.toThrow(
      /no more than 64 MB of results are kept/,
    );
    expect(noteIn(await goOn(jobs, { wait: ended[3] ?? '' }, 1))).toHaveLength(MAX_ENDED_CHARS + 1);
  });

  it('ends with its bridge', async () => {
    const jobs = new Jobs(60);
    const one = pretended();
    await begin(jobs, one, 1);
    jobs[Symbol.dispose]();
    expect(one.cancelled()).toBe('shutdown');
  });

  it('is counted as unfinished while it goes on after an answer, and until its end is known', async () => {
    const jobs = newJobs();
    const one = pretended();
    const answering = begin(jobs, one, 1);
    expect(jobs.unfinished).toBe(0);
    const handle = handleIn(await answering);
    expect(jobs.unfinished).toBe(1);
    await one.finish();
    expect(jobs.unfinished).toBe(1);
    await goOn(jobs, { wait: handle }, 1);
    expect([jobs.unfinished, jobs.size]).toEqual([0, 1]);
  });

  it('asks by the request that waits for it, and nobody while none does', async () => {
    const jobs = newJobs();
    const agent: Job['caller']['agent'][] = [];
    const one = pretended();
    const work = (job: Job) => {
      agent.push(job.caller.agent);
      return one.work(job);
    };
    const handle = handleIn(await begun({ jobs, request: request(), work, softTimeoutMs: 1 }));
    const ask = () => agent[0]?.elicit({ message: 'Who?' }, NEVER);
    await expect(ask()).rejects.toThrow('The call has ended.');
    const by = requestOf({
      connection: {},
      offers: { form: true, url: false, roots: false, tasks: false },
      signal: NEVER,
    });
    const waiting = goOn(jobs, { wait: handle }, HANGS_MS, by);
    const answered = ask();
    const asked = await waiting;
    if (!('requestState' in asked)) throw new Error('It did not ask.');
    jobs.resume(by, { tool: 't', args: { wait: handle } }, asked.requestState, { q1: { action: 'decline' } });
    expect(await answered).toEqual({ action: 'decline' });
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

  it('is alone in being sent what a call prints', async () => {
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
