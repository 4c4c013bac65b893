// Calls of tools by agents of revision 2026-07-28, which take no requests: what a call has to ask goes into an answer, and the
// agent calls again with what the person said. Connects the calls under way (open-calls/) with the requests of agents.

import type { CallToolResult, Result } from '@modelcontextprotocol/server';
import { WrongParams } from '../../wire/wrong-params.js';
import { described } from '../requests/complaint.js';
import { fieldsOf } from '../requests/request-params.js';
import type { CallLeg, ModernCalls } from './call-leg.js';
import { offersOf, TASKS_EXTENSION } from './client-offers.js';
import type { OpenCall, OpenRequest } from './open-call.js';
import type { CallAnswer, OpenCalls } from './open-calls.js';
import { answerTaskRequests } from './task-requests.js';

/** A request, and what its call may tell it. */
export type LegRequest = OpenRequest & { readonly leg: CallLeg };
/** The calls of one principal. */
export type ToolCalls = OpenCalls<CallToolResult, LegRequest>;

export type ModernCallsParts = {
  readonly calls: ToolCalls;
  /** Id of the principal. */
  readonly principal: string;
  readonly taskAfterSeconds: number;
};

/** What server objects of this principal answer calls and tasks with. */
export function modernCallsOf({ calls, principal, taskAfterSeconds }: ModernCallsParts): ModernCalls {
  return {
    capabilities: { extensions: { [TASKS_EXTENSION]: {} } },
    offer: (server) => answerTaskRequests(server, calls.tasks, principal),
    answer: async ({ request, params, own }, begin): Promise<Result> => {
      const offers = offersOf(request.capabilities);
      const { requestState, inputResponses } = goesOn(request.context.mcpReq);
      // Nothing that it could be asked, and no task: the call lasts as long as its request.
      if (requestState === undefined && !Object.values(offers).includes(true)) return begin(own);
      const { name, arguments: args } = fieldsOf(params);
      const asked = {
        identity: { principal, tool: String(name), args },
        request: { client: request.connection, offers, signal: own.signal, leg: own },
        requestState,
        inputResponses,
        taskAfterMs: taskAfterSeconds * 1000,
      };
      return resultOf(await calls.answer(asked, (call) => begin(legFrom(call, own))));
    },
  };
}

type Retry = { readonly requestState?: () => unknown; readonly inputResponses?: unknown };

/** What names the call that a request goes on with, as the client has sent it. */
function goesOn({ requestState, inputResponses }: Retry): {
  readonly requestState: string | undefined;
  readonly inputResponses: unknown;
} {
  // Some hosts write null for what they leave out.
  const state = requestState?.() ?? undefined;
  if (state !== undefined && typeof state !== 'string')
    throw new WrongParams(
      `requestState: got ${described(state)}, expected the text of the answer that asked, or none for a new call.`,
    );
  return { requestState: state, inputResponses };
}

/** A leg that goes on from request to request: it tells the one that is open, and nobody while a person thinks. */
function legFrom(call: OpenCall<CallToolResult, LegRequest>, { caller }: CallLeg): CallLeg {
  const open = () => call.request?.leg;
  return {
    caller: { ...caller, agent: call.agent },
    signal: call.signal,
    isWaitedFor: () => open() !== undefined,
    onProgress: (params) => {
      call.report(params.message);
      open()?.onProgress?.(params);
    },
    logLevel: () => open()?.logLevel(),
    onLog: (params) => open()?.onLog(params),
  };
}

function resultOf(answer: CallAnswer<CallToolResult>): Result {
  if ('result' in answer) return answer.result;
  if ('task' in answer) return { resultType: 'task', ...answer.task };
  return { resultType: 'input_required', ...answer };
}
