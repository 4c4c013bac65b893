// Jobs without an agent: requests as a job sees them, a job that is a task of somebody's, and what ends it.

import type { Job } from '../../src/mcp/calls/job.js';
import type { JobAnswer, Jobs } from '../../src/mcp/calls/jobs.js';
import type { AgentRequest } from '../../src/mcp/requests/agent-request.js';
import type { ToolAnswer } from '../../src/mcp/tools/definitions.js';
import { NO_AGENT } from '../../src/servers/asking/agent-capabilities.js';
import { NEVER } from './time.js';

type Asking = Pick<AgentRequest, 'connection' | 'offers' | 'signal'> & { readonly name?: string };

/** A request of 2026-07-28 as a job sees it; `name` is that of its client. Nobody is told anything. */
export const requestOf = ({ name: client = '', ...asking }: Asking): AgentRequest =>
  ({
    era: 'modern',
    caller: { client, agent: NO_AGENT, scope: '' },
    tell: () => {},
    ...asking,
  }) as unknown as AgentRequest;

/** Work whose result a job gives in place of the answer of a tool; shown as it is. */
export type Work = (job: Job) => Promise<unknown>;

type Begun = {
  readonly jobs: Jobs;
  readonly request: AgentRequest;
  readonly work: Work;
  readonly tool?: string;
  readonly args?: unknown;
  readonly softTimeoutMs?: number | undefined;
  readonly taskAfterMs?: number;
  /** Without it, the answer is shown as it is. */
  readonly show?: (answer: ToolAnswer) => object;
};

/** Begins a job, and answers its request. */
export function begun({ jobs, request, work, ...more }: Begun): Promise<JobAnswer> {
  const { tool = 't', args = {}, softTimeoutMs, taskAfterMs = 1, show = (answer) => answer } = more;
  const job = jobs.begin({
    tool,
    timeoutSeconds: 30,
    wantsPieces: false,
    request,
    work: work as (job: Job) => Promise<ToolAnswer>,
    show,
  });
  return jobs.answer(job, request, { tool, args }, { softTimeoutMs, taskAfterMs });
}

/** Begins a job that becomes a task at once. */
export async function openTask(jobs: Jobs) {
  let end: (result: object) => void = () => {};
  const offers = { form: true, url: false, roots: false, tasks: true };
  const answer = await begun({
    jobs,
    request: requestOf({ connection: {}, offers, signal: NEVER }),
    work: ({ signal }) =>
      new Promise((resolve) => {
        end = resolve;
        signal.addEventListener('abort', () => resolve({}));
      }),
  });
  if (!('task' in answer)) throw new Error('It is no task.');
  return { id: answer.task.id, call: answer.task, end: (result: object) => end(result) };
}
