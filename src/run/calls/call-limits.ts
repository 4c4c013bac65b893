// What one run may ask of its servers, held to the operator's limits: how often, how much, for how long, and how much of
// it at a time. Tools, resources and prompts are held alike; the policy is asked anew each time.

import { RawJson, stringify } from '../../base/json/json-text.js';
import { shownName } from '../../base/text/shown-name.js';
import type { StopClock } from '../../base/waiting/deadline.js';
import type { Policy } from '../../policy/rules/policy.js';
import type { Gates } from './gates.js';
import { keepTo, keepToBytes, withinSeconds } from './limits.js';

export type CallLimitsParts = {
  readonly runId: string;
  readonly policy: () => Policy;
  /** Shared by all runs. */
  readonly gates: Gates;
  /** The run's clock stands while a server has a person asked. */
  readonly stopClock: StopClock;
};

/** What is asked of a server: a tool's name or an MCP method, and the JSON that goes with it. */
export type Measured = { readonly server: string; readonly name: string; readonly argumentsText: string };

export class CallLimits {
  readonly #parts: CallLimitsParts;
  readonly #ofServers = new Map<string, number>();
  #ofRun = 0;

  constructor(parts: CallLimitsParts) {
    this.#parts = parts;
  }

  /** Counts a call, of the run and of its server. Throws E_LIMIT, and then counts nothing. */
  count(server: string): void {
    const policy = this.#parts.policy();
    const all = this.#ofRun + 1;
    const own = (this.#ofServers.get(server) ?? 0) + 1;
    const few = 'Make fewer calls in one run, or split the work over several.';
    keepTo(policy.runLimits.callsPerRun, 'callsPerRun', all, 'calls in one run', few);
    const what = `calls of server '${shownName(server)}' in one run`;
    keepTo(policy.serverLimits(server).callsPerRun, 'callsPerRun', own, what, few);
    this.#ofRun = all;
    this.#ofServers.set(server, own);
  }

  /** Measures a call and counts it. Throws E_LIMIT for what is too much. */
  begin({ server, name, argumentsText }: Measured): void {
    const { bytesPerCall } = this.#parts.policy().serverLimits(server);
    keepToBytes(
      bytesPerCall,
      argumentsText,
      `for the arguments of '${shownName(name)}' of server '${shownName(server)}'`,
    );
    this.count(server);
  }

  /** Asks when it is the turn of a call that has begun. Throws E_LIMIT where its answer is too long or too late. */
  async hold(
    { server, name }: Omit<Measured, 'argumentsText'>,
    ask: (signal: AbortSignal, stopClock: StopClock) => unknown,
    signal: AbortSignal,
  ): Promise<RawJson> {
    const { policy, runId, gates, stopClock } = this.#parts;
    const { bytesPerCall, secondsPerCall, callsInFlight } = policy().serverLimits(server);
    const what = `'${shownName(name)}' of server '${shownName(server)}'`;
    const work = () => withinSeconds(secondsPerCall, what, signal, stopClock, ask);
    const place = { server, run: runId, max: callsInFlight.max };
    const answer = await gates.enter(place, work, signal);
    // A list was put together here; its text goes on from here too.
    const result = answer instanceof RawJson ? answer : new RawJson(stringify(answer ?? null));
    keepToBytes(bytesPerCall, result.text, `for the result of ${what}`);
    return result;
  }
}
