// The request for a run of code, and the services that the run may use.

import type { BridgeEvent, Observer } from '../../base/log/events.js';
import type { Deadline } from '../../base/waiting/deadline.js';
import type { SharedApprovals } from '../../policy/approvals/run-approvals.js';
import type { ServerLease } from '../../servers/pool/server-lease.js';
import type { SettingValues } from '../../settings/environment/variables.js';
import type { InputFile, ServerBrief, ServerDoc } from '../../wire/frames.js';
import type { KeptFiles } from '../artifacts/kept-files.js';
import type { CallContext } from '../calls/call-context.js';
import type { CallServers, CallServices } from '../calls/guarded-calls.js';
import type { SavedTools } from '../calls/saved-tools.js';
import type { RunStatus } from '../events.js';
import type { Transcript } from '../outcome/transcript.js';
import type { Task } from '../programs/task.js';
import type { SessionUse } from '../sessions/session-call.js';
import type { AskedSession } from '../sessions/sessions.js';
import type { Sandboxes } from './sandbox-use.js';

/** Input that a run is asked for with. */
export type RunInput = {
  readonly task: Task;
  readonly timeoutSeconds: number;
  /** Names, and `*`. */
  readonly servers: readonly string[];
  /** Files for the working directory; checked. */
  readonly files: readonly InputFile[];
  /** Which one it is a call of; absent for a run of its own. */
  readonly session?: AskedSession;
  /** True for a run that executes reads only, and stops at its first write. */
  readonly isPlan?: boolean | undefined;
};

export type RunServices = {
  /** Id of the run; unique among all bridges. */
  readonly id: string;
  readonly sandboxes: Sandboxes;
  readonly servers: CallServers & {
    /** Names of those that all must open, and of those that the run does without where they do not open. */
    readonly wanted: { readonly servers: readonly string[]; readonly others: readonly string[] };
    /** The run's, as they were when it was asked for. */
    readonly lease: Pick<ServerLease, 'get' | 'specOf' | 'isAsking' | 'insteadSentence'>;
    /** Opens a server and describes it; `isAskedByCode` where that is no set-up of its call. */
    readonly open: (server: string, signal: AbortSignal, isAskedByCode?: boolean) => Promise<ServerDoc>;
    /** Every server that can be named; `failed` are those that did not open, with the reason. */
    readonly discovered: (
      loaded: readonly string[],
      failed: ReadonlyMap<string, string>,
    ) => readonly ServerBrief[];
  };
  readonly calls: CallServices;
  /** Whether code may ask for further servers. */
  readonly autoload: SettingValues['autoload'];
  /** Where single calls wait for a person; undefined where nobody can be asked. */
  readonly approvals: SharedApprovals | undefined;
  /** Gives up the place of a run that stands still for a person, as Standing says; without it, the run keeps its place. */
  readonly standAside?: (() => (() => Promise<void>) | undefined) | undefined;
  readonly saved: SavedTools;
  /** Session that the run is a call in; absent for a run of its own. */
  readonly session?: SessionUse;
  readonly kept: KeptFiles;
  readonly observer: Observer;
};

/** A run of code that is under way. */
export type Run = {
  readonly input: RunInput;
  readonly services: RunServices;
  readonly context: CallContext;
  readonly deadline: Deadline;
  readonly transcript: Transcript;
};

// A run's record tells log and audit of one run, whoever asked for it: that the run has begun, and how it has ended.

export class RunRecord {
  readonly #run: string;
  readonly #observer: Observer;
  readonly #startedAt = performance.now();

  constructor(started: Omit<Extract<BridgeEvent, { type: 'run.started' }>, 'type'>, observer: Observer) {
    this.#run = started.run;
    this.#observer = observer;
    observer({ type: 'run.started', ...started });
  }

  /** Tells of the end, and returns how long the run has taken, in milliseconds. */
  ended(
    {
      status,
      error,
    }: {
      readonly status: RunStatus;
      readonly error?: { readonly type: string; readonly message: string } | undefined;
    },
    servers: readonly string[],
    calls: number,
    data?: readonly string[],
  ): number {
    const durationMs = performance.now() - this.#startedAt;
    const reason = error === undefined ? undefined : { kind: error.type, message: error.message };
    this.#observer({
      type: 'run.ended',
      run: this.#run,
      servers,
      data,
      status,
      error: reason,
      durationMs,
      calls,
    });
    return durationMs;
  }
}
