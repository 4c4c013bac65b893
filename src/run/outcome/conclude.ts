// From how a run ended to its outcome: the cause that came first, then the supervisor's report, then what the guest
// said. Every failure leaves with a sentence for the model and, where there is one, the next step.

import type { BridgeError } from '../../base/errors.js';
import { clip, makeHarmless } from '../../base/text/text.js';
import type { Deadline, EndCause } from '../../base/waiting/deadline.js';
import type { GuestError, SandboxEnd } from '../../sandbox/conversation/sandbox.js';
import type { GuestEnd } from '../../sandbox/conversation/turn.js';
import type { RunStatus } from '../events.js';
import type { HintSpec } from '../hints/hint.js';
import { hintFor, unawaitedNote } from '../hints/hints.js';
import { notInstalledNote } from '../hints/modules.js';
import { isPythonTask, type Task } from '../programs/task.js';
import {
  endError,
  guestError,
  hintOf,
  killedChild,
  MAX_MESSAGE_CHARS,
  ownError,
  type SandboxFacts,
  signalError,
  timedOut,
  wordsFor,
} from './ending-errors.js';
import type { Outcome, OutcomeError } from './outcome.js';
import type { Transcript } from './transcript.js';

/** An outcome but for what the run itself measures. */
export type Conclusion = Omit<Outcome, 'status' | 'durationMs' | 'servers' | 'timeoutSeconds' | 'calls'> & {
  readonly status: RunStatus;
};

/** Exceptions that Python's parser and compiler raise where their own stack or memory ends. */
const TOO_DEEP = new Set(['RecursionError', 'MemoryError']);

/** The harness's names for failures of a program that has not begun (`harness/launch.py`), with words for the model. */
const NOT_BEGUN: ReadonlyMap<string, { readonly type: string; readonly lead: string }> = new Map([
  ['StepFailed', { type: 'CompileError', lead: 'The program was not compiled: ' }],
  ['CannotStart', { type: 'StartError', lead: 'The program was not started. ' }],
]);
/** Exit status of a Python program that does not compile, the one that CPython itself gives. */
const NOT_COMPILED = 1;

/** `end` is undefined when the run was cut off by `cause` before the sandbox said anything. */
export function conclude(
  end: SandboxEnd | undefined,
  cause: EndCause | undefined,
  /** Task that was to be run, and for how long at most. */
  asked: { readonly task: Task; readonly timeoutSeconds: number },
  transcript: Transcript,
  facts: SandboxFacts,
): Conclusion {
  const said = heardFrom(transcript);
  if (cause === 'timeout')
    return { ...said, status: 'timeout', error: timedOut(asked, transcript.where, facts) };
  if (cause !== undefined || end === undefined) {
    return {
      ...said,
      status: 'cancelled',
      error: ownError('E_CANCELLED', 'The run was cancelled.', undefined),
    };
  }
  if (end.how === 'exited') return { ...said, ...exitOutcome(end.report, asked.task, transcript, facts) };
  return { ...said, status: 'error', error: endError(end, facts, { isHarmless: leavesNothing(facts) }) };
}

/** Changes that code without calls and without a network can have made are gone with its sandbox. */
const leavesNothing = ({ calls, spec }: SandboxFacts): boolean => calls === 0 && spec.network === 'none';

/**
 * The outcome of code that is no Python. Nothing has run, and nothing is spent; of a program it is told as CPython does,
 * on stderr and by an exit status.
 */
export function concludeRefused(
  error: GuestError,
  task: Task,
  spec: HintSpec,
  transcript: Transcript,
): Conclusion {
  const hint = TOO_DEEP.has(error.type)
    ? 'The code is nested too deeply to be compiled. Build such data in steps, or read it from text (json.loads).'
    : hintFor(error, spec);
  const said = heardFrom(transcript);
  if (task.type === 'cell') {
    const remedy = TOO_DEEP.has(error.type)
      ? hint
      : `Nothing was run. ${hint ?? 'Fix this line and send the whole program again.'}`;
    return { ...said, status: 'validation_error', error: guestError(error, remedy) };
  }
  const { traceback, ...told } = guestError(error, hint);
  return {
    ...said,
    status: 'error',
    exitCode: NOT_COMPILED,
    stderr: { text: `${traceback.join('\n')}\n`, dropped: 0 },
    error: { ...told, traceback: [] },
  };
}

/** The outcome of a plan that was stopped at its first write, as it was to be. */
export const concludePlan = (transcript: Transcript): Conclusion => ({
  ...heardFrom(transcript),
  status: 'success',
  error: undefined,
});

