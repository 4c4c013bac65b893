// One session: a sandbox that serves calls one after another, of one principal, until it ends for good. What goes on after a
// call has that call's place; without one it stands still, so that it costs memory and nothing else. Why it has ended is known
// once, in one sentence.

import { drawnLetters } from '../../base/crypto.js';
import { processorGroup, processorUseIn } from '../../engine/machine/enforcement.js';
import type { Sandbox, SandboxEnd } from '../../sandbox/conversation/sandbox.js';
import { heldBytes } from '../../sandbox/limits/measure.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { SessionFacts } from '../../wire/frames.js';
import { breachError, outOfMemory } from '../outcome/ending-errors.js';
import type { GivenTurn } from '../queue/run-queue.js';

// Code of a session that goes on after its call was answered still belongs to that call: the code has the call's place, costs
// its principal what it uses, and has the rest of the call's time where it has asked to go on. The code's word is only a
// request.

/** A task that an answer has left may have something to finish. */
const HOLD_AFTER_MS = 500;
/**
 * How long such a task may go on, as its own call, while the next call is on its way to its code: to stop everything and let it
 * go again takes longer than most calls are on their way.
 */
const HOLD_ON_THE_WAY_MS = 20;
const LOOK_AT_CALL_MS = 1_000;

class AfterCall {
  /** A call that was answered, and has its place and its sandbox yet. */
  readonly #call;
  #timers: NodeJS.Timeout[] = [];
  #isOver = false;
  #isFinishing = false;

  constructor(
    call: GivenTurn & {
      /** When the time that the call was given is over, by performance.now(). */
      readonly endsAt: number;
    },
  ) {
    this.#call = call;
  }

  /** Whether it only has something to finish, and leaves its place to whoever wants it. */
  get isFinishing(): boolean {
    return this.#isFinishing && !this.#isOver;
  }

  /** Code of the call runs on. `stop` is called when that has to end, and calls `end`; with why, where more was allowed. */
  begin(goesOn: boolean, stop: (why?: string) => void): void {
    const { turn, endsAt } = this.#call;
    const leftMs = endsAt - performance.now();
    if (goesOn && leftMs > HOLD_AFTER_MS && !this.#isUsedUp()) {
      const look = () => {
        if (this.#isUsedUp()) stop('the processor time of its user was used up');
      };
      this.#timers.push(setInterval(look, LOOK_AT_CALL_MS).unref());
      this.#timers.push(setTimeout(() => stop('the time of its last call was over'), leftMs).unref());
      return;
    }
    this.#isFinishing = true;
    this.#timers.push(setTimeout(() => stop(), HOLD_AFTER_MS).unref());
    // Code that has only something to finish makes room for others at once, which may be now.
    turn.lingers(() => stop());
  }

  /** Ends the call's turn: its code stands still, or is gone, and its place is for others. */
  end(): void {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    if (this.#isOver) return;
    this.#isOver = true;
    const { turn, meter } = this.#call;
    meter.leaveAll();
    turn.end({ processorSeconds: meter.lap() });
  }

  /** Charges processor time that code uses although it is to stand still. */
  charge(processorSeconds: number): void {
    this.#call.turn.charge(processorSeconds);
  }

  #isUsedUp(): boolean {
    const { turn, meter } = this.#call;
    turn.charge(meter.lap());
    return turn.isUsedUp;
  }
}

/** 79 bits, which nobody guesses. */
const HANDLE_LETTERS = 16;
/** A session that stands still uses nothing; the look of its first process once a second takes a hundredth of this limit. */
const LOOK_EVERY_MS = 10_000;
const MAX_IDLE_PROCESSOR_SECONDS = 0.5;
/** Less than this is the look itself. */
const LEAST_CHARGED_SECONDS = 0.05;

export class Session {
  readonly name: string;
  readonly scope: string;
  readonly client: string;
  readonly handle = `s-${drawnLetters(HANDLE_LETTERS)}`;
  readonly createdAt = new Date();
  /** Servers that the session's code has, whichever call they came with. */
  servers: readonly string[] = [];
  readonly #parts;
  readonly #startedAt = performance.now();
  readonly #life: NodeJS.Timeout;
  #lastCallAt = new Date();
  #idleSince = performance.now();
  #sandbox: Sandbox | undefined;
  #calls = 0;
  /** Whether code has last asked to go on; whether it may is decided after each call. */
  #wantsToGoOn = false;
  /** The time after the last call, also when that time is over. */
  #after: AfterCall | undefined;
  #isStill = true;
  #stopped: string | undefined;
  #isBusy = false;
  /** Whether the call that has it has begun. */
  #hasBegun = false;
  /** Calls that wait for this one's turn, in their order. */
  readonly #waiting: Array<() => void> = [];
  #timers: NodeJS.Timeout[] = [];
  #reason: string | undefined;
  #isGone = false;

