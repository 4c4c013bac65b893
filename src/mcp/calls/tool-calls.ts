// A call of a tool, from the request to the result that the client is sent: the tool is found, a job is begun or gone on with,
// and its answer is shown as this client can read it.

import {
  type CallToolRequest,
  type CallToolResult,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server';
import { asBridgeError } from '../../base/errors.js';
import type { BridgeEvent, Observer } from '../../base/log/events.js';
import { didYouMean } from '../../base/text/closest.js';
import { describeValue, echo } from '../../base/text/echo.js';
import { shownName } from '../../base/text/shown-name.js';
import { beginSpan } from '../../base/trace.js';
import { softTimeoutOf as hostSoftTimeoutOf } from '../../hosts/records/all-hosts.js';
import { hasKept } from '../../run/answer/files.js';
import { showStrings } from '../../run/answer/payload.js';
import { isStructured, render } from '../../run/answer/render.js';
import type { CallContext } from '../../run/calls/call-context.js';
import {
  type CallProblem,
  OUTCOME_KEY,
  type Outcome,
  outcomeToWire,
  outcomeWithoutRun,
  withoutSecrets,
} from '../../run/outcome/outcome.js';
import { samplerOf } from '../../settings/environment/otel-export.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { ToolName } from '../../settings/environment/variables.js';
import type { Bridge } from '../../tenant/bridge.js';
import { WrongParams } from '../../wire/envelope.js';
import type { AgentRequest } from '../requests/agent-request.js';
import type { AgentServer } from '../requests/agent-server.js';
import { callParams, complaint, fieldsOf } from '../requests/complaint.js';
import { cleanArguments } from '../tools/arguments.js';
import type { BridgeTool, ToolAnswer } from '../tools/definitions.js';
import { execute } from '../tools/execute.js';
import { executeCode } from '../tools/execute-code.js';
import { runPython } from '../tools/run-python.js';
import { type JobAnswer, type Jobs, NoSuchJob } from './jobs.js';
import type { CallIdentity } from './request-state.js';
import { createdTask } from './tasks.js';

/** Versions are dates; before this one there is no `resource_link`, and clients refuse an answer with one. */
const LINKS_SINCE = '2025-06-18';

/** Whether a client of this version knows links to resources; one that has not said its version does. */
export const knowsLinks = (protocol: string | undefined): boolean =>
  protocol === undefined || protocol >= LINKS_SINCE;

const TOOLS: Readonly<Record<ToolName, (settings: Settings) => BridgeTool>> = {
  run_python: runPython,
  execute_code: executeCode,
  execute,
};

const made = new WeakMap<Settings, ReadonlyMap<string, BridgeTool>>();

/** Tools that the operator offers, by name; made once for these settings, since each request may ask for the tools. */
export function toolsOf(settings: Settings): ReadonlyMap<string, BridgeTool> {
  const known = made.get(settings);
  if (known !== undefined) return known;
  const tools = new Map(settings.tools.map((name) => [name, TOOLS[name](settings)]));
  made.set(settings, tools);
  return tools;
}

/** All there are, offered or not. */
export const allTools = (settings: Settings): ReadonlyMap<string, BridgeTool> =>
  new Map(Object.entries(TOOLS).map(([name, make]) => [name, make(settings)]));

export type CallsParts = {
  readonly tools: ReadonlyMap<string, BridgeTool>;
  readonly bridge: Bridge;
  readonly jobs: Jobs;
  readonly observer: Observer;
  /** The call that is answered by `request` has left something to read. */
  readonly onKept: (request: AgentRequest) => void;
};

/** Answers tools/call. */
export function answerCalls(server: AgentServer, parts: CallsParts): void {
  const { tools, bridge, onKept } = parts;
  server.answer('tools/call', async (given, request) => {
    const params = callParams(given);
    const tool = toolNamed(params.name, tools);
    const show = shownTo(request, tool, bridge, server);
    // Some hosts read only what their list of resources has, so they are told ahead of the answer.
    const tellKept = (answer: ToolAnswer) => {
      if (!('isRelayed' in answer) && hasKept(answer)) onKept(request);
    };
    const answered = await callTool({ ...parts, tool, show }, params, request);
    if ('task' in answered) {
      const { task } = answered;
      void task.ended.then(() => task.end && 'answer' in task.end && tellKept(task.end.answer));
      return { resultType: 'task', ...createdTask(task) };
    }
    if ('inputRequests' in answered) return { resultType: 'input_required', ...answered };
    const { answer } = answered;
    tellKept(answer);
    return show(answer);
  });
}

/** Shows answers as the client of this request can read them; keeps neither the request nor what it holds. */
function shownTo(
  { clientName: client, protocol }: AgentRequest,
  tool: BridgeTool,
  { settings, isForCommandLine }: Bridge,
  server: AgentServer,
): (answer: ToolAnswer) => CallToolResult {
  const reader = { client, links: knowsLinks(protocol) };
  return (answer) => {
    if (isForCommandLine && !('isRelayed' in answer)) return wholeResult(answer);
    const result = resultOf(answer, tool, settings, reader);
    // A server's answer may be structured in a way that only later agents know.
    return 'isRelayed' in answer ? server.projectCallToolResult(result, undefined) : result;
  };
}

/** Throws -32602 that lists them where there is none of this name. */
export function toolNamed(name: string, tools: ReadonlyMap<string, BridgeTool>): BridgeTool {
  const tool = tools.get(name);
  if (tool !== undefined) return tool;
  const known = [...tools.keys()];
  throw new WrongParams(
    `There is no tool '${shownName(name)}'.${didYouMean(name, known)} Tools: ${known.join(', ')}.`,
  );
}

/** The answer as this client can read it; `links`: whether the client knows links to resources. */
export function resultOf(
  answer: ToolAnswer,
  tool: BridgeTool,
  { explicitlySet, outputMode, structured }: Settings,
  { client, links }: { readonly client: string; readonly links: boolean },
): CallToolResult {
  if ('isRelayed' in answer) {
    const result = showStrings(withoutClaims(answer.result));
    const { structuredContent, ...rest } = result;
    const isWanted = answer.isRelayed || isStructured({ structured, client });
    return (isWanted && structuredContent !== undefined ? result : rest) as CallToolResult;
  }
  const mode = explicitlySet.has('MCP_BRIDGE_OUTPUT_MODE') ? outputMode : tool.outputMode;
  return render(answer, { mode, structured, client, links }) as unknown as CallToolResult;
}

/**
 * Removes what a server says of itself as the maker of an answer and of the answer's kind, which is between the server and
 * the bridge: the agent is answered by the bridge, and would take a relayed question for one of ours.
 */
export function withoutClaims({
  resultType: _resultType,
  _meta: meta,
  ...result
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (typeof meta !== 'object' || meta === null) return result;
  const { [SERVER_INFO_META_KEY]: _serverInfo, ...rest } = meta as Readonly<Record<string, unknown>>;
  return Object.keys(rest).length === 0 ? result : { ...result, _meta: rest };
}

type ToolCall = Pick<CallsParts, 'bridge' | 'jobs' | 'observer'> & {
  readonly tool: BridgeTool;
  readonly show: (answer: ToolAnswer) => CallToolResult;
};

/**
 * Begins a job, or goes on with one. A fault of ours is the call's answer and a line in the log, never the end of the bridge.
 * Throws WrongParams for a state of an earlier answer, or answers to it, that cannot be taken.
 */
async function callTool(
  call: ToolCall,
  { name, arguments: args }: CallToolRequest['params'],
  request: AgentRequest,
): Promise<JobAnswer> {
  const { tool, bridge, jobs } = call;
  const { settings } = bridge;
  const { timeoutSeconds, taskAfterSeconds } = settings;
  const identity: CallIdentity = { tool: name, args };
  const waits = (isGoingOn: boolean) => ({
    taskAfterMs: taskAfterSeconds * 1000,
    softTimeoutMs: bridge.isForCommandLine
      ? commandLineSoftTimeout(isGoingOn)
      : callSoftTimeout(request, settings),
  });
  const { state, inputResponses } = goesOn(request);
  if (state !== undefined) {
    const job = jobs.resume(request, identity, state, inputResponses);
    return await jobs.answer(job, request, identity, waits(true));
  }
  try {
    const cleaned = cleanArguments(args, tool.definition.inputSchema);
    const asked = goOnIn(cleaned);
    if (asked === undefined) {
      const letGo = request.keepBody();
      const facts = factsOf(tool, request);
      const job = jobs.begin({
        tool: tool.definition.name,
        timeoutSeconds: askedSeconds(cleaned, settings),
        wantsPieces: bridge.isForCommandLine,
        request,
        work: ({ caller, signal, tell }) =>
          toldOf(call, facts, caller, (traced) =>
            faultsOf(call, tool.call(cleaned, { caller: traced, signal, tell }, bridge)),
          ),
        show: call.show,
      });
      void job.ended.then(letGo);
      return await jobs.answer(job, request, identity, waits(false));
    }
    if ('message' in asked) return { answer: outcomeWithoutRun('validation_error', asked, timeoutSeconds) };
    return await jobs.goOn(asked, request, identity, waits(true));
  } catch (thrown) {
    if (thrown instanceof NoSuchJob)
      return { answer: outcomeWithoutRun('validation_error', complaint(thrown.message), timeoutSeconds) };
    return { answer: faultOf(call, thrown) };
  }
}

type ToldCall = Pick<Extract<BridgeEvent, { type: 'call.ended' }>, 'tool' | 'protocol' | 'transport' | 'id'>;

/** Facts about a call that are told at its end; the request itself is not kept until then. */
const factsOf = (tool: BridgeTool, { context, protocol }: AgentRequest): ToldCall => ({
  tool: tool.definition.name,
  protocol,
  transport: context.http === undefined ? 'pipe' : 'tcp',
  id: context.mcpReq.id,
});

/** Answer of `work`, which is given the caller with the step of this call in its trace; tells of the call when it has ended. */
async function toldOf(
  { bridge, observer }: ToolCall,
  facts: ToldCall,
  caller: CallContext['caller'],
  work: (caller: CallContext['caller']) => Promise<ToolAnswer>,
): Promise<ToolAnswer> {
  const trace = beginSpan(caller.trace, samplerOf(bridge.settings.otel));
  const startedAt = performance.now();
  const answer = await work(trace === undefined ? caller : { ...caller, trace });
  const failed = 'isRelayed' in answer ? answer.result['isError'] === true : answer.status !== 'success';
  const durationMs = performance.now() - startedAt;
  observer({
    type: 'call.ended',
    ...facts,
    client: caller.client,
    durationMs,
    failed,
    span: trace?.span,
  });
  return answer;
}

/** Answer of a tool, or its fault as an answer. */
async function faultsOf(call: ToolCall, answer: Promise<ToolAnswer>): Promise<ToolAnswer> {
  try {
    return await answer;
  } catch (thrown) {
    return faultOf(call, thrown);
  }
}

function faultOf({ tool, bridge, observer }: ToolCall, thrown: unknown): Outcome {
  const { code, message, remedy } = asBridgeError(thrown);
  observer({ type: 'bridge.fault', where: tool.definition.name, message });
  const outcome = outcomeWithoutRun('error', { type: code, message, remedy }, bridge.settings.timeoutSeconds);
  return withoutSecrets(outcome, (text) => bridge.redactor.redact(text));
}

/** State and answers by which a request of 2026-07-28 goes on with a job, as its client has sent them. */
function goesOn({ era, context }: AgentRequest): {
  readonly state: string | undefined;
  readonly inputResponses?: unknown;
} {
  if (era === 'legacy') return { state: undefined };
  const { requestState, inputResponses } = context.mcpReq;
  // Some hosts write null for what they leave out.
  const state: unknown = requestState?.() ?? undefined;
  if (state !== undefined && typeof state !== 'string')
    throw new WrongParams(
      `requestState: got ${describeValue(state)}, expected the requestState of the answer that asked, or none for a new call.`,
    );
  return { state, inputResponses };
}

/**
 * A person at a terminal is answered soon, so that they see what is printed, and then waits for as long as it takes. What has
 * a handle can be stopped at Ctrl-C with an answer, which a request that is taken back does not get.
 */
const commandLineSoftTimeout = (isGoingOn: boolean): number | undefined => (isGoingOn ? undefined : 1_000);

const wholeResult = (outcome: Outcome): CallToolResult => ({
  content: [],
  _meta: { [OUTCOME_KEY]: outcomeToWire(outcome) },
});

/** Timeout that a call asks for, or the default, in seconds; checked or not, since the number is only told again. */
function askedSeconds(args: unknown, { timeoutSeconds }: Settings): number {
  const { timeout, timeout_ms: timeoutMs } = fieldsOf(args);
  if (typeof timeoutMs === 'number') return timeoutMs / 1000;
  return typeof timeout === 'number' ? timeout : timeoutSeconds;
}

/** How long this call may keep its host waiting, in milliseconds; undefined for as long as it takes. */
function callSoftTimeout(
  { caller, wantsProgress }: AgentRequest,
  { softTimeoutSeconds }: Settings,
): number | undefined {
  if (softTimeoutSeconds === 0) return undefined;
  return (softTimeoutSeconds ?? hostSoftTimeoutOf(caller.client, wantsProgress)) * 1000;
}

// `wait` and `stop`, which every tool that runs something takes in place of its other arguments: they name a call that was
// answered before its end.

const HANDLE = 'the handle of a run that goes on, such as "r-7hq2m5xw3v8kd4np"';

/** Request in the arguments about a call that goes on; undefined where the arguments begin a call. */
export function goOnIn(
  args: unknown,
): { readonly wait: string } | { readonly stop: string } | CallProblem | undefined {
  if (typeof args !== 'object' || args === null) return undefined;
  const given = args as Readonly<Record<string, unknown>>;
  const names = (['wait', 'stop'] as const).filter((name) => given[name] !== undefined);
  const [name] = names;
  if (name === undefined) return undefined;
  if (names.length > 1) return complaint('stop: got it together with wait, expected one of the two.');
  const handle = given[name];
  if (typeof handle !== 'string')
    return complaint(`${name}: got ${describeValue(handle)}, expected ${HANDLE}.`);
  const others = Object.keys(given).filter((other) => other !== name);
  if (others.length > 0)
    return complaint(
      `${name}: got it together with ${others.map(echo).join(', ')}, expected it alone: the run has its arguments.`,
      `To begin another run, leave ${name} out.`,
    );
  return name === 'wait' ? { wait: handle } : { stop: handle };
}
