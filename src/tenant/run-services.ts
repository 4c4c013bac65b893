// What a run, a command and a call of one bridge are given: sandboxes, servers, what is kept, and who is told. Made anew for
// each, out of parts that the bridge owns.

import type { Observer } from '../base/log/events.js';
import { LOCAL_USER } from '../base/principal.js';
import type { SharedApprovals } from '../policy/approvals/run-approvals.js';
import type { KeptFiles } from '../run/artifacts/kept-files.js';
import type { CallTurn } from '../run/calls/call-guard.js';
import { Gates } from '../run/calls/gates.js';
import type { SavedTools } from '../run/calls/saved-tools.js';
import type { DirectServices } from '../run/life/direct-call.js';
import type { RunServices as ServicesOfRun } from '../run/life/run-request.js';
import type { Sandboxes } from '../run/life/sandbox-use.js';
import type { CommandServices } from '../run/life/sandboxed-command.js';
import type { RunMeter } from '../run/queue/run-meter.js';
import { standAside } from '../run/queue/take-turn.js';
import type { Turn } from '../run/queue/turns.js';
import type { Entered } from '../run/sessions/sessions.js';
import type { Sandbox } from '../sandbox/conversation/sandbox.js';
import { keyOf, type SandboxKind } from '../sandbox/spec/kind.js';
import type { AgentCapabilities } from '../servers/asking/agent-capabilities.js';
import type { ServerLease } from '../servers/pool/server-lease.js';
import type { Settings } from '../settings/environment/settings.js';
import type { ConfiguredServers } from './configured-servers.js';
import type { Waited } from './patience.js';
import { ABOUT_MS, type SandboxService } from './sandbox-service.js';

export type RunServicesParts = {
  readonly settings: Settings;
  readonly service: SandboxService;
  readonly servers: ConfiguredServers;
  readonly kept: KeptFiles;
  readonly saved: SavedTools;
  readonly observer: Observer;
  /** Where calls wait for a person. */
  readonly approvals: SharedApprovals;
  /** Whose turns they take. */
  readonly ownerId: string;
  /** For each call of code; undefined where calls wait for nothing but their servers. */
  readonly callTurn: CallTurn | undefined;
};

export class RunServices {
  readonly #parts: RunServicesParts;
  readonly #gates = new Gates();

  constructor(parts: RunServicesParts) {
    this.#parts = parts;
  }

  /** For a run in a sandbox of `kind`; `lease` holds the servers that it may call. */
  forRun(
    kind: SandboxKind,
    agent: AgentCapabilities,
    lease: ServerLease,
    waited: Waited,
    { meter, turn: place }: { readonly meter: RunMeter; readonly turn: Turn },
  ): ServicesOfRun {
    const { settings, kept, callTurn: turn } = this.#parts;
    const direct = this.forCall(agent, lease, waited);
    return {
      ...direct,
      calls: { ...direct.calls, turn },
      sandboxes: this.#sandboxes(kind, waited, meter),
      standAside: () => standAside(place),
      autoload: settings.autoload,
      kept,
    };
  }

  /** For a command in a container of `kind`. */
  forCommand(kind: SandboxKind, waited: Waited, meter: RunMeter): CommandServices {
    const { settings, kept, observer } = this.#parts;
    const sandboxes = this.#sandboxes(kind, waited, meter);
    return { sandboxes, kept, audit: settings.audit, observer };
  }

  /** For a call that the agent makes itself; `lease` holds its server. */
  forCall(agent: AgentCapabilities, lease: ServerLease, waited: Waited): DirectServices {
    const { settings, service, servers, saved, observer, approvals } = this.#parts;
    return {
      servers: {
        open: (server, signal, isAskedByCode = false) => {
          const opening = servers.load(server, lease, signal);
          return isAskedByCode ? opening : service.patience.wait(opening, waited);
        },
        discovered: (loaded, failed) => servers.briefs(loaded, failed, agent),
        known: servers.known,
        policy: () => servers.policy(),
        lease,
      },
      calls: {
        gates: this.#gates,
        shapes: servers.shapes,
        audit: settings.audit,
        principal: approvals.principal ?? LOCAL_USER.id,
      },
      approvals,
      saved,
      observer,
    };
  }

  /** For a call of a session: its sandbox, started by the first one. */
  forSession(kind: SandboxKind, entered: Entered, waited: Waited, meter: RunMeter): Sandboxes {
    const { service } = this.#parts;
    const { session } = entered;
    const source = {
      take: (signal: AbortSignal) => service.start(kind, signal),
      giveBack: (late: Sandbox) => service.retire(late),
    };
    return {
      take: async (signal) =>
        meter.follow(
          session.sandbox ?? entered.adopt(await service.patience.take(keyOf(kind), source, waited, signal)),
        ),
      // What still runs in it is the call's until it stands still.
      giveBack: () => {},
      retire: () => {},
    };
  }

  #sandboxes(kind: SandboxKind, waited: Waited, meter: RunMeter): Sandboxes {
    const { service, ownerId } = this.#parts;
    const warm = service.warm.of(kind);
    return {
      take: async (signal) => {
        // The sandboxes that wait are for others then.
        const isBeside = service.turns.crowded(ownerId, ABOUT_MS) > 0;
        const source = {
          take: (ends: AbortSignal) => warm.take(ends, { isBeside }),
          giveBack: (late: Sandbox) => warm.giveBack(late),
        };
        return meter.follow(await service.patience.take(keyOf(kind), source, waited, signal));
      },
      giveBack: (sandbox) => {
        meter.leave(sandbox);
        warm.giveBack(sandbox);
      },
      retire: (sandbox) => {
        meter.leave(sandbox);
        warm.retire(sandbox);
      },
    };
  }
}
