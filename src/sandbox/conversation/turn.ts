// Whose turn it is in the conversation with one sandbox: which frames may come next, and what each leads to. It greets,
// waits, answers checks, is given its one run and reports how that ended; nothing leads back from its run. That of a session
// is given one call after another instead, and waits between them for nobody else. Pure: the data of a turn is there in
// that turn only, and a frame or a wish that a turn does not know is refused. Sends nothing.

import { BridgeError } from '../../base/errors.js';
import type { OutputStream } from '../../base/process/streams.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import type { GuestFrame, RunFrame, SupervisorFrame } from '../../wire/frames.js';

export type FrameOf<F, T> = Extract<F, { type: T }>;
/** `checked` with the tools that the code names, `refused` with what is wrong, or that the run has begun that came with it. */
export type CheckAnswer = FrameOf<SupervisorFrame, 'checked' | 'refused'> | { readonly type: 'begun' };
/** A run that is sent with the check of its code, and who hears the run. */
export type Ahead = { readonly frame: RunFrame; readonly handlers: RunHandlers };
/** How the guest's process ended, in the supervisor's words. */
export type GuestEnd = Pick<FrameOf<SupervisorFrame, 'exited'>, 'code' | 'signal'>;

/** A call of a session has ended, and its interpreter waits for the next. */
export type Answered = FrameOf<SupervisorFrame, 'answered'>;

export type RunHandlers = {
  readonly onOutput: (stream: OutputStream, text: string, base64: string | null) => void;
  /** Every frame of the guest; `text` is its line, for values that are relayed verbatim. */
  readonly onGuest: (frame: GuestFrame, text: string) => void;
  /** A file that the code has left in its folder for results, or the names of those that stay behind; after the code's end. */
  readonly onFile: (frame: FrameOf<SupervisorFrame, 'file' | 'skipped'>) => void;
  /** As soon as the code itself has ended: its files may follow. Whatever speaks for the supervisor may say it twice. */
  readonly onGuestEnd?: (end: GuestEnd) => void;
  /** In a session, that the call has ended. What the guest says later is still told to `onGuest`, until the next call. */
  readonly onAnswered?: (answered: Answered) => void;
};

type Checking = {
  readonly at: 'checking';
  readonly onAnswer: (answer: CheckAnswer) => void;
  /** When the check began, by performance.now(). */
  readonly startedAt: number;
  readonly isAsItWas: boolean;
  readonly session?: RunHandlers | undefined;
  /** Turn of the run that was sent with the check, which may have begun. */
  readonly ahead?: Running | undefined;
  /** Frames of a guest meanwhile: its stream may be read before the answer, which was written first. */
  readonly heldBack: { readonly frames: Array<readonly [GuestFrame, text: string]>; chars: number };
};
type Running = {
  readonly at: 'running';
  readonly handlers: RunHandlers;
  /** Whether the guest has said how its code ended. */
  readonly hasLastWord: boolean;
  readonly isSession: boolean;
};
/** The supervisor has told of the end; the guest's last words come by another stream, and may come later. */
type Reported = Pick<Running, 'handlers' | 'hasLastWord'> & {
  readonly at: 'reported';
  readonly report: GuestEnd;
  /** In a session, that no call was under way. */
  readonly isBetweenCalls?: true;
};
export type SandboxTurn =
  | { readonly at: 'starting'; readonly onHello: (hello: FrameOf<SupervisorFrame, 'hello'>) => void }
  | {
      readonly at: 'waiting';
      /** Whether the program that it was asked about last may be run. */
      readonly hasProgram: boolean;
      /** Whether no check was so large, or took so long, that the sandbox is no longer as it was. */
      readonly isAsItWas: boolean;
      /** In a session after its first call: who heard the last one. */
      readonly session?: RunHandlers | undefined;
    }
  | Checking
  | Running
  | Reported;

/** The turn that follows a frame, and the call that hands the frame to whom it is for, once that turn has begun. */
export type TurnStep = { readonly next: SandboxTurn; readonly tell: () => void };

/** Code that models write compiles in milliseconds; the compiler keeps memory that the next run would lack. */
const LIGHT_CODE_CHARS = 100_000;
const LIGHT_CHECK_MS = 250;
/** A loop of Node reads 2 MB of one stream before it turns to the next (uv__read in libuv: 32 times 64 KB). */
const MAX_HELD_BACK_CHARS = 4 * MB_BYTES;
/** After one of these a guest has said how its code ended. */
const LAST_WORDS: ReadonlySet<GuestFrame['type']> = new Set(['result', 'raised', 'where']);

