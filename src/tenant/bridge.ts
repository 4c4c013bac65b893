// What one principal has: its servers, its runs and what they leave. Opens its parts on first need, owns them all, and lets go
// of them in reverse. The engine and the sandboxes are `sandbox-service.ts`, which bridges may share; bridges.ts has a bridge
// for each principal. The MCP server and the command line are two faces of this one thing.

import { randomBytes } from 'node:crypto';
import { asBridgeError, type BridgeError } from '../base/errors.js';
import type { RawJson } from '../base/json/json-text.js';
import { type BridgeEvent, fanOut, type Observer } from '../base/log/events.js';
import { Redactor } from '../base/secrets/redact.js';
import { DisposalStack } from '../base/waiting/disposal.js';
import { LinkedSignal } from '../base/waiting/linked-signal.js';
import type { DiscoverContext } from '../hosts/discovery/discover.js';
import { LongCalls } from '../mcp/calls/long-calls.js';
import type { ToolCalls } from '../mcp/calls/modern-calls.js';
import { OpenCalls } from '../mcp/calls/open-calls.js';
import { Dialogs } from '../policy/approvals/asking.js';
import { type Always, Grants } from '../policy/approvals/grants.js';
import type { Inbox } from '../policy/approvals/question.js';
import type { SharedApprovals } from '../policy/approvals/run-approvals.js';
import { openInbox } from '../policy/inbox/inbox.js';
import { allowAlways } from '../policy/rules/always-allowed.js';
import { KeptFiles } from '../run/artifacts/kept-files.js';
import { type CallContext, COMMAND_LINE } from '../run/calls/call-context.js';
import { SavedTools } from '../run/calls/saved-tools.js';
import { callDirectly, type ServerCall } from '../run/life/direct-call.js';
import { runCode } from '../run/life/run.js';
import type { RunInput } from '../run/life/run-request.js';
import {
  type CommandInput,
  type CommandOutcome,
  runSandboxedCommand,
} from '../run/life/sandboxed-command.js';
import { type Objection, type Outcome, outcomeWithoutRun, withoutSecrets } from '../run/outcome/outcome.js';
import { Snippets } from '../run/programs/snippets.js';
import type { Task } from '../run/programs/task.js';
import type { CallLimits, CallTurns } from '../run/queue/call-turns.js';
import { RunMeter } from '../run/queue/run-meter.js';
import { type Place, type Refused, takePlace } from '../run/queue/take-turn.js';
import { type Turn, UNLIMITED } from '../run/queue/turns.js';
import type { AnsweredCall } from '../run/sessions/after-call.js';
import { serversOf, sessionTold, useOf } from '../run/sessions/session-runs.js';
import { type AskedSession, type Entered, Sessions } from '../run/sessions/sessions.js';
import type { Launcher } from '../sandbox/launch/launcher.js';
import {
  commandKind,
  kindAhead,
  kindOf,
  pythonKind,
  type SandboxKind,
  sessionKind,
} from '../sandbox/spec/kind.js';
import type { AgentCapabilities } from '../servers/asking/agent-capabilities.js';
import { longestStartSeconds } from '../servers/pool/start-time.js';
import { planFor } from '../settings/environment/plan.js';
import type { Settings } from '../settings/environment/settings.js';
import { type BridgeOwner, NO_CALL_LIMITS } from './bridge-owner.js';
import type { Configured } from './configured.js';
import { ConfiguredServers, type ConfiguredServersOptions } from './configured-servers.js';
import type { Waited } from './patience.js';
import { RunServices } from './run-services.js';
import { SandboxService } from './sandbox-service.js';
import { SetUp } from './set-up.js';

