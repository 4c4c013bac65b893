// The user's servers as a bridge knows them: those that are configured (configured.ts), what they are called in Python, what
// was learned of them, and the live ones. Looking starts nothing; only `load` and `refresh` do.

import type { Observer } from '../base/log/events.js';
import { ownCommand } from '../base/process/own-command.js';
import type { Redactor } from '../base/secrets/redact.js';
import { didYouMean } from '../base/text/closest.js';
import { shownName } from '../base/text/shown-name.js';
import type { DiscoverContext, Discovery } from '../hosts/discovery/discover.js';
import { explainSkip } from '../hosts/discovery/explain-skip.js';
import type { DownstreamSpec } from '../hosts/downstream-spec.js';
import { allowedPart, deniedError, type Policy } from '../policy/rules/policy.js';
import { canLoad } from '../run/calls/on-demand.js';
import type { CallProblem } from '../run/outcome/outcome.js';
import type { AgentCapabilities } from '../servers/asking/agent-capabilities.js';
import { serverAliases, toServerDoc } from '../servers/catalog/catalog.js';
import { acceptCommand, KeptCatalog } from '../servers/catalog/kept-catalog.js';
import { KnownServers } from '../servers/catalog/known-servers.js';
import { LearnedPrompts } from '../servers/catalog/learned-prompts.js';
import { ObservedShapes } from '../servers/catalog/observed-shapes.js';
import { KeptEras } from '../servers/connection/greet.js';
import type { Logins } from '../servers/login/logins.js';
import { DownstreamPool, type DownstreamPoolOptions, idleTimes } from '../servers/pool/pool.js';
import type { ServerLease } from '../servers/pool/server-lease.js';
import type { Downstream } from '../servers/server/downstream.js';
import type { Settings } from '../settings/environment/settings.js';
import { remedyOfMissing } from '../settings/files/config-file.js';
import type { ServerBrief, ServerDoc } from '../wire/frames.js';
import { Configured, type ServerAccess } from './configured.js';
import { type Refreshed, refreshServers } from './refresh.js';

/** All servers that are allowed, in the place of a server's name. */
const ALL_SERVERS = '*';
const MAX_NAMES_SHOWN = 20;

export class ConfiguredServers implements AsyncDisposable {
  readonly pool: DownstreamPool;
  readonly shapes: ObservedShapes;
  readonly #options;
  readonly #configured: Configured;
  readonly #access: ServerAccess;
  readonly #catalog: KeptCatalog;
  readonly #prompts: LearnedPrompts;
  readonly #eras: KeptEras;
  readonly #known: KnownServers;
  readonly #toldTaken = new Set<string>();
  #shown: { readonly policy: Policy; readonly part: (doc: ServerDoc) => ServerDoc } | undefined;
  /** Discovery that was last passed on to the parts below. */
  #told: Discovery | undefined;
  /** Python names of what is discovered, by server name. */
  #aliases: ReadonlyMap<string, string> = new Map();
  #logins: Promise<Logins> | undefined;

  /** Throws E_SETTINGS where the policy cannot be used. */
  constructor(options: {
    readonly settings: Settings;
    readonly context: DiscoverContext;
    readonly observer: Observer;
    readonly redactor: Redactor;
    /** Access of the principal to the configured servers; without it, to all of them. */
    readonly access?: ServerAccess | undefined;
    /** Where servers are that other bridges use too; without it, they are this bridge's alone. */
    readonly slotFor?: DownstreamPoolOptions['slotFor'];
    /** Knowledge so far of the same settings, context and access; without it, files are read at the first question. */
    readonly configured?: Configured | undefined;
    /** Called when a server lists other prompts than before. */
    readonly onPromptsChanged?: () => void;
  }) {
    const { settings, observer, configured = new Configured(options) } = options;
    this.#configured = configured;
    this.#access = configured.access;
    this.#options = { ...options, context: configured.context };
    this.#catalog = new KeptCatalog(settings.stateDir, observer);
    this.#prompts = new LearnedPrompts(settings.stateDir, options.onPromptsChanged);
    this.#eras = new KeptEras(settings.stateDir);
    this.shapes = new ObservedShapes(settings.stateDir);
    this.#known = new KnownServers(this.#catalog, this.shapes, () => this.#shownPart());
    this.pool = this.#openPool([]);
  }

