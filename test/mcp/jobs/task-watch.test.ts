// A client that listens for its tasks is told what it would get by asking, when it changes and not more often than it helps.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Jobs } from '../../../src/mcp/calls/jobs.js';
import { cancelTask, getTask, updateTask, watchTasks } from '../../../src/mcp/calls/tasks.js';
import { begun, requestOf } from '../../support/open-task.js';
import { NEVER } from '../../support/time.js';

const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };

/** Ann's. */
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

/** A task of ann's, its call, and what ends it. */
async function task() {
  let end!: (result: string) => void;
  const offers = { form: true, url: false, roots: false, tasks: true };
  const request = requestOf({ connection: {}, offers, signal: NEVER });
  const work = () =>
    new Promise((resolve) => {
      end = resolve;
    });
  const answered = begun({ jobs: calls, request, work });
  await vi.advanceTimersByTimeAsync(1);
  const answer = await answered;
  if (!('task' in answer)) throw new Error('It is no task.');
  return { id: answer.task.id, call: answer.task, end: (result: string) => end(result) };
}

function watch(ids: readonly string[], jobs = calls) {
  const told: object[] = [];
  const watched = watchTasks(jobs, ids, (one) => void told.push(one));
  return { ...watched, told };
}

it('tells how a task is, what it asks, and its result', async () => {
  const { id, call, end } = await task();
  const { told, taskIds, start } = watch([id, id]);
  expect([taskIds, told]).toEqual([[id], []]);
  start();
  expect(told).toEqual([getTask(calls, id)]);
  const asking = call.caller.agent.elicit(FORM, NEVER);
  await vi.advanceTimersByTimeAsync(0);
  expect(told[1]).toMatchObject({ taskId: id, status: 'input_required' });
  const [key] = Object.keys(Object(told[1]).inputRequests);
  updateTask(calls, id, { [String(key)]: { action: 'decline' } });
  await asking;
  expect(told[2]).toMatchObject({ status: 'working' });
  end('done');
  await vi.advanceTimersByTimeAsync(0);
  expect(told.slice(3)).toEqual([expect.objectContaining({ status: 'completed', result: 'done' })]);
  expect(told[3]).toEqual(getTask(calls, id));
});

it('tells words of progress at most once a second, and the last of them', async () => {
  const { id, call } = await task();
  const { told, start, stop } = watch([id]);
  start();
  for (let step = 1; step <= 500; step++) {
    call.tell({ type: 'progress', done: step, total: null, message: `step ${step}` });
    await vi.advanceTimersByTimeAsync(10);
  }
  await vi.advanceTimersByTimeAsync(1_000);
  expect(told.length).toBeGreaterThanOrEqual(5);
  expect(told.length).toBeLessThanOrEqual(7);
  expect(told.at(-1)).toMatchObject({ statusMessage: 'step 500' });
  stop();
});

it('tells of a task that has ended already once, and of one that is cancelled', async () => {
  const [one, other] = [await task(), await task()];
  one.end('early');
  await vi.advanceTimersByTimeAsync(0);
  const { told, start } = watch([one.id, other.id]);
  start();
  cancelTask(calls, other.id);
  expect(told.map((each) => Object(each).status)).toEqual(['completed', 'working', 'cancelled']);
});

it('says nothing of tasks of others, nor after it was stopped', async () => {
  const { id, end } = await task();
  using eves = new Jobs(60);
  const eve = watch([id, 'none'], eves);
  eve.start();
  const { told, start, stop } = watch(['none', id]);
  start();
  stop();
  end('done');
  await vi.advanceTimersByTimeAsync(0);
  expect([eve.taskIds, eve.told]).toEqual([[], []]);
  expect(told).toHaveLength(1);
});
