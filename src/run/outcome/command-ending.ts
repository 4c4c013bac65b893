// How a command has ended, as the kernel says it: by a status, by a signal, at its deadline, or not begun. Whatever else
// ends its sandbox is no end of its own, and leaves with a sentence and the next step, as a run of code would.

import { clipHarmless } from '../../base/text/text.js';
import type { EndCause } from '../../base/waiting/deadline.js';
import type { CommandEnd } from '../../code-exec/run-command.js';
import type { GuestError, SandboxEnd } from '../../sandbox/conversation/sandbox.js';
import type { RunStatus } from '../events.js';
import { hintFor } from '../hints/hints.js';
import {
  endError,
  guestError,
  killedChild,
  MAX_MESSAGE_CHARS,
  memoryBehind,
  ownError,
  type SandboxFacts,
} from './ending-errors.js';
import type { OutcomeError } from './outcome.js';

/** Failure that kept a command from an end of its own. */
export type CommandFailure = {
  readonly status: Exclude<RunStatus, 'success' | 'timeout'>;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly error: OutcomeError;
};

export type CommandEnding =
  /** End of the command itself; `killedFor` is its deadline. */
  | { readonly own: Pick<CommandEnd, 'exitCode' | 'signal' | 'killedFor' | 'notStarted'> }
  | { readonly failure: CommandFailure };

/** Facts heard of a command besides its output. */
type CommandHeard = {
  /** Why the harness could not start it; the first word for it counts. */
  readonly raised: GuestError | undefined;
  /** The part of the command's stderr that is held. */
  readonly stderr: string;
};

const NO_END = {
  exitCode: undefined,
  signal: undefined,
  killedFor: undefined,
  notStarted: undefined,
};
/** The harness's name for a command that could not be started (`harness/launch.py`). */
const NOT_STARTED = 'CannotStart';

/** `end` is undefined when it was cut off by `cause` before the sandbox said anything. */
export function endingOf(
  end: SandboxEnd | undefined,
  cause: EndCause | undefined,
  heard: CommandHeard,
  facts: SandboxFacts,
): CommandEnding {
  if (cause === 'timeout') return { own: { ...NO_END, killedFor: 'timeout' } };
  if (cause !== undefined || end === undefined)
    return {
      failure: { status: 'cancelled', error: ownError('E_CANCELLED', 'The run was cancelled.', undefined) },
    };
  if (end.how === 'exited') return exitEnding(end.report, heard, facts);
  // Changes that the command has made to /work stay.
  return { failure: { status: 'error', error: endError(end, facts, { isHarmless: false }) } };
}

function exitEnding(
  { code, signal }: Extract<SandboxEnd, { how: 'exited' }>['report'],
  { raised, stderr }: CommandHeard,
  facts: SandboxFacts,
): CommandEnding {
  if (signal !== null) {
    const error = memoryBehind(signal, stderr, facts);
    if (error !== undefined) return { failure: { status: 'error', signal, error } };
    return { own: { ...NO_END, signal: signal as NodeJS.Signals } };
  }
  const exitCode = code ?? undefined;
  if (raised === undefined) return { own: { ...NO_END, exitCode } };
  if (raised.type === NOT_STARTED)
    return { own: { ...NO_END, notStarted: clipHarmless(raised.message, MAX_MESSAGE_CHARS) } };
  const hint = killedChild(facts) ?? hintFor(raised, facts.spec);
  const error = { ...guestError(raised, hint), traceback: [] };
  return { failure: { status: 'error', exitCode, error } };
}

/** Status of an ending for log and audit, and why the command failed. */
export function recordedEnd(ending: CommandEnding): {
  readonly status: RunStatus;
  readonly error?: Pick<OutcomeError, 'type' | 'message'>;
} {
  if ('failure' in ending) return ending.failure;
  const { exitCode, signal, killedFor, notStarted } = ending.own;
  if (killedFor !== undefined)
    return { status: 'timeout', error: { type: 'E_TIMEOUT', message: 'The command ran out of time.' } };
  if (exitCode === 0) return { status: 'success' };
  const message =
    notStarted ?? (signal === undefined ? `exit status ${exitCode ?? 'unknown'}` : `ended by ${signal}`);
  const type = notStarted !== undefined ? 'E_START' : signal === undefined ? 'E_EXIT' : 'E_SIGNAL';
  return { status: 'error', error: { type, message } };
}
