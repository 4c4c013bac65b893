// One tool of one server, called for the agent itself and not by code: no sandbox, and the same guard, policy, limits and
// audit as every call from inside one. What the server answers is relayed as it is.

import { Deadline } from '../base/deadline.js';
import { asBridgeError, BridgeError } from '../base/errors.js';
import type { RunStatus } from '../base/events.js';
import { weigh } from '../base/weight.js';
import type { ServerDoc } from '../protocol/frames.js';
import { RawJson, sliceAt, stringify } from '../protocol/json-text.js';
import { guardCalls } from './guarded-calls.js';
import { toolCall } from './guest-call.js';
import { LoadedServers } from './loaded-servers.js';
import { notLoaded } from './reach.js';
import type { RunParts } from './run.js';
import { SavedByRun } from './saved-by-run.js';

export type DirectCall = {
  /** Unique among all bridges. */
  readonly id: string;
  /** Whoever asked, in its own words. */
  readonly client: string;
  /** What an audit calls it. */
  readonly language: string;
  readonly server: string;
  readonly tool: string;
  readonly args: unknown;
  /** What it may take, as far as it says. */
  readonly timeoutSeconds: number;
  /** How long its server may be silent before nobody waits for it any more. */
  readonly patienceSeconds: number;
};

export type DirectParts = Pick<
  RunParts,
  | 'open'
  | 'discovered'
  | 'known'
  | 'policy'
  | 'gates'
  | 'lease'
  | 'saved'
  | 'shapes'
  | 'audit'
  | 'observer'
  | 'watcher'
>;

/** The text of a CallToolResult. Throws a BridgeError where there is none, E_SERVER_UNAVAILABLE where none came in time. */
export async function callDirectly(
  call: DirectCall,
  parts: DirectParts,
  signal: AbortSignal,
): Promise<RawJson> {
  const { id: runId, client, language, server, tool, args, timeoutSeconds } = call;
  const { observer } = parts;
  const startedAt = performance.now();
  const servers = [server];
  const code = weigh(stringify(args));
  observer({ type: 'run.started', run: runId, client, servers, code, language, timeoutSeconds });
  const tell = (status: RunStatus, calls: number) => {
    const durationMs = performance.now() - startedAt;
    observer({ type: 'run.ended', run: runId, servers, status, durationMs, calls });
  };
  using deadline = new Deadline(signal);
  deadline.start(call.patienceSeconds * 1000);
  let calls = 0;
  try {
    const whole = await parts.open(server, deadline.signal);
    calls = 1;
    parts.watcher.onStart({ calls, inFlight: 1, waitingFor: `${server}.${tool}` });
    const answer = await ask(call, whole, parts, deadline.signal);
    tell(sliceAt(answer.text, ['isError']) === 'true' ? 'error' : 'success', calls);
    return answer;
  } catch (thrown) {
    const { cause } = deadline;
    tell(cause === undefined ? 'error' : cause === 'timeout' ? cause : 'cancelled', calls);
    if (cause === undefined) throw asBridgeError(thrown);
    throw cause === 'timeout' ? silent(call) : cancelled(thrown);
  }
}

const silent = ({ server, patienceSeconds }: DirectCall): BridgeError =>
  new BridgeError(
    'E_SERVER_UNAVAILABLE',
    `The server '${server}' has not answered within ${patienceSeconds} s.`,
    {
      fault: 'downstream',
      remedy: 'Look whether it still runs; `mcp-sandbox-bridge servers` says where it is configured.',
    },
  );

const cancelled = (cause: unknown): BridgeError =>
  new BridgeError('E_CANCELLED', 'The call was cancelled.', { fault: 'agent', cause });

async function ask(
  { id: runId, server, tool, args }: DirectCall,
  whole: ServerDoc,
  parts: DirectParts,
  signal: AbortSignal,
): Promise<RawJson> {
  const discovered = parts.discovered([whole.name], new Map());
  const guard = guardCalls(
    {
      runId,
      loaded: new LoadedServers([whole], parts.policy),
      discovered,
      loadServer: (other) => Promise.reject(notLoaded(other, discovered)),
      saved: new SavedByRun(parts.saved, runId),
      onToolProgress: parts.watcher.onToolProgress,
      observer: parts.observer,
    },
    parts,
    parts,
  );
  const answer = await guard.answer(toolCall(server, tool, args), signal);
  return answer instanceof RawJson ? answer : new RawJson(stringify(answer));
}