  constructor(parts: {
    readonly name: string;
    /** Within which its name means it. */
    readonly scope: string;
    /** Who has made it. */
    readonly client: string;
    readonly limits: Pick<Settings['sessions'], 'idleSeconds' | 'lifeSeconds' | 'keepRunning'>;
    /** Whether a person has ended it from outside. */
    readonly wasEndedByHand: (handle: string) => boolean;
    /** Called when the session has ended, for the reason given; its sandbox is to be got rid of. */
    readonly onEnded: (session: Session) => void;
  }) {
    this.#parts = parts;
    this.name = parts.name;
    this.scope = parts.scope;
    this.client = parts.client;
    const { lifeSeconds } = parts.limits;
    this.#life = setTimeout(() => this.end(`it had lived for ${lifeSeconds} s`), lifeSeconds * 1000).unref();
  }

  /** Name for people, unlike that of any other session. */
  get title(): string {
    return `${this.name} (${this.handle})`;
  }

  get sandbox(): Sandbox | undefined {
    return this.#sandbox;
  }

  /** Calls that have begun. */
  get calls(): number {
    return this.#calls;
  }

  /** Whether a call has it, be it one that only waits for something else. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Since when the session is idle, by performance.now(). */
  get idleSince(): number {
    return this.#idleSince;
  }

  get lastCallAt(): Date {
    return this.#lastCallAt;
  }

  /** Why it has ended, or is about to; undefined while it lives. */
  get ended(): string | undefined {
    return this.#isGone ? (this.#reason ?? 'it has ended') : this.#reason;
  }

  /** Bytes of memory that the session holds; its limit where nobody can see how many it holds. */
  get memoryBytes(): number {
    const { pid, spec } = this.#sandbox ?? {};
    return heldBytes(pid, spec) ?? spec?.memoryBytes ?? 0;
  }

