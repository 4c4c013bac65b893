// The user's or host's wish to end, as an AbortSignal: the first signal asks, a second one does not wait. Exit hooks
// run in both cases. A reader that closes our output, as `head` does, wants the end as well.

import { constants } from 'node:os';

const POSIX_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * Windows has none, and Node plays these: Ctrl-C, Ctrl-Break, and the closing of the console, after which Windows leaves
 * some seconds. Whoever ends a program otherwise there, as with SIGTERM, kills it: nothing of ours runs then.
 */
const WINDOWS_SIGNALS = ['SIGINT', 'SIGBREAK', 'SIGHUP'] as const;

/**
 * Aborts on the first signal that asks us to end, with the signal's name as its reason. From then on the exit code is 128 and
 * the signal's number, as shells have it, whatever the command makes of its end.
 */
export function interruptSignal({
  platform = process.platform,
  events = process,
  exit = (code) => process.exit(code),
  setExitCode = (code) => {
    process.exitCode = code;
  },
  except = [],
  isService = false,
}: {
  readonly platform?: NodeJS.Platform;
  readonly events?: Pick<NodeJS.EventEmitter, 'on'>;
  readonly exit?: (code: number) => void;
  readonly setExitCode?: (code: number) => void;
  /** Signals that mean something else here. */
  readonly except?: readonly NodeJS.Signals[];
  /** A service that is asked to end has done all it was started for: its exit code is its own. */
  readonly isService?: boolean;
} = {}): AbortSignal {
  const controller = new AbortController();
  for (const name of platform === 'win32' ? WINDOWS_SIGNALS : POSIX_SIGNALS) {
    if (except.includes(name)) continue;
    events.on(name, () => {
      const exitCode = 128 + (constants.signals[name] ?? 0);
      if (controller.signal.aborted) return exit(exitCode);
      if (!isService) events.on('exit', () => setExitCode(exitCode));
      controller.abort(name);
    });
  }
  return controller.signal;
}

/** Exit code that a shell gives for a program that nobody reads any more. */
const READER_GONE_EXIT_CODE = 141;

/**
 * Aborts when whoever reads our output has closed it. From then on the exit code is 141, whatever the command makes of its end,
 * and further output is thrown away.
 */
export function signalOfLostReader(): AbortSignal {
  const gone = new AbortController();
  const end = () => {
    if (gone.signal.aborted) return;
    process.on('exit', () => {
      process.exitCode = READER_GONE_EXIT_CODE;
    });
    gone.abort();
  };
  for (const stream of [process.stdout, process.stderr]) stream.on('error', end);
  return gone.signal;
}
