// Call limits hold what one run asks of its servers to the operator's limits: how often, how much, for how long, and how much
// of it at a time. Tools, resources and prompts are held alike; the policy is asked anew each time.

import { BridgeError } from '../../base/errors.js';
import { RawJson, stringify } from '../../base/json/json-text.js';
import { shownName } from '../../base/text/shown-name.js';
import { Deadline, type StopClock } from '../../base/waiting/deadline.js';
import type { Bound, Scheduler, TurnLimits } from '../../base/waiting/scheduler.js';
import { StandingClock } from '../../policy/approvals/standing-clock.js';
import type { Limit, Policy } from '../../policy/rules/policy.js';

/**
 * Resolves when a call may begin, at a server that has at most `max` under way where the call is about one; also when `signal`
 * ends the wait. The Disposable is disposed of when the call has ended.
 */
export type CallTurn = (
  at: { readonly server: string; readonly max: number } | undefined,
  signal: AbortSignal,
) => Promise<Disposable>;

/** Bridges have servers of one name that are not the same. */
export const boundOf = (
  bridge: string,
  { server, max }: { readonly server: string; readonly max: number },
): Bound => ({
  key: JSON.stringify([bridge, server]),
  max,
});

/** Turns of calls by a run's code, which wait for as long as the run does; another run's first call passes its hundredth. */
export function turnOfCode(
  turns: Scheduler,
  of: {
    readonly bridge: string;
    readonly run: string;
    readonly owner: string;
    readonly limits: () => TurnLimits;
  },
): CallTurn {
  return async (at, signal) => {
    const limits = { ...of.limits(), waiting: Number.POSITIVE_INFINITY };
    const bound = at && boundOf(of.bridge, at);
    const group = JSON.stringify([of.run, bound?.key]);
    return await turns.take({ owner: of.owner, limits, memoryBytes: 0, group, bound }, signal);
  };
}

export class CallLimits {
  readonly #parts;
  readonly #ofServers = new Map<string, number>();
  #ofRun = 0;

  constructor(parts: {
    readonly policy: () => Policy;
    readonly turn: CallTurn;
    /** The run's clock stands while a server has a person asked. */
    readonly stopClock: StopClock;
  }) {
    this.#parts = parts;
  }

  /** Counts a call, of the run and of its server. Throws E_LIMIT, and then counts nothing. */
  count(server: string): void {
    const policy = this.#parts.policy();
    const all = this.#ofRun + 1;
    const own = (this.#ofServers.get(server) ?? 0) + 1;
    const few = 'Make fewer calls in one run, or split the work over several.';
    keepTo(policy.runLimits.callsPerRun, 'callsPerRun', all, () => 'calls in one run', few);
    const what = () => `calls of server '${shownName(server)}' in one run`;
    keepTo(policy.serverLimits(server).callsPerRun, 'callsPerRun', own, what, few);
    this.#ofRun = all;
    this.#ofServers.set(server, own);
  }

  /** Measures a call and counts it. Throws E_LIMIT for what is too much. */
  begin(
    /** A request to a server: a tool's name or an MCP method, and the JSON that goes with it. */
    asked: { readonly server: string; readonly name: string; readonly argumentsText: string },
  ): void {
    const { server, name, argumentsText } = asked;
    const { bytesPerCall } = this.#parts.policy().serverLimits(server);
    keepToBytes(
      bytesPerCall,
      argumentsText,
      () => `for the arguments of '${shownName(name)}' of server '${shownName(server)}'`,
    );
    this.count(server);
  }

  /** Asks when it is the turn of a call that has begun. Throws E_LIMIT where its answer is too long or too late. */
  async hold(
    { server, name }: { readonly server: string; readonly name: string },
    ask: (signal: AbortSignal, stopClock: StopClock) => unknown,
    signal: AbortSignal,
  ): Promise<RawJson> {
    const { policy, turn, stopClock } = this.#parts;
    const { bytesPerCall, secondsPerCall, callsInFlight } = policy().serverLimits(server);
    const what = () => `'${shownName(name)}' of server '${shownName(server)}'`;
    using _turn = await turn({ server, max: callsInFlight.max }, signal);
    signal.throwIfAborted();
    const answer = await withinSeconds(secondsPerCall, what, signal, stopClock, ask);
    // A list was put together here; its text goes on from here too.
    const result = answer instanceof RawJson ? answer : new RawJson(stringify(answer ?? null));
    keepToBytes(bytesPerCall, result.text, () => `for the result of ${what()}`);
    return result;
  }
}

// Limits of calls, and the error that each of them ends in: it names the limit, what was got, and who has set it. Whatever
// a call is about, a tool or a resource, it is held to them here.

/** Throws E_LIMIT where `got` is more than the limit. `what` gives what follows the number, such as `calls in one run`. */
function keepTo(
  limit: Limit | undefined,
  name: string,
  got: number,
  what: () => string,
  remedy: string,
): void {
  if (limit !== undefined && got > limit.max) throw limitError(limit, name, `${got} ${what()}`, remedy);
}

/** Throws E_LIMIT where `text` has more bytes than bytesPerCall. */
function keepToBytes(limit: Limit | undefined, text: string, what: () => string): void {
  if (limit === undefined) return;
  const bytes = Buffer.byteLength(text);
  keepTo(limit, 'bytesPerCall', bytes, () => `bytes ${what()}`, 'Ask for less, or pass less, in one call.');
}

/**
 * `work` with a deadline of its own where there is a limit; E_LIMIT when that passes. What it is given stops that clock with
 * `stopClock`, while a person is asked.
 */
async function withinSeconds<T>(
  limit: Limit | undefined,
  what: () => string,
  signal: AbortSignal,
  stopClock: StopClock,
  work: (signal: AbortSignal, stopClock: StopClock) => T,
): Promise<Awaited<T>> {
  if (limit === undefined) return await work(signal, stopClock);
  using deadline = new Deadline(signal);
  deadline.start(limit.max * 1000);
  using own = new StandingClock(deadline);
  const startedAt = performance.now();
  let stoodMs = 0;
  const stopBoth: StopClock = () => {
    const stoodAt = performance.now();
    const goOns = [stopClock(), own.stop()];
    return () => {
      stoodMs += performance.now() - stoodAt;
      for (const goOn of goOns) goOn();
    };
  };
  try {
    return await work(deadline.signal, stopBoth);
  } catch (thrown) {
    if (deadline.cause !== 'timeout') throw thrown;
    const seconds = ((performance.now() - startedAt - stoodMs) / 1000).toFixed(1);
    const got = `${seconds} s without an answer from ${what()}`;
    throw limitError(limit, 'secondsPerCall', got, 'Ask it for less at a time.');
  }
}

const limitError = ({ max, rule }: Limit, name: string, got: string, remedy: string): BridgeError =>
  new BridgeError('E_LIMIT', `Limit ${name}: at most ${max}, got ${got}. It is set by ${rule}.`, {
    fault: 'guest',
    remedy,
  });
