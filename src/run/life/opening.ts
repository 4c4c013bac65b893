// The servers that a run begins with. Those that it names must all open; those that it takes because it takes all of them
// cost only themselves when they do not: a few are opened at a time, within a time for all of them.

import PQueue from 'p-queue';
import { asBridgeError } from '../../base/errors.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import { Deadline } from '../../base/waiting/deadline.js';
import { START_TIME_MS } from '../../servers/pool/start-time.js';
import type { ServerDoc } from '../../wire/frames.js';

/** Each may start an interpreter and a package manager, and the machine has the sandbox to start as well. */
const AT_ONCE = 8;
/** As long as one server may take; one that is slower goes on opening, for the next run. */
const ALL_WITHIN_MS = START_TIME_MS;
const MAX_REASON_CHARS = 200;
const MAX_NAMED = 5;

export type OpenedServers = {
  readonly docs: readonly ServerDoc[];
  /** Why a server did not open, by its name. */
  readonly failed: ReadonlyMap<string, string>;
};

export type OpeningParts = {
  /** Opens and describes one; rejects when it does not open or `signal` ends the wait. */
  readonly open: (server: string, signal: AbortSignal) => Promise<ServerDoc>;
  readonly allWithinMs?: number;
};

/** Rejects when one of `named` does not open, never because of `others`. */
export async function openServers(
  named: readonly string[],
  others: readonly string[],
  { open, allWithinMs = ALL_WITHIN_MS }: OpeningParts,
  signal: AbortSignal,
): Promise<OpenedServers> {
  const failed = new Map<string, string>();
  using deadline = new Deadline(signal);
  deadline.start(allWithinMs);
  const queue = new PQueue({ concurrency: AT_ONCE });
  const attempt = async (server: string): Promise<readonly ServerDoc[]> => {
    try {
      if (deadline.signal.aborted) throw new Error();
      return [await open(server, deadline.signal)];
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      const reason =
        deadline.cause === 'timeout'
          ? `it was not open after ${allWithinMs / 1000} s`
          : clipHarmlessLine(asBridgeError(thrown).message, MAX_REASON_CHARS);
      failed.set(server, reason);
      return [];
    }
  };
  const [mine, rest] = await Promise.all([
    Promise.all(named.map((server) => open(server, signal))),
    Promise.all(others.map((server) => queue.add(() => attempt(server)))),
  ]);
  return { docs: [...mine, ...rest.flat()], failed };
}

/** One line for the reader of an answer; undefined where all opened. */
export function failureNote(failed: ReadonlyMap<string, string>): string | undefined {
  if (failed.size === 0) return undefined;
  const named = [...failed]
    .slice(0, MAX_NAMED)
    .map(([server, reason]) => `'${shownName(server)}' (${reason})`);
  const more = failed.size > MAX_NAMED ? ` and ${failed.size - MAX_NAMED} more` : '';
  return `Of servers=["*"], not loaded: ${named.join(', ')}${more}.`;
}
