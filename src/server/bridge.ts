// The composition root: settings in, a bridge out. Opens its parts on first need, owns them all, and lets go of them in
// reverse. The MCP server and the command line are two faces of this one thing.

import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import PQueue from 'p-queue';
import { didYouMean } from '../base/closest.js';
import { DisposalStack } from '../base/disposal.js';
import { messageOf } from '../base/errors.js';
import { fanOut, type Observer } from '../base/events.js';
import { LinkedSignal } from '../base/linked-signal.js';
import { Redactor } from '../base/redact.js';
import { clip, harmless } from '../base/text.js';
import { type DiscoverContext, type Discovery, discover } from '../config/discover.js';
import type { DownstreamSpec } from '../config/downstream-spec.js';
import type { Settings } from '../config/settings.js';
import { remedyOf, remedyOfMissing } from '../config/skipped-remedy.js';
import { type AgentFace, NO_AGENT } from '../downstream/agent-face.js';
import { serverAliases, toServerDoc } from '../downstream/catalog.js';
import { KeptCatalog } from '../downstream/kept-catalog.js';
import { KnownServers } from '../downstream/known-servers.js';
import type { Logins } from '../downstream/oauth/logins.js';
import { ObservedShapes } from '../downstream/observed-shapes.js';
import { type DownstreamPool, openDownstreamPool } from '../downstream/pool.js';
import type { InputFile, ServerBrief, ServerDoc } from '../protocol/frames.js';
import { Gates } from '../run/gates.js';
import { KeptFiles } from '../run/kept-files.js';
import { canLoad } from '../run/on-demand.js';
import { type Outcome, outcomeWithoutRun, withoutSecrets } from '../run/outcome.js';
import { allowedPart, denied, type Policy } from '../run/policy.js';
import { PolicyBook, withoutDenied } from '../run/policy-book.js';
import { type RunParts, runCode, type Watcher } from '../run/run.js';
import { SavedTools } from '../run/saved-tools.js';
import { Launcher } from '../sandbox/launcher.js';
import { WarmPool } from '../sandbox/warm-pool.js';
import { type Refreshed, refreshServers } from './refresh.js';
import { SetUp } from './set-up.js';

/** In the place of a server's name: all that are allowed. */
const ALL_SERVERS = '*';

export type RunInput = {
  readonly code: string;
  /** Names, and `*`. */
  readonly servers: readonly string[];
  readonly timeoutSeconds: number;
  readonly files: readonly InputFile[];
};

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

export type BridgeOptions = {
  readonly settings: Settings;
  readonly discovery: DiscoverContext;
  readonly observer: Observer;
  /** Of the log, so that it learns what this bridge learns; without one, a bridge has its own. */
  readonly redactor?: Redactor;
};

export class Bridge implements AsyncDisposable {
  readonly settings: Settings;
  readonly launcher: Launcher;
  readonly redactor: Redactor;
  /** What its runs have left for reading. */
  readonly kept: KeptFiles;
  /** Whoever asks for runs, in its own words. */
  client = 'command line';
  readonly #observer: Observer;
  readonly #context: DiscoverContext;
  readonly #warm: WarmPool;
  readonly #openPool: (specs: readonly DownstreamSpec[]) => DownstreamPool;
  readonly #pool: DownstreamPool;
  readonly #saved: SavedTools;
  readonly #shapes: ObservedShapes;
  readonly #catalog: KeptCatalog;
  readonly #known: KnownServers;
  readonly #policyBook: PolicyBook;
  readonly #gates = new Gates();
  #shown: { readonly policy: Policy; readonly part: (doc: ServerDoc) => ServerDoc } | undefined;
  readonly #queue: PQueue;
  readonly #owned = new DisposalStack();
  readonly #setUp = new SetUp();
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #discovery: Discovery | undefined;
  /** What is configured, allowed or not: the hosts' own choices of tools are rules. */
  #configured: readonly DownstreamSpec[] = [];
  /** Python names of what is discovered, by server name. */
  #aliases: ReadonlyMap<string, string> = new Map();
  #logins: Promise<Logins> | undefined;
  #sweeping: Promise<number> | undefined;
  /** Of its runs' names: bridges share an audit. */
  readonly #instance = randomBytes(4).toString('hex');
  #runs = 0;
  #agent: AgentFace = NO_AGENT;
  /** Of them, those whose turn has come. */
  #begun = 0;

