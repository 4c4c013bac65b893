// The error of each ending, in words: what happened, named after the limit that was met, and the next step. Which of them
// it was is for conclude.ts to say.

import { ownCommand } from '../../base/process/own-command.js';
import { clipHarmless, clipHarmlessLine } from '../../base/text/text.js';
import type { GuestError, SandboxEnd } from '../../sandbox/conversation/sandbox.js';
import type { Breach } from '../../sandbox/limits/watchdog.js';
import { fileSizeSentence, type HintSpec, megabytes, memoryRemedy } from '../hints/hint.js';
import { hintFor } from '../hints/hints.js';
import { programHint } from '../hints/programs.js';
import { isPythonTask, type Task } from '../programs/task.js';
import type { OutcomeError } from './outcome.js';
import type { Transcript } from './transcript.js';

// Words about an end that depend on what was run: a cell of Python, a Python program, or a program of another language. Data;
// conclude.ts says when.

type EndingWords = {
  /** Who has ended, at the beginning of a sentence. */
  readonly subject: string;
  /** After an exit status of its own; undefined where its output says it all. */
  readonly exited: string | undefined;
  /** In place of that, after one by which the language itself says something. */
  readonly exitedWith?: Readonly<Record<number, string>>;
  /** After a signal by which programs die of their own mistakes. */
  readonly crashed: string;
  /** After any other signal. */
  readonly signalled: string;
};

const CELL: EndingWords = {
  subject: 'The code',
  exited: 'It called sys.exit or os._exit, as argparse and unittest.main do: let it run to its end instead.',
  crashed: 'Native code crashed (ctypes, or a library in C); stderr names the line.',
  signalled: 'The signal came from inside: os.kill, signal.alarm, or a program that the code started.',
};

const PROGRAM: EndingWords = {
  subject: 'The program',
  exited: undefined,
  crashed: 'It crashed: the signal did not come from outside.',
  signalled: 'The signal came from the program itself, or from one that it started.',
};

const PYTHON_PROGRAM: EndingWords = { ...CELL, subject: PROGRAM.subject, exited: PROGRAM.exited };

/** Node says this itself only of a program that nobody else has started. */
const NODE_PROGRAM: EndingWords = {
  ...PROGRAM,
  exitedWith: {
    13: 'Node ends so when an `await` at the top level can never end: nothing is left that could settle its promise. Reading from stdin is such a wait if the call passes no more `stdin`.',
  },
};

export function wordsFor(task: Task): EndingWords {
  if (task.type === 'cell') return CELL;
  if (isPythonTask(task)) return PYTHON_PROGRAM;
  return task.language.tools === 'javascript' ? NODE_PROGRAM : PROGRAM;
}

/** A deep recursion has a thousand lines; CPython itself folds repeats, and this bounds what hostile code sends. */
const MAX_TRACEBACK_LINES = 60;
const MAX_LINE_CHARS = 500;
export const MAX_MESSAGE_CHARS = 4_000;

/** Words on what the code was waiting for; empty where it waited for nothing. */
export type Awaited = {
  /** The tools whose answers it was waiting for. */
  readonly waitingFor: string;
  /** Sentences on what the servers of these tools wrote in the place of an answer. */
  readonly instead: string;
};

export const NOTHING_AWAITED: Awaited = { waitingFor: '', instead: '' };

/** Facts about the sandbox besides how it ended. */
export type SandboxFacts = Awaited & {
  readonly spec: HintSpec;
  /** How many of its processes the kernel killed for memory; undefined where nobody can know. */
  readonly memoryKills: number | undefined;
  /** Whether another machine runs it. */
  readonly isElsewhere: boolean;
  readonly hasRun: boolean;
  /** How many calls its code has made. */
  readonly calls: number;
};

/** The next step after what the code has raised, or a program has said. */
export function hintOf(task: Task, transcript: Transcript, { spec }: SandboxFacts): string | undefined {
  const { raised } = transcript;
  if (task.type === 'program') {
    const said = `${raised?.message ?? ''}\n${transcript.capturedStream('stderr').text}`.trimStart();
    const hint = programHint(said, task.language, spec);
    if (hint !== undefined || !isPythonTask(task)) return hint;
  }
  return raised === undefined ? undefined : hintFor(raised, spec);
}