  /** Resolves with true when no other call has it, or it has ended; with false once `signal` has ended the wait. */
  async enter(signal: AbortSignal): Promise<boolean> {
    while (this.#isBusy && this.ended === undefined) {
      const isWoken = await this.#nextTurn(signal);
      if (!isWoken) return false;
      if (!signal.aborted) continue;
      this.#wakeNext();
      return false;
    }
    if (this.ended !== undefined) return true;
    this.#stopTimers();
    this.makeRoom();
    this.#isBusy = true;
    this.#hasBegun = false;
    if (!this.#isStill)
      this.#timers.push(setTimeout(() => this.freezeProcesses(), HOLD_ON_THE_WAY_MS).unref());
    return true;
  }

  /** A call is on its way: what goes on stands still, but for what only finishes and leaves its place where that is wanted. */
  makeRoom(): void {
    if (this.#isStill || this.#after?.isFinishing !== true) this.freezeProcesses();
  }

  /** The call that has it has its turn: what runs in its sandbox is this call's from now on. */
  takeOver(): void {
    this.#after?.end();
    this.#sandbox?.rests();
  }

  /** The sandbox that it has from now on. */
  adopt(sandbox: Sandbox): void {
    this.#sandbox = sandbox;
    void sandbox.ended.then((end) => this.#whenEnded(end));
    // Its time may have come while the sandbox was started.
    if (this.ended !== undefined) sandbox.kill();
  }

  /** Facts for the code of the next call. */
  facts(): SessionFacts {
    const { idleSeconds, lifeSeconds, keepRunning } = this.#parts.limits;
    const ageSeconds = (performance.now() - this.#startedAt) / 1000;
    const { name, handle } = this;
    return { name, handle, call: this.#calls + 1, ageSeconds, idleSeconds, lifeSeconds, keepRunning };
  }

  /** The code of that call begins. */
  begins(): void {
    this.#calls++;
    this.#lastCallAt = new Date();
    this.#stopTimers();
    this.#hasBegun = true;
    this.#isStill = false;
  }

  /** Code has ended a call, and says whether its threads are to go on. */
  onAnswered(goesOn: boolean): void {
    this.#wantsToGoOn = goesOn;
  }

  /** The call that has it was answered: what still runs of it has the call's place until it stands still. */
  goesOnAs(call: ConstructorParameters<typeof AfterCall>[0]): void {
    this.#after?.end();
    this.#after = new AfterCall(call);
  }

  /** Why what had asked to go on has stopped before the next call; told once. */
  takeStopped(): string | undefined {
    const stopped = this.#stopped;
    this.#stopped = undefined;
    return stopped;
  }

  /** Has what goes on stand still, and gives its place back. */
  freezeProcesses(): void {
    if (!this.#isStill && this.ended === undefined) this.#sandbox?.hold();
    this.#isStill = true;
    this.#after?.end();
    // Processor time of a call that is under way is counted by that call.
    if (!this.#isBusy) this.#sandbox?.rests();
  }

  /** Says that the session's sandbox is about to be ended; the first reason counts. */
  willEnd(why: string): void {
    this.#reason ??= why;
  }

  /** The call that had it has ended: the next one's turn, or it stands still in a moment. */
  leave(): void {
    this.#isBusy = false;
    if (this.ended !== undefined && this.#sandbox === undefined) this.#whenGone();
    this.#idleSince = performance.now();
    this.#stopTimers();
    if (!this.#hasBegun) this.freezeProcesses();
    if (this.ended === undefined && this.#waiting.length === 0) this.#becomeIdle();
    else this.freezeProcesses();
    this.#wakeNext();
  }

  /** Ends it for good. */
  end(why: string): void {
    this.willEnd(why);
    // A call that has it may be starting its sandbox.
    if (this.#sandbox !== undefined) this.#sandbox.kill();
    else if (!this.#isBusy) this.#whenGone();
  }

  /** Resolves with false where `signal` comes first. */
  #nextTurn(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isWoken: boolean) => {
        signal.removeEventListener('abort', onAbort);
        resolve(isWoken);
      };
      const wake = () => settle(true);
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(wake), 1);
        settle(false);
      };
      if (signal.aborted) return resolve(false);
      this.#waiting.push(wake);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #wakeNext(): void {
    this.#waiting.shift()?.();
  }

  #becomeIdle(): void {
    const { idleSeconds } = this.#parts.limits;
    const idle = setTimeout(() => this.end(`it was idle for ${idleSeconds} s`), idleSeconds * 1000).unref();
    this.#timers.push(idle);
    const goesOn = this.#wantsToGoOn && this.#parts.limits.keepRunning;
    const stop = (why?: string) => {
      this.#stopped = why;
      this.freezeProcesses();
      if (!this.#isBusy) this.#watch();
    };
    // Nothing has run since it stood still where its call was refused.
    if (this.#isStill || this.#after === undefined) stop();
    else this.#after.begin(goesOn, stop);
  }

  /** Watches that a session which is to stand still uses no processor. */
  #watch(): void {
    const pid = this.#sandbox?.pid;
    const group = pid === undefined ? undefined : processorGroup(pid);
    if (group === undefined) return;
    let before = processorUseIn(group);
    const look = () => {
      const now = processorUseIn(group);
      const used = before === undefined || now === undefined ? 0 : now - before;
      before = now;
      if (used > LEAST_CHARGED_SECONDS) this.#after?.charge(used);
      if (used > MAX_IDLE_PROCESSOR_SECONDS) this.end('it used the processor while it was paused');
    };
    this.#timers.push(setInterval(look, LOOK_EVERY_MS).unref());
  }

  #stopTimers(): void {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
  }

  #whenEnded(end: SandboxEnd): void {
    if (this.#parts.wasEndedByHand(this.handle)) this.#reason = 'the user has ended it';
    this.#reason ??= reasonOf(end, this.#sandbox);
    this.#whenGone();
  }

  #whenGone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#life);
    this.#stopTimers();
    this.freezeProcesses();
    this.#parts.onEnded(this);
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** Words that follow "it has ended:". */
function reasonOf(end: SandboxEnd, sandbox: Sandbox | undefined): string {
  switch (end.how) {
    case 'limit':
      return lowerFirst(breachError(end.breach).message);
    case 'violation':
      return `it broke the protocol: ${end.error.message}`;
    case 'lost':
      return isOutOfMemory(sandbox) ? memoryReason(sandbox) : `its container is gone: ${end.detail}`;
    case 'exited': {
      const { code, signal } = end.report;
      if (signal === null) return `its code has ended the interpreter, with exit code ${code}`;
      if (isOutOfMemory(sandbox)) return memoryReason(sandbox);
      return `its interpreter was ended by ${signal}`;
    }
  }
}

const isOutOfMemory = (sandbox: Sandbox | undefined): boolean => (sandbox?.memoryKills ?? 0) > 0;

const memoryReason = (sandbox: Sandbox | undefined): string =>
  lowerFirst(outOfMemory(sandbox?.spec.memoryBytes ?? 0).message);

const lowerFirst = (sentence: string): string =>
  `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`;
