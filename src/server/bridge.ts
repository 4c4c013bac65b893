// The composition root: settings in, a bridge out. Opens its parts on first need, owns them all, and lets go of them in
// reverse. The MCP server and the command line are two faces of this one thing.

import { randomBytes } from 'node:crypto';
import PQueue from 'p-queue';
import { DisposalStack } from '../base/disposal.js';
import { asBridgeError, messageOf } from '../base/errors.js';
import { type BridgeEvent, fanOut, type Observer } from '../base/events.js';
import { LinkedSignal } from '../base/linked-signal.js';
import { Redactor } from '../base/redact.js';
import type { DiscoverContext } from '../config/discover.js';
import { planFor } from '../config/languages/plan.js';
import type { Settings } from '../config/settings.js';
import { longestStartSeconds } from '../config/start-time.js';
import type { AgentCapabilities } from '../downstream/asking/agent-capabilities.js';
import type { ServerLease } from '../downstream/server-lease.js';
import type { InputFile } from '../protocol/frames.js';
import type { RawJson } from '../protocol/json-text.js';
import { KeptFiles } from '../run/artifacts/kept-files.js';
import { Gates } from '../run/calls/gates.js';
import { canLoad } from '../run/calls/on-demand.js';
import { SavedTools } from '../run/calls/saved-tools.js';
import { callDirectly, type DirectCall, type DirectServices } from '../run/direct-call.js';
import { type Objection, type Outcome, outcomeWithoutRun, withoutSecrets } from '../run/outcome/outcome.js';
import { Snippets } from '../run/programs/snippets.js';
import type { Task } from '../run/programs/task.js';
import { runCode } from '../run/run.js';
import type { RunServices, Watcher } from '../run/run-request.js';
import type { Sandboxes } from '../run/sandbox-use.js';
import {
  type CommandOutcome,
  type CommandRequest,
  type CommandServices,
  runSandboxedCommand,
} from '../run/sandboxed-command.js';
import { commandKind, keyOf, kindAhead, kindOf, pythonKind, type SandboxKind } from '../sandbox/kind.js';
import { Launcher } from '../sandbox/launcher.js';
import { Launchers } from '../sandbox/launchers.js';
import { MAX_ASKING_SECONDS } from '../sandbox/spec.js';
import { WarmPools } from '../sandbox/warm-pools.js';
import type { Caller } from './caller.js';
import { ConfiguredServers } from './configured-servers.js';
import type { ToolCalls } from './modern-calls.js';
import { OpenCalls } from './open-calls/open-calls.js';
import { Patience } from './patience.js';
import { SetUp } from './set-up.js';

export type RunInput = {
  readonly task: Task;
  /** Names, and `*`. */
  readonly servers: readonly string[];
  readonly timeoutSeconds: number;
  readonly files: readonly InputFile[];
};

export type CommandInput = Pick<CommandRequest, 'command' | 'timeoutSeconds'>;

/** `setBy` names what has chosen the server, for its errors. */
export type ServerCall = Omit<DirectCall, 'id' | 'client' | 'language'> & { readonly setBy: string };

export type RunHooks = Watcher & {
  /** The run has to wait; `ahead` counts, whenever it is asked, those that wait and come before it. */
  readonly onQueued: (place: { readonly ahead: number }) => void;
  /** Its turn has come; `waitsFor` says, whenever it is asked, what holds up its start. */
  readonly onPreparing: (waitsFor: () => string) => void;
};

/** For runs that nobody follows. */
export const UNWATCHED: RunHooks = {
  onQueued: () => {},
  onPreparing: () => {},
  onStart: () => {},
  onProgress: () => {},
  onToolProgress: () => {},
  onOutput: () => {},
};

/** A call that waits, and who follows it. */
type CallWait = {
  readonly watcher: Watcher;
  /** By performance.now(): when the call came. */
  readonly since: number;
  /** What it waits for, in words. */
  readonly goingOn: () => string;
};

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
};

