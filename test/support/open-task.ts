// A task of somebody's, as a long call leaves it, and what ends it.

import type { OpenCall, OpenRequest } from '../../src/mcp/calls/open-call.js';
import type { OpenCalls } from '../../src/mcp/calls/open-calls.js';

export type Result = object;
export type Calls = OpenCalls<Result, OpenRequest>;

export async function openTask(calls: Calls, principal: string) {
  let call: OpenCall<Result, OpenRequest> | undefined;
  let end: (result: Result) => void = () => {};
  const offers = { form: true, url: false, roots: false, tasks: true };
  const request = { client: {}, offers, signal: new AbortController().signal };
  const asked = { identity: { principal, tool: 't', args: {} }, request, taskAfterMs: 1 };
  const answer = await calls.answer(asked, (given) => {
    call = given;
    return new Promise((resolve) => {
      end = resolve;
      given.signal.addEventListener('abort', () => resolve({}));
    });
  });
  if (!('task' in answer) || call === undefined) throw new Error('It is no task.');
  return { id: answer.task.taskId, call, end };
}
