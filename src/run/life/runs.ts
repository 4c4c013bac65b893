// Runs carries out the calls of one principal: runs of code, commands, and tools called for the agent itself. A run of its own
// takes its sandbox out of a pool, a run in a session takes that of the session; everything else is the same for both.

import { asBridgeError, type BridgeError } from '../../base/errors.js';
import { type RawJson, stringify } from '../../base/json/json-text.js';
import type { Observer } from '../../base/log/events.js';
import { LOCAL_USER } from '../../base/principal.js';
import type { Redactor } from '../../base/secrets/redact.js';
import { Deadline } from '../../base/waiting/deadline.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import {
  type RefusedTurn,
  type Scheduler,
  standAside,
  type TurnLimits,
} from '../../base/waiting/scheduler.js';
import type { SharedApprovals } from '../../policy/approvals/run-approvals.js';
import { allowedFolders, type Policy } from '../../policy/rules/policy.js';
import type { Sandbox } from '../../sandbox/conversation/sandbox.js';
import type { WarmPools } from '../../sandbox/launch/warm-pool.js';
import {
  keyOf,
  kindOf,
  pythonProfile,
  type SandboxProfile,
  sessionKind,
  withData,
} from '../../sandbox/spec/profile.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { KnownServers } from '../../servers/catalog/known-servers.js';
import type { ObservedShapes } from '../../servers/catalog/observed-shapes.js';
import type { DownstreamPool } from '../../servers/pool/pool.js';
import type { ServerLease } from '../../servers/pool/server-lease.js';
import { completePrompt } from '../../servers/server/resources.js';
import { planFor } from '../../settings/environment/plan.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { ServerBrief, ServerDoc } from '../../wire/frames.js';
import type { KeptFiles } from '../artifacts/kept-files.js';
import { digestOf } from '../audit/digest.js';
import { type CallContext, COMMAND_LINE } from '../calls/call-context.js';
import { boundOf, type CallTurn, turnOfCode } from '../calls/call-limits.js';
import type { SavedTools } from '../calls/saved-tools.js';
import { type CallProblem, type Outcome, outcomeWithoutRun, withoutSecrets } from '../outcome/outcome.js';
import { languageOf } from '../programs/task.js';
import { type Arrival, type GivenTurn, LATELY_MS, type RunQueue } from '../queue/run-queue.js';
import type { SetUp } from '../queue/set-up.js';
import type { SoftTimeout, Waited } from '../queue/soft-timeout.js';
import type { SessionUse } from '../sessions/session-call.js';
import {
  type AskedSession,
  type Entered,
  type Sessions,
  serversOf,
  sessionTold,
  useOf,
} from '../sessions/sessions.js';
import { callDirectly, type DirectServices, type ServerCall } from './direct-call.js';
import { runCode } from './run.js';
import type { RunInput } from './run-request.js';
import type { Sandboxes } from './sandbox-use.js';
import {
  type CommandInput,
  type CommandOutcome,
  runSandboxedCommand,
  vectorText,
} from './sandboxed-command.js';

/** The servers of the principal, as runs see them. */
interface RunnableServers {
  readonly pool: Pick<DownstreamPool, 'lease'>;
  readonly known: KnownServers;
  readonly shapes: ObservedShapes;
  policy(): Policy;
  /** Reads anew what is configured. */
  rediscover(): unknown;
  /** The problem with the first of these names that no run can have; `field` is where the names were said. */
  problemWith(names: readonly string[], field?: string): CallProblem | undefined;
  /** The problem with a server whose name another server had. */
  strangerProblem(name: string, setBy: string): CallProblem | undefined;
  /** Servers that must open, and servers that a run does without where they do not open. */
  splitNamed(names: readonly string[]): {
    readonly servers: readonly string[];
    readonly others: readonly string[];
  };
  load(name: string, lease: ServerLease, signal: AbortSignal): Promise<ServerDoc>;
  briefs(
    loaded: readonly string[],
    failed: ReadonlyMap<string, string>,
    agent: AgentCapabilities,
  ): readonly ServerBrief[];
}

/** The sandboxes that all principals share, as runs see them. */
interface SandboxSupply {
  readonly turns: Scheduler;
  readonly warm: Pick<WarmPools, 'of'>;
  readonly patience: SoftTimeout;
  /** A sandbox of nobody's pool. */
  readonly start: (kind: SandboxProfile, signal: AbortSignal) => Promise<Sandbox>;
  readonly retire: (sandbox: Sandbox) => void;
  /** Learns that `agent` calls: sandboxes that wait are to last until a person has answered. */
  expect(agent: AgentCapabilities): void;
  expectQuestions(): void;
}

