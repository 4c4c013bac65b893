// The life of one run, top to bottom: open its servers, take a sandbox, have the code checked, start it, answer its
// calls, see how it ends, let go. Measures time and counts calls itself; what the harness says is a claim to be shown,
// not believed.

import { Deadline } from '../base/deadline.js';
import { asBridgeError, BridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import { weigh } from '../base/weight.js';
import { within } from '../base/within.js';
import type { AuditMode } from '../config/variables.js';
import type { Known } from '../downstream/known-servers.js';
import type { ObservedShapes } from '../downstream/observed-shapes.js';
import type { DownstreamPool } from '../downstream/pool.js';
import type { GuestFrame, InputFile, ServerBrief, ServerDoc, ToolDoc } from '../protocol/frames.js';
import type { CheckAnswer } from '../sandbox/checks.js';
import type { Sandbox, SandboxEnd } from '../sandbox/sandbox.js';
import { CallDesk } from './call-desk.js';
import { type Cage, type Conclusion, conclude, concludeFailure, concludeRefused } from './conclude.js';
import { door } from './door.js';
import type { Gates } from './gates.js';
import { hostApi } from './host-api.js';
import type { KeptFiles } from './kept-files.js';
import { Leavings } from './leavings.js';
import type { Left, Outcome } from './outcome.js';
import { allowedPart, type Policy } from './policy.js';
import { preflight } from './preflight.js';
import { recorded } from './recorded.js';
import type { SavedTools } from './saved-tools.js';
import { Transcript } from './transcript.js';

/** How long the guest may take, at its deadline, to say where it was. */
const WHERE_WITHIN_MS = 350;
/** How much longer a run may take whose files are arriving: a local pipe carries all that they may be in half of this. */
const FILES_WITHIN_MS = 1_000;

export type RunRequest = {
  /** Unique among all bridges. */
  readonly id: string;
  /** Whoever asked, in its own words. */
  readonly client: string;
  readonly code: string;
  readonly timeoutSeconds: number;
  /** Names, checked against what is discovered. */
  readonly servers: readonly string[];
  /** For the working directory; checked. */
  readonly files: readonly InputFile[];
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
  /** Takes back one that was given no run. */
  readonly giveBack: (sandbox: Sandbox) => void;
  /** Gets rid of one, behind the caller's back. */
  readonly retire: (sandbox: Sandbox) => void;
  /** Opens the named servers and describes them. */
  readonly load: (servers: readonly string[], signal: AbortSignal) => Promise<readonly ServerDoc[]>;
  readonly discovered: (loaded: readonly string[]) => readonly ServerBrief[];
  readonly known: Known;
  /** As it is whenever it is asked. */
  readonly policy: () => Policy;
  readonly gates: Gates;
  readonly pool: DownstreamPool;
  readonly saved: SavedTools;
  readonly shapes: ObservedShapes;
  readonly kept: KeptFiles;
  /** What is told of its calls. */
  readonly audit: AuditMode;
  readonly observer: Observer;
  readonly watcher: Watcher;
};

/** Never rejects for what guest, agent, downstream or engine did: that is an Outcome. */
export async function runCode(request: RunRequest, parts: RunParts, signal: AbortSignal): Promise<Outcome> {
  const startedAt = performance.now();
  const { id, client, servers, timeoutSeconds } = request;
  const code = weigh(request.code);
  parts.observer({ type: 'run.started', run: id, client, servers, code, timeoutSeconds });
  const transcript = new Transcript();
  using deadline = new Deadline(signal);
  let conclusion: Conclusion;
  let calls = 0;
  try {
    // Cancelled while it waited in the queue: nothing is started for it.
    if (deadline.signal.aborted)
      throw new BridgeError('E_CANCELLED', 'The run was cancelled.', { fault: 'agent' });
    // Side by side with the sandbox and the check. A run that ends before they are open lets them go on opening.
    const opening = parts.load(request.servers, deadline.signal);
    opening.catch(() => {});
    const sandbox = await parts.take(deadline.signal);
    try {
      [conclusion, calls] = await converse(request, opening, sandbox, parts, transcript, deadline);
    } finally {
      if (sandbox.hasRun) parts.retire(sandbox);
      else parts.giveBack(sandbox);
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

async function converse(
  request: RunRequest,
  opening: Promise<readonly ServerDoc[]>,
  sandbox: Sandbox,
  parts: RunParts,
  transcript: Transcript,
  deadline: Deadline,
): Promise<[Conclusion, number]> {
  const { id, timeoutSeconds, servers, files } = request;
  const { known, policy, gates, pool, saved, shapes, observer, watcher } = parts;
  deadline.start(timeoutSeconds * 1000);
  const answer = await check(request.code, sandbox, deadline);
  const leftMs = deadline.pause();
  if (answer === undefined || 'how' in answer)
    return [conclude(answer, deadline.cause, timeoutSeconds, transcript, cageOf(sandbox, '')), 0];
  if (answer.type === 'refused') return [concludeRefused(answer.error, sandbox.spec, transcript), 0];
  const whole = new Map((await opening).map((doc) => [doc.name, doc]));
  const loaded = [...whole.values()].map((doc) => allowedPart(doc, policy()));
  const discovered = parts.discovered(servers);
  const objection = preflight(answer.named, loaded, discovered);
  if (objection !== undefined) throw objection;
  const mayShow = (server: string, tool: ToolDoc) => policy().tool(server, tool).allowed;
  const api = hostApi({ loaded, discovered, known, mayShow, pool, saved, shapes });
  const about = { runId: id, policy, whole: (server: string) => whole.get(server), observer };
  const guarded = recorded(door(api, { ...about, gates }), { ...about, mode: parts.audit });
  const inFlight = policy().runLimits.callsInFlight.max;
  using desk = new CallDesk(guarded, (frame) => sandbox.send(frame), inFlight);
  const leavings = new Leavings(parts.kept, observer);
  const cut = cutOff(sandbox, deadline, leavings);
  deadline.start(leftMs);
  sandbox.run(
    { type: 'run', timeoutSeconds, loaded, discovered, files },
    {
      onOutput: (stream, text) => {
        transcript.addOutput(stream, text);
        leavings.addOutput(stream, text);
        watcher.onOutput(stream, text);
      },
      onGuest: (frame, text) => {
        hear(frame, text, transcript, desk, watcher);
        if (frame.type === 'result') leavings.addResult(frame, text);
      },
      onFile: (frame) => leavings.addFile(frame),
    },
  );
  watcher.onStart(desk);
  const end = await Promise.race([sandbox.ended, cut]);
  const cage = cageOf(sandbox, desk.waitingFor);
  const left = await keep(leavings, transcript, deadline);
  return [{ ...conclude(end, deadline.cause, timeoutSeconds, transcript, cage), left }, desk.calls];
}

/** What the sandbox says of the code, or how it ended over it; undefined when that took too long or was cancelled. */
async function check(
  code: string,
  sandbox: Sandbox,
  { signal }: Deadline,
): Promise<CheckAnswer | SandboxEnd | undefined> {
  const said = await Promise.race([sandbox.check(code), sandbox.ended, aborted(signal)]);
  // There is no other way to stop a compiler.
  if (said === undefined) sandbox.kill();
  return said;
}

const cageOf = ({ spec, memoryKills, hasRun }: Sandbox, waitingFor: string): Cage => ({
  spec,
  memoryKills,
  hasRun,
  waitingFor,
});

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
  await aborted(deadline.signal);
  if (deadline.cause === 'timeout') {
    sandbox.send({ type: 'stop', reason: 'timeout' });
    await within(WHERE_WITHIN_MS, sandbox.ended);
    if (leavings.isArriving) await within(FILES_WITHIN_MS, sandbox.ended);
  }
  sandbox.kill();
  return undefined;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