const MORE_TIME = 'Pass a larger timeout, or do less in one run.';

export function timedOut(
  { task, timeoutSeconds }: { readonly task: Task; readonly timeoutSeconds: number },
  where: readonly string[],
  facts: SandboxFacts,
): OutcomeError {
  return {
    message: `Timed out after ${timeoutSeconds} s.${whereItWas(task, where, facts)}`,
    type: 'E_TIMEOUT',
    traceback: where.length > 1 ? where : [],
    remedy:
      killedChild(facts) ??
      (facts.instead === '' ? MORE_TIME : `Read what it wrote. If that does not help: ${MORE_TIME}`),
  };
}

function whereItWas(task: Task, where: readonly string[], facts: SandboxFacts): string {
  const { hasRun, waitingFor, instead } = facts;
  if (!hasRun) return ' It was still being compiled: nothing was run.';
  const last = where.at(-1);
  // While a program is being compiled, the harness reports the command of the step in backticks.
  if (last?.startsWith('`') && !isPythonTask(task)) return ` It was still being compiled by ${last}.`;
  const parts = [
    ...(last === undefined ? [] : [`at ${last.trim()}`]),
    ...(waitingFor === '' ? [] : [`waiting for ${waitingFor}`]),
  ];
  const place = parts.length === 0 ? '' : ` It was ${parts.join(', ')}`;
  return instead === '' ? place : `${place}.${instead}`;
}

/** A signal is the code's own doing, or a crash, unless the kernel says that it was about memory. */
export function signalError(
  signal: string,
  task: Task,
  transcript: Transcript,
  facts: SandboxFacts,
): OutcomeError {
  const memory = memoryBehind(signal, transcript.capturedStream('stderr').text, facts);
  if (memory !== undefined) return memory;
  const words = wordsFor(task);
  const hint = task.type === 'program' && CRASHES.has(signal) ? hintOf(task, transcript, facts) : undefined;
  const message = `${words.subject} was ended by ${clipHarmlessLine(signal, 40)}.`;
  return ownError('E_SIGNAL', message, hint ?? remedyAfter(signal, words, facts));
}

/** The memory limit that a signal stands for, by the kernel's word or by V8's on stderr; undefined for any other signal. */
export function memoryBehind(signal: string, stderr: string, facts: SandboxFacts): OutcomeError | undefined {
  if (signal === 'SIGKILL' && wasKilledForMemory(facts)) return outOfMemory(facts.spec.memoryBytes);
  if (signal !== 'SIGABRT' || !HEAP_IS_FULL.test(stderr)) return undefined;
  const message = `JavaScript heap out of memory: the memory limit is ${megabytes(facts.spec.memoryBytes)}.`;
  return ownError('E_MEMORY', message, memoryRemedy);
}

/** V8's own words, before it aborts. */
const HEAP_IS_FULL = /FATAL ERROR: .{0,100}JavaScript heap out of memory/;

/** Signals by which native code dies of its own mistakes; Python's faulthandler has then said where, on stderr. */
const CRASHES = new Set(['SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGABRT', 'SIGTRAP']);

function remedyAfter(
  signal: string,
  { crashed, signalled }: EndingWords,
  { memoryKills, isElsewhere, spec }: SandboxFacts,
): string {
  if (CRASHES.has(signal)) return crashed;
  if (signal === 'SIGXFSZ') return fileSizeSentence(spec);
  if (signal === 'SIGXCPU') return 'It used up the processor time that a run may take: do less in one run.';
  if (signal === 'SIGKILL' && memoryKills === undefined) {
    return `Most often this is the memory limit of ${megabytes(spec.memoryBytes)}. ${memoryRemedy}`;
  }
  // A machine that is turned off sends it to all its processes, some seconds before its engine is known to be gone.
  if (signal === 'SIGTERM' && isElsewhere) return TERMINATED_ELSEWHERE;
  return signalled;
}

const TERMINATED_ELSEWHERE =
  "The signal came from inside, or the engine's machine was being turned off. The next call shows which.";

