// Calls of tools by agents of revision 2026-07-28, which take no requests: what a call has to ask goes into an answer, and the
// agent calls again with what the person said. Connects the calls under way (resumable-calls/) with the requests of agents.

import {
  type CallToolResult,
  MissingRequiredClientCapabilityError,
  type Result,
  type ServerCapabilities,
} from '@modelcontextprotocol/server';
import { WrongParams } from '../../wire/wrong-params.js';
import type { AgentContext, AgentRequest } from '../requests/agent-request.js';
import type { AgentServer } from '../requests/agent-server.js';
import { offersOf, TASKS_EXTENSION } from '../requests/client-offers.js';
import { described, fieldsOf } from '../requests/complaint.js';
import type { CallAnswer, ResumableCalls } from './resumable-calls.js';
import type { Tasks } from './tasks.js';

/**
 * Further abilities of calls of agents of 2026-07-28: to ask the person by an answer, to be answered by a task. Without
 * these, such a call finds nobody whom it could ask.
 */
export type ModernCalls = {
  /** Besides the bridge's own, such as `{ extensions: { 'io.modelcontextprotocol/tasks': {} } }`. */
  readonly capabilities?: ServerCapabilities;
  /** Further methods, for each server object that is made. */
  readonly offer?: (server: AgentServer) => void;
  /**
   * The result of the request: that of the call, or one that asks (`resultType: 'input_required'`) or promises. `begin` starts
   * the call with the request, or with what lasts longer, and resolves with the call's result. A request that goes on with an earlier call (`request.context.mcpReq.inputResponses`) begins none.
   */
  readonly answer: (
    call: { readonly request: AgentRequest; readonly params: unknown },
    begin: (context: AgentContext) => Promise<CallToolResult>,
  ) => Promise<Result>;
};

/** The calls of one principal. */
export type ToolCalls = ResumableCalls<CallToolResult>;

export type ModernCallsParts = {
  readonly calls: ToolCalls;
  /** Id of the principal. */
  readonly principal: string;
  readonly taskAfterSeconds: number;
};

/** Returns the means by which server objects of this principal answer calls and tasks. */
export function modernCallsOf({ calls, principal, taskAfterSeconds }: ModernCallsParts): ModernCalls {
  return {
    capabilities: { extensions: { [TASKS_EXTENSION]: {} } },
    offer: (server) => answerTaskRequests(server, calls.tasks, principal),
    answer: async ({ request, params }, begin): Promise<Result> => {
      const { requestState, inputResponses } = goesOn(request.context.mcpReq);
      // Nothing that it could be asked, and no task: the call lasts as long as its request.
      if (requestState === undefined && !Object.values(request.offers).includes(true)) return begin(request);
      const { name, arguments: args } = fieldsOf(params);
      const asked = {
        identity: { principal, tool: String(name), args },
        request,
        requestState,
        inputResponses,
        taskAfterMs: taskAfterSeconds * 1000,
      };
      return resultOf(await calls.answer(asked, begin));
    },
  };
}

type Retry = { readonly requestState?: () => unknown; readonly inputResponses?: unknown };

/** State and answers by which a request goes on with a call, as the client has sent them. */
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

function resultOf(answer: CallAnswer<CallToolResult>): Result {
  if ('result' in answer) return answer.result;
  if ('task' in answer) return { resultType: 'task', ...answer.task };
  return { resultType: 'input_required', ...answer };
}

// The requests of the extension io.modelcontextprotocol/tasks, by which a client follows a call that was answered with a task.

const REQUIRED = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } };

/** Answers tasks/get, tasks/update and tasks/cancel for this principal. */
function answerTaskRequests<R extends object>(server: AgentServer, tasks: Tasks<R>, principal: string): void {
  const answer = (method: string, handler: (taskId: unknown, request: AgentRequest) => object) =>
    server.answer(method, (params, request) => {
      if (!offersOf(request.capabilities).tasks)
        throw new MissingRequiredClientCapabilityError(
          REQUIRED,
          `${method} is for clients that declare the extension ${TASKS_EXTENSION} with the request.`,
        );
      return { ...handler(fieldsOf(params)['taskId'], request) };
    });
  answer('tasks/get', (taskId) => tasks.get(principal, taskId));
  answer('tasks/update', (taskId, { context }) => {
    // Where the SDK puts it, as of every request.
    tasks.update(principal, taskId, context.mcpReq.inputResponses);
    return {};
  });
  answer('tasks/cancel', (taskId) => {
    tasks.cancel(principal, taskId);
    return {};
  });
}
