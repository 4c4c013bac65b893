// A bridge holds all that one principal has: servers, runs and what the runs leave. It opens its parts on first need, owns them
// all, and lets go of them in reverse. The engine and the sandboxes are `sandbox-service.ts`, which bridges may share;
// bridges.ts has a bridge for each principal. The MCP server and the command line both use a bridge.

import { randomBytes } from 'node:crypto';
import { type BridgeEvent, fanOut, type Observer } from '../base/log/events.js';
import { loadedOnce } from '../base/replaced-part.js';
import { Redactor } from '../base/secrets/redact.js';
import { DisposalStack } from '../base/waiting/disposal.js';
import { Scheduler, type TurnLimits, UNLIMITED } from '../base/waiting/scheduler.js';
import type { DiscoverContext } from '../hosts/discovery/discover.js';
import { longestStartSeconds } from '../hosts/downstream-spec.js';
import { Dialogs } from '../policy/approvals/asking.js';
import type { Inbox } from '../policy/approvals/question.js';
import { Grants, type SharedApprovals } from '../policy/approvals/run-approvals.js';
import { openInbox, withNotices } from '../policy/inbox/inbox.js';
import { type Always, allowAlways } from '../policy/rules/always-allowed.js';
import { allowedFolders } from '../policy/rules/policy.js';
import { KeptFiles } from '../run/artifacts/kept-files.js';
import { SavedTools } from '../run/calls/saved-tools.js';
import { Runs } from '../run/life/runs.js';
import { Snippets } from '../run/programs/snippets.js';
import { RunQueue } from '../run/queue/run-queue.js';
import { SetUp } from '../run/queue/set-up.js';
import { Sessions } from '../run/sessions/sessions.js';
import type { Launcher } from '../sandbox/launch/launcher.js';
import { commandProfile, kindAhead, type SandboxProfile, withData } from '../sandbox/spec/profile.js';
import type { AgentCapabilities } from '../servers/asking/agent-capabilities.js';
import type { DownstreamPoolOptions } from '../servers/pool/pool.js';
import type { Settings } from '../settings/environment/settings.js';
import type { Configured, ServerAccess } from './configured.js';
import { ConfiguredServers } from './configured-servers.js';
import { SandboxService } from './sandbox-service.js';

const loadPage = loadedOnce(() => import('../watch/front/question-page.js'));

export type BridgeOptions = {
  readonly settings: Settings;
  readonly discovery: DiscoverContext;
  readonly observer: Observer;
  /**
   * Milliseconds that a call waits for set-up before it is answered with how far that is; without it, for as long as it
   * takes.
   */
  readonly setUpSoftTimeoutMs?: number;
  /**
   * The log's redactor, so that it learns the secrets that this bridge learns; without it, the bridge makes its own.
   */
  readonly redactor?: Redactor;
  /** The engine and sandboxes that it shares with other bridges; without it, the bridge has its own. */
  readonly service?: SandboxService;
  /**
   * Where it serves the user's own command line: the sessions of that, which outlive it. Without it, sessions end with the
   * bridge.
   */
  readonly commandLine?: Sessions | undefined;
  /** Turns of the calls of all bridges of a process; without it, calls wait for nothing but their servers. */
  readonly callTurns?: Scheduler;
  /** Id of whom it serves, among the bridges of its service: runs and calls of one id take turns with those of others. */
  readonly id?: string;
  /** Where servers are that other bridges use too; without it, they are this bridge's alone. */
  readonly slotFor?: DownstreamPoolOptions['slotFor'];
  /** Knowledge of the configured servers so far; without it, they are found out at the first question. */
  readonly configured?: Configured;
  /** Where questions about calls wait besides the agent; without it, in one of its own. Whoever opened it ends it. */
  readonly inbox?: Inbox | undefined;
  /** Whom it serves; without it, the user who started it, who has all that the settings allow. */
  readonly owner?: {
    /** The principal's own folder, for all that is kept of the principal. */
    readonly stateDir: string;
    readonly snippetsDir: string | undefined;
    readonly access: ServerAccess;
    /** Limits of the principal's runs; asked for each run. */
    readonly limits: () => TurnLimits;
    /** Limits of the principal's calls; asked for each call. */
    readonly callLimits: () => TurnLimits;
    /** Most sessions at once; asked for each new one. */
    readonly mostSessions: () => number;
    /** The volume of its commands. */
    readonly workVolume: string;
  };
};

