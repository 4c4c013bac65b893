// One tool or prompt of one server, asked for by the agent itself and not by code: no sandbox, and the same guard, policy, limits and
// audit as every call from inside one. What the server answers is relayed as it is.

import { asBridgeError, BridgeError } from '../../base/errors.js';
import { RawJson, sliceAt, stringify } from '../../base/json/json-text.js';
import { ownCommand } from '../../base/process/own-command.js';
import { shownName, shownTool } from '../../base/text/shown-name.js';
import { Deadline, type StopClock } from '../../base/waiting/deadline.js';
import { RunApprovals } from '../../policy/approvals/run-approvals.js';
import { AskingTime, StandingClock } from '../../policy/approvals/standing-clock.js';
import type { ServerDoc } from '../../wire/frames.js';
import { digestOf } from '../audit/digest.js';
import type { CallContext } from '../calls/call-context.js';
import { type CallScope, guardCalls } from '../calls/guarded-calls.js';
import { type GuestCall, promptCall, toolCall } from '../calls/guest-call.js';
import { LoadedServers, notLoaded } from '../calls/on-demand.js';
import { SavedByRun } from '../calls/saved-tools.js';
import { RunRecord, type RunServices } from './run-request.js';

type DirectCall = {
  /** Unique among all bridges. */
  readonly id: string;
  /** Name of the call's language in an audit. */
  readonly language: string;
  readonly server: string;
  /** Seconds that the call may take, as far as the call says. */
  readonly timeoutSeconds: number;
  /** How long its server may be silent before nobody waits for it any more. */
  readonly softTimeoutSeconds: number;
} & ServerSubject;

/** The tool or the prompt that the server is asked for. */
type ServerSubject =
  | { readonly tool: string; readonly args: unknown }
  | { readonly prompt: string; readonly args: Readonly<Record<string, string>> };

/** `setBy` names what has chosen the server, for its errors. */
export type ServerCall = ServerSubject &
  Pick<DirectCall, 'server' | 'timeoutSeconds' | 'softTimeoutSeconds'> & { readonly setBy: string };

export type DirectServices = Pick<RunServices, 'calls' | 'approvals' | 'saved' | 'observer'> & {
  readonly servers: Omit<RunServices['servers'], 'wanted'>;
};

/** A server's own words on the failure are its answer, which the audit does not keep. */
const TOOL_FAILED = { type: 'E_TOOL_FAILED', message: 'The server answered that its tool has failed.' };

/** The text of a CallToolResult, or of a GetPromptResult. Throws a BridgeError where there is none, E_SERVER_UNAVAILABLE where none came in time. */
export async function callDirectly(
  call: DirectCall,
  services: DirectServices,
  context: CallContext,
): Promise<RawJson> {
  const record = recordOf(call, services, context);
  using deadline = new Deadline(context.signal);
  deadline.start(call.softTimeoutSeconds * 1000);
  const servers = [call.server];
  // While a person thinks, the server's silence is not counted.
  using clock = new StandingClock(deadline);
  using approvals = approvalsOf(call, services, context, clock.stop);
  using asked = new AskingTime(clock.stop, (services.approvals?.waitSeconds ?? 0) * 1000);
  let calls = 0;
  try {
    const doc = await services.servers.open(call.server, deadline.signal);
    calls = 1;
    const meter = {
      calls,
      inFlight: 1,
      waitingFor: shownTool(call.server, 'prompt' in call ? call.prompt : call.tool),
      get asking() {
        return approvals?.waiting ?? '';
      },
    };
    context.tell({ type: 'started', meter });
    const { trace } = context.caller;
    const asking = { approvals, stopClock: asked.ask, tell: context.tell, trace };
    const answer = await ask(call, doc, services, asking, deadline.signal);
    const hasFailed = sliceAt(answer.text, ['isError']) === 'true';
    record.ended(hasFailed ? { status: 'error', error: TOOL_FAILED } : { status: 'success' }, servers, calls);
    return answer;
  } catch (thrown) {
    const { cause } = deadline;
    const status = cause === undefined ? 'error' : cause === 'timeout' ? cause : 'cancelled';
    const { code: type, message } = asBridgeError(thrown);
    record.ended({ status, error: { type, message } }, servers, calls);
    if (cause === undefined) throw asBridgeError(thrown);
    throw cause === 'timeout' ? silentError(call) : cancelledError(thrown);
  }
}

function approvalsOf(
  { id }: DirectCall,
  { approvals }: DirectServices,
  { caller: { client, agent } }: CallContext,
  stopClock: StopClock,
): RunApprovals | undefined {
  if (approvals === undefined) return undefined;
  return new RunApprovals({ run: id, client, agent, session: undefined, isRun: false, stopClock }, approvals);
}

function recordOf(
  { id: run, language, server, args, timeoutSeconds }: DirectCall,
  { observer }: DirectServices,
  { caller: { client } }: CallContext,
): RunRecord {
  const code = digestOf(stringify(args));
  return new RunRecord({ run, client, servers: [server], code, language, timeoutSeconds }, observer);
}

const silentError = ({ server, softTimeoutSeconds }: DirectCall): BridgeError =>
  new BridgeError(
    'E_SERVER_UNAVAILABLE',
    `The server '${shownName(server)}' has not answered within ${softTimeoutSeconds} s.`,
    {
      fault: 'downstream',
      remedy: `Check that it still runs; \`${ownCommand('servers')}\` shows where it is configured.`,
    },
  );

const cancelledError = (cause: unknown): BridgeError =>
  new BridgeError('E_CANCELLED', 'The call was cancelled.', { fault: 'agent', cause });

const askedCall = (call: DirectCall): GuestCall =>
  'prompt' in call
    ? promptCall(call.server, call.prompt, call.args)
    : toolCall(call.server, call.tool, call.args);

async function ask(
  call: DirectCall,
  doc: ServerDoc,
  { servers, calls, saved, observer }: DirectServices,
  asking: Pick<CallScope, 'approvals' | 'stopClock' | 'tell' | 'trace'>,
  signal: AbortSignal,
): Promise<RawJson> {
  const { id: runId } = call;
  const discovered = servers.discovered([doc.name], new Map());
  const guard = guardCalls(
    {
      runId,
      loaded: new LoadedServers([doc], servers.policy),
      discovered,
      loadServer: (other) => Promise.reject(notLoaded(other, discovered)),
      saved: new SavedByRun(saved, runId),
      ...asking,
      observer,
    },
    servers,
    calls,
  );
  const answer = await guard.answer(askedCall(call), signal);
  return answer instanceof RawJson ? answer : new RawJson(stringify(answer));
}
