// Parts of the HTTP front in a real bridge: credentials, a bridge for each principal, and whether code can be run.

import type { Observer } from '../../base/log/events.js';
import type { Principal } from '../../base/principal.js';
import { OF_ONE_PROCESS, Scheduler, UNLIMITED } from '../../base/waiting/scheduler.js';
import { watchTasks } from '../../mcp/calls/tasks.js';
import { AgentConnection, agentServer } from '../../mcp/connection/server.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Bridge } from '../../tenant/bridge.js';
import { startsSandboxes } from '../../tenant/sandbox-service.js';
import type { HttpAccess } from '../access/http-access.js';
import type { HttpFrontParts, RequestFacts, ServingContext } from '../http/parts.js';
import type { Bridges } from '../principals/bridges.js';

type HttpServing = {
  readonly bridges: Bridges;
  readonly access: HttpAccess;
  readonly settings: Settings;
  readonly observer: Observer;
  /** About the settings; agents are told the first ones. */
  readonly warnings: readonly string[];
};

/** The parts of a front that serves `bridges`. `hasCredentials` says whether a call over TCP must show one. */
export function httpParts(serving: HttpServing, hasCredentials: boolean): HttpFrontParts {
  const { bridges, access, settings, observer } = serving;
  const serverFor = serversOf(serving);
  // A request costs a few milliseconds of the process, so one is begun at a time.
  const words = { many: 'requests', refused: 'Nothing was done' };
  const turns = new Scheduler({ ...OF_ONE_PROCESS, words, atOnce: 1 });
  // A further one of the same principal that would wait is refused.
  const limits = { ...UNLIMITED, waiting: 1_000 };
  return {
    serverFor,
    authenticate: (facts) => access.authenticate(authenticationFacts(facts)),
    turn: (owner, signal) => turns.place({ owner, limits, memoryBytes: 0 }, signal).turn,
    refusalAhead: (principal, coming) => bridges.refusalAhead(principal, coming),
    stepUp: (principal, message) => access.stepUp(principal, message),
    watchTasks: (principal) => (taskIds, tell) => {
      const held = bridges.hold(principal);
      const watch = watchTasks(held.jobs, taskIds, tell);
      const stop = () => {
        watch.stop();
        held[Symbol.dispose]();
      };
      return { ...watch, stop };
    },
    hasCredentials,
    wellKnown: ({ path }) => {
      const document = access.metadataAt(path);
      return document && { status: 200, headers: { 'access-control-allow-origin': '*' }, body: document };
    },
    // Commands for a configured server start no sandbox.
    readiness: () => !startsSandboxes(settings) || bridges.service.health.isWell,
    runsBesideRequests: () => bridges.busy,
    observer,
    settings: settings.http,
  };
}

function serversOf({ bridges, observer, warnings }: HttpServing): HttpFrontParts['serverFor'] {
  const connections = new WeakMap<Bridge, AgentConnection>();
  const connectionOf = (bridge: Bridge): AgentConnection => {
    const known = connections.get(bridge) ?? new AgentConnection();
    connections.set(bridge, known);
    return known;
  };
  return (principal: Principal, { era, isSession, clientProtocol, onListChanged }: ServingContext) => {
    const held = isSession ? bridges.hold(principal) : undefined;
    const bridge = held?.bridge ?? bridges.of(principal);
    const server = agentServer({
      bridge,
      jobs: bridges.jobsOf(principal),
      observer,
      era,
      warnings,
      clientProtocol,
      onListChanged,
      // A session is one agent; requests without one share what is remembered of their principal.
      connection: isSession ? undefined : connectionOf(bridge),
    });
    if (held !== undefined) server.closed.addEventListener('abort', () => held[Symbol.dispose]());
    return server;
  };
}

const authenticationFacts = (facts: RequestFacts): Parameters<HttpAccess['authenticate']>[0] => ({
  authorization: facts.authorization,
  method: facts.method,
  target: facts.target,
  remoteAddress: facts.remoteAddress,
  isPrivateSocket: facts.isPrivateSocket,
  isSecure: facts.isSecure,
  isForwarded: facts.isForwarded,
});
