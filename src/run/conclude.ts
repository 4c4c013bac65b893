// From how a run ended to its outcome: the cause that came first, then the supervisor's report, then what the guest
// said. Every failure leaves with a sentence for the model and, where there is one, the next step.

import type { EndCause } from '../base/deadline.js';
import type { BridgeError } from '../base/errors.js';
import { clip, harmless } from '../base/text.js';
import type { GuestError, SandboxEnd } from '../sandbox/sandbox.js';
import type { Breach } from '../sandbox/watchdog.js';
import { unawaitedNote } from './hints/asynchrony.js';
import { megabytes, type Walls } from './hints/hint.js';
import { memoryRemedy } from './hints/limits.js';
import { hintFor } from './hints.js';
import type { Outcome, OutcomeError } from './outcome.js';
import type { Transcript } from './transcript.js';

/** An outcome but for what the run itself measures. */
export type Conclusion = Omit<Outcome, 'durationMs' | 'servers' | 'timeoutSeconds' | 'calls'>;

/** A deep recursion has a thousand lines; CPython itself folds repeats, and this bounds what hostile code sends. */
const MAX_TRACEBACK_LINES = 60;
const MAX_LINE_CHARS = 500;
const MAX_MESSAGE_CHARS = 4_000;

/** Nothing in the code can take the supervisor's last word, but for what looks for it. */
const LOST =
  "This is hardly the code's doing: send it again; if it vanishes again, run `mcp-sandbox-bridge doctor`.";
const EXITED =
  'It called sys.exit or os._exit, as argparse and unittest.main do: let it run to its end instead.';

/** What Python's parser and compiler raise where their own stack or memory ends. */
const TOO_DEEP = new Set(['RecursionError', 'MemoryError']);

/** What is known of the cage besides how it ended. */
export type Cage = {
  readonly spec: Walls;
  /** How many of its processes the kernel killed for memory; undefined where nobody can know. */
  readonly memoryKills: number | undefined;
  readonly hasRun: boolean;
  /** The tools whose answers the code was waiting for, in words; empty when there were none. */
  readonly waitingFor: string;
};

/** `end` is undefined when the run was cut off by `cause` before the sandbox said anything. */
export function conclude(
  end: SandboxEnd | undefined,
  cause: EndCause | undefined,
  timeoutSeconds: number,
  transcript: Transcript,
  cage: Cage,
): Conclusion {
  const said = heard(transcript);
  if (cause === 'timeout')
    return { ...said, status: 'timeout', error: timedOut(timeoutSeconds, transcript.where, cage) };
  if (cause !== undefined || end === undefined) {
    return { ...said, status: 'cancelled', error: own('E_CANCELLED', 'The run was cancelled.', undefined) };
  }
  switch (end.how) {
    case 'violation':
      return { ...said, status: 'error', error: own(end.error.code, end.error.message, end.error.remedy) };
    case 'limit':
      return { ...said, status: 'error', error: breached(end.breach) };
    case 'lost':
      // Without a word of the supervisor: the kernel took it along with the guest.
      if (wasKilledForMemory(cage))
        return { ...said, status: 'error', error: outOfMemory(cage.spec.memoryBytes) };
      return {
        ...said,
        status: 'error',
        error: own('E_SANDBOX_LOST', `The sandbox vanished: ${end.detail}`, LOST),
      };
    case 'exited':
      return { ...said, ...exited(end.report, transcript, cage) };
  }
}

/** The outcome of code that is no Python. Nothing has run, and nothing is spent. */
export function concludeRefused(error: GuestError, walls: Walls, transcript: Transcript): Conclusion {
  const remedy = TOO_DEEP.has(error.type)
    ? 'The code is nested too deeply to be compiled. Build such data in steps, or read it from text (json.loads).'
    : `Nothing was run. ${hintFor(error, walls) ?? 'Mend this line and send the whole code again.'}`;
  return { ...heard(transcript), status: 'validation_error', error: guestError(error, remedy) };
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
  note: undefined,
  pictures: transcript.pictures,
});