export type BridgeOptions = {
  readonly settings: Settings;
  readonly discovery: DiscoverContext;
  readonly observer: Observer;
  /**
   * Milliseconds that a call waits for set-up before it is answered with how far that is; without it, for as long as it
   * takes.
   */
  readonly setUpPatienceMs?: number;
  /**
   * The log's redactor, so that it learns the secrets that this bridge learns; without it, the bridge makes its own.
   */
  readonly redactor?: Redactor;
  /** The engine and sandboxes that it shares with other bridges; without it, the bridge has its own. */
  readonly service?: SandboxService;
  /** Calls that its agents can go on with, where bridges of one principal share them; without it, the bridge has its own. */
  readonly openCalls?: ToolCalls | undefined;
  /** Calls that were answered before their end, likewise. */
  readonly longCalls?: LongCalls | undefined;
  /**
   * Where it serves the user's own command line: the sessions of that, which outlive it. Without it, sessions end with the
   * bridge.
   */
  readonly commandLine?: Sessions | undefined;
  /** Turns of the calls of all bridges of a process; without it, calls wait for nothing but their servers. */
  readonly callTurns?: CallTurns;
  /** Whose turns its runs take among the bridges of its service; without it, those of its owner. */
  readonly turnName?: string;
  /** Where its servers are, if windows of one user share them; without it, they are this bridge's alone. */
  readonly slotFor?: ConfiguredServersOptions['slotFor'];
  /** What is known already of the configured servers; without it, that is found out at the first question. */
  readonly configured?: Configured;
  /** Where questions about calls wait besides the agent; without it, in one of its own. Whoever opened it ends it. */
  readonly inbox?: Inbox | undefined;
  /** Whom it serves; without it, the user who started it, who has all that the settings allow. */
  readonly owner?: BridgeOwner;
};

/** A call from when it has come. Disposed, it leaves the queue, or gives back the turn that it has not used. */
type Arrival = Disposable & {
  /** Of its run. */
  readonly id: string;
  readonly place: Place;
  /** Its turn, which whoever asks for it ends. */
  readonly begin: () => Place['turn'];
  /** The call, which ends with its bridge too. */
  readonly context: CallContext;
};

export class Bridge implements AsyncDisposable {
  readonly settings: Settings;
  readonly redactor: Redactor;
  readonly servers: ConfiguredServers;
  /** What its runs have left for reading. */
  readonly kept: KeptFiles;
  readonly snippets: Snippets;
  /** Calls of agents that are asked by answers; they may outlive a request. */
  readonly openCalls: ToolCalls;
  /** Calls that go on after they were answered. */
  readonly longCalls: LongCalls;
  /** Interpreters that stay from call to call. */
  readonly sessions: Sessions;
  /** Its answers are shown by our own command line, which takes them whole. */
  readonly isForCommandLine: boolean;
  readonly #observer: Observer;
  readonly #service: SandboxService;
  readonly #owner: BridgeOwner | undefined;
  /** Whose turns its runs and calls take. */
  readonly #ownerId: string;
  readonly #callTurns: CallTurns | undefined;
  readonly #runServices: RunServices;
  /** Functions that its code has saved. */
  readonly saved: SavedTools;
  readonly #owned = new DisposalStack();
  readonly #setUp: SetUp;
  /** What the next answer is to tell besides; once. */
  #untold: string | undefined;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  readonly #imageListeners = new Set<() => void>();
  #hasSwept = false;
  /** Prefix of this bridge's run ids: 8 hex digits. Bridges share an audit, so their ids must differ. */
  readonly #instance = randomBytes(4).toString('hex');
  #runs = 0;

