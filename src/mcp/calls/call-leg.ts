// What a call of a tool needs of the request that asks for it: who calls, whom it can ask, whom it tells, and what ends it.
// A call may outlive its request (an agent of 2026-07-28 is asked by an answer, and calls again), so this is given apart
// from the request: what begins the call may give it one that goes on from request to request.

import type { CallToolResult, Result, ServerCapabilities } from '@modelcontextprotocol/server';
import type { OutputStream } from '../../base/process/streams.js';
import type { CallContext } from '../../run/calls/call-context.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { AgentRequest } from '../requests/agent-request.js';
import type { AgentServer } from '../requests/agent-server.js';
import type { LogParams, McpLogLevel } from '../requests/log-notifications.js';
import type { ProgressParams } from '../requests/progress.js';

export type CallLeg = Pick<CallContext, 'caller' | 'signal'> & {
  /** Whether a request waits for the answer just now; none does for a task, nor while a person thinks. */
  readonly isWaitedFor: () => boolean;
  /** Undefined where the agent does not want to be told. */
  readonly onProgress: ((params: ProgressParams) => void) | undefined;
  /** Undefined where it wants no log; asked at every piece of output. */
  readonly logLevel: () => McpLogLevel | undefined;
  readonly onLog: (params: LogParams) => void;
  /** For our own command line, which wants all that is printed; `base64` has the bytes where they are no text. */
  readonly onOutput?: (stream: OutputStream, text: string, base64: string | null) => void;
};

/** A leg that lasts as long as `request`. `agent` is whom the call may ask, `scope` where names of sessions mean something. */
export function legOf(
  request: AgentRequest,
  agent: AgentCapabilities,
  logLevel: () => McpLogLevel | undefined,
  scope: string,
): CallLeg {
  const { client, progressToken, signal } = request;
  return {
    caller: { client, agent, scope },
    signal,
    isWaitedFor: () => true,
    onProgress:
      progressToken === undefined
        ? undefined
        : (params) =>
            request.notify({ method: 'notifications/progress', params: { progressToken, ...params } }),
    logLevel,
    onLog: (params) => request.notify({ method: 'notifications/message', params }),
  };
}

/**
 * What calls of agents of 2026-07-28 can do besides: ask the person by an answer, be answered by a task. Without it, such a
 * call finds nobody whom it could ask.
 */
export type ModernCalls = {
  /** Besides the bridge's own, such as `{ extensions: { 'io.modelcontextprotocol/tasks': {} } }`. */
  readonly capabilities?: ServerCapabilities;
  /** Further methods, for each server object that is made. Names that an earlier version had need `setRequestHandler`. */
  readonly offer?: (server: AgentServer) => void;
  /**
   * The result of the request: that of the call, or one that asks (`resultType: 'input_required'`) or promises. `own` lasts
   * as long as the request; `begin` starts the call with it, or with one that lasts longer, and resolves with the call's
   * result. A request that goes on with an earlier call (`request.context.mcpReq.inputResponses`) begins none.
   */
  readonly answer: (
    call: { readonly request: AgentRequest; readonly params: unknown; readonly own: CallLeg },
    begin: (leg: CallLeg) => Promise<CallToolResult>,
  ) => Promise<Result>;
};
