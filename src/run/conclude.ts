// From how a run ended to its outcome: the cause that came first, then the supervisor's report, then what the guest
// said. Every failure leaves with a sentence for the model and, where there is one, the next step.

import type { EndCause } from '../base/deadline.js';
import type { BridgeError } from '../base/errors.js';
import { clip, harmless } from '../base/text.js';
import type { GuestError, SandboxEnd } from '../sandbox/sandbox.js';
import type { Outcome, OutcomeError } from './outcome.js';
import type { Transcript } from './transcript.js';

/** An outcome but for what the run itself measures. */
export type Conclusion = Omit<Outcome, 'durationMs' | 'servers' | 'timeoutSeconds' | 'calls'>;

/** A deep recursion has a thousand lines; CPython itself folds repeats, and this bounds what hostile code sends. */
const MAX_TRACEBACK_LINES = 60;
const MAX_LINE_CHARS = 500;
const MAX_MESSAGE_CHARS = 4_000;

/** `end` is undefined when the run was cut off by `cause` before the sandbox said anything. */
export function conclude(
  end: SandboxEnd | undefined,
  cause: EndCause | undefined,
  timeoutSeconds: number,
  transcript: Transcript,
): Conclusion {
  const said = heard(transcript);
  if (cause === 'timeout')
    return { ...said, status: 'timeout', error: timedOut(timeoutSeconds, transcript.where) };
  if (cause !== undefined || end === undefined) {
    return { ...said, status: 'cancelled', error: own('E_CANCELLED', 'The run was cancelled.', undefined) };
  }
  switch (end.how) {
    case 'refused':
      return {
        ...said,
        status: 'validation_error',
        error: guestError(end.error, 'Mend the code and send it again.'),
      };
    case 'violation':
      return { ...said, status: 'error', error: own(end.error.code, end.error.message, end.error.remedy) };
    case 'lost':
      return {
        ...said,
        status: 'error',
        error: own('E_SANDBOX_LOST', `The sandbox vanished: ${end.detail}`, undefined),
      };
    case 'exited':
      return { ...said, ...exited(end.report, transcript) };
  }
}

/** The outcome of a run that never reached its sandbox, or lost the bridge on the way. */
export function concludeFailure(
  cause: EndCause | undefined,
  error: BridgeError,
  transcript: Transcript,
): Conclusion {
  const status = cause !== undefined ? 'cancelled' : error.fault === 'agent' ? 'validation_error' : 'error';
  return { ...heard(transcript), status, error: own(error.code, error.message, error.remedy) };
}

const heard = (transcript: Transcript) => ({
  exitCode: undefined,
  stdout: transcript.captured('stdout'),
  stderr: transcript.captured('stderr'),
  result: transcript.result,
});

function exited(
  { code, signal }: Extract<SandboxEnd, { how: 'exited' }>['report'],
  { raised }: Transcript,
): Pick<Outcome, 'status' | 'exitCode' | 'error'> {
  if (signal !== null) return { status: 'error', exitCode: undefined, error: signalled(signal) };
  const exitCode = code ?? undefined;
  if (raised !== undefined) return { status: 'error', exitCode, error: guestError(raised, undefined) };
  if (exitCode === 0) return { status: 'success', exitCode, error: undefined };
  return {
    status: 'error',
    exitCode,
    error: own('E_EXIT', `The code ended with exit status ${exitCode}.`, undefined),
  };
}

function timedOut(timeoutSeconds: number, where: readonly string[]): OutcomeError {
  const last = where.at(-1);
  return {
    message: `Timed out after ${timeoutSeconds} s.${last === undefined ? '' : ` It was at ${last.trim()}`}`,
    type: 'E_TIMEOUT',
    traceback: where.length > 1 ? where : [],
    remedy: 'Pass a larger timeout, or do less in one run.',
  };
}

function signalled(signal: string): OutcomeError {
  const remedy =
    signal === 'SIGKILL'
      ? 'Most often this is the memory limit: use less memory, or process the data in pieces.'
      : undefined;
  return own('E_SIGNAL', `The code was ended by ${clip(harmless(signal), 40)}.`, remedy);
}

const own = (type: string, message: string, remedy: string | undefined): OutcomeError => ({
  type,
  message,
  traceback: [],
  remedy,
});

function guestError({ type, message, traceback }: GuestError, remedy: string | undefined): OutcomeError {
  const kept =
    traceback.length <= MAX_TRACEBACK_LINES
      ? traceback
      : [
          ...traceback.slice(0, 10),
          `[… ${traceback.length - MAX_TRACEBACK_LINES} lines …]`,
          ...traceback.slice(10 - MAX_TRACEBACK_LINES),
        ];
  return {
    type: clip(harmless(type), 200),
    message: clip(harmless(message === '' ? type : `${type}: ${message}`), MAX_MESSAGE_CHARS),
    traceback: kept.map((line) => clip(harmless(line), MAX_LINE_CHARS)),
    remedy,
  };
}