/** Whether its run, or a call of its session, is under way or was the last. */
export const isOfRun = (turn: SandboxTurn): turn is Running | Reported =>
  turn.at === 'running' || turn.at === 'reported';

/**
 * Whether it was given a run, or a call of a session. One that was sent with a check is given when the answer says so: the harness
 * answers before anything else of the run can be seen.
 */
export const wasGivenRun = (turn: SandboxTurn): boolean => isOfRun(turn) || sessionOf(turn) !== undefined;

/** Whether the guest has ended between calls of its session: the sandbox's end follows, and the next call may be quicker. */
export const endsBetweenCalls = (turn: SandboxTurn): boolean =>
  turn.at === 'reported' && turn.isBetweenCalls === true;

/** Who heard the last call of its session, while none is under way. */
const sessionOf = (turn: SandboxTurn): RunHandlers | undefined =>
  turn.at === 'waiting' || turn.at === 'checking' ? turn.session : undefined;

/**
 * The turn in which an answer about `code` is due; what was checked before is replaced. The run `ahead` is sent with it. Throws
 * E_INTERNAL.
 */
export function beginCheck(
  turn: SandboxTurn,
  code: string,
  onAnswer: Checking['onAnswer'],
  ahead?: Ahead,
): Checking {
  switch (turn.at) {
    case 'waiting': {
      // One that was sent a run never waits again, whatever it answers.
      const isAsItWas = turn.isAsItWas && code.length <= LIGHT_CODE_CHARS && ahead === undefined;
      const { session } = turn;
      const running = ahead && beginRun({ ...turn, hasProgram: true }, ahead.frame, ahead.handlers);
      return {
        at: 'checking',
        onAnswer,
        startedAt: performance.now(),
        isAsItWas,
        session,
        ahead: running,
        heldBack: { frames: [], chars: 0 },
      };
    }
    case 'starting':
      throw brokenRuleError('a sandbox checks nothing before its greeting');
    case 'checking':
      throw brokenRuleError('a sandbox checks one program at a time');
    case 'running':
    case 'reported':
      throw brokenRuleError('a sandbox checks nothing after its run has begun');
  }
}

/**
 * The turn of the one run, or of a call of a session: of the program that was checked last, or of one that needs no check.
 * Throws E_INTERNAL.
 */
export function beginRun(turn: SandboxTurn, { program, session }: RunFrame, handlers: RunHandlers): Running {
  const needsCheck = (program?.ways ?? []).length === 0;
  switch (turn.at) {
    case 'waiting':
      if (needsCheck && !turn.hasProgram) throw brokenRuleError('a sandbox runs what it has checked');
      if (turn.session !== undefined && session === undefined)
        throw brokenRuleError('the sandbox of a session serves its calls only');
      return { at: 'running', handlers, hasLastWord: false, isSession: session !== undefined };
    case 'starting':
      throw brokenRuleError('a sandbox runs nothing before its greeting');
    case 'checking':
      throw brokenRuleError('a sandbox runs nothing while it owes an answer');
    case 'running':
    case 'reported':
      throw brokenRuleError('a sandbox serves one run');
  }
}

/** Whether it may wait for another run. Throws E_INTERNAL for one that was given its run. */
export function mayRest(turn: SandboxTurn): boolean {
  if (wasGivenRun(turn)) throw brokenRuleError('a sandbox that was given its run never waits again');
  return turn.at === 'waiting' && turn.isAsItWas;
}

/**
 * Undefined when the guest's frame is out of turn: before the run there is no guest. What it says of a run that may have begun is
 * held back.
 */
export function afterGuest(turn: SandboxTurn, frame: GuestFrame, text: string): TurnStep | undefined {
  if (turn.at === 'checking' && turn.ahead !== undefined) return holdBack(turn, frame, text);
  const session = sessionOf(turn);
  if (session !== undefined) return { next: turn, tell: () => session.onGuest(frame, text) };
  if (!isOfRun(turn)) return undefined;
  const next = LAST_WORDS.has(frame.type) ? { ...turn, hasLastWord: true } : turn;
  return { next, tell: () => turn.handlers.onGuest(frame, text) };
}

/**
 * Undefined when the supervisor's frame is out of turn. Before the run it greets and answers; after it, there is
 * output, what was left, and the end to tell of.
 */