  /** Throws E_SETTINGS where the policy cannot be used. */
  constructor({ settings, discovery, observer: told, redactor = new Redactor() }: BridgeOptions) {
    const observer = fanOut(told, this.#setUp.observe);
    this.#policyBook = new PolicyBook(settings, discovery.host, observer);
    this.settings = settings;
    this.#context = discovery;
    this.#observer = observer;
    this.redactor = redactor;
    this.launcher = this.#owned.use(new Launcher(settings, discovery.host, observer));
    this.#catalog = new KeptCatalog(settings.stateDir, observer);
    this.#openPool = (specs) =>
      openDownstreamPool({
        specs,
        hostEnv: discovery.env,
        extraEnvNames: settings.downstreamEnv,
        depth: settings.depth,
        observer,
        redactor,
        agent: this.#askedAgent(),
        loginFor: async (spec) => (await this.#openLogins()).of(spec),
        onListed: (downstream) => this.#catalog.learn(downstream),
      });
    this.#pool = this.#owned.use(this.#openPool([]));
    this.#warm = this.#owned.use(
      new WarmPool({
        size: settings.warm,
        preimports: settings.preimport.length > 0,
        start: (signal) => this.launcher.start(signal),
        retire: (sandbox) => this.launcher.retire(sandbox),
        isCurrent: (sandbox) => this.launcher.isCurrent(sandbox),
        observer,
      }),
    );
    this.#saved = new SavedTools(settings.stateDir, settings.saveTools);
    this.#shapes = this.#owned.use(new ObservedShapes(settings.stateDir));
    this.#known = new KnownServers(this.#catalog, this.#shapes, () => this.#shownPart());
    const { stateDir, keepSeconds, keepBytes: quotaBytes } = settings;
    this.kept = this.#owned.use(new KeptFiles({ stateDir, keepSeconds, quotaBytes }));
    this.#queue = new PQueue({ concurrency: settings.concurrency });
  }

  /** What is configured now; read anew, since a host may have changed its file. Starts nothing. */
  rediscover(): Discovery {
    const found = discover(this.#context, this.#observer);
    // The same array for the same servers: what is made of it is kept.
    if (!isDeepStrictEqual(found.ready, this.#configured)) this.#configured = found.ready;
    this.#discovery = withoutDenied(found, this.#policy());
    this.#aliases = serverAliases(this.#discovery.ready.map(({ name }) => name));
    this.#known.adopt(this.#discovery.ready, (name) => this.#aliasOf(name));
    this.#pool.adopt(this.#discovery.ready);
    return this.#discovery;
  }

  /** Leaves out what is denied; the same function as long as the policy is the same. */
  #shownPart(): (doc: ServerDoc) => ServerDoc {
    const policy = this.#policy();
    if (this.#shown?.policy !== policy) this.#shown = { policy, part: (doc) => allowedPart(doc, policy) };
    return this.#shown.part;
  }

  /** What is allowed now. */
  #policy(): Policy {
    return this.#policyBook.policy(this.#configured);
  }

  get discovery(): Discovery {
    return this.#discovery ?? this.rediscover();
  }

  /** Of the servers that a run can name. */
  get serverNames(): readonly string[] {
    return this.discovery.ready.map(({ name }) => name);
  }

  /** One run, queued behind those that are ahead. Never rejects for what agent, guest or engine did. */
  async run(input: RunInput, hooks: RunHooks, signal: AbortSignal): Promise<Outcome> {
    const unknown = this.#unknownServer(input.servers, this.rediscover());
    if (unknown !== undefined) return outcomeWithoutRun('validation_error', unknown, input.timeoutSeconds);
    const number = ++this.#runs;
    const id = `${this.#instance}-${number}`;
    if (this.#queue.pending >= this.settings.concurrency) {
      this.#observer({ type: 'run.queued', run: id, ahead: this.#queue.size });
      hooks.onQueued(this.#placeOf(number));
    }
    const link = new LinkedSignal(signal, this.#closing.signal);
    const running = this.#queue.add(async () => {
      this.#begun++;
      const wanted = this.#wanted(input.servers);
      hooks.onPreparing(() => this.#setUp.waitsFor([...wanted.servers, ...wanted.others]));
      const outcome = await runCode(
        { id, client: this.client, ...input, ...wanted },
        this.#parts(hooks),
        link.signal,
      );
      return withoutSecrets(outcome, (text) => this.redactor.redact(text));
    });
    this.#running.add(running);
    return running.finally(() => {
      link[Symbol.dispose]();
      this.#running.delete(running);
      this.sweepOnce();
    });
  }

  /** Servers and code may ask this agent from now on. */
  serveFor(agent: AgentFace): void {
    this.#agent = agent;
  }

  /** The agent has other roots now. */
  rootsChanged(): void {
    this.#pool.rootsChanged();
  }

  /** Starts each of these servers once, a few at a time, and ends it again; what they list is kept. */
  refresh(
    specs: readonly DownstreamSpec[],
    accept: boolean,
    signal: AbortSignal,
  ): Promise<readonly Refreshed[]> {
    return refreshServers(specs, { openPool: this.#openPool, catalog: this.#catalog, accept }, signal);
  }

  /** Starts the sandboxes that are to wait, and reads what is known of servers; the agent is likely to call soon. */
  warmUp(): void {
    this.#warm.fill();
    void this.#known.readAhead();
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

  /** Turns come in order, so those that come before it are those that have neither begun nor come after it. */
  #placeOf(number: number): { readonly ahead: number } {
    const begun = () => this.#begun;
    return {
      get ahead() {
        return Math.max(0, number - 1 - begun());
      },
    };
  }

  /** Whichever agent is there when it is asked. */
  #askedAgent(): AgentFace {
    return {
      elicits: () => this.#agent.elicits(),
      elicit: (params, signal) => this.#agent.elicit(params, signal),
      elicitationDone: (elicitationId) => this.#agent.elicitationDone(elicitationId),
      hasRoots: () => this.#agent.hasRoots(),
      tellsRootsChanges: () => this.#agent.tellsRootsChanges(),
      listRoots: (signal) => this.#agent.listRoots(signal),
    };
  }

  #parts(watcher: Watcher): RunParts {
    return {
      take: (signal) => this.#warm.take(signal),
      giveBack: (sandbox) => this.#warm.giveBack(sandbox),
      retire: (sandbox) => this.#warm.retire(sandbox),
      open: (server, signal) => this.#load(server, signal),
      discovered: (loaded, failed) => this.#briefs(loaded, failed),
      known: this.#known,
      autoload: this.settings.autoload,
      agent: this.#agent,
      policy: () => this.#policy(),
      gates: this.#gates,
      pool: this.#pool,
      saved: this.#saved,
      shapes: this.#shapes,
      kept: this.kept,
      audit: this.settings.audit,
      observer: this.#observer,
      watcher,
    };
  }

  async #load(name: string, signal: AbortSignal): Promise<ServerDoc> {
    const downstream = await this.#pool.get(name, signal);
    const changed = this.#known.changedOf(downstream.spec);
    return toServerDoc(downstream, this.#aliasOf(name), this.#shapes.of(downstream), changed);
  }

  /** Loaded with the first remote server: most who start a bridge have none. */
  #openLogins(): Promise<Logins> {
    this.#logins ??= import('../downstream/oauth/logins.js').then(
      (module) => new module.Logins(this.settings.stateDir, this.redactor),
    );
    return this.#logins;
  }

  #aliasOf(name: string): string {
    return this.#aliases.get(name) ?? name;
  }

  #briefs(loaded: readonly string[], failed: ReadonlyMap<string, string>): readonly ServerBrief[] {
    const onDemand = canLoad(this.settings.autoload, this.#agent);
    return this.#known.briefs(loaded).map((brief) => {
      const problem = failed.get(brief.name);
      return {
        ...brief,
        ...(onDemand && !brief.loaded ? { onDemand } : {}),
        ...(problem === undefined ? {} : { problem }),
      };
    });
  }

  /** What the names of a call stand for: those that must open, and all others where it asks for all. */
  #wanted(names: readonly string[]): {
    readonly servers: readonly string[];
    readonly others: readonly string[];
  } {
    const servers = names.filter((name) => name !== ALL_SERVERS);
    if (servers.length === names.length) return { servers, others: [] };
    return { servers, others: this.serverNames.filter((name) => !servers.includes(name)) };
  }

  #unknownServer(wanted: readonly string[], { ready, skipped, problems }: Discovery) {
    const names = ready.map(({ name }) => name);
    const unknown = wanted.find((name) => name !== ALL_SERVERS && !names.includes(name));
    if (unknown === undefined) return undefined;
    const echo = clip(harmless(unknown), 200);
    const passedOver = skipped.find(({ name }) => name === unknown);
    const reason = passedOver?.reason;
    const shown = names.slice(0, 20).join(', ') || 'none';
    const more = names.length > 20 ? ` and ${names.length - 20} more` : '';
    const verdict = this.#policy().server(unknown);
    const isKnown = this.#configured.some(({ name }) => name === unknown);
    if (isKnown && !verdict.allowed) {
      const { code: type, message, remedy } = denied(`servers: '${echo}'`, verdict);
      return { type, message, remedy };
    }
    return {
      type: 'E_SERVER_UNKNOWN',
      message:
        reason === undefined
          ? `servers: there is no server '${echo}'.${didYouMean(unknown, names)} Configured: ${shown}${more}.`
          : `servers: '${echo}' is configured but not started: ${reason}`,
      remedy:
        passedOver === undefined
          ? remedyOfMissing(problems)
          : (remedyOf(passedOver) ?? 'See `mcp-sandbox-bridge servers`.'),
    };
  }
}