/** Hears what more is known than when the agent was last told. */
export type LearnedListener = (of: 'image' | 'prompts') => void;

export class Bridge implements AsyncDisposable {
  readonly settings: Settings;
  readonly redactor: Redactor;
  readonly servers: ConfiguredServers;
  /** Everything that the bridge's runs have left for reading. */
  readonly kept: KeptFiles;
  readonly snippets: Snippets;
  /** Interpreters that stay from call to call. */
  readonly sessions: Sessions;
  /** Whether the bridge's answers are shown by our own command line, which takes them whole. */
  readonly isForCommandLine: boolean;
  readonly #observer: Observer;
  readonly #service: SandboxService;
  readonly #queue: RunQueue;
  readonly #runs: Runs;
  readonly #commandProfile: SandboxProfile;
  /** As Runs says. */
  readonly run: Runs['run'];
  readonly runCommand: Runs['runCommand'];
  readonly callServer: Runs['callServer'];
  readonly completePrompt: Runs['completePrompt'];
  /** Functions that its code has saved. */
  readonly saved: SavedTools;
  readonly #owned = new DisposalStack();
  /** Note that the next answer carries besides; told once. */
  #untold: string | undefined;
  readonly #learnedListeners = new Set<LearnedListener>();
  /** Folder of all that is kept of whom it serves. */
  readonly stateDir: string;
  #hasSwept = false;