export class Bridge implements AsyncDisposable {
  readonly settings: Settings;
  readonly launcher: Launcher;
  readonly redactor: Redactor;
  readonly servers: ConfiguredServers;
  /** What its runs have left for reading. */
  readonly kept: KeptFiles;
  readonly snippets: Snippets;
  /** Calls of agents that are asked by answers; they may outlive a request. */
  readonly openCalls: ToolCalls = new OpenCalls();
  readonly #observer: Observer;
  readonly #warm: WarmPools;
  readonly #saved: SavedTools;
  readonly #gates = new Gates();
  readonly #queue: PQueue;
  readonly #owned = new DisposalStack();
  readonly #setUp = new SetUp();
  readonly #patience: Patience;
  /** What the next answer is to tell besides; once. */
  #untold: string | undefined;
  readonly #closing = new AbortController();
  /** Whether a person may be asked for servers while code runs: some agent that calls us can. */
  #mayAsk = false;
  readonly #running = new Set<Promise<unknown>>();
  readonly #imageListeners = new Set<() => void>();
  #sweeping: Promise<number> | undefined;
  /** Prefix of this bridge's run ids: 8 hex digits. Bridges share an audit, so their ids must differ. */
  readonly #instance = randomBytes(4).toString('hex');
  #runs = 0;
  /** How many of these runs have had their turn in the queue. */
  #begun = 0;

