// From the start of the code to its end: its calls are answered, what it says is heard, what it leaves is kept.

import { PlainText } from '../../base/json/json-text.js';
import { processesSeconds } from '../../base/process/process-stat.js';
import type { StopClock } from '../../base/waiting/deadline.js';
import { hostView } from '../../hosts/records/all-hosts.js';
import { Plan, type Planned } from '../../policy/approvals/plan.js';
import { RunApprovals } from '../../policy/approvals/run-approvals.js';
import { AskingTime, StandingClock } from '../../policy/approvals/standing-clock.js';
import type { Sandbox, SandboxEnd } from '../../sandbox/conversation/sandbox.js';
import type { Ahead, RunHandlers } from '../../sandbox/conversation/turn.js';
import type { ServerLease } from '../../servers/pool/server-lease.js';
import type { GuestFrame, RunFrame, ServerBrief } from '../../wire/frames.js';
import { Artifacts, type Left } from '../artifacts/artifacts.js';
import type { Meter } from '../calls/call-context.js';
import type { CallGuard } from '../calls/call-guard.js';
import { Dispatcher } from '../calls/dispatcher.js';
import { guardCalls } from '../calls/guarded-calls.js';
import { type AskingWords, type LoadedServers, OnDemand } from '../calls/on-demand.js';
import { SavedByRun } from '../calls/saved-tools.js';
import { CodeEnd, type Conclusion } from '../outcome/conclude.js';
import { type Awaited, NOTHING_AWAITED, type SandboxFacts } from '../outcome/ending-errors.js';
import { filesOf, startOf } from '../programs/task.js';
import { noCall, SessionCall } from '../sessions/session-call.js';
import type { Run } from './run-request.js';
import { endOf, keep, sandboxFactsOf } from './sandbox-use.js';

/** The servers that a run begins with, and those that it could have. */
export type OpenServers = {
  readonly loaded: LoadedServers;
  readonly discovered: readonly ServerBrief[];
  /** Why a server did not open, by its name. */
  readonly failed: ReadonlyMap<string, string>;
};

export type Conversed = {
  /** Undefined where it was cut off before the sandbox said anything. */
  readonly end: SandboxEnd | undefined;
  readonly facts: SandboxFacts;
  readonly left: Left | undefined;
  /** Names the saved tools of earlier runs that this run has replaced; undefined where it has replaced none. */
  readonly savedNote: string | undefined;
  /** Says that files have not arrived in time; undefined where all have. */
  readonly lateNote: string | undefined;
  /** End of a plan: what the plan would do; undefined where the run was no plan. */
  readonly planned: Planned | undefined;
};

/** End of a run over the check of its code; `isLost` where its sandbox ended of itself, unseen from here. */
export type EndedByCheck = { readonly conclusion: Conclusion; readonly isLost: boolean };

/**
 * Starts the code, whose clock goes on, and resolves when it has ended and what it left is kept. Code that is not checked yet is
 * checked by `check`, which is given what the code may begin with at once, and tells whether it has begun.
 */
export async function converse(
  run: Run,
  sandbox: Sandbox,
  servers: OpenServers,
  check?: (ahead: Ahead) => Promise<{ readonly hasBegun: boolean } | EndedByCheck>,
): Promise<EndedByCheck | Conversed> {
  const { input, services, context, deadline, transcript } = run;
  const { lease, policy } = services.servers;
  const saved = new SavedByRun(services.saved, services.id);
  const { standAside } = services;
  const used = () => {
    sandbox.countProcessorTime();
    // The kernel says it for each process of a container without a control group.
    return (
      sandbox.processorSeconds ?? (sandbox.pid === undefined ? undefined : processesSeconds(sandbox.pid))
    );
  };
  using clock = new StandingClock(deadline, { freeze: () => sandbox.freezeProcesses(), standAside, used });
  using onDemand = onDemandOf(run, servers, clock, { isAskedByCode: true });
  using approvals = approvalsOf(run, clock);
  let awaited: Awaited | undefined;
  const look = () => {
    awaited ??= awaitedBy(dispatcher, servers.loaded.names, lease);
    return awaited;
  };
  using asked = new AskingTime(clock.stop, (services.approvals?.waitSeconds ?? 0) * 1000);
  const onCut = () => {
    // Code that is interrupted waits for nothing any more.
    look();
    approvals?.takeBack();
    clock.letGo();
  };
  const call = services.session && new SessionCall(sandbox, services.session, onCut);
  const stop = () => (call === undefined ? sandbox.kill() : call.stop());
  using plan = input.isPlan === true ? new Plan(stop) : undefined;
  const guard = guardOf(run, servers, { saved, onDemand, approvals, plan, stopClock: asked.ask });
  const inFlight = policy().runLimits.callsInFlight.max;
  using dispatcher = new Dispatcher(guard, (frame) => sandbox.send(frame), inFlight);
  const artifacts = new Artifacts(
    services.kept,
    services.id,
    services.observer,
    hostView(context.caller.client),
  );
  using codeEnd = new CodeEnd(deadline);
  const listening = listeners(run, dispatcher, artifacts, codeEnd);
  const frame = startFrame(run, servers, call?.token);
  const handlers = call?.heardBy(listening) ?? listening;
  const checked = await check?.({ frame, handlers });
  if (checked !== undefined && 'conclusion' in checked) return checked;
  services.session?.begins();
  if (checked?.hasBegun !== true) {
    deadline.start(deadline.pause());
    sandbox.run(frame, handlers);
  }
  context.tell({ type: 'started', meter: meterOf(dispatcher, approvals) });
  const end = await (call === undefined
    ? endOf(sandbox, deadline, codeEnd, artifacts)
    : call.end(deadline, codeEnd));
  const planned = plan && { calls: plan.calls, notListed: plan.notListed, isStopped: plan.isStopped };
  const facts = sandboxFactsOf(sandbox, dispatcher.calls, look());
  // Refuse what still waits: session code that goes on awaiting a call waits for nothing else.
  if (call !== undefined) dispatcher.refuseAll(noCall());
  const { left, stdout, stderr } = await keep(artifacts, deadline);
  transcript.keptWhole({ stdout, stderr });
  return { end, facts, left, savedNote: saved.note, lateNote: codeEnd.note, planned };
}

