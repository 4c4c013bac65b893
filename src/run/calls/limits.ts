// Limits of calls, and the error that each of them ends in: it names the limit, what was got, and who has set it. Whatever
// a call is about, a tool or a resource, it is held to them here.

import { BridgeError } from '../../base/errors.js';
import { Deadline, type StopClock } from '../../base/waiting/deadline.js';
import { StandingClock } from '../../policy/approvals/standing-clock.js';
import type { Limit } from '../../policy/rules/policy.js';

/** Throws E_LIMIT where `got` is more than the limit. `what` follows the number, such as `calls in one run`. */
export function keepTo(
  limit: Limit | undefined,
  name: string,
  got: number,
  what: string,
  remedy: string,
): void {
  if (limit !== undefined && got > limit.max) throw exceeded(limit, name, `${got} ${what}`, remedy);
}

/** Throws E_LIMIT where `text` has more bytes than bytesPerCall. */
export function keepToBytes(limit: Limit | undefined, text: string, what: string): void {
  if (limit === undefined) return;
  const bytes = Buffer.byteLength(text);
  keepTo(limit, 'bytesPerCall', bytes, `bytes ${what}`, 'Ask for less, or pass less, in one call.');
}

/**
 * `work` with a deadline of its own where there is a limit; E_LIMIT when that passes. What it is given stops that clock with
 * `stopClock`, while a person is asked.
 */
export async function withinSeconds<T>(
  limit: Limit | undefined,
  what: string,
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
    const got = `${seconds} s without an answer of ${what}`;
    throw exceeded(limit, 'secondsPerCall', got, 'Ask it for less at a time.');
  }
}

const exceeded = ({ max, rule }: Limit, name: string, got: string, remedy: string): BridgeError =>
  new BridgeError('E_LIMIT', `Limit ${name}: at most ${max}, got ${got}. It is set by ${rule}.`, {
    fault: 'guest',
    remedy,
  });