  /** Throws E_SETTINGS where the policy cannot be used. */
  constructor(options: BridgeOptions) {
    const { settings, discovery, redactor = new Redactor(), configured, owner, callTurns } = options;
    this.settings = settings;
    this.redactor = redactor;
    this.#owner = owner;
    this.#ownerId = owner?.id ?? options.turnName ?? '';
    this.#callTurns = callTurns;
    this.#service = options.service ?? this.#owned.use(serviceFor(options));
    this.#setUp = new SetUp(this.#service.setUp);
    const observer = fanOut(options.observer, this.#setUp.observe);
    this.#observer = observer;
    this.#owned.defer(this.#service.listen(this.#hear));
    const { access, shared, stateDir, snippetsDir } = owner ?? settingsOwner(settings);
    const own = { ...settings, stateDir };
    this.servers = this.#owned.use(
      new ConfiguredServers({
        settings: own,
        context: discovery,
        observer,
        redactor,
        access,
        shared,
        slotFor: options.slotFor,
        configured,
      }),
    );
    const opensWithin = () => longestStartSeconds(this.servers.discovery.ready);
    this.#owned.defer(this.#service.waitForServers(opensWithin));
    // Ahead of the servers: nothing is started for a bridge that ends.
    if (options.service === undefined) this.#owned.use(this.#service.warm);
    const inbox = options.inbox ?? this.#owned.use(openInbox({ stateDir, observer }));
    const approvals = this.#approvals(options, inbox);
    this.isForCommandLine = options.commandLine !== undefined;
    this.sessions =
      options.commandLine ??
      this.#owned.use(
        new Sessions({
          limits: settings.sessions,
          most: owner?.mostSessions ?? (() => settings.sessions.most),
          stateDir,
          principal: owner?.id ?? null,
          retire: (sandbox) => this.#service.retire(sandbox),
          observer,
          onEnded: ({ title }) => approvals.grants.forgetSession(title),
        }),
      );
    this.saved = new SavedTools(stateDir, settings.saveTools);
    const { keepSeconds, keepBytes: quotaBytes } = settings;
    this.kept = this.#owned.use(
      new KeptFiles({ stateDir, keepSeconds, quotaBytes, tellsPaths: owner === undefined }),
    );
    this.snippets = new Snippets(snippetsDir);
    this.#runServices = new RunServices({
      settings,
      service: this.#service,
      servers: this.servers,
      kept: this.kept,
      saved: this.saved,
      observer,
      approvals,
      ownerId: this.#ownerId,
      callTurn: callTurns && ((signal) => callTurns.ofCode(this.#ownerId, this.#callLimits, signal)),
    });
    this.openCalls = options.openCalls ?? this.#owned.use(new OpenCalls());
    this.longCalls = options.longCalls ?? this.#owned.use(new LongCalls(keepSeconds));
  }

  get launcher(): Launcher {
    return this.#service.launcher;
  }

  /** Of a sandbox that starts now, as SandboxService says. */
  get standstillSeconds(): number {
    return this.#service.standstillSeconds;
  }

  /** Whether a run or a call of it is under way or waits, be it for a person. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** One run, queued behind those that are ahead. Never rejects for what agent, guest or engine did. */
  async run(input: RunInput, context: CallContext): Promise<Outcome> {
    const { agent } = context.caller;
    this.#service.expect(agent);
    this.servers.rediscover();
    this.#expectQuestions();
    const { session } = input;
    if (session !== undefined) return this.#runInSession(input, session, context);
    const objection = this.servers.objectionTo(input.servers);
    if (objection !== undefined)
      return outcomeWithoutRun('validation_error', objection, input.timeoutSeconds);
    // What is configured now, also for a run that waits for its turn.
    const wanted = this.servers.wanted(input.servers);
    const asked = [...wanted.servers, ...wanted.others];
    using lease = this.servers.pool.lease(asked, agent);
    const waited = this.#waitedFor(asked);
    const kind = this.#kindOf(input.task);
    using arrival = this.#arrive(kind, context);
    const outcome = await this.#inTurn(arrival, asked, async (id, meter, turn) => {
      const request = { id, ...input, ...wanted };
      const services = this.#runServices.forRun(kind, agent, lease, waited, { meter, turn });
      return this.#noted(this.#withoutSecrets(await runCode(request, services, arrival.context)));
    });
    return 'refused' in outcome ? withoutTurn(outcome.refused, input.timeoutSeconds) : outcome;
  }

  /** One call of a session, behind those that are ahead in it. */
  async #runInSession(input: RunInput, asked: AskedSession, context: CallContext): Promise<Outcome> {
    const { timeoutSeconds } = input;
    const { caller } = context;
    const kind = sessionKind(this.settings);
    // Ahead of the session: whoever waits for it is counted like whoever waits for a place.
    using arrival = this.#arrive(kind, context, this.sessions.mustWait(asked, caller));
    const entered = await this.#enter(asked, arrival);
    if ('refused' in entered) return withoutTurn(entered.refused, timeoutSeconds);
    if ('message' in entered) return outcomeWithoutRun('validation_error', entered, timeoutSeconds);
    using _entered = entered;
    const { servers } = this;
    const { names, added, lost } = serversOf(
      entered,
      input.servers,
      (some) => servers.objectionTo(some),
      (some) => servers.wanted(some),
    );
    const told = (outcome: Outcome): Outcome => ({
      ...outcome,
      session: sessionTold(entered, outcome, lost),
    });
    const objection = servers.objectionTo(names);
    if (objection !== undefined)
      return told(outcomeWithoutRun('validation_error', objection, timeoutSeconds));
    const wanted = servers.wanted(names);
    const all = [...wanted.servers, ...wanted.others];
    using lease = servers.pool.lease(all, caller.agent);
    const waited = this.#waitedFor(all);
    const after = (call: Omit<AnsweredCall, 'endsAt'>, beganAt: number) =>
      entered.session.goesOnAs({ ...call, endsAt: beganAt + timeoutSeconds * 1000 });
    const inSession = async (id: string, meter: RunMeter, turn: Turn) => {
      const request = { id, ...input, ...wanted };
      const services = {
        ...this.#runServices.forRun(kind, caller.agent, lease, waited, { meter, turn }),
        sandboxes: this.#runServices.forSession(kind, entered, waited, meter),
        // A person who names a server at a terminal need not be asked for it.
        session: useOf(entered, this.isForCommandLine || caller === COMMAND_LINE ? [] : added),
      };
      return this.#noted(this.#withoutSecrets(await runCode(request, services, arrival.context)));
    };
    const outcome = await this.#inTurn(arrival, all, inSession, after);
    if ('refused' in outcome) return told(withoutTurn(outcome.refused, timeoutSeconds));
    const { session } = entered;
    // Those that a call was refused are none of its.
    if (session.calls > 0 && outcome.status !== 'validation_error')
      session.servers = [...new Set([...names.filter((name) => all.includes(name)), ...outcome.servers])];
    return told(outcome);
  }

  /** A session for the call that has arrived; or why it gets none, such as a quota that was used up meanwhile. */
  async #enter(asked: AskedSession, { place, context }: Arrival): Promise<Entered | Objection | Refused> {
    if (place.refused !== undefined) return place.refused;
    const refusing = new AbortController();
    using waits = new LinkedSignal(context.signal, refusing.signal);
    const refused = place.turn.then((turn) => {
      if (!('refused' in turn)) return new Promise<never>(() => {});
      refusing.abort('refused');
      return turn;
    });
    const entering = this.sessions
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

  /** One command in a container of its own, queued like a run. Never rejects for what agent, command or engine did. */
  async runCommand(input: CommandInput, context: CallContext): Promise<CommandOutcome> {
    const waited = this.#waitedFor([]);
    const kind = this.#commandKind();
    using arrival = this.#arrive(kind, context);
    const outcome = await this.#inTurn(arrival, [], async (id, meter) => {
      const services = this.#runServices.forCommand(kind, waited, meter);
      const ended = await runSandboxedCommand({ id, ...input }, services, arrival.context);
      return 'failed' in ended ? { failed: this.#withoutSecrets(ended.failed) } : ended;
    });
    return 'refused' in outcome ? { failed: withoutTurn(outcome.refused, input.timeoutSeconds) } : outcome;
  }

  /** A tool of one server, for the agent itself. Never rejects: what stands in the way is an objection. */
  async callServer({ setBy, ...call }: ServerCall, context: CallContext): Promise<RawJson | Objection> {
    const { agent } = context.caller;
    using link = new LinkedSignal(context.signal, this.#closing.signal);
    const turn = await this.#callTurns?.ofAgent(this.#ownerId, this.#callLimits, link.signal);
    if (turn !== undefined && 'refused' in turn) return objectionOf(turn.refused);
    using _turn = turn;
    this.servers.rediscover();
    const objection =
      this.servers.objectionTo([call.server], setBy) ?? this.servers.strangerObjection(call.server, setBy);
    if (objection !== undefined) return objection;
    const id = `${this.#instance}-${++this.#runs}`;
    using lease = this.servers.pool.lease([call.server], agent);
    context.tell({ type: 'preparing', waitsFor: () => this.#setUp.waitsFor([call.server]) });
    const services = this.#runServices.forCall(agent, lease, this.#waitedFor([call.server]));
    const calling = callDirectly({ id, language: 'command', ...call }, services, {
      ...context,
      signal: link.signal,
    });
    this.#running.add(calling);
    try {
      return await calling;
    } catch (thrown) {
      return objectionOf(asBridgeError(thrown));
    } finally {
      this.#running.delete(calling);
    }
  }

  /**
   * Calls `listener` whenever it has become known what the image of run_python holds, until what is given back is called.
   */
  onImageKnown(listener: () => void): () => void {
    this.#imageListeners.add(listener);
    return () => void this.#imageListeners.delete(listener);
  }

  /** Starts the sandboxes that are to wait, and reads what is known of servers; `agent` is likely to call soon. */
  warmUp(agent: AgentCapabilities): void {
    this.#service.expect(agent);
    this.#expectQuestions();
    const { warm } = this.#service;
    const { tools, executeServer } = this.settings;
    const isForCommands = tools.every((name) => name === 'execute');
    if (!isForCommands) warm.of(kindAhead(this.settings)).fill();
    else if (executeServer === undefined) warm.of(this.#commandKind()).fill();
    this.servers.readAhead();
  }

  /** Removes what bridges that died left behind, once in our life. Trouble is logged; it is nobody's call. */
  sweepOnce(): void {
    if (!this.#hasSwept) void this.kept.sweep();
    this.#hasSwept = true;
    this.#service.sweepOnce();
  }

  /** Ends every run and server, and every container where it has its own; resolves when they are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    // A call of a session that goes on is only interrupted.
    this.#closing.abort(this.isForCommandLine ? 'cancelled' : 'shutdown');
    await Promise.allSettled([this.#owned[Symbol.asyncDispose](), ...this.#running]);
  }

  /** What all its runs share of their questions to a person. */
  #approvals({ settings, discovery: { host }, owner }: BridgeOptions, inbox: Inbox): SharedApprovals {
    const observer = this.#observer;
    const { policyFile: file } = settings;
    const write = async (always: Always) => {
      if (file !== undefined) await allowAlways(file, always, host, this.#closing.signal);
    };
    return {
      principal: owner?.id,
      isLocal: owner === undefined,
      inbox,
      dialogs: new Dialogs(),
      grants: new Grants({ write, observer }),
      waitSeconds: settings.approveWaitSeconds,
      canWrite: () => this.servers.policy().approvals.file !== undefined,
      observer,
    };
  }

  /** A sandbox that starts from now on gives a person the time to answer; one that waits is too short-lived for that. */
  #expectQuestions(): void {
    if (this.servers.policy().approvals.isOn) this.#service.expectQuestions();
  }

  /** A call that needs a sandbox of `kind` has come: from now on it is counted. `isHeld` where it waits for its session first. */
  #arrive({ memoryBytes }: SandboxKind, context: CallContext, isHeld = false): Arrival {
    const id = `${this.#instance}-${++this.#runs}`;
    const leaving = new AbortController();
    const link = new LinkedSignal(context.signal, this.#closing.signal, leaving.signal);
    const limits = this.#owner?.limits() ?? UNLIMITED;
    const wait = { owner: this.#ownerId, limits, memoryBytes, isHeld };
    const place = takePlace(this.#service.turns, wait, link.signal, (turn) => {
      this.#observer({ type: 'run.queued', run: id, ahead: turn.ahead });
      context.tell({ type: 'queued', place: turn });
    });
    let hasBegun = false;
    const begin = () => {
      hasBegun = true;
      return place.turn;
    };
    const dispose = () => {
      leaving.abort('over');
      link[Symbol.dispose]();
      if (hasBegun) return;
      void place.turn.then((turn) => {
        if (!('refused' in turn)) turn.end();
      });
    };
    return { id, place, begin, context: { ...context, signal: link.signal }, [Symbol.dispose]: dispose };
  }

  /**
   * `work` when its turn has come, with the name of the run, and what counts its processor time; or why it
   * gets none. `servers` are those that it waits for; `after` has the turn when the work is done, and ends it at last.
   */
  async #inTurn<T>(
    { id, begin, context }: Arrival,
    servers: readonly string[],
    work: (id: string, meter: RunMeter, turn: Turn) => Promise<T>,
    after = endOf,
  ): Promise<T | Refused> {
    const running = begin().then(async (turn) => {
      if ('refused' in turn) return turn;
      const beganAt = performance.now();
      const meter = new RunMeter(this.#owner !== undefined);
      try {
        context.tell({ type: 'preparing', waitsFor: () => this.#setUp.waitsFor(servers) });
        return await work(id, meter, turn);
      } finally {
        after({ turn, meter }, beganAt);
      }
    });
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      this.sweepOnce();
    }
  }

  /** How long this call has waited for set-up so far, from now on. */
  #waitedFor(servers: readonly string[]): Waited {
    return { since: performance.now(), goingOn: () => this.#setUp.goingOn(servers) };
  }

  get #callLimits(): CallLimits {
    return this.#owner?.callLimits() ?? NO_CALL_LIMITS;
  }

  #kindOf(task: Task): SandboxKind {
    const { settings } = this;
    return task.type === 'cell' ? pythonKind(settings) : kindOf(planFor(task.language, settings), settings);
  }

  #commandKind(): SandboxKind {
    const own = `mcp-sandbox-bridge-${this.#instance}-work`;
    return commandKind(this.settings, this.#owner?.workVolume ?? this.settings.executeWork ?? own);
  }

  #withoutSecrets(outcome: Outcome): Outcome {
    return withoutSecrets(outcome, (text) => this.redactor.redact(text));
  }

  /** What only the log would say otherwise: an image that was built, and a change of the policy that does not count. */
  #noted(outcome: Outcome): Outcome {
    const notes = [outcome.note, this.#untold, this.servers.policyTrouble];
    this.#untold = undefined;
    const [own, ...ours] = notes.map((note, index) =>
      note === undefined || index === 0 ? note : this.redactor.redact(note),
    );
    const said = [own, ...ours].filter((note) => note !== undefined);
    return said.length === 0 ? outcome : { ...outcome, note: said.join('\n') };
  }

  readonly #hear = (event: BridgeEvent): void => {
    if (event.type === 'image.known') for (const listener of this.#imageListeners) listener();
    if (event.type !== 'image.built') return;
    const { image, instead, why } = event;
    this.#untold = `The image ${instead} is not here: ${why}. ${image} was built in its place, and is used from now on.`;
  };
}

/** What has come to its end has no place any more. */
const endOf = ({ turn, meter }: Omit<AnsweredCall, 'endsAt'>, _beganAt: number): void =>
  turn.end({ processorSeconds: meter.lap() });

/** The user who started the bridge has the state directory itself, and nothing is kept from it. */
const settingsOwner = ({ stateDir, snippetsDir }: Settings) =>
  ({ access: undefined, shared: undefined, stateDir, snippetsDir }) as const;

/** The service of a bridge that shares it with no other. */
const serviceFor = ({ settings, discovery, observer, setUpPatienceMs }: BridgeOptions): SandboxService =>
  new SandboxService({ settings, host: discovery.host, observer, setUpPatienceMs });

const objectionOf = ({ code: type, message, remedy }: BridgeError): Objection => ({ type, message, remedy });

const withoutTurn = ({ code: type, message, remedy }: BridgeError, timeoutSeconds: number): Outcome =>
  outcomeWithoutRun('error', { type, message, remedy }, timeoutSeconds);