/** The outcome of a run that never reached its sandbox, or lost the bridge on the way. */
export function concludeFailure(
  cause: EndCause | undefined,
  error: BridgeError,
  transcript: Transcript,
): Conclusion {
  const status = cause !== undefined ? 'cancelled' : error.fault === 'agent' ? 'validation_error' : 'error';
  return { ...heardFrom(transcript), status, error: ownError(error.code, error.message, error.remedy) };
}

const heardFrom = (transcript: Transcript) => ({
  exitCode: undefined,
  stdout: transcript.capturedStream('stdout'),
  stderr: transcript.capturedStream('stderr'),
  result: transcript.result,
  note: undefined,
  pictures: transcript.pictures,
});

function exitOutcome(
  { code, signal }: Extract<SandboxEnd, { how: 'exited' }>['report'],
  task: Task,
  transcript: Transcript,
  facts: SandboxFacts,
): Pick<Conclusion, 'status' | 'exitCode' | 'signal' | 'error' | 'note'> {
  if (signal !== null) {
    const error = signalError(signal, task, transcript, facts);
    return { status: 'error', exitCode: undefined, signal, error, note: undefined };
  }
  const exitCode = code ?? undefined;
  const { raised } = transcript;
  if (raised === undefined && exitCode === 0) {
    const { repr = '' } = transcript.result ?? {};
    const note = isPythonTask(task) ? noteOn(repr, transcript, facts) : undefined;
    return { status: 'success', exitCode, error: undefined, note };
  }
  const hint = killedChild(facts) ?? hintOf(task, transcript, facts);
  const { subject, exited, exitedWith } = wordsFor(task);
  const error =
    raised === undefined
      ? ownError(
          'E_EXIT',
          `${subject} ended with exit status ${exitCode}.`,
          hint ?? exitedWith?.[code ?? 0] ?? exited,
        )
      : raisedBy(task, raised, hint);
  return { status: 'error', exitCode, error, note: undefined };
}

/** Note on what code that has ended well has most likely not noticed. */
function noteOn(repr: string, transcript: Transcript, { spec }: SandboxFacts): string | undefined {
  const [stdout, stderr] = [
    transcript.capturedStream('stdout').text,
    transcript.capturedStream('stderr').text,
  ];
  return unawaitedNote(repr, stderr) ?? notInstalledNote([stderr, stdout, repr], spec);
}

/** A program's traceback stands on its stderr. */
function raisedBy(task: Task, raised: GuestError, hint: string | undefined): OutcomeError {
  const told = guestError(raised, hint);
  if (task.type === 'cell') return told;
  const begun = isPythonTask(task) ? undefined : NOT_BEGUN.get(raised.type);
  if (begun === undefined) return { ...told, traceback: [] };
  const message = clip(`${begun.lead}${makeHarmless(raised.message)}`, MAX_MESSAGE_CHARS);
  return { type: begun.type, message, traceback: [], remedy: hint };
}

// The moment at which the code itself has ended. From then on the run's clock stands: what the code left has a time of
// its own to arrive, and none is needed to keep it. The supervisor's word for it may be forged, by code that is still
// running; all that this gains is the files' time, since it counts once and the sandbox is killed after it.

/** How long files may take from the end of the code: a local pipe carries all that they may be in a tenth of this. */
const FILES_WITHIN_MS = 5_000;
/** Note for the model. */
const LATE = `[Some files of out/ did not arrive within ${FILES_WITHIN_MS / 1000} s of the end of the code.]`;

export class CodeEnd implements Disposable {
  /** Resolves with how the code ended when its files have taken too long; else never. */
  readonly filesLate: Promise<SandboxEnd>;
  readonly #deadline: Deadline;
  #onLate: (end: SandboxEnd) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #note: string | undefined;

  constructor(deadline: Deadline) {
    this.#deadline = deadline;
    this.filesLate = new Promise((resolve) => {
      this.#onLate = resolve;
    });
  }

  /** To be called with every word of an end; the first counts, and only where it comes in time. */
  onReport(report: GuestEnd): void {
    if (this.#timer !== undefined) return;
    this.#deadline.finish();
    if (this.#deadline.cause !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#note = LATE;
      this.#onLate({ how: 'exited', report });
    }, FILES_WITHIN_MS);
  }

  /** Note for the model where files have taken too long. */
  get note(): string | undefined {
    return this.#note;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
