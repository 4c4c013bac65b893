// The one place in which guard, limits, audit and handlers are put together, for a run's code as for a call that the
// agent makes itself.

import type { Observer } from '../../base/log/events.js';
import type { Trace } from '../../base/trace.js';
import type { StopClock } from '../../base/waiting/deadline.js';
import type { Plan } from '../../policy/approvals/plan.js';
import type { RunApprovals } from '../../policy/approvals/run-approvals.js';
import type { Policy } from '../../policy/rules/policy.js';
import type { KnownServers } from '../../servers/catalog/known-servers.js';
import type { ObservedShapes } from '../../servers/catalog/observed-shapes.js';
import type { ServerLease } from '../../servers/pool/server-lease.js';
import type { SettingValues } from '../../settings/environment/variables.js';
import type { ServerBrief, ServerDoc } from '../../wire/frames.js';
import { CallAudit } from './call-audit.js';
import type { CallContext } from './call-context.js';
import { CallGuard } from './call-guard.js';
import { CallLimits, type CallTurn } from './call-limits.js';
import { hostApi } from './host-api.js';
import type { LoadedServers } from './on-demand.js';
import type { SavedByRun } from './saved-tools.js';

/** Knowledge of servers, and the way to reach them. */
export type CallServers = {
  readonly known: Pick<KnownServers, 'docOf' | 'allDocs' | 'changedOf'>;
  /** The run's, as they were when it was asked for. */
  readonly lease: Pick<ServerLease, 'get' | 'specOf'>;
  /** As it is whenever it is asked. */
  readonly policy: () => Policy;
};

/** Services for calls, whatever code they are of. */
export type CallServices = {
  /** Learns what tools answer. */
  readonly shapes: Pick<ObservedShapes, 'learn'>;
  /** How much is told of each call. */
  readonly audit: SettingValues['audit'];
  /** Whether what servers answer is told, for whoever runs the same again. */
  readonly isRecorded?: boolean;
  readonly turn: CallTurn;
  /** Id of the principal whose calls they are. */
  readonly principal: string;
};

/** Parts that belong to one run alone. */
export type CallScope = {
  readonly runId: string;
  readonly loaded: LoadedServers;
  readonly discovered: readonly ServerBrief[];
  /** Opens one more server for the run, or refuses it. */
  readonly loadServer: (server: string, signal: AbortSignal) => Promise<ServerDoc>;
  readonly saved: SavedByRun;
  /** Where its calls wait for a person; undefined where nobody can be asked. */
  readonly approvals: Pick<RunApprovals, 'pass'> | undefined;
  readonly plan?: Plan | undefined;
  /** The run's clock stands while a server has a person asked. */
  readonly stopClock: StopClock;
  /** Hears how far tools say they are. */
  readonly tell: CallContext['tell'];
  /** The trace of the run, which servers are told of. */
  readonly trace?: Trace | undefined;
  readonly observer: Observer;
};

/** The only way from a call to what answers it: handlers accept nothing that this guard has not admitted. */
export function guardCalls(
  { runId, loaded, discovered, loadServer, saved, approvals, plan, stopClock, ...scope }: CallScope,
  { known, lease, policy }: CallServers,
  { shapes, audit: mode, isRecorded, turn, principal }: CallServices,
): CallGuard {
  const { tell, trace, observer } = scope;
  return new CallGuard({
    runId,
    policy,
    limits: new CallLimits({ policy, turn, stopClock }),
    audit: new CallAudit({ runId, mode, observer }),
    handlers: hostApi({
      loaded,
      discovered,
      known,
      loadServer,
      lease,
      saved,
      shapes,
      isRecorded,
      tell,
      trace,
      runId,
      observer,
    }),
    whole: (server) => loaded.wholeDoc(server),
    changed: (server, tool) => {
      const spec = lease.specOf(server);
      return (spec && known.changedOf(spec)(tool)) ?? null;
    },
    said: async (server, tool, signal) => {
      try {
        const live = await lease.get(server, signal);
        return live.tools().find(({ name }) => name === tool);
      } catch {
        // Then the call fails as well; until then it is taken for the worst.
        return undefined;
      }
    },
    principal,
    approvals,
    plan,
    turn,
    observer,
  });
}
