// What a run of code is asked for, what it may use, and who follows it.

import type { Observer } from '../../base/log/events.js';
import type { OutputStream } from '../../base/process/streams.js';
import type { Deadline } from '../../base/waiting/deadline.js';
import type { SharedApprovals } from '../../policy/approvals/run-approvals.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { ServerLease } from '../../servers/pool/server-lease.js';
import type { AutoloadMode } from '../../settings/environment/variables.js';
import type { GuestFrame, InputFile, ServerBrief, ServerDoc } from '../../wire/frames.js';
import type { KeptFiles } from '../artifacts/kept-files.js';
import type { CallServers, CallServices } from '../calls/guarded-calls.js';
import type { ToolProgress } from '../calls/host-api.js';
import type { SavedTools } from '../calls/saved-tools.js';
import type { Transcript } from '../outcome/transcript.js';
import type { Task } from '../programs/task.js';
import type { SessionUse } from '../sessions/session-use.js';
import type { Sandboxes } from './sandbox-use.js';

export type RunRequest = {
  /** Unique among all bridges. */
  readonly id: string;
  /** Client name and version, as the agent reported them. */
  readonly client: string;
  readonly task: Task;
  readonly timeoutSeconds: number;
  /** Names, checked against what is discovered. All of them must open. */
  readonly servers: readonly string[];
  /** Further ones, which the run does without where they do not open. */
  readonly others?: readonly string[];
  /** For the working directory; checked. */
  readonly files: readonly InputFile[];
  /** It executes reads only, and stops at its first write. */
  readonly isPlan?: boolean | undefined;
};

/** Where the calls of a run wait for a person, and who is asked. */
export type ApprovalServices = { readonly shared: SharedApprovals; readonly agent: AgentCapabilities };

/** What can be asked while the code runs; `waitingFor` names the tools whose answers are awaited, in a few words. */
export type Meter = {
  readonly calls: number;
  readonly inFlight: number;
  readonly waitingFor: string;
  /** What waits for a person, in a sentence; empty where nothing does. */
  readonly asking: string;
};

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
  readonly onOutput: (stream: OutputStream, text: string, base64: string | null) => void;
};

export type RunServers = CallServers & {
  /** The run's, as they were when it was asked for. */
  readonly lease: Pick<ServerLease, 'get' | 'specOf' | 'isAsking' | 'instead'>;
  /** Opens a server and describes it. */
  readonly open: (server: string, signal: AbortSignal) => Promise<ServerDoc>;
  /** Every server that can be named; `failed` are those that did not open, with the reason. */
  readonly discovered: (
    loaded: readonly string[],
    failed: ReadonlyMap<string, string>,
  ) => readonly ServerBrief[];
};

export type RunServices = {
  readonly sandboxes: Sandboxes;
  readonly servers: RunServers;
  readonly calls: CallServices;
  /** Whether code may ask for further servers, and who is asked about it. */
  readonly autoload: { readonly mode: AutoloadMode; readonly agent: AgentCapabilities };
  /** Undefined where nobody can be asked about single calls. */
  readonly approvals: ApprovalServices | undefined;
  /** Of a run that stands still for a person, as Standing says; without it, it keeps its place. */
  readonly standAside?: (() => (() => Promise<void>) | undefined) | undefined;
  readonly saved: SavedTools;
  /** Of a call in a session; absent for a run of its own. */
  readonly session?: SessionUse;
  readonly kept: KeptFiles;
  readonly observer: Observer;
  readonly watcher: Watcher;
};

/** A run of code that is under way. */
export type Run = {
  readonly request: RunRequest;
  readonly services: RunServices;
  readonly deadline: Deadline;
  readonly transcript: Transcript;
};