function exited(
  { code, signal }: Extract<SandboxEnd, { how: 'exited' }>['report'],
  transcript: Transcript,
  cage: Cage,
): Pick<Outcome, 'status' | 'exitCode' | 'error' | 'note'> {
  const { raised } = transcript;
  if (signal !== null)
    return {
      status: 'error',
      exitCode: undefined,
      error: signalled(signal, cage, transcript),
      note: undefined,
    };
  const exitCode = code ?? undefined;
  if (raised !== undefined) {
    const hint = killedChild(cage) ?? hintFor(raised, cage.spec);
    return { status: 'error', exitCode, error: guestError(raised, hint), note: undefined };
  }
  if (exitCode === 0) {
    const note = unawaitedNote(transcript.result?.repr ?? '', transcript.captured('stderr').text);
    return { status: 'success', exitCode, error: undefined, note };
  }
  return {
    status: 'error',
    exitCode,
    error: own('E_EXIT', `The code ended with exit status ${exitCode}.`, killedChild(cage) ?? EXITED),
    note: undefined,
  };
}

function timedOut(timeoutSeconds: number, where: readonly string[], cage: Cage): OutcomeError {
  const last = where.at(-1);
  const parts = [
    ...(last === undefined ? [] : [`at ${last.trim()}`]),
    ...(cage.waitingFor === '' ? [] : [`waiting for ${cage.waitingFor}`]),
  ];
  const at = parts.length === 0 ? '' : ` It was ${parts.join(', ')}`;
  return {
    message: `Timed out after ${timeoutSeconds} s.${cage.hasRun ? at : ' It was still being compiled: nothing was run.'}`,
    type: 'E_TIMEOUT',
    traceback: where.length > 1 ? where : [],
    remedy: killedChild(cage) ?? 'Pass a larger timeout, or do less in one run.',
  };
}

/** A signal is the code's own doing, or a crash, unless the kernel says that it was about memory. */
function signalled(signal: string, cage: Cage, transcript: Transcript): OutcomeError {
  if (signal === 'SIGKILL' && wasKilledForMemory(cage)) return outOfMemory(cage.spec.memoryBytes);
  if (signal === 'SIGABRT' && HEAP_IS_FULL.test(transcript.captured('stderr').text))
    return own(
      'E_MEMORY',
      `JavaScript heap out of memory, of ${megabytes(cage.spec.memoryBytes)}.`,
      memoryRemedy,
    );
  return own('E_SIGNAL', `The code was ended by ${clip(harmless(signal), 40)}.`, remedyAfter(signal, cage));
}

/** Signals by which native code dies of its own mistakes; faulthandler has then said where, on stderr. */
const CRASHES = new Set(['SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGABRT']);

/** V8's own words, before it aborts. */
const HEAP_IS_FULL = /FATAL ERROR: .*JavaScript heap out of memory/;

function remedyAfter(signal: string, { memoryKills, spec }: Cage): string {
  if (CRASHES.has(signal)) return 'Native code crashed (ctypes, or a library in C); stderr names the line.';
  if (signal === 'SIGXCPU') return 'It used up the processor time that a run may take: do less in one run.';
  if (signal === 'SIGKILL' && memoryKills === undefined) {
    return `Most often this is the memory limit of ${megabytes(spec.memoryBytes)}. ${memoryRemedy}`;
  }
  return 'Nobody outside has sent that: it was os.kill, signal.alarm, or a program that the code started.';
}

const wasKilledForMemory = ({ memoryKills }: Cage): boolean => (memoryKills ?? 0) > 0;

const outOfMemory = (limitBytes: number): OutcomeError =>
  own('E_MEMORY', `Memory limit ${megabytes(limitBytes)} exceeded.`, memoryRemedy);

/** For code that outlived it: a worker that is missing explains much that went wrong later. */
const killedChild = (cage: Cage): string | undefined =>
  wasKilledForMemory(cage)
    ? `One of its processes was killed: memory limit ${megabytes(cage.spec.memoryBytes)} exceeded. ${memoryRemedy}`
    : undefined;

function breached(breach: Breach): OutcomeError {
  switch (breach.limit) {
    case 'memory':
      return outOfMemory(breach.allowed);
    case 'inodes':
      return own('E_FILES', `Limit of ${breach.allowed} files and folders exceeded.`, 'Keep fewer files.');
    case 'host memory':
      return own(
        'E_HOST_MEMORY',
        `The host ran short of memory: ${megabytes(breach.seen)} were left.`,
        'Use less memory, or run less at once.',
      );
  }
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
