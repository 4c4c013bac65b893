// A client that listens for its tasks is told what it would get by asking, when it changes and not more often than it helps.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ResumableCall } from '../../../src/mcp/calls/resumable-call.js';
import { ResumableCalls } from '../../../src/mcp/calls/resumable-calls.js';
import { watchTasks } from '../../../src/mcp/calls/task-watch.js';
import { requestOf } from '../../support/open-task.js';
import { NEVER } from '../../support/time.js';

type Call = ResumableCall<string>;

const ANN = 'token:ann';
const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };

let calls: ResumableCalls<string>;
beforeEach(() => {
  vi.useFakeTimers();
  calls = new ResumableCalls();
});
afterEach(() => {
  calls[Symbol.dispose]();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A task of ann's, its call, and what ends it. */
async function task() {
  let call!: Call;
  let end!: (result: string) => void;
  const offers = { form: true, url: false, roots: false, tasks: true };
  const asked = {
    identity: { principal: ANN, tool: 't', args: {} },
    request: requestOf({ connection: {}, offers, signal: NEVER }),
    taskAfterMs: 1,
  };
  const answered = calls.answer(asked, (given) => {
    call = given;
    return new Promise((resolve) => {
      end = resolve;
    });
  });
  await vi.advanceTimersByTimeAsync(1);
  const answer = await answered;
  if (!('task' in answer)) throw new Error('It is no task.');
  return { id: answer.task.taskId, call, end: (result: string) => end(result) };
}

function watch(ids: readonly string[], principal = ANN) {
  const told: object[] = [];
  const watched = watchTasks(calls.tasks, principal, ids, (one) => void told.push(one));
  return { ...watched, told };
}

it('tells how a task is, what it asks, and its result', async () => {
  const { id, call, end } = await task();
  const { told, taskIds, start } = watch([id, id]);
  expect([taskIds, told]).toEqual([[id], []]);
  start();
  expect(told).toEqual([calls.tasks.get(ANN, id)]);
  const asking = call.caller.agent.elicit(FORM, NEVER);
  await vi.advanceTimersByTimeAsync(0);
  expect(told[1]).toMatchObject({ taskId: id, status: 'input_required' });
  const [key] = Object.keys(Object(told[1]).inputRequests);
  calls.tasks.update(ANN, id, { [String(key)]: { action: 'decline' } });
  await asking;
  expect(told[2]).toMatchObject({ status: 'working' });
  end('done');
  await vi.advanceTimersByTimeAsync(0);
  expect(told.slice(3)).toEqual([expect.objectContaining({ status: 'completed', result: 'done' })]);
  expect(told[3]).toEqual(calls.tasks.get(ANN, id));
});

it('tells words of progress at most once a second, and the last of them', async () => {
  const { id, call } = await task();
  const { told, start, stop } = watch([id]);
  start();
  for (let step = 1; step <= 500; step++) {
    call.tell({ type: 'said', params: { progress: step, message: `step ${step}` } });
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
  calls.tasks.cancel(ANN, other.id);
  expect(told.map((each) => Object(each).status)).toEqual(['completed', 'working', 'cancelled']);
});

it('says nothing of tasks of others, nor after it was stopped', async () => {
  const { id, end } = await task();
  const eve = watch([id, 'none'], 'token:eve');
  eve.start();
  const { told, start, stop } = watch(['none', id]);
  start();
  stop();
  end('done');
  await vi.advanceTimersByTimeAsync(0);
  expect([eve.taskIds, eve.told]).toEqual([[], []]);
  expect(told).toHaveLength(1);
});
