// The life of one run, top to bottom: open its servers, take a sandbox, hand over the code, answer its calls, see how
// it ends, let go. Measures time and counts calls itself; what the harness says is a claim to be shown, not believed.

import { Deadline } from '../base/deadline.js';
import { asBridgeError, BridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import type { DownstreamPool } from '../downstream/pool.js';
import type { GuestFrame, ServerBrief, ServerDoc } from '../protocol/frames.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { CallDesk } from './call-desk.js';
import { type Conclusion, conclude, concludeFailure } from './conclude.js';
import { hostApi } from './host-api.js';
import type { Outcome } from './outcome.js';
import type { SavedTools } from './saved-tools.js';
import { Transcript } from './transcript.js';

/** How long the guest may take, at its deadline, to say where it was. */
const WHERE_WITHIN_MS = 350;

export type RunRequest = {
  readonly id: string;
  readonly code: string;
  readonly timeoutSeconds: number;
  /** Names, checked against what is discovered. */
  readonly servers: readonly string[];
};

/** What can be asked while the code runs; `waitingFor` names the tools whose answers are awaited, in a few words. */
export type Meter = { readonly calls: number; readonly inFlight: number; readonly waitingFor: string };

/** How far the code says it is. */
export type ProgressReport = Omit<Extract<GuestFrame, { type: 'progress' }>, 'type'>;

/** Who follows a run while it is under way; called synchronously, and not to throw. */
export type Watcher = {
  /** Called when the code starts. */
  readonly onStart: (meter: Meter) => void;
  readonly onProgress: (report: ProgressReport) => void;
  /** Pieces as they come, not yet made harmless. */
  readonly onOutput: (stream: 'stdout' | 'stderr', text: string) => void;
};

export type RunParts = {
  /** Gives away a greeted sandbox. */
  readonly take: (signal: AbortSignal) => Promise<Sandbox>;
  /** Gets rid of one, behind the caller's back. */
  readonly retire: (sandbox: Sandbox) => void;
  /** Opens the named servers and describes them. */
  readonly load: (servers: readonly string[], signal: AbortSignal) => Promise<readonly ServerDoc[]>;
  readonly discovered: (loaded: readonly string[]) => readonly ServerBrief[];
  readonly pool: DownstreamPool;
  readonly saved: SavedTools;
  readonly observer: Observer;
  readonly watcher: Watcher;
};

/** Never rejects for what guest, agent, downstream or engine did: that is an Outcome. */
export async function runCode(request: RunRequest, parts: RunParts, signal: AbortSignal): Promise<Outcome> {
  const startedAt = performance.now();
  parts.observer({ type: 'run.started', run: request.id, servers: request.servers });
  const transcript = new Transcript();
  using deadline = new Deadline(signal);
  let conclusion: Conclusion;
  let calls = 0;
  try {
    const [loaded, sandbox] = await prepare(request, parts, deadline.signal);
    try {
      [conclusion, calls] = await converse(request, loaded, sandbox, parts, transcript, deadline);
    } finally {
      parts.retire(sandbox);
    }
  } catch (thrown) {
    conclusion = concludeFailure(deadline.cause, asBridgeError(thrown), transcript);
  }
  const durationMs = performance.now() - startedAt;
  parts.observer({ type: 'run.ended', run: request.id, status: conclusion.status, durationMs, calls });
  return {
    ...conclusion,
    calls,
    servers: request.servers,
    timeoutSeconds: request.timeoutSeconds,
    durationMs,
  };
}

/** Servers and sandbox start side by side; if one fails the other is let go. */
async function prepare(
  { servers }: RunRequest,
  parts: RunParts,
  signal: AbortSignal,
): Promise<[readonly ServerDoc[], Sandbox]> {
  // Cancelled while it waited in the queue: nothing is started for it.
  if (signal.aborted) throw new BridgeError('E_CANCELLED', 'The run was cancelled.', { fault: 'agent' });
  const [loaded, taken] = await Promise.allSettled([parts.load(servers, signal), parts.take(signal)]);
  if (loaded.status === 'fulfilled' && taken.status === 'fulfilled') return [loaded.value, taken.value];
  if (taken.status === 'fulfilled') parts.retire(taken.value);
  throw loaded.status === 'rejected' ? loaded.reason : (taken as PromiseRejectedResult).reason;
}

async function converse(
  request: RunRequest,
  loaded: readonly ServerDoc[],
  sandbox: Sandbox,
  parts: RunParts,
  transcript: Transcript,
  deadline: Deadline,
): Promise<[Conclusion, number]> {
  const { id, code, timeoutSeconds, servers } = request;
  const { pool, saved, observer, watcher } = parts;
  const discovered = parts.discovered(servers);
  using desk = new CallDesk(hostApi({ runId: id, loaded, discovered, pool, saved, observer }), (frame) =>
    sandbox.send(frame),
  );
  const cut = cutOff(sandbox, deadline);
  deadline.start(timeoutSeconds * 1000);
  sandbox.run(
    { type: 'run', code, timeoutSeconds, loaded, discovered },
    {
      onOutput: (stream, text) => {
        transcript.addOutput(stream, text);
        watcher.onOutput(stream, text);
      },
      onGuest: (frame, text) => hear(frame, text, transcript, desk, watcher),
    },
  );
  watcher.onStart(desk);
  const end = await Promise.race([sandbox.ended, cut]);
  const { spec, memoryKills } = sandbox;
  const cage = { spec, memoryKills, waitingFor: desk.waitingFor };
  return [conclude(end, deadline.cause, timeoutSeconds, transcript, cage), desk.calls];
}

function hear(
  frame: GuestFrame,
  text: string,
  transcript: Transcript,
  desk: CallDesk,
  { onProgress }: Watcher,
): void {
  if (frame.type === 'call') desk.accept(frame, text);
  else if (frame.type === 'progress') onProgress(frame);
  else if (frame.type === 'abandon') desk.abandon(frame.id);
  else transcript.add(frame, text);
}

/** Resolves when the run was cut short. At its deadline the guest is asked where it is; else there is no time for that. */
async function cutOff(sandbox: Sandbox, deadline: Deadline): Promise<undefined> {
  await new Promise<void>((resolve) => {
    if (deadline.signal.aborted) resolve();
    deadline.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  if (deadline.cause === 'timeout') {
    sandbox.send({ type: 'stop', reason: 'timeout' });
    await Promise.race([sandbox.ended, new Promise((resolve) => setTimeout(resolve, WHERE_WITHIN_MS))]);
  }
  sandbox.kill();
  return undefined;
}
