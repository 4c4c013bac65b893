// Calls that are answered with a task: what the task says until its result is fetched, and that it is nobody else's.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Job } from '../../../src/mcp/calls/job.js';
import { Jobs, MAX_ENDED_CHARS, MAX_TASKS, RESULT_KEPT_MS } from '../../../src/mcp/calls/jobs.js';
import { ANSWER_WITHIN_MS } from '../../../src/mcp/calls/questions.js';
import { cancelTask, createdTask, getTask, updateTask } from '../../../src/mcp/calls/tasks.js';
import { begun, requestOf, type Work } from '../../support/open-task.js';
import { NEVER } from '../../support/time.js';

const TASK_AFTER_MS = 20_000;
const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
const ACCEPT = { action: 'accept', content: {} };

/** ALICE's. */
let calls: Jobs;
let bobs: Jobs;
beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-08-01T10:00:00Z') });
  calls = new Jobs(60);
  bobs = new Jobs(60);
});
afterEach(() => {
  calls[Symbol.dispose]();
  bobs[Symbol.dispose]();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** An answer as its client is sent it. */
const ask = async (
  work: Work,
  { tasks = true, jobs = calls, signal = NEVER, taskAfterMs = TASK_AFTER_MS } = {},
): Promise<object> => {
  const offers = { form: true, url: false, roots: false, tasks };
  const request = requestOf({ connection: {}, offers, signal });
  const answer = await begun({ jobs, request, work, tool: 'run_python', taskAfterMs });
  if ('task' in answer) return { task: createdTask(answer.task) };
  return 'answer' in answer ? { result: answer.answer } : answer;
};

async function taskOf(work: Work, options = {}): Promise<ReturnType<typeof createdTask>> {
  const answered = ask(work, options);
  await vi.advanceTimersByTimeAsync(TASK_AFTER_MS);
  const answer = await answered;
  if (!('task' in answer)) throw new Error(`It is no task: ${JSON.stringify(answer)}`);
  return answer.task as ReturnType<typeof createdTask>;
}

/** Work that ends when it is told to, or when it is cancelled. */
function endless() {
  let end = (_: string) => {};
  let signal = NEVER;
  const work: Work = (call) =>
    new Promise((resolve) => {
      end = resolve;
      signal = call.signal;
      signal.addEventListener('abort', () => resolve('cut short'));
    });
  return { work, end: (result: string) => end(result), isCancelled: () => signal.aborted };
}

describe('a task is made', () => {
  it('of a call that lasts longer than the bound', async () => {
    const answered = ask(endless().work);
    const seen = vi.fn();
    void answered.then(seen);
    await vi.advanceTimersByTimeAsync(TASK_AFTER_MS - 1);
    expect(seen).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await answered).toEqual({
      task: {
        taskId: expect.stringMatching(/^[\w-]{32}$/),
        status: 'working',
        createdAt: '2026-08-01T10:00:20.000Z',
        lastUpdatedAt: '2026-08-01T10:00:20.000Z',
        ttlMs: RESULT_KEPT_MS,
        pollIntervalMs: 1_000,
      },
    });
  });

  it('at once where the bound is 0', async () => {
    const answered = ask(endless().work, { taskAfterMs: 0 });
    await vi.advanceTimersByTimeAsync(0);
    expect(await answered).toHaveProperty('task');
  });

  it('of none that ends sooner', async () => {
    expect(await ask(async () => 'done')).toEqual({ result: 'done' });
  });

  it('for no client that does not know tasks', async () => {
    const { work, end } = endless();
    const answered = ask(work, { tasks: false });
    await vi.advanceTimersByTimeAsync(10 * TASK_AFTER_MS);
    end('done');
    expect(await answered).toEqual({ result: 'done' });
  });

  it('of none beyond those that one principal may have', async () => {
    const works = Array.from({ length: MAX_TASKS + 1 }, endless);
    const answers = works.map(({ work }) => ask(work));
    await vi.advanceTimersByTimeAsync(TASK_AFTER_MS);
    expect(await Promise.all(answers.slice(0, MAX_TASKS))).toHaveLength(MAX_TASKS);
    expect(await taskOf(endless().work, { jobs: bobs })).toHaveProperty('taskId');
    works[MAX_TASKS]?.end('waited for');
    expect(await answers[MAX_TASKS]).toEqual({ result: 'waited for' });
  });
});

describe('results', () => {
  it('of one principal that are too much together are kept no more, the last one excepted', async () => {
    const half = 'x'.repeat(MAX_ENDED_CHARS / 2);
    const made = [];
    for (const [result, jobs] of [
      [half, calls],
      [half, calls],
      [half, bobs],
      [`${half}${half}x`, calls],
    ] as const) {
      const { work, end } = endless();
      const { taskId } = await taskOf(work, { jobs });
      end(result);
      await vi.advanceTimersByTimeAsync(0);
      made.push({ taskId, jobs });
      if (made.length === 2) expect(calls.size).toBe(2);
    }
    expect(made.map(({ taskId, jobs }) => jobs.task(taskId) !== undefined)).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});

describe('a task', () => {
  it('goes on when its first request has ended, and has the result in the end', async () => {
    const controller = new AbortController();
    const { work, end, isCancelled } = endless();
    const { taskId } = await taskOf(work, { signal: controller.signal });
    controller.abort();
    expect(getTask(calls, taskId).status).toBe('working');
    await vi.advanceTimersByTimeAsync(60_000);
    end('done');
    await vi.advanceTimersByTimeAsync(0);
    expect(isCancelled()).toBe(false);
    expect(getTask(calls, taskId)).toEqual({
      taskId,
      status: 'completed',
      result: 'done',
      createdAt: '2026-08-01T10:00:20.000Z',
      lastUpdatedAt: '2026-08-01T10:01:20.000Z',
      ttlMs: 60_000 + RESULT_KEPT_MS,
    });
  });

  it('says how far its call is, and is asked for more seldom the longer it lasts', async () => {
    let call: Job | undefined;
    const { work } = endless();
    const { taskId } = await taskOf((begun) => {
      call = begun;
      return work(begun);
    });
    await vi.advanceTimersByTimeAsync(50_000);
    call?.tell({ type: 'progress', done: 3, total: null, message: '3 of 10: pages\u202e' });
    expect(getTask(calls, taskId)).toMatchObject({
      status: 'working',
      statusMessage: '3 of 10: pages\\u202e',
      lastUpdatedAt: '2026-08-01T10:01:10.000Z',
      pollIntervalMs: 5_000,
    });
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(getTask(calls, taskId)).toMatchObject({
      pollIntervalMs: 15_000,
      ttlMs: 3_650_000 + RESULT_KEPT_MS,
    });
  });

  it('tells of a fault as the call itself would have been answered', async () => {
    const fault = Object.assign(new Error('Wrong.'), { code: -32_602, data: { field: 'x' } });
    const { taskId } = await taskOf(async () => {
      await new Promise((resolve) => setTimeout(resolve, TASK_AFTER_MS + 1));
      throw fault;
    });
    await vi.advanceTimersByTimeAsync(1);
    expect(getTask(calls, taskId)).toMatchObject({
      status: 'failed',
      statusMessage: 'Wrong.',
      error: { code: -32_602, message: 'Wrong.', data: { field: 'x' } },
    });
  });

  it('has failed where its answer cannot be shown, whether it is asked or watched', async () => {
    const offers = { form: true, url: false, roots: false, tasks: true };
    const { work, end } = endless();
    const show = () => {
      throw new Error('It cannot be shown.');
    };
    const request = requestOf({ connection: {}, offers, signal: NEVER });
    const answered = begun({ jobs: calls, request, work, show, taskAfterMs: TASK_AFTER_MS });
    await vi.advanceTimersByTimeAsync(TASK_AFTER_MS);
    const answer = await answered;
    if (!('task' in answer)) throw new Error('It is no task.');
    const { task } = answer;
    const seen: unknown[] = [];
    task.watch(() => seen.push(getTask(calls, task.id)));
    end('done');
    await task.ended;
    const failed = { status: 'failed', error: { message: 'It cannot be shown.' } };
    expect(seen).toMatchObject([failed]);
    expect(getTask(calls, task.id)).toMatchObject(failed);
  });

  it('keeps its result for half an hour, and no longer', async () => {
    const { work, end } = endless();
    const { taskId } = await taskOf(work);
    end('done');
    await vi.advanceTimersByTimeAsync(RESULT_KEPT_MS - 1);
    expect(getTask(calls, taskId).status).toBe('completed');
    await vi.advanceTimersByTimeAsync(1);
    expect(() => getTask(calls, taskId)).toThrow(/^taskId: there is no task '[\w-]+' of yours here\./);
  });

  it.each([undefined, 7, {}, '', '__proto__', 'x'.repeat(10_000)])('is not found by %j', (taskId) => {
    for (const asked of [
      () => getTask(calls, taskId),
      () => updateTask(calls, taskId, {}),
      () => cancelTask(calls, taskId),
    ])
      expect(asked).toThrow(expect.objectContaining({ code: -32_602 }));
  });

  it('is for another principal as if it had never been', async () => {
    const { work, isCancelled } = endless();
    const { taskId } = await taskOf(work);
    const messageOf = (asked: () => unknown) => {
      try {
        asked();
      } catch (thrown) {
        return (thrown as Error).message;
      }
      return 'It was found.';
    };
    const foreign = [
      messageOf(() => getTask(bobs, taskId)),
      messageOf(() => updateTask(bobs, taskId, {})),
      messageOf(() => cancelTask(bobs, taskId)),
    ];
    const unknown = messageOf(() => getTask(calls, 'A'.repeat(32)));
    expect(foreign.map((message) => message.replace(taskId, 'A'.repeat(32)))).toEqual(Array(3).fill(unknown));
    expect([getTask(calls, taskId).status, isCancelled()]).toEqual(['working', false]);
  });
});

describe('a task that is cancelled', () => {
  it('ends its work, and stays cancelled', async () => {
    const { work, isCancelled } = endless();
    const { taskId } = await taskOf(work);
    cancelTask(calls, taskId);
    expect(isCancelled()).toBe(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(getTask(calls, taskId)).toMatchObject({ status: 'cancelled' });
    cancelTask(calls, taskId);
    await vi.advanceTimersByTimeAsync(RESULT_KEPT_MS);
    expect(() => getTask(calls, taskId)).toThrow('there is no task');
  });

  it('keeps a result that it has already', async () => {
    const { work, end } = endless();
    const { taskId } = await taskOf(work);
    end('done');
    await vi.advanceTimersByTimeAsync(0);
    cancelTask(calls, taskId);
    expect(getTask(calls, taskId)).toMatchObject({ status: 'completed', result: 'done' });
  });
});

describe('a task that asks', () => {
  const asking = async (times = 1) => {
    const answers: unknown[] = [];
    const { taskId } = await taskOf(async (call) => {
      await new Promise((resolve) => setTimeout(resolve, TASK_AFTER_MS + 1));
      for (let n = 0; n < times; n++) answers.push(await call.caller.agent.elicit(FORM, call.signal));
      return 'done';
    });
    await vi.advanceTimersByTimeAsync(1);
    return { taskId, answers };
  };

  it('says so, as often as it is asked, and goes on with the answer', async () => {
    const { taskId, answers } = await asking();
    const asked = {
      status: 'input_required',
      inputRequests: { q1: { method: 'elicitation/create', params: FORM } },
    };
    expect(getTask(calls, taskId)).toMatchObject(asked);
    expect(getTask(calls, taskId)).toMatchObject(asked);
    updateTask(calls, taskId, { q1: ACCEPT });
    await vi.advanceTimersByTimeAsync(0);
    expect(getTask(calls, taskId)).toMatchObject({ status: 'completed', result: 'done' });
    expect(answers).toEqual([ACCEPT]);
  });

  it('takes no answer twice, and none to what it has not asked', async () => {
    const { taskId, answers } = await asking(2);
    updateTask(calls, taskId, { q2: ACCEPT, other: ACCEPT });
    expect(getTask(calls, taskId)).toMatchObject({ inputRequests: { q1: {} } });
    updateTask(calls, taskId, { q1: ACCEPT });
    await vi.advanceTimersByTimeAsync(0);
    updateTask(calls, taskId, { q1: ACCEPT });
    await vi.advanceTimersByTimeAsync(0);
    expect(getTask(calls, taskId)).toMatchObject({
      status: 'input_required',
      inputRequests: { q2: {} },
    });
    expect(answers).toHaveLength(1);
  });

  it('waits on where an answer has the wrong shape', async () => {
    const { taskId } = await asking();
    expect(() => updateTask(calls, taskId, { q1: { action: 'yes' } })).toThrow(
      'inputResponses.q1.action: got "yes", expected accept, decline or cancel.',
    );
    expect(getTask(calls, taskId).status).toBe('input_required');
  });

  it('goes on without an answer after ten minutes, and keeps its result', async () => {
    const { taskId, answers } = await asking();
    await vi.advanceTimersByTimeAsync(ANSWER_WITHIN_MS);
    expect(answers).toEqual([{ action: 'cancel' }]);
    expect(getTask(calls, taskId)).toMatchObject({ status: 'completed', result: 'done' });
  });

  it('asks before it is made by the answer of its call', async () => {
    const answer = await ask(async (call) => {
      await call.caller.agent.elicit(FORM, call.signal);
      return 'done';
    });
    expect(answer).toHaveProperty('requestState');
  });
});