  /** Throws E_SETTINGS where the policy cannot be used. */
  constructor(options: BridgeOptions) {
    const { settings, discovery, redactor = new Redactor(), configured, owner, id = '' } = options;
    this.settings = settings;
    this.redactor = redactor;
    this.#service = options.service ?? this.#owned.use(serviceFor(options));
    const setUp = new SetUp(this.#service.setUp);
    const observer = fanOut(options.observer, setUp.observe);
    this.#observer = observer;
    this.#owned.defer(this.#service.listen(this.#hear));
    const { stateDir, snippetsDir } = owner ?? settings;
    const own = { ...settings, stateDir };
    this.stateDir = stateDir;
    // 8 hex digits.
    const instance = randomBytes(4).toString('hex');
    this.#queue = new RunQueue({
      turns: this.#service.turns,
      instance,
      owner: id,
      limits: () => owner?.limits() ?? UNLIMITED,
      isMetered: owner !== undefined,
      setUp,
      onEnded: () => this.sweepOnce(),
      observer,
    });
    this.servers = this.#owned.use(
      new ConfiguredServers({
        settings: own,
        context: discovery,
        observer,
        redactor,
        access: owner?.access,
        slotFor: options.slotFor,
        configured,
        onPromptsChanged: () => this.#tellLearned('prompts'),
      }),
    );
    const opensWithin = () => longestStartSeconds(this.servers.discovery.ready);
    this.#owned.defer(this.#service.waitForServers(opensWithin));
    // Ahead of the servers: nothing is started for a bridge that ends.
    if (options.service === undefined) this.#owned.use(this.#service.warm);
    const askedIn =
      options.inbox ??
      this.#owned.use(
        openInbox({
          stateDir,
          observer,
          openPage: async (...posted) => (await loadPage()).QuestionPage.open(...posted),
        }),
      );
    const redact = (text: string) => redactor.redact(text);
    const { env, host } = discovery;
    const inbox = withNotices(askedIn, { settings, host, env, redact, observer });
    const approvals = this.#approvals(options, inbox);
    this.isForCommandLine = options.commandLine !== undefined;
    this.sessions =
      options.commandLine ??
      this.#owned.use(
        new Sessions({
          limits: settings.sessions,
          most: owner?.mostSessions ?? (() => settings.sessions.most),
          stateDir,
          principal: owner === undefined ? null : id,
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
    const work = `mcp-sandbox-bridge-${instance}-work`;
    this.#commandProfile = commandProfile(settings, owner?.workVolume ?? settings.executeWork ?? work);
    this.#runs = new Runs({
      settings,
      supply: this.#service,
      servers: this.servers,
      queue: this.#queue,
      setUp,
      sessions: this.sessions,
      kept: this.kept,
      saved: this.saved,
      approvals,
      ownerId: id,
      callTurns: options.callTurns ?? new Scheduler({ atOnce: Number.POSITIVE_INFINITY }),
      callLimits: () => owner?.callLimits() ?? UNLIMITED,
      commandProfile: this.#commandProfile,
      isForCommandLine: this.isForCommandLine,
      redactor,
      untold: () => this.#takeUntold(),
      observer,
    });
    this.run = this.#runs.run;
    this.runCommand = this.#runs.runCommand;
    this.callServer = this.#runs.callServer;
    this.completePrompt = this.#runs.completePrompt;
  }

  get launcher(): Launcher {
    return this.#service.launcher;
  }

  /** Seconds that a run's clock may stand still in a sandbox that starts now, as SandboxService says. */
  get freezeSeconds(): number {
    return this.#service.freezeSeconds;
  }

  /** Sandboxes that wait for a run, and the memory that they hold, in bytes. */
  get waitingSandboxes(): { readonly waiting: number; readonly heldBytes: number } {
    return this.#service.warm.held;
  }

  /** Whether a run or a call of it is under way or waits, be it for a person. */
  get isBusy(): boolean {
    return this.#queue.isBusy;
  }

  /**
   * Calls `listener` whenever it has become known what the image of run_python holds, or that a server has other prompts than
   * before, until what is given back is called.
   */
  onLearned(listener: LearnedListener): () => void {
    this.#learnedListeners.add(listener);
    return () => void this.#learnedListeners.delete(listener);
  }

  /** Starts the sandboxes that are to wait, and reads what is known of servers; `agent` is likely to call soon. */
  warmUp(agent: AgentCapabilities): void {
    this.#runs.expect(agent);
    const { warm } = this.#service;
    const { tools, executeServer } = this.settings;
    const isForCommands = tools.every((name) => name === 'execute');
    if (!isForCommands) warm.of(withData(kindAhead(this.settings), allowedFolders(this))).fill();
    else if (executeServer === undefined) warm.of(this.#commandProfile).fill();
    this.servers.readAhead();
  }

  /** Removes what bridges that died left behind, once in our life. Trouble is logged; it is nobody's call. */
  sweepOnce(): void {
    if (this.#hasSwept) return;
    this.#hasSwept = true;
    void this.kept.sweep();
    // It starts a program, and the answer of a run that has just ended comes first.
    setImmediate(() => this.#service.sweepOnce());
  }

  /** Ends every run and server, and every container where it has its own; resolves when they are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    // A call of a session that goes on is only interrupted.
    const running = this.#queue.close(this.isForCommandLine ? 'cancelled' : 'shutdown');
    await Promise.allSettled([this.#owned[Symbol.asyncDispose](), ...running]);
  }

  /** Parts that all runs of the bridge share for questions to a person. */
  #approvals({ settings, discovery: { host }, owner, id }: BridgeOptions, inbox: Inbox): SharedApprovals {
    const observer = this.#observer;
    const { policyFile: file } = settings;
    const write = async (always: Always) => {
      if (file !== undefined) await allowAlways(file, always, host, this.#queue.closing);
    };
    return {
      principal: owner && id,
      isLocal: owner === undefined,
      inbox,
      dialogs: new Dialogs(),
      grants: new Grants({ write, observer }),
      waitSeconds: settings.approveWaitSeconds,
      canWrite: () => this.servers.policy().approvals.file !== undefined,
      observer,
    };
  }

  /** An image that was built, and a change of the policy that does not count: only the log would say it otherwise. */
  #takeUntold(): readonly (string | undefined)[] {
    const untold = this.#untold;
    this.#untold = undefined;
    return [untold, this.servers.policyTrouble];
  }

  #tellLearned(of: 'image' | 'prompts'): void {
    for (const listener of this.#learnedListeners) listener(of);
  }

  readonly #hear = (event: BridgeEvent): void => {
    if (event.type === 'image.known') this.#tellLearned('image');
    if (event.type !== 'image.built') return;
    const { image, instead, why } = event;
    this.#untold = `The image ${instead} is not here: ${why}. ${image} was built in its place, and is used from now on.`;
  };
}

/** The service of a bridge that shares it with no other. */
const serviceFor = ({ settings, discovery, observer, setUpSoftTimeoutMs }: BridgeOptions): SandboxService =>
  new SandboxService({ settings, host: discovery.host, observer, setUpSoftTimeoutMs });