/** The servers that code asks for while it runs; a person may have to be asked, and the run's clock stands meanwhile. */
export function onDemandOf(
  { services: { autoload: mode, servers }, context: { caller } }: Run,
  { discovered }: Pick<OpenServers, 'discovered'>,
  clock: StandingClock,
  { words, isAskedByCode }: { readonly words?: AskingWords; readonly isAskedByCode: boolean },
): OnDemand {
  return new OnDemand({
    mode,
    agent: caller.agent,
    ...(words === undefined ? {} : { words }),
    discovered,
    open: (server, signal) => servers.open(server, signal, isAskedByCode),
    stopClock: clock.stop,
  });
}

/** Undefined where nobody can be asked about its calls. */
function approvalsOf(
  { services: { id, approvals, session }, context: { caller } }: Run,
  clock: StandingClock,
): RunApprovals | undefined {
  if (approvals === undefined) return undefined;
  const { client, agent } = caller;
  return new RunApprovals(
    { run: id, client, agent, session: session?.title, isRun: true, stopClock: clock.stop },
    approvals,
  );
}

const meterOf = (dispatcher: Dispatcher, approvals: RunApprovals | undefined): Meter => ({
  get calls() {
    return dispatcher.calls;
  },
  get inFlight() {
    return dispatcher.inFlight;
  },
  get waitingFor() {
    return dispatcher.waitingFor;
  },
  get asking() {
    return approvals?.waiting ?? '';
  },
});

function guardOf(
  { services, context: { caller, tell } }: Run,
  { loaded, discovered }: OpenServers,
  {
    onDemand,
    ...guardedBy
  }: {
    readonly saved: SavedByRun;
    readonly onDemand: OnDemand;
    readonly approvals: RunApprovals | undefined;
    readonly plan: Plan | undefined;
    /** While a server has a person asked. */
    readonly stopClock: StopClock;
  },
): CallGuard {
  const { id, observer, servers, calls } = services;
  const loadServer = (server: string, signal: AbortSignal) => onDemand.load(server, signal);
  return guardCalls(
    { ...guardedBy, runId: id, loaded, discovered, loadServer, tell, trace: caller.trace, observer },
    servers,
    calls,
  );
}

const startFrame = (
  { input: { task, files, timeoutSeconds }, services: { session } }: Run,
  { loaded, discovered }: OpenServers,
  token: string | undefined,
): RunFrame => ({
  type: 'run',
  timeoutSeconds,
  loaded: loaded.allShown,
  discovered,
  files: filesOf(task, files).map(({ name, data }) => ({ name, data: new PlainText(data) })),
  program: startOf(task),
  ...(session === undefined || token === undefined ? {} : { session: session.facts(), token }),
});

function listeners(
  { transcript, context: { tell } }: Run,
  dispatcher: Dispatcher,
  artifacts: Artifacts,
  codeEnd: CodeEnd,
): RunHandlers {
  const hear = (frame: GuestFrame, text: string) => {
    if (frame.type === 'call') dispatcher.accept(frame, text);
    else if (frame.type === 'progress') tell(frame);
    else if (frame.type === 'abandon') dispatcher.abandon(frame.id);
    else transcript.add(frame, text);
  };
  return {
    onOutput: (stream, text, base64) => {
      transcript.addOutput(stream, text);
      artifacts.addOutput(stream, text);
      tell({ type: 'output', stream, text, base64 });
    },
    onGuest: (frame, text) => {
      hear(frame, text);
      if (frame.type === 'result') artifacts.addResult(frame, text);
    },
    onFile: (frame) => artifacts.addFile(frame),
    onGuestEnd: (report) => codeEnd.onReport(report),
  };
}

/** A person who has not answered is the likeliest reason, and the one that more time helps. */
function awaitedBy(
  dispatcher: Dispatcher,
  servers: readonly string[],
  lease: Pick<ServerLease, 'isAsking' | 'insteadSentence'>,
): Awaited {
  if (dispatcher.inFlight === 0) return NOTHING_AWAITED;
  const asking = servers.filter((name) => lease.isAsking(name)).join(', ');
  const question = asking === '' ? '' : `, while the user had a question of ${asking} to answer`;
  const called = servers.filter((name) => dispatcher.servers.has(name));
  const instead = called.map((name) => lease.insteadSentence(name)).join('');
  return { waitingFor: dispatcher.waitingFor + question, instead };
}
