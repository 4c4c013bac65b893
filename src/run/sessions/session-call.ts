// One call of a session while its sandbox goes on: it ends when the supervisor says so and the guest has had its last word.
// Frames that the guest sends afterwards belong to no call: calls among them are refused, and the rest is dropped.

import { drawnLetters } from '../../base/crypto.js';
import { BridgeError } from '../../base/errors.js';
import type { Deadline } from '../../base/waiting/deadline.js';
import { waitAtMost, waitForAbort } from '../../base/waiting/unless-aborted.js';
import type { Sandbox, SandboxEnd } from '../../sandbox/conversation/sandbox.js';
import type { Answered, RunHandlers } from '../../sandbox/conversation/turn.js';
import type { GuestFrame, SessionFacts } from '../../wire/frames.js';
import type { CodeEnd } from '../outcome/conclude.js';

/** How long code may take to end after it was interrupted; what ignores that loses its session. */
export const INTERRUPT_WITHIN_MS = 2_000;
/** The guest's last frame comes by another stream than the supervisor's word, and may come later. */
const LAST_WORD_WITHIN_MS = 500;
const TOKEN_LETTERS = 16;

const isLastWord = (frame: GuestFrame): frame is Extract<GuestFrame, { type: 'result' | 'raised' }> =>
  frame.type === 'result' || frame.type === 'raised';

/** Error for code that asks for something while no call of its session is under way. */
export const noCall = (): BridgeError =>
  new BridgeError('E_NO_CALL', 'No call of this session is under way.', {
    fault: 'guest',
    remedy: 'Await all tool calls before the code ends, or make them in the next call of the session.',
  });

export class SessionCall {
  /** Resolves when the call has ended and its sandbox waits for the next one; never, where the sandbox ends first. */
  readonly answered: Promise<SandboxEnd>;
  readonly #sandbox: Sandbox;
  readonly #use: SessionUse;
  readonly #onCut: () => void;
  #onAnswered: (end: SandboxEnd) => void = () => {};
  #onLastWord: () => void = () => {};
  readonly #lastWord: Promise<void>;
  /** Repeated by the last word of this call: one that code of an earlier call has forged is none. */
  readonly token = drawnLetters(TOKEN_LETTERS);
  #onStop: () => void = () => {};
  readonly #stopped: Promise<void>;
  #isOver = false;

  /** `onCut` is called before its code is interrupted: whatever holds that up is to let it go. */
  constructor(sandbox: Sandbox, use: SessionUse, onCut: () => void) {
    this.#sandbox = sandbox;
    this.#use = use;
    this.#onCut = onCut;
    this.answered = new Promise((resolve) => {
      this.#onAnswered = resolve;
    });
    this.#stopped = new Promise((resolve) => {
      this.#onStop = resolve;
    });
    this.#lastWord = new Promise((resolve) => {
      this.#onLastWord = resolve;
    });
  }

  /** Handlers that hear the call, and are told when it ends. */
  heardBy(handlers: RunHandlers): RunHandlers {
    return {
      ...handlers,
      onGuest: (frame, text) => {
        if (this.#isOver) return this.#hearLate(frame);
        if (isLastWord(frame)) {
          if (frame.token !== this.token) return;
          this.#onLastWord();
        }
        handlers.onGuest(frame, text);
      },
      onAnswered: (answered) => void this.#whenAnswered(answered, handlers),
    };
  }

  /** Has it end now, as at its deadline. */
  stop(): void {
    this.#onStop();
  }

  /** How it has ended; undefined where it was cut off. At its deadline, and when it is cancelled, it is interrupted first. */
  async end(deadline: Deadline, codeEnd: CodeEnd): Promise<SandboxEnd | undefined> {
    const ends = [this.#sandbox.ended, this.answered, this.#cutShort(deadline), codeEnd.filesLate];
    const end = await Promise.race(ends);
    this.#isOver = true;
    // To keep what it left may take longer.
    deadline.finish();
    if (codeEnd.note !== undefined) {
      this.#use.willEnd('the files of a call did not arrive in time');
      this.#sandbox.kill();
    }
    return end;
  }

  async #whenAnswered({ code, goesOn }: Answered, { onGuestEnd }: RunHandlers): Promise<void> {
    const report = { code, signal: null };
    onGuestEnd?.(report);
    await waitAtMost(LAST_WORD_WITHIN_MS, this.#lastWord);
    this.#use.answered(goesOn);
    this.#onAnswered({ how: 'exited', report });
  }

  async #cutShort(deadline: Deadline): Promise<SandboxEnd | undefined> {
    await Promise.race([waitForAbort(deadline.signal), this.#stopped]);
    if (deadline.cause === 'shutdown') {
      this.#sandbox.kill();
      return undefined;
    }
    this.#onCut();
    this.#sandbox.send({ type: 'interrupt' });
    let end: SandboxEnd | undefined;
    const ended = Promise.race([this.answered, this.#sandbox.ended]).then((how) => {
      end = how;
    });
    await waitAtMost(INTERRUPT_WITHIN_MS, ended);
    if (end === undefined) {
      this.#use.willEnd(
        `its code did not end within ${INTERRUPT_WITHIN_MS / 1000} s after it was interrupted, and was killed`,
      );
      this.#sandbox.kill();
    }
    return end;
  }

  #hearLate(frame: GuestFrame): void {
    if (frame.type !== 'call') return;
    const { code, advice: message } = noCall();
    this.#sandbox.send({
      type: 'refusal',
      id: frame.id,
      error: { code, message, server: null, tool: null },
    });
  }
}

// A run's view of the session that the run is a call of. The session itself outlives the run (run/sessions/).

export type SessionUse = {
  readonly name: string;
  /** The session's name with its handle, which no other session has: what a person has allowed in it is allowed in no other. */
  readonly title: string;
  /** Facts of the session for the code of this call, as they are now. */
  readonly facts: () => SessionFacts;
  /** The code of this call begins. */
  readonly begins: () => void;
  /** Servers of this call that code of earlier calls gets as well; each is asked for like one that code asks for. */
  readonly added: readonly string[];
  /** The interpreter waits for the next call; `goesOn` where its code has asked not to stand still until then. */
  readonly answered: (goesOn: boolean) => void;
  /** Says that the session's sandbox is about to be ended, and why, in words that follow "it has ended:". */
  readonly willEnd: (why: string) => void;
};
