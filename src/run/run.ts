// The life of one run, top to bottom: open its servers, take a sandbox, have the code checked, start it, answer its
// calls, see how it ends, let go. Measures time and counts calls itself; what the harness says is a claim to be shown,
// not believed.

import { Deadline } from '../base/deadline.js';
import { asBridgeError, BridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import { weigh } from '../base/weight.js';
import { within } from '../base/within.js';
import type { AuditMode, AutoloadMode } from '../config/variables.js';
import type { AgentFace } from '../downstream/asking/agent-face.js';
import type { Known } from '../downstream/catalog/known-servers.js';
import type { ObservedShapes } from '../downstream/catalog/observed-shapes.js';
import type { ServerLease } from '../downstream/server-lease.js';
import type { GuestFrame, InputFile, ServerBrief, ServerDoc } from '../protocol/frames.js';
import type { Sandbox, SandboxEnd } from '../sandbox/sandbox.js';
import type { CheckAnswer } from '../sandbox/turn.js';
import { CallDesk } from './call-desk.js';
import { CodeEnd } from './code-end.js';
import { type Conclusion, conclude, concludeFailure, concludeRefused } from './conclude.js';
import { door } from './door.js';
import type { Cage } from './ending-errors.js';
import type { Gates } from './gates.js';
import { hostApi, type ToolProgress } from './host-api.js';
import type { KeptFiles } from './kept-files.js';
import { Leavings, type Settled } from './leavings.js';
import { OnDemand } from './on-demand.js';
import { failureNote, type Opened, openServers } from './opening.js';
import type { Left, Outcome } from './outcome.js';
import { allowedPart, type Policy } from './policy.js';
import { preflight } from './preflight.js';
import { keptText, recorded } from './recorded.js';
import { SavedByRun } from './saved-by-run.js';
import type { SavedTools } from './saved-tools.js';
import { checkOf, filesOf, inputOf, languageOf, startOf, type Task, textOf } from './task.js';
import { Transcript } from './transcript.js';

/** How long the guest may take, at its deadline, to say where it was. */
const WHERE_WITHIN_MS = 350;
const NOTHING_LEFT: Settled = { left: undefined, stdout: undefined, stderr: undefined };
/** How much longer a run may take that its deadline has ended and whose files are arriving. */
const FILES_WITHIN_MS = 1_000;

export type RunRequest = {
  /** Unique among all bridges. */
  readonly id: string;
  /** Whoever asked, in its own words. */
  readonly client: string;
  readonly task: Task;
  readonly timeoutSeconds: number;
  /** Names, checked against what is discovered. All of them must open. */
  readonly servers: readonly string[];
  /** Further ones, which the run does without where they do not open. */
  readonly others?: readonly string[];
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
  /** As often as the servers say it; not yet made harmless. */
  readonly onToolProgress: (progress: ToolProgress) => void;
  /** Pieces as they come, not yet made harmless. */
  readonly onOutput: (stream: 'stdout' | 'stderr', text: string, base64: string | null) => void;
};

export type RunParts = {
  /** Gives away a greeted sandbox. */
  readonly take: (signal: AbortSignal) => Promise<Sandbox>;
  /** Takes back one that was given no run. */
  readonly giveBack: (sandbox: Sandbox) => void;
  /** Gets rid of one, behind the caller's back. */
  readonly retire: (sandbox: Sandbox) => void;
  /** Opens a server and describes it. */
  readonly open: (server: string, signal: AbortSignal) => Promise<ServerDoc>;
  /** Every server that can be named; `failed` are those that did not open, with the reason. */
  readonly discovered: (
    loaded: readonly string[],
    failed: ReadonlyMap<string, string>,
  ) => readonly ServerBrief[];
  readonly known: Known;
  readonly autoload: AutoloadMode;
  readonly agent: AgentFace;
  /** As it is whenever it is asked. */
  readonly policy: () => Policy;
  readonly gates: Gates;
  /** Its servers, as they were when it was asked for. */
  readonly lease: ServerLease;
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
  const { id, client, servers: named, others = [], timeoutSeconds } = request;
  parts.observer({
    type: 'run.started',
    run: id,
    client,
    servers: [...named, ...others],
    code: weigh(textOf(request.task)),
    argumentsText: request.task.type === 'command' ? keptText(textOf(request.task), parts.audit) : undefined,
    language: languageOf(request.task),
    timeoutSeconds,
  });
  const transcript = new Transcript();
  using deadline = new Deadline(signal);
  let conclusion: Conclusion;
  let calls = 0;
  let servers = named;
  try {
    // Cancelled while it waited in the queue: nothing is started for it.
    if (deadline.signal.aborted)
      throw new BridgeError('E_CANCELLED', 'The run was cancelled.', { fault: 'agent' });
    // Side by side with the sandbox and the check. A run that ends before they are open lets them go on opening.
    const opening = openServers(named, others, parts, deadline.signal);
    opening.catch(() => {});
    const sandbox = await parts.take(deadline.signal);
    try {
      const ended = await converse(request, opening, sandbox, parts, transcript, deadline);
      ({ conclusion, calls } = ended);
      servers = ended.servers ?? servers;
    } finally {
      if (sandbox.hasRun) parts.retire(sandbox);
      else parts.giveBack(sandbox);
    }
  } catch (thrown) {
    conclusion = concludeFailure(deadline.cause, asBridgeError(thrown), transcript);
  }
  const durationMs = performance.now() - startedAt;
  parts.observer({ type: 'run.ended', run: id, servers, status: conclusion.status, durationMs, calls });
  return {
    ...conclusion,
    calls,
    servers,
    timeoutSeconds: request.timeoutSeconds,
    durationMs,
  };
}

type Ended = {
  readonly conclusion: Conclusion;
  readonly calls: number;
  /** Those that the run had in the end; absent where it did not get that far. */
  readonly servers?: readonly string[];
};

async function converse(
  request: RunRequest,
  opening: Promise<Opened>,
  sandbox: Sandbox,
  parts: RunParts,
  transcript: Transcript,
  deadline: Deadline,
): Promise<Ended> {
  const { id, task, timeoutSeconds, files } = request;
  const { known, policy, gates, lease, shapes, observer, watcher } = parts;
  const saved = new SavedByRun(parts.saved, id);
  deadline.start(timeoutSeconds * 1000);
  const answer = await check(task, sandbox, deadline);
  const leftMs = deadline.pause();
  if (answer === undefined || 'how' in answer || deadline.cause !== undefined)
    return {
      conclusion: conclude(
        answer !== undefined && 'how' in answer ? answer : undefined,
        deadline.cause,
        request,
        transcript,
        cageOf(sandbox, 0, ''),
      ),
      calls: 0,
    };
  if (answer.type === 'refused')
    return { conclusion: concludeRefused(answer.error, task, sandbox.spec, transcript), calls: 0 };
  const { docs, failed } = await opening;
  const whole = new Map(docs.map((doc) => [doc.name, doc]));
  const loaded = [...whole.values()].map((doc) => allowedPart(doc, policy()));
  const discovered = parts.discovered([...whole.keys()], failed);
  const objection = preflight(answer.named, loaded, discovered);
  if (objection !== undefined) throw objection;
  using onDemand = new OnDemand({
    mode: parts.autoload,
    agent: parts.agent,
    discovered,
    open: parts.open,
    stopClock: () => {
      const leftMs = deadline.pause();
      return () => deadline.start(leftMs);
    },
  });
  const loadServer = async (server: string, signal: AbortSignal) => {
    const doc = await onDemand.load(server, signal);
    whole.set(server, doc);
    return allowedPart(doc, policy());
  };
  const { onToolProgress } = watcher;
  const api = hostApi({
    loaded,
    discovered,
    known,
    loadServer,
    lease,
    saved,
    shapes,
    onToolProgress,
  });
  const subject = (server: string, tool: string) => ({
    name: tool,
    // As the run's server is now: it may have listed its tools anew since it was loaded.
    get changed() {
      const spec = lease.specOf(server);
      return (spec && known.changedOf(spec)(tool)) ?? null;
    },
  });
  const about = { runId: id, policy, subject, observer };
  const guarded = recorded(door(api, { ...about, gates, whole: (server) => whole.get(server) }), {
    ...about,
    mode: parts.audit,
  });
  const inFlight = policy().runLimits.callsInFlight.max;
  using desk = new CallDesk(guarded, (frame) => sandbox.send(frame), inFlight);
  const leavings = new Leavings(parts.kept, observer, task.type === 'command' ? task.shownBytes : undefined);
  const cut = cutOff(sandbox, deadline, leavings);
  using codeEnd = new CodeEnd(deadline);
  deadline.start(leftMs);
  sandbox.run(
    {
      type: 'run',
      timeoutSeconds,
      loaded,
      discovered,
      files: filesOf(task, files),
      program: startOf(task),
    },
    {
      onOutput: (stream, text, base64) => {
        transcript.addOutput(stream, text);
        leavings.addOutput(stream, text);
        watcher.onOutput(stream, text, base64);
      },
      onGuest: (frame, text) => {
        hear(frame, text, transcript, desk, watcher);
        if (frame.type === 'result') leavings.addResult(frame, text);
      },
      onFile: (frame) => leavings.addFile(frame),
      onGuestEnd: (report) => codeEnd.told(report),
    },
    inputOf(task),
  );
  watcher.onStart(desk);
  const end = await Promise.race([sandbox.ended, cut, codeEnd.filesLate]);
  // However it ended: to keep what it left may take longer.
  deadline.finish();
  if (codeEnd.note !== undefined) sandbox.kill();
  const cage = cageOf(sandbox, desk.calls, waitingFor(desk, [...whole.keys()], lease));
  const left = await keep(leavings, transcript, deadline);
  const conclusion = conclude(end, deadline.cause, request, transcript, cage);
  const note = [failureNote(failed), saved.note, conclusion.note, codeEnd.note]
    .filter((line) => line !== undefined)
    .join('\n');
  return {
    conclusion: { ...conclusion, note: note === '' ? undefined : note, left },
    calls: desk.calls,
    servers: [...whole.keys()],
  };
}

/** What the sandbox says of the code, or how it ended over it; undefined when that took too long or was cancelled. */
async function check(
  task: Task,
  sandbox: Sandbox,
  { signal }: Deadline,
): Promise<CheckAnswer | SandboxEnd | undefined> {
  const checked = checkOf(task);
  // What is not Python is for its own compiler, in its run.
  if (checked === undefined) return { type: 'checked', named: [] };
  const { code, file } = checked;
  const said = await Promise.race([sandbox.check(code, file), sandbox.ended, aborted(signal)]);
  // There is no other way to stop a compiler.
  if (said === undefined) sandbox.kill();
  return said;
}

/** A person who has not answered is the likeliest reason, and the one that more time mends. */
function waitingFor(desk: CallDesk, servers: readonly string[], lease: ServerLease): string {
  if (desk.inFlight === 0) return '';
  const asking = servers.filter((name) => lease.isAsking(name)).join(', ');
  return desk.waitingFor + (asking === '' ? '' : `, with a question of ${asking} put to the user`);
}

const cageOf = ({ spec, memoryKills, hasRun }: Sandbox, calls: number, waitingFor: string): Cage => ({
  calls,
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
  const isCancelled = () => deadline.cause !== undefined && deadline.cause !== 'timeout';
  const { left, stdout, stderr } = isCancelled() ? NOTHING_LEFT : await leavings.settle();
  if (isCancelled()) {
    await leavings.discard();
    return undefined;
  }
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
