// A task of somebody's, as a detached call leaves it, and what ends it.

import type { ResumableCall } from '../../src/mcp/calls/resumable-call.js';
import type { ResumableCalls } from '../../src/mcp/calls/resumable-calls.js';
import type { AgentRequest } from '../../src/mcp/requests/agent-request.js';
import { NO_AGENT } from '../../src/servers/asking/agent-capabilities.js';
import { NEVER } from './time.js';

export type Result = object;
export type Calls = ResumableCalls<Result>;

type Asking = Pick<AgentRequest, 'connection' | 'offers' | 'signal'> & { readonly name?: string };

/** A request as a call that outlives it sees it; `name` is that of its client. Nobody is told anything. */
export const requestOf = ({ name: client = '', ...asking }: Asking): AgentRequest =>
  ({ caller: { client, agent: NO_AGENT, scope: '' }, tell: () => {}, ...asking }) as unknown as AgentRequest;

export async function openTask(calls: Calls, principal: string) {
  let call: ResumableCall<Result> | undefined;
  let end: (result: Result) => void = () => {};
  const offers = { form: true, url: false, roots: false, tasks: true };
  const request = requestOf({ connection: {}, offers, signal: NEVER });
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