/** Where a run has its sandbox, and which servers it asks for. */
type SandboxSource = {
  /** Names, and `*`. */
  readonly names: readonly string[];
  readonly sandboxes: (waited: Waited, given: GivenTurn) => Sandboxes;
  readonly session?: SessionUse;
  /** Has the turn when the call is answered, and ends it at last. */
  readonly after?: (given: GivenTurn, beganAt: number) => void;
};

/** A person who types waits no longer for what can be typed. */
const COMPLETE_WITHIN_MS = 10_000;

export class Runs {
  readonly #parts;

  constructor(parts: {
    readonly settings: Settings;
    readonly supply: SandboxSupply;
    readonly servers: RunnableServers;
    readonly queue: RunQueue;
    readonly setUp: SetUp;
    readonly sessions: Sessions;
    readonly kept: KeptFiles;
    readonly saved: SavedTools;
    /** Where calls wait for a person. */
    readonly approvals: SharedApprovals;
    /** Whose turns runs and calls take. */
    readonly ownerId: string;
    /** Turns of the calls of all who are served. */
    readonly callTurns: Scheduler;
    /** Limits of the owner's calls; asked for each call. */
    readonly callLimits: () => TurnLimits;
    readonly commandProfile: SandboxProfile;
    readonly isForCommandLine: boolean;
    readonly redactor: Redactor;
    /** Notes that the next answer is to tell besides, once. */
    readonly untold: () => readonly (string | undefined)[];
    readonly observer: Observer;
  }) {
    this.#parts = parts;
  }

