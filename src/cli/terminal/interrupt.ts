// The user's or host's wish to end, as an AbortSignal: the first signal asks, a second one does not wait. Exit hooks
// run in both cases.

import { constants } from 'node:os';

const POSIX_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * Windows has none, and Node plays these: Ctrl-C, Ctrl-Break, and the closing of the console, after which Windows leaves
 * some seconds. Whoever ends a program otherwise there, as with SIGTERM, kills it: nothing of ours runs then.
 */
const WINDOWS_SIGNALS = ['SIGINT', 'SIGBREAK', 'SIGHUP'] as const;

/** Aborts on the first signal that asks us to end, with the signal's name as its reason. */
export function interruptSignal({
  platform = process.platform,
  events = process,
  exit = (code) => process.exit(code),
  except = [],
}: {
  readonly platform?: NodeJS.Platform;
  readonly events?: Pick<NodeJS.EventEmitter, 'on'>;
  readonly exit?: (code: number) => void;
  /** Signals that mean something else here. */
  readonly except?: readonly NodeJS.Signals[];
} = {}): AbortSignal {
  const controller = new AbortController();
  for (const name of platform === 'win32' ? WINDOWS_SIGNALS : POSIX_SIGNALS) {
    if (except.includes(name)) continue;
    events.on(name, () => {
      if (controller.signal.aborted) exit(128 + (constants.signals[name] ?? 0));
      else controller.abort(name);
    });
  }
  return controller.signal;
}