  /** Reads anew what is configured, since a host may have changed its file. */
  rediscover(): Discovery {
    this.#configured.rediscover();
    // With a call, and not when tools are only listed.
    this.#options.context.owners?.keep();
    this.#tellTaken();
    return this.discovery;
  }

  /** Once of each: the operator wonders otherwise why what is allowed by name is not. */
  #tellTaken(): void {
    for (const { name, takesName, source } of this.#configured.everything.ready) {
      const place = `${source.file}#${source.pointer}`;
      if (takesName !== true || this.#toldTaken.has(place)) continue;
      this.#toldTaken.add(place);
      const message = `the server '${shownName(name)}' has a name that another entry had; what was decided of that name does not hold for it until \`${acceptCommand(name)}\` accepts it`;
      this.#options.observer({ type: 'config.problem', file: source.file, message });
    }
  }

  /** The servers as last read. */
  get discovery(): Discovery {
    const { discovery } = this.#configured;
    if (this.#told === discovery) return discovery;
    this.#told = discovery;
    this.#aliases = serverAliases(discovery.ready.map(({ name }) => name));
    this.#known.adopt(discovery.ready, (name) => this.#aliasOf(name));
    this.pool.adopt(discovery.ready);
    return discovery;
  }

  /** Names of the servers that a run can use. */
  get names(): readonly string[] {
    return this.discovery.ready.map(({ name }) => name);
  }

  /** Documentation of all that were ever started, as far as it may be seen. */
  get known(): KnownServers {
    return this.#known;
  }

  /** The policy that applies now. */
  policy(): Policy {
    return this.#configured.policy();
  }

  /** Why the policy file as it is now does not count, in one line; undefined where it does. */
  get policyTrouble(): string | undefined {
    return this.#configured.policyTrouble;
  }

  /** Reads what is known before somebody asks for it. */
  readAhead(): void {
    void this.#known.readAhead();
  }

  /** Servers that the names of a call stand for: those that must open, and all others where the call asks for all. */
  splitNamed(names: readonly string[]): {
    readonly servers: readonly string[];
    readonly others: readonly string[];
  } {
    const servers = names.filter((name) => name !== ALL_SERVERS);
    if (servers.length === names.length) return { servers, others: [] };
    return { servers, others: this.names.filter((name) => !servers.includes(name)) };
  }

  /** The problem with the first of these names, said in `field`, that no run can have; undefined where all are well. */
  problemWith(wanted: readonly string[], field = 'servers'): CallProblem | undefined {
    const { skipped, problems } = this.discovery;
    const { names } = this;
    const unknown = wanted.find((name) => name !== ALL_SERVERS && !names.includes(name));
    if (unknown === undefined) return undefined;
    const echo = shownName(unknown);
    const verdict = this.policy().server(unknown);
    // A denied server does not exist for anybody but the user who started the bridge.
    const isKnown = this.#access.isWhole && this.#configured.has(unknown);
    if (isKnown && !verdict.allowed) {
      const { code: type, message, remedy } = deniedError(`${field}: '${echo}'`, verdict);
      return { type, message, remedy };
    }
    const passedOver = skipped.find(({ name }) => name === unknown);
    if (passedOver !== undefined) {
      const { text, remedy } = explainSkip(passedOver);
      return {
        type: 'E_SERVER_UNKNOWN',
        message: `${field}: '${echo}' is configured but not started: ${text}`,
        remedy: remedy ?? `See \`${ownCommand('servers')}\`.`,
      };
    }
    const shown = names.slice(0, MAX_NAMES_SHOWN).join(', ') || 'none';
    const more = names.length > MAX_NAMES_SHOWN ? ` and ${names.length - MAX_NAMES_SHOWN} more` : '';
    return {
      type: 'E_SERVER_UNKNOWN',
      message: `${field}: there is no server '${echo}'.${didYouMean(unknown, [...names])} Configured: ${shown}${more}.`,
      remedy: this.#access.advice ?? remedyOfMissing(problems),
    };
  }

  /** The problem with a server that `setBy` means, where another entry has taken its name; undefined where all is well. */
  strangerProblem(name: string, setBy: string): CallProblem | undefined {
    const spec = this.discovery.ready.find((one) => one.name === name);
    if (spec?.takesName !== true) return undefined;
    return {
      type: 'E_DENIED',
      message: `${setBy}: the server '${shownName(name)}' of ${spec.source.file} is not the one that had this name before.`,
      remedy: `If it is meant, the user accepts it: \`${acceptCommand(name)}\`.`,
    };
  }

  /** Starts or reaches one of a run's, and describes it whole. */
  async load(name: string, lease: ServerLease, signal: AbortSignal): Promise<ServerDoc> {
    const downstream = await lease.get(name, signal);
    // Whichever principal's pool has started it.
    if (downstream.spec.isShared === true) this.#learn(downstream);
    const changed = this.#known.changedOf(downstream.spec);
    return toServerDoc(downstream, this.#aliasOf(name), this.shapes.of(downstream), changed);
  }

  /** Each in a line, for a run of `agent`; `failed` are those that did not open for this run, with the reason. */
  briefs(
    loaded: readonly string[],
    failed: ReadonlyMap<string, string>,
    agent: AgentCapabilities,
  ): readonly ServerBrief[] {
    const onDemand = canLoad(this.#options.settings.autoload, agent);
    return this.#known.briefs(loaded).map((brief) => {
      const problem = failed.get(brief.name);
      return {
        ...brief,
        ...(onDemand && !brief.loaded ? { onDemand } : {}),
        ...(problem === undefined ? {} : { problem }),
      };
    });
  }

  /** Starts each of these once, a few at a time, and ends it again; what they list is kept. */
  refresh(
    specs: readonly DownstreamSpec[],
    accept: boolean,
    signal: AbortSignal,
  ): Promise<readonly Refreshed[]> {
    const openPool = (some: readonly DownstreamSpec[]) => this.#openPool(some);
    const { owners } = this.#options.context;
    const parts = { openPool, catalog: this.#catalog, prompts: this.#prompts, owners, accept };
    return refreshServers(specs, parts, signal);
  }

  /** Ends every live one; resolves when they are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool[Symbol.asyncDispose]();
    this.shapes[Symbol.dispose]();
  }

  #learn(downstream: Downstream, of: 'tools' | 'prompts' = 'tools'): void {
    if (of === 'tools') this.#catalog.learn(downstream);
    void this.#prompts.learn(downstream, of === 'prompts');
  }

  #openPool(specs: readonly DownstreamSpec[]): DownstreamPool {
    const { settings, context, observer, redactor, slotFor } = this.#options;
    return new DownstreamPool({
      specs,
      slotFor,
      hostEnv: context.env,
      extraEnvNames: settings.downstreamEnv,
      depth: settings.depth,
      times: idleTimes(settings),
      observer,
      redactor,
      eras: this.#eras,
      loginOwner: this.#access.loginOwner,
      loginFor: async (spec) => this.#access.loginFor(spec) ?? (await this.#openLogins()).of(spec),
      onListed: (downstream, of) => this.#learn(downstream, of),
      onStartFailed: (spec, reason, remedy) =>
        this.#catalog.noteFailure(spec, { reason: redactor.redact(reason), remedy }),
    });
  }

  /** Loaded with the first remote server: most who start a bridge have none. */
  #openLogins(): Promise<Logins> {
    const { settings, redactor, context } = this.#options;
    this.#logins ??= import('../servers/login/logins.js').then(
      ({ Logins, proxiesOf }) =>
        new Logins(settings.stateDir, redactor, proxiesOf(context.env), this.#access.loginOwner),
    );
    return this.#logins;
  }

  #aliasOf(name: string): string {
    // A run may still have one that is configured no more.
    return this.#aliases.get(name) ?? serverAliases([name]).get(name) ?? name;
  }

  /** Leaves out what is denied; the same function as long as the policy is the same. */
  #shownPart(): (doc: ServerDoc) => ServerDoc {
    const policy = this.policy();
    if (this.#shown?.policy !== policy) this.#shown = { policy, part: (doc) => allowedPart(doc, policy) };
    return this.#shown.part;
  }
}
