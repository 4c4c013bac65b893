// Waiting for what is shared: one who no longer wants it stops waiting, and it goes on for the others.

import { BridgeError } from './errors.js';

/** `promised`, or E_CANCELLED when `signal` ends the wait; what comes too late is handed to `discard`. */
export async function unlessAborted<T>(
  promised: Promise<T>,
  signal: AbortSignal,
  discard: (late: T) => void = () => {},
): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(new BridgeError('E_CANCELLED', 'The run was cancelled.', { fault: 'agent' }));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promised, aborted]);
  } catch (thrown) {
    if (signal.aborted) promised.then(discard, () => {});
    throw thrown;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
