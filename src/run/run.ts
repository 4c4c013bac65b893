// The life of one run, top to bottom: open its servers, take a sandbox, hand over the code, answer its calls, see how
// it ends, let go. Measures time and counts calls itself; what the harness says is a claim to be shown, not believed.

import { Deadline } from '../base/deadline.js';
import { asBridgeError, BridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import type { DownstreamPool } from '../downstream/pool.js';
import type { GuestFrame, InputFile, ServerBrief, ServerDoc } from '../protocol/frames.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { CallDesk } from './call-desk.js';
import { type Conclusion, conclude, concludeFailure } from './conclude.js';
import { hostApi } from './host-api.js';
import type { KeptFiles } from './kept-files.js';
import { Leavings } from './leavings.js';
import type { Left, Outcome } from './outcome.js';
import type { SavedTools } from './saved-tools.js';
import { Transcript } from './transcript.js';

/** How long the guest may take, at its deadline, to say where it was. */
const WHERE_WITHIN_MS = 350;
/** How much longer a run may take whose files are arriving: a local pipe carries all that they may be in half of this. */
const FILES_WITHIN_MS = 1_000;

export type RunRequest = {
  readonly id: string;
  readonly code: string;
  readonly timeoutSeconds: number;
  /** Names, checked against what is discovered. */
  readonly servers: readonly string[];
  /** For the working directory; checked. */
  readonly files: readonly InputFile[];
};

/** What can be asked while the code runs. */
export type Meter = { readonly calls: number; readonly inFlight: number };

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
  readonly kept: KeptFiles;
  readonly observer: Observer;
  /** Called when the code starts. */
  readonly onStart: (meter: Meter) => void;
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
  const { id, code, timeoutSeconds, servers, files } = request;
  const { pool, saved, observer } = parts;
  const discovered = parts.discovered(servers);
  using desk = new CallDesk(hostApi({ runId: id, loaded, discovered, pool, saved, observer }), (frame) =>
    sandbox.send(frame),
  );
  const leavings = new Leavings(parts.kept, observer);
  const cut = cutOff(sandbox, deadline, leavings);
  deadline.start(timeoutSeconds * 1000);
  sandbox.run(
    { type: 'run', code, timeoutSeconds, loaded, discovered, files },
    {
      onOutput: (stream, text) => {
        transcript.addOutput(stream, text);
        leavings.addOutput(stream, text);
      },
      onGuest: (frame, text) => {
        hear(frame, text, transcript, desk);
        if (frame.type === 'result') leavings.addResult(frame, text);
      },
      onFile: (frame) => leavings.addFile(frame),
    },
  );
  parts.onStart(desk);
  const end = await Promise.race([sandbox.ended, cut]);
  const left = await keep(leavings, transcript, deadline);
  return [{ ...conclude(end, deadline.cause, timeoutSeconds, transcript, sandbox), left }, desk.calls];
}

function hear(frame: GuestFrame, text: string, transcript: Transcript, desk: CallDesk): void {
  if (frame.type === 'call') desk.accept(frame, text);
  else if (frame.type === 'abandon') desk.abandon(frame.id);
  else transcript.add(frame, text);
}

/** Puts what was left where it can be read, and tells the transcript; of a run that nobody waits for, nothing stays. */
async function keep(
  leavings: Leavings,
  transcript: Transcript,
  deadline: Deadline,
): Promise<Left | undefined> {
  if (deadline.cause !== undefined && deadline.cause !== 'timeout') {
    await leavings.discard();
    return undefined;
  }
  const { left, stdout, stderr } = await leavings.settle();
  if (stdout !== undefined) transcript.keptWhole('stdout', stdout);
  if (stderr !== undefined) transcript.keptWhole('stderr', stderr);
  return left;
}

/** Resolves when the run was cut short. At its deadline the guest is asked where it is; else there is no time for that. */
async function cutOff(sandbox: Sandbox, deadline: Deadline, leavings: Leavings): Promise<undefined> {
  await new Promise<void>((resolve) => {
    if (deadline.signal.aborted) resolve();
    deadline.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  if (deadline.cause === 'timeout') {
    sandbox.send({ type: 'stop', reason: 'timeout' });
    await endedWithin(sandbox, WHERE_WITHIN_MS);
    if (leavings.isArriving) await endedWithin(sandbox, FILES_WITHIN_MS);
  }
  sandbox.kill();
  return undefined;
}

const endedWithin = (sandbox: Sandbox, ms: number): Promise<unknown> =>
  Promise.race([sandbox.ended, new Promise((resolve) => setTimeout(resolve, ms))]);
