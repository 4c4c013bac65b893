// The user's or host's wish to end, as an AbortSignal: the first signal asks, a second one does not wait. Exit hooks
// run in both cases.

import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Aborts on the first SIGINT, SIGTERM or SIGHUP, with the signal's name as its reason. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(128 + constants.signals[name]);
      controller.abort(name);
    });
  }
  return controller.signal;
}
