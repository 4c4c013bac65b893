// What the HTTP front is given in a real bridge: credentials, a bridge for each principal, and whether code can be run.

import { messageOf } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import type { Principal } from '../base/principal.js';
import type { Settings } from '../config/settings.js';
import type { Bridge } from './bridge.js';
import type { Bridges } from './bridges.js';
import { Connection } from './connection.js';
import type { HttpFrontParts, RequestFacts, ServingContext } from './http/parts.js';
import { modernCallsOf } from './modern-calls.js';
import type { HttpAccess } from './principals/http-access.js';
import { agentServer } from './server.js';

/** A probe asks every few seconds; an engine that fails is not tried more often than this. */
const TRY_AGAIN_MS = 15_000;

export type HttpServing = {
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
  const readiness = new Readiness(serving);
  return {
    serverFor,
    authenticate: (facts) => access.authenticate(asked(facts)),
    turn: (owner, signal) => bridges.requestTurns.begin(owner, signal),
    stepUp: (principal, message) => access.stepUp(principal, message),
    hasCredentials,
    wellKnown: ({ path }) => {
      const document = access.metadataAt(path);
      return document && { status: 200, headers: { 'access-control-allow-origin': '*' }, body: document };
    },
    readiness: () => readiness.isReady(),
    runsBesideRequests: () => bridges.busy,
    observer,
    settings: settings.http,
  };
}

function serversOf({ bridges, settings, observer, warnings }: HttpServing): HttpFrontParts['serverFor'] {
  const connections = new WeakMap<Bridge, Connection>();
  const connectionOf = (bridge: Bridge): Connection => {
    const known = connections.get(bridge) ?? new Connection();
    connections.set(bridge, known);
    return known;
  };
  return (principal: Principal, { era, isSession, clientProtocol, onListChanged }: ServingContext) => {
    const held = isSession ? bridges.hold(principal) : undefined;
    const bridge = held?.bridge ?? bridges.of(principal);
    const { openCalls: calls } = bridge;
    const { taskAfterSeconds } = settings;
    const server = agentServer({
      bridge,
      observer,
      era,
      warnings,
      clientProtocol,
      onListChanged,
      // A session is one agent; requests without one share what is remembered of their principal.
      connection: isSession ? undefined : connectionOf(bridge),
      modernCalls: modernCallsOf({ calls, principal: principal.id, taskAfterSeconds }),
    });
    if (held !== undefined) server.closed.addEventListener('abort', () => held[Symbol.dispose]());
    return server;
  };
}

const asked = (facts: RequestFacts): Parameters<HttpAccess['authenticate']>[0] => ({
  authorization: facts.authorization,
  method: facts.method,
  target: facts.target,
  remoteAddress: facts.remoteAddress,
  isPrivateSocket: facts.isPrivateSocket,
  isSecure: facts.isSecure,
  isForwarded: facts.isForwarded,
});

/** Whether a sandbox can be started here; found out by the first that asks, and again while it cannot. */
class Readiness {
  readonly #serving: HttpServing;
  #triedAt = Number.NEGATIVE_INFINITY;
  #isReady = false;

  constructor(serving: HttpServing) {
    this.#serving = serving;
  }

  /** Answers at once: what is not known yet is not ready. */
  isReady(): boolean {
    const { bridges, settings, observer } = this.#serving;
    const { tools, executeServer } = settings;
    // Commands for a configured server start no sandbox.
    if (executeServer !== undefined && tools.every((name) => name === 'execute')) return true;
    if (!this.#isReady && performance.now() - this.#triedAt > TRY_AGAIN_MS) {
      this.#triedAt = performance.now();
      bridges.service.launcher.pad().then(
        () => {
          this.#isReady = true;
        },
        (thrown: unknown) => observer({ type: 'engine.trouble', message: messageOf(thrown) }),
      );
    }
    return this.#isReady;
  }
}