  /** One run, queued behind those that are ahead. Never rejects for what agent, guest or engine did. */
  readonly run = async (input: RunInput, context: CallContext): Promise<Outcome> => {
    const { settings, servers, queue, sessions } = this.#parts;
    const { task, session: asked } = input;
    servers.rediscover();
    this.expect(context.caller.agent);
    if (asked === undefined) {
      const objection = servers.problemWith(input.servers);
      if (objection !== undefined)
        return this.#refuse(queue.nextId(), input, context, objection, 'validation_error');
      const kind = this.#withData(
        task.type === 'cell' ? pythonProfile(settings) : kindOf(planFor(task.language, settings), settings),
      );
      using arrival = queue.arrive(kind.memoryBytes, context);
      return await this.#runIn(this.#pool(kind, input.servers), input, arrival);
    }
    const kind = this.#withData(sessionKind(settings));
    // Ahead of the session: whoever waits for it is counted like whoever waits for a place.
    using arrival = queue.arrive(kind.memoryBytes, context, sessions.mustWait(asked, context.caller));
    const entered = await this.#enter(asked, arrival);
    if ('refused' in entered) return this.#refuse(arrival.id, input, context, problemOf(entered.refused));
    if ('message' in entered) return this.#refuse(arrival.id, input, context, entered, 'validation_error');
    using _entered = entered;
    return await this.#runInSession(entered, kind, input, arrival);
  };

  /** One command in a container of its own, queued like a run. Never rejects for what agent, command or engine did. */
  readonly runCommand = async (input: CommandInput, context: CallContext): Promise<CommandOutcome> => {
    const { settings, queue, kept, observer, commandProfile: kind } = this.#parts;
    const waited = this.#waitedFor([]);
    using arrival = queue.arrive(kind.memoryBytes, context);
    const outcome = await queue.inTurn(arrival, [], async (given) => {
      const sandboxes = this.#pool(kind, []).sandboxes(waited, given);
      const services = { sandboxes, kept, audit: settings.audit, observer };
      const ended = await runSandboxedCommand({ id: arrival.id, ...input }, services, arrival.context);
      return 'failed' in ended ? { failed: this.#withoutSecrets(ended.failed) } : ended;
    });
    if (!('refused' in outcome)) return outcome;
    const { command, timeoutSeconds } = input;
    const about = { servers: [], timeoutSeconds, language: 'command', text: vectorText(command) };
    return { failed: this.#reject(arrival.id, about, context, problemOf(outcome.refused)) };
  };

  /** A tool or a prompt of one server, for the agent itself. Never rejects: what stands in the way is an objection. */
  readonly callServer = async (
    { setBy, ...call }: ServerCall,
    context: CallContext,
  ): Promise<RawJson | CallProblem> => {
    const { servers, queue, setUp, callTurns, ownerId, callLimits } = this.#parts;
    const { agent } = context.caller;
    using link = new LinkedSignal(context.signal, queue.closing);
    const { signal } = link;
    const wait = { owner: ownerId, limits: callLimits(), memoryBytes: 0 };
    const turn = await callTurns.place(wait, signal).turn;
    const named = [call.server];
    const language = 'prompt' in call ? 'prompt' : 'command';
    const refuse = (problem: CallProblem): CallProblem => {
      const { timeoutSeconds } = call;
      const about = { servers: named, timeoutSeconds, language, text: stringify(call.args) };
      this.#reject(queue.nextId(), about, context, problem);
      return problem;
    };
    if ('refused' in turn) return refuse(problemOf(turn.refused));
    using _turn = turn;
    servers.rediscover();
    const objection = servers.problemWith(named, setBy) ?? servers.strangerProblem(call.server, setBy);
    if (objection !== undefined) return refuse(objection);
    const id = queue.nextId();
    using lease = servers.pool.lease(named, agent);
    context.tell({ type: 'preparing', waitsFor: () => setUp.waitsFor(named) });
    const atServer: CallTurn = async (at, ends) => {
      await turn.moveTo(at && boundOf(queue.instance, at), ends);
      // The turn ends with the call.
      return { [Symbol.dispose]: () => {} };
    };
    const services = this.#servicesFor(lease, agent, this.#waitedFor(named), atServer);
    const about = { id, language, ...call };
    try {
      return await queue.underWay(callDirectly(about, services, { ...context, signal }));
    } catch (thrown) {
      return problemOf(asBridgeError(thrown));
    }
  };

  /** Values for an argument of a prompt of `server`, a CompleteResult. Throws a BridgeError. Not audited: it is one keystroke. */
  readonly completePrompt = async (
    server: string,
    asked: Parameters<typeof completePrompt>[1],
    { caller, signal }: Pick<CallContext, 'caller' | 'signal'>,
  ): Promise<object> => {
    const { servers, queue, callTurns, ownerId, callLimits } = this.#parts;
    using link = new LinkedSignal(signal, queue.closing);
    using deadline = new Deadline(link.signal);
    deadline.start(COMPLETE_WITHIN_MS);
    const of = { run: queue.nextId(), owner: ownerId, limits: callLimits, bridge: queue.instance };
    const { max } = servers.policy().serverLimits(server).callsInFlight;
    using _turn = await turnOfCode(callTurns, of)({ server, max }, deadline.signal);
    using lease = servers.pool.lease([server], caller.agent);
    const downstream = await lease.get(server, deadline.signal);
    if (!downstream.has('completions')) return { completion: { values: [] } };
    return await completePrompt(downstream, asked, deadline.signal);
  };

  /** `agent` calls, or is likely to soon. */
  expect(agent: AgentCapabilities): void {
    const { supply, servers } = this.#parts;
    supply.expect(agent);
    // A sandbox that starts from now on gives a person the time to answer; one that waits is too short-lived for that.
    if (servers.policy().approvals.isOn) supply.expectQuestions();
  }

  /** The code in a sandbox of `source`, when its turn has come. */
  async #runIn(source: SandboxSource, input: RunInput, arrival: Arrival): Promise<Outcome> {
    const { settings, servers, queue, kept, callTurns, ownerId, callLimits } = this.#parts;
    const { id, context } = arrival;
    const { agent } = context.caller;
    // Use the servers that are configured now, also for a run that waits for its turn.
    const wanted = servers.splitNamed(source.names);
    const asked = [...wanted.servers, ...wanted.others];
    using lease = servers.pool.lease(asked, agent);
    const waited = this.#waitedFor(asked);
    const of = { run: id, owner: ownerId, limits: callLimits, bridge: queue.instance };
    const turn = turnOfCode(callTurns, of);
    const work = async (given: GivenTurn): Promise<Outcome> => {
      const direct = this.#servicesFor(lease, agent, waited, turn);
      const services = {
        ...direct,
        id,
        servers: { ...direct.servers, wanted },
        sandboxes: source.sandboxes(waited, given),
        ...(source.session === undefined ? {} : { session: source.session }),
        standAside: () => standAside(given.turn),
        autoload: settings.autoload,
        kept,
      };
      const { observer } = services;
      if (settings.record !== undefined) {
        const { task, timeoutSeconds } = input;
        observer({ type: 'run.code', run: id, code: task.code, form: repeatFormOf(input), timeoutSeconds });
      }
      const outcome = this.#addNotes(this.#withoutSecrets(await runCode(input, services, context)));
      if (settings.record !== undefined) observer({ type: 'run.output', run: id, ...recordedOf(outcome) });
      return outcome;
    };
    const outcome = await queue.inTurn(arrival, asked, work, source.after);
    return 'refused' in outcome ? this.#refuse(id, input, context, problemOf(outcome.refused)) : outcome;
  }

  /** Tells of a run that does not begin; its outcome. */
  #refuse(
    id: string,
    { task, servers, timeoutSeconds }: RunInput,
    context: CallContext,
    problem: CallProblem,
    status?: 'validation_error',
  ): Outcome {
    const about = { servers, timeoutSeconds, language: languageOf(task), text: task.code };
    return this.#reject(id, about, context, problem, status);
  }

  /** Tells of a run or a command that does not begin; its outcome. `text` is its code, or its arguments. */
  #reject(
    run: string,
    { text, ...about }: Pick<RunInput, 'servers' | 'timeoutSeconds'> & { language: string; text: string },
    { caller: { client } }: CallContext,
    problem: CallProblem,
    status: 'error' | 'validation_error' = 'error',
  ): Outcome {
    const { type: kind, message } = problem;
    const error = { kind, message };
    this.#parts.observer({ type: 'run.rejected', run, client, ...about, code: digestOf(text), error });
    return outcomeWithoutRun(status, problem, about.timeoutSeconds);
  }

  /** One call of a session, which has its servers and its sandbox. */
  async #runInSession(
    entered: Entered,
    kind: SandboxProfile,
    input: RunInput,
    arrival: Arrival,
  ): Promise<Outcome> {
    const { servers, isForCommandLine } = this.#parts;
    const { timeoutSeconds } = input;
    const { session } = entered;
    const { names, added, lost } = serversOf(
      entered,
      input.servers,
      (some) => servers.problemWith(some),
      (some) => servers.splitNamed(some),
    );
    const told = (outcome: Outcome): Outcome => ({
      ...outcome,
      session: sessionTold(entered, outcome, lost),
    });
    const objection = servers.problemWith(names);
    if (objection !== undefined)
      return told(this.#refuse(arrival.id, input, arrival.context, objection, 'validation_error'));
    const { servers: mine, others } = servers.splitNamed(names);
    const all = [...mine, ...others];
    const isAtTerminal = isForCommandLine || arrival.context.caller === COMMAND_LINE;
    const source: SandboxSource = {
      names,
      sandboxes: (waited, given) => this.#ofSession(entered, kind, waited, given),
      // A person who names a server at a terminal need not be asked for it.
      session: useOf(entered, isAtTerminal ? [] : added),
      after: (given, beganAt) => session.goesOnAs({ ...given, endsAt: beganAt + timeoutSeconds * 1000 }),
    };
    const outcome = await this.#runIn(source, input, arrival);
    // Servers that a call was refused are none of the session's.
    if (session.calls > 0 && outcome.status !== 'validation_error')
      session.servers = [...new Set([...names.filter((name) => all.includes(name)), ...outcome.servers])];
    return told(outcome);
  }

  /** A session for the call that has arrived; or why it gets none, such as a quota that was used up meanwhile. */
  async #enter(
    asked: AskedSession,
    { place, context }: Arrival,
  ): Promise<Entered | CallProblem | RefusedTurn> {
    if (place.refused !== undefined) return place.refused;
    const refusing = new AbortController();
    using waits = new LinkedSignal(context.signal, refusing.signal);
    const refused = place.turn.then((turn) => {
      if (!('refused' in turn)) return new Promise<never>(() => {});
      refusing.abort('refused');
      return turn;
    });
    const entering = this.#parts.sessions
      .enter(asked, context.caller, waits.signal, ({ name, calls }) =>
        context.tell({
          type: 'preparing',
          waitsFor: () => `Waits for call ${calls} of session '${name}'.`,
        }),
      )
      .catch((thrown: unknown) => ({ refused: asBridgeError(thrown) }));
    const entered = await Promise.race([entering, refused]);
    place.ready();
    if ('refused' in entered)
      void entering.then((late) => {
        if (Symbol.dispose in late) late[Symbol.dispose]();
      });
    return entered;
  }

  /** Services for a call that may reach the servers of `lease`. */
  #servicesFor(lease: ServerLease, agent: AgentCapabilities, waited: Waited, turn: CallTurn): DirectServices {
    const { settings, supply, servers, saved, observer, approvals } = this.#parts;
    return {
      servers: {
        open: (server, signal, isAskedByCode = false) => {
          const opening = servers.load(server, lease, signal);
          return isAskedByCode ? opening : supply.patience.wait(opening, waited);
        },
        discovered: (loaded, failed) => servers.briefs(loaded, failed, agent),
        known: servers.known,
        policy: () => servers.policy(),
        lease,
      },
      calls: {
        turn,
        shapes: servers.shapes,
        audit: settings.audit,
        isRecorded: settings.record !== undefined,
        principal: approvals.principal ?? LOCAL_USER.id,
      },
      approvals,
      saved,
      observer,
    };
  }

  /** The sandboxes of `kind` that wait, for a run of its own. */
  #pool(kind: SandboxProfile, names: readonly string[]): SandboxSource {
    const { supply, ownerId } = this.#parts;
    const warm = supply.warm.of(kind);
    const sandboxes = (waited: Waited, { meter }: GivenTurn): Sandboxes => ({
      take: async (signal) => {
        // The sandboxes that wait are for others then.
        const isBeside = supply.turns.othersWaiting(ownerId, LATELY_MS) > 0;
        const source = {
          take: (ends: AbortSignal) => warm.take(ends, { isBeside }),
          giveBack: (late: Sandbox) => warm.giveBack(late),
        };
        return meter.follow(await supply.patience.take(keyOf(kind), source, waited, signal));
      },
      giveBack: (sandbox) => {
        meter.leave(sandbox);
        warm.giveBack(sandbox);
      },
      retire: (sandbox) => {
        meter.leave(sandbox);
        warm.retire(sandbox);
      },
    });
    return { names, sandboxes };
  }

  /** The sandbox of a session, started by its first call. */
  #ofSession(
    { session, adopt }: Entered,
    kind: SandboxProfile,
    waited: Waited,
    { meter }: GivenTurn,
  ): Sandboxes {
    const { start, retire, patience } = this.#parts.supply;
    const source = { take: (signal: AbortSignal) => start(kind, signal), giveBack: retire };
    return {
      take: async (signal) => {
        session.takeOver();
        return meter.follow(
          session.sandbox ?? adopt(await patience.take(keyOf(kind), source, waited, signal)),
        );
      },
      // Code that still runs in the session's sandbox is the call's until the code stands still.
      giveBack: () => {},
      retire: () => {},
    };
  }

  /** Adds the folders that its code may see now. */
  #withData(kind: SandboxProfile): SandboxProfile {
    return withData(kind, allowedFolders(this.#parts));
  }

  /** How long a call has waited for set-up so far, from now on. */
  #waitedFor(servers: readonly string[]): Waited {
    return { since: performance.now(), goingOn: () => this.#parts.setUp.goingOn(servers) };
  }

  #withoutSecrets(outcome: Outcome): Outcome {
    return withoutSecrets(outcome, (text) => this.#parts.redactor.redact(text));
  }

  /** Adds notes that only the log would have otherwise, below what the run itself has to say. */
  #addNotes(outcome: Outcome): Outcome {
    const { redactor, untold } = this.#parts;
    const ours = untold().map((note) => note && redactor.redact(note));
    const said = [outcome.note, ...ours].filter((note) => note !== undefined);
    return said.length === 0 ? outcome : { ...outcome, note: said.join('\n') };
  }
}

const problemOf = ({ code: type, message, remedy }: BridgeError): CallProblem => ({
  type,
  message,
  remedy,
});

/** Whether a run can be run again out of its record, or what keeps it from that. */
function repeatFormOf({ task, session, files, isPlan }: RunInput) {
  if (task.type !== 'cell') return 'program';
  if (session !== undefined) return 'session';
  if (files.length > 0) return 'files';
  return isPlan === true ? 'plan' : 'cell';
}

/** The parts of an outcome that the page shows. */
function recordedOf({ stdout, stderr, result, error, left, pictures }: Outcome) {
  const { message, traceback = [], remedy } = error ?? {};
  const lines = [message, ...traceback, remedy].filter((line) => line !== undefined);
  return {
    stdout: stdout.text,
    stderr: stderr.text,
    result: result?.repr,
    error: error && lines.join('\n'),
    files: (left?.files ?? []).map(({ name }) => name),
    texts: (left?.files ?? []).flatMap(({ name, text }) => (text === undefined ? [] : [{ name, text }])),
    pictures: pictures.shown.map(({ kind, data }) => ({ kind, data })),
  };
}