export function afterSupervisor(turn: SandboxTurn, frame: SupervisorFrame): TurnStep | undefined {
  switch (frame.type) {
    case 'hello':
      if (turn.at !== 'starting') return undefined;
      return {
        next: { at: 'waiting', hasProgram: false, isAsItWas: true },
        tell: () => turn.onHello(frame),
      };
    case 'unloaded':
      return wasGivenRun(turn) ? undefined : { next: turn, tell: () => {} };
    case 'checked':
    case 'refused':
      return turn.at === 'checking' ? afterAnswer(turn, frame) : undefined;
    case 'answered':
      return turn.at === 'running' && turn.isSession ? afterCall(turn, frame) : undefined;
    case 'restless':
      return sessionOf(turn) && { next: turn, tell: () => {} };
    case 'output':
    case 'ended':
    case 'file':
    case 'skipped':
    case 'exited':
      return isOfRun(turn) ? afterRunFrame(turn, frame) : afterFrameBetweenCalls(turn, frame);
  }
}

function afterAnswer(
  { onAnswer, startedAt, isAsItWas, session, ahead, heldBack }: Checking,
  answer: FrameOf<SupervisorFrame, 'checked' | 'refused'>,
): TurnStep | undefined {
  const isChecked = answer.type === 'checked';
  // The harness has begun it by the same rule (check() in harness/first_process.py).
  if (ahead !== undefined && isChecked && answer.named.length === 0)
    return afterHeldBack({ next: ahead, tell: () => onAnswer({ type: 'begun' }) }, heldBack);
  const isLight = performance.now() - startedAt <= LIGHT_CHECK_MS;
  const next = { at: 'waiting', hasProgram: isChecked, isAsItWas: isAsItWas && isLight, session } as const;
  return afterHeldBack({ next, tell: () => onAnswer(answer) }, heldBack);
}

/** Undefined where the guest says more than code can that has begun a moment ago: it is of an earlier call, and does not end. */
function holdBack(turn: Checking, frame: GuestFrame, text: string): TurnStep | undefined {
  const { heldBack } = turn;
  heldBack.chars += text.length;
  if (heldBack.chars > MAX_HELD_BACK_CHARS) return undefined;
  return { next: turn, tell: () => void heldBack.frames.push([frame, text]) };
}

/** The step, and after it what the guest has said before: out of turn where it turns out that nothing has begun. */
function afterHeldBack(first: TurnStep, heldBack: Checking['heldBack']): TurnStep | undefined {
  const tells = [first.tell];
  let { next } = first;
  for (const [frame, text] of heldBack.frames) {
    const step = afterGuest(next, frame, text);
    if (step === undefined) return undefined;
    next = step.next;
    tells.push(step.tell);
  }
  return {
    next,
    tell: () => {
      for (const tell of tells) tell();
    },
  };
}

const afterCall = ({ handlers }: Running, answered: Answered): TurnStep => ({
  next: { at: 'waiting', hasProgram: false, isAsItWas: false, session: handlers },
  tell: () => handlers.onAnswered?.(answered),
});

/** Between calls the guest may end, and what it left is nobody's then. */
function afterFrameBetweenCalls(
  turn: SandboxTurn,
  frame: FrameOf<SupervisorFrame, 'output' | 'ended' | 'file' | 'skipped' | 'exited'>,
): TurnStep | undefined {
  const session = sessionOf(turn);
  if (session === undefined) return undefined;
  if (frame.type !== 'exited') return { next: turn, tell: () => {} };
  return {
    next: { at: 'reported', handlers: session, hasLastWord: true, report: frame, isBetweenCalls: true },
    tell: () => {},
  };
}

function afterRunFrame(
  turn: Running | Reported,
  frame: FrameOf<SupervisorFrame, 'output' | 'ended' | 'file' | 'skipped' | 'exited'>,
): TurnStep {
  const { handlers, hasLastWord } = turn;
  switch (frame.type) {
    case 'output':
      return { next: turn, tell: () => handlers.onOutput(frame.stream, frame.text, frame.base64) };
    case 'file':
    case 'skipped':
      return { next: turn, tell: () => handlers.onFile(frame) };
    case 'ended':
      return { next: turn, tell: () => handlers.onGuestEnd?.(frame) };
    case 'exited':
      return {
        next: { at: 'reported', handlers, hasLastWord, report: frame },
        tell: () => handlers.onGuestEnd?.(frame),
      };
  }
}

const brokenRuleError = (rule: string): BridgeError =>
  new BridgeError('E_INTERNAL', rule, { fault: 'bridge' });