const wasKilledForMemory = ({ memoryKills }: SandboxFacts): boolean => (memoryKills ?? 0) > 0;

export const outOfMemory = (limitBytes: number): OutcomeError =>
  ownError('E_MEMORY', `Memory limit ${megabytes(limitBytes)} exceeded.`, memoryRemedy);

/** Hint for code that outlived a killed process of its own: a missing worker explains much that went wrong later. */
export const killedChild = (facts: SandboxFacts): string | undefined =>
  wasKilledForMemory(facts)
    ? `One of its processes was killed: memory limit ${megabytes(facts.spec.memoryBytes)} exceeded. ${memoryRemedy}`
    : undefined;

export function breachError(breach: Breach): OutcomeError {
  switch (breach.limit) {
    case 'memory':
      return outOfMemory(breach.allowed);
    case 'kernel memory':
      return ownError(
        'E_MEMORY',
        `Its sockets and pipes could hold ${megabytes(breach.seen)} of the machine's memory, on top of the memory limit of ${megabytes(breach.allowed)}.`,
        'Keep fewer connections and pipes open at a time.',
      );
    case 'inodes':
      return ownError(
        'E_FILES',
        `Limit of ${breach.allowed} files and folders exceeded: there were ${breach.seen}.`,
        'Write fewer files, or delete those that are no longer needed.',
      );
    case 'host memory':
      return ownError(
        'E_HOST_MEMORY',
        `The machine ran short of memory: ${megabytes(breach.seen)} were left.`,
        'Use less memory, or run less at once.',
      );
    case 'wakes':
      return ownError(
        'E_RESTLESS',
        'The code went on while it was paused, as code is between two calls of a session and while a person is asked.',
        'Do not send SIGCONT: start no timer that sends it.',
      );
  }
}

/** The error of a sandbox that did not come to an end of its own. `isHarmless`: what it did can be done twice. */
export function endError(
  end: Exclude<SandboxEnd, { how: 'exited' }>,
  facts: SandboxFacts,
  { isHarmless }: { readonly isHarmless: boolean },
): OutcomeError {
  switch (end.how) {
    case 'violation':
      return ownError(end.error.code, end.error.message, end.error.remedy);
    case 'limit':
      return breachError(end.breach);
    case 'lost':
      // Without a word of the supervisor: the kernel took it along with the code.
      return wasKilledForMemory(facts)
        ? outOfMemory(facts.spec.memoryBytes)
        : lostError(end.detail, facts, isHarmless);
  }
}

const DOCTOR = `if it vanishes again, run \`${ownCommand('doctor')}\`.`;

/** Nothing in the code can take the supervisor's last word, but for what looks for it. */
function lostError(detail: string, { hasRun, calls }: SandboxFacts, isHarmless: boolean): OutcomeError {
  const message = `The sandbox vanished: ${detail}`;
  if (!hasRun || isHarmless) {
    return ownError('E_SANDBOX_LOST', message, `The code is hardly the reason: send it again; ${DOCTOR}`);
  }
  const doer =
    calls > 0 ? `It had made ${calls} calls` : 'It may have changed something outside of its sandbox';
  const remedy = `${doer}, which would be done twice: check what is done, and send only what is missing; ${DOCTOR}`;
  return ownError('E_SANDBOX_LOST', message, remedy);
}

export const ownError = (type: string, message: string, remedy: string | undefined): OutcomeError => ({
  type,
  message,
  traceback: [],
  remedy,
});

export function guestError(
  { type, message, traceback }: GuestError,
  remedy: string | undefined,
): OutcomeError {
  const kept =
    traceback.length <= MAX_TRACEBACK_LINES
      ? traceback
      : [
          ...traceback.slice(0, 10),
          `[… ${traceback.length - MAX_TRACEBACK_LINES} lines …]`,
          ...traceback.slice(10 - MAX_TRACEBACK_LINES),
        ];
  return {
    type: clipHarmless(type, 200),
    message: clipHarmless(message === '' ? type : `${type}: ${message}`, MAX_MESSAGE_CHARS),
    traceback: kept.map((line) => clipHarmless(line, MAX_LINE_CHARS)),
    remedy,
    isByCode: true,
  };
}