  /** Throws E_SETTINGS where the policy cannot be used. */
  constructor({
    settings,
    discovery,
    observer: told,
    setUpPatienceMs,
    redactor = new Redactor(),
  }: BridgeOptions) {
    const observer = fanOut(told, this.#setUp.observe, this.#noteBuilt, ({ type }) => {
      if (type === 'image.known') for (const listener of this.#imageListeners) listener();
    });
    this.#patience = new Patience(setUpPatienceMs);
    this.settings = settings;
    this.#observer = observer;
    this.redactor = redactor;
    const standstill = () => this.standstillSeconds;
    const letGo = () => this.#warm.letGo();
    this.launcher = this.#owned.use(new Launcher(settings, discovery.host, observer, standstill, letGo));
    const open = (other: Settings) => new Launcher(other, discovery.host, observer, standstill, letGo);
    const launchers = this.#owned.use(new Launchers(settings, this.launcher, open));
    this.servers = this.#owned.use(
      new ConfiguredServers({ settings, context: discovery, observer, redactor }),
    );
    this.#warm = this.#owned.use(
      new WarmPools({
        size: settings.warm,
        start: (kind, signal) => launchers.start(kind, signal),
        retire: (sandbox) => launchers.retire(sandbox),
        isCurrent: (sandbox) => launchers.isCurrent(sandbox),
        onWaits: (sandbox, waits) => launchers.onWaits(sandbox, waits),
        observer,
      }),
    );
    this.#saved = new SavedTools(settings.stateDir, settings.saveTools);
    const { stateDir, keepSeconds, keepBytes: quotaBytes } = settings;
    this.kept = this.#owned.use(new KeptFiles({ stateDir, keepSeconds, quotaBytes }));
    this.snippets = new Snippets(settings.snippetsDir);
    this.#queue = new PQueue({ concurrency: settings.concurrency });
    this.#owned.use(this.openCalls);
  }

  /**
   * How long the clock of a run may stand still in a sandbox that starts now: until its servers are open, and while code
   * has a person asked for another one.
   */
  get standstillSeconds(): number {
    return longestStartSeconds(this.servers.discovery.ready) + (this.#mayAsk ? MAX_ASKING_SECONDS : 0);
  }

  /** One run, queued behind those that are ahead. Never rejects for what agent, guest or engine did. */
  async run(input: RunInput, caller: Caller, hooks: RunHooks, signal: AbortSignal): Promise<Outcome> {
    this.#expect(caller.agent);
    this.servers.rediscover();
    const objection = this.servers.objectionTo(input.servers);
    if (objection !== undefined)
      return outcomeWithoutRun('validation_error', objection, input.timeoutSeconds);
    // What is configured now, also for a run that waits for its turn.
    const wanted = this.servers.wanted(input.servers);
    const asked = [...wanted.servers, ...wanted.others];
    using lease = this.servers.pool.lease(asked, caller.agent);
    const wait = this.#waitOf(asked, hooks);
    return await this.#inTurn(asked, hooks, signal, async (id, ends) => {
      const request = { id, client: caller.client, ...input, ...wanted };
      const services = this.#servicesFor(this.#kindOf(input.task), caller, lease, wait);
      return this.#noted(this.#withoutSecrets(await runCode(request, services, ends)));
    });
  }

  /** One command in a container of its own, queued like a run. Never rejects for what agent, command or engine did. */
  async runCommand(
    input: CommandInput,
    caller: Caller,
    hooks: RunHooks,
    signal: AbortSignal,
  ): Promise<CommandOutcome> {
    const wait = this.#waitOf([], hooks);
    return await this.#inTurn([], hooks, signal, async (id, ends) => {
      const request = { id, client: caller.client, ...input };
      const outcome = await runSandboxedCommand(request, this.#commandServices(wait), ends);
      return 'failed' in outcome ? { failed: this.#withoutSecrets(outcome.failed) } : outcome;
    });
  }

  /** A tool of one server, for the agent itself. Never rejects: what stands in the way is an objection. */
  async callServer(
    { setBy, ...call }: ServerCall,
    caller: Caller,
    hooks: RunHooks,
    signal: AbortSignal,
  ): Promise<RawJson | Objection> {
    this.servers.rediscover();
    const objection = this.servers.objectionTo([call.server], setBy);
    if (objection !== undefined) return objection;
    const id = `${this.#instance}-${++this.#runs}`;
    this.#begun++;
    using link = new LinkedSignal(signal, this.#closing.signal);
    using lease = this.servers.pool.lease([call.server], caller.agent);
    hooks.onPreparing(() => this.#setUp.waitsFor([call.server]));
    const about = { id, client: caller.client, language: 'command', ...call };
    const wait = this.#waitOf([call.server], hooks);
    const calling = callDirectly(about, this.#directServices(caller, lease, wait), link.signal);
    this.#running.add(calling);
    try {
      return await calling;
    } catch (thrown) {
      const { code: type, message, remedy } = asBridgeError(thrown);
      return { type, message, remedy };
    } finally {
      this.#running.delete(calling);
    }
  }

  /** Calls `listener` whenever it has become known what the image of run_python holds, until what it returns is called. */
  onImageKnown(listener: () => void): () => void {
    this.#imageListeners.add(listener);
    return () => void this.#imageListeners.delete(listener);
  }

  /** Starts the sandboxes that are to wait, and reads what is known of servers; `agent` is likely to call soon. */
  warmUp(agent: AgentCapabilities): void {
    this.#expect(agent);
    const { tools, executeServer } = this.settings;
    const isForCommands = tools.every((name) => name === 'execute');
    if (!isForCommands) this.#warm.of(kindAhead(this.settings)).fill();
    else if (executeServer === undefined) this.#warm.of(this.#commandKind()).fill();
    this.servers.readAhead();
  }

  /** Removes what bridges that died left behind, once in our life. Trouble is logged; it is nobody's call. */
  sweepOnce(): void {
    if (this.#sweeping === undefined) void this.kept.sweep();
    this.#sweeping ??= this.launcher.sweep(this.#closing.signal).catch((thrown: unknown) => {
      if (!this.#closing.signal.aborted)
        this.#observer({ type: 'engine.trouble', message: messageOf(thrown) });
      return 0;
    });
  }

  /** Ends every run, container and server; resolves when they are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort('shutdown');
    await Promise.allSettled([this.#owned[Symbol.asyncDispose](), this.#sweeping, ...this.#running]);
  }

  /** `work` when its turn has come, with the name of the run and what ends it. `servers` are those that it waits for. */
  async #inTurn<T>(
    servers: readonly string[],
    hooks: RunHooks,
    signal: AbortSignal,
    work: (id: string, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const number = ++this.#runs;
    const id = `${this.#instance}-${number}`;
    if (this.#queue.pending >= this.settings.concurrency) {
      this.#observer({ type: 'run.queued', run: id, ahead: this.#queue.size });
      hooks.onQueued(this.#placeOf(number));
    }
    using link = new LinkedSignal(signal, this.#closing.signal);
    const running = this.#queue.add(() => {
      this.#begun++;
      hooks.onPreparing(() => this.#setUp.waitsFor(servers));
      return work(id, link.signal);
    });
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      this.sweepOnce();
    }
  }

  /** Turns come in order, so those that come before it are those that have neither begun nor come after it. */
  #placeOf(number: number): { readonly ahead: number } {
    const begun = () => this.#begun;
    return {
      get ahead() {
        return Math.max(0, number - 1 - begun());
      },
    };
  }

  #kindOf(task: Task): SandboxKind {
    const { settings } = this;
    return task.type === 'cell' ? pythonKind(settings) : kindOf(planFor(task.language, settings), settings);
  }

  #commandKind(): SandboxKind {
    const own = `mcp-sandbox-bridge-${this.#instance}-work`;
    return commandKind(this.settings, this.settings.executeWork ?? own);
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

  readonly #noteBuilt = (event: BridgeEvent): void => {
    if (event.type !== 'image.built') return;
    const { image, instead, why } = event;
    this.#untold = `The image ${instead} is not here: ${why}. ${image} was built in its place, and is used from now on.`;
  };

  /** How long this call has waited for set-up so far, from now on. */
  #waitOf(servers: readonly string[], watcher: Watcher): CallWait {
    const since = performance.now();
    return { watcher, since, goingOn: () => this.#setUp.goingOn(servers) };
  }

  #sandboxes(kind: SandboxKind, wait: CallWait): Sandboxes {
    const warm = this.#warm.of(kind);
    return {
      take: (signal) => this.#patience.take(keyOf(kind), warm, wait, signal),
      giveBack: (sandbox) => warm.giveBack(sandbox),
      retire: (sandbox) => warm.retire(sandbox),
    };
  }

  #commandServices(wait: CallWait): CommandServices {
    const { audit } = this.settings;
    const sandboxes = this.#sandboxes(this.#commandKind(), wait);
    return { sandboxes, kept: this.kept, audit, observer: this.#observer, watcher: wait.watcher };
  }

  /** The clock of a sandbox that waits is too short where the first caller who can be asked comes after its start. */
  #expect(agent: AgentCapabilities): void {
    if (this.#mayAsk || this.settings.autoload !== 'ask' || !canLoad('ask', agent)) return;
    this.#mayAsk = true;
    this.#warm.letGo();
  }

  #servicesFor(kind: SandboxKind, caller: Caller, lease: ServerLease, wait: CallWait): RunServices {
    return {
      ...this.#directServices(caller, lease, wait),
      sandboxes: this.#sandboxes(kind, wait),
      autoload: { mode: this.settings.autoload, agent: caller.agent },
      kept: this.kept,
    };
  }

  #directServices({ agent }: Caller, lease: ServerLease, { watcher, ...wait }: CallWait): DirectServices {
    const { servers } = this;
    let hasStarted = false;
    const onStart: Watcher['onStart'] = (meter) => {
      hasStarted = true;
      watcher.onStart(meter);
    };
    return {
      servers: {
        open: (server, signal) => {
          const opening = servers.load(server, lease, signal);
          // What code asks for while it runs is no set-up of its call.
          return hasStarted ? opening : this.#patience.wait(opening, wait);
        },
        discovered: (loaded, failed) => servers.briefs(loaded, failed, agent),
        known: servers.known,
        policy: () => servers.policy(),
        lease,
      },
      calls: { gates: this.#gates, shapes: servers.shapes, audit: this.settings.audit },
      saved: this.#saved,
      observer: this.#observer,
      watcher: { ...watcher, onStart },
    };
  }
}
