// Waits with an end. Where something is shared, one who no longer wants it stops waiting, and it goes on for the others.

import { BridgeError } from '../errors.js';

/** `promised`, or E_CANCELLED when `signal` ends the wait or has ended it before. */
export async function unlessAborted<T>(
  promised: Promise<T>,
  signal: AbortSignal,
  {
    message = 'The run was cancelled.',
    discard = () => {},
  }: {
    /** Message of the error for a caller who stopped waiting. */
    readonly message?: string;
    /** Gets what comes too late. */
    readonly discard?: (late: T) => void;
  } = {},
): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(new BridgeError('E_CANCELLED', message, { fault: 'agent' }));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([aborted, promised]);
  } catch (thrown) {
    if (signal.aborted) promised.then(discard, () => {});
    throw thrown;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Resolves when `signal` aborts, at once where it has; for whoever waits for several things. */
export function waitForAbort(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

/**
 * `promise`, or the end of `timeoutMs`, whichever comes first; rejects as `promise` does. Whoever
 * uses it looks at the state afterwards, since it does not say which came first.
 */
export function waitAtMost(timeoutMs: number, promise: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
