// One session: a sandbox that serves calls one after another, of one principal, until it ends for good. While none is under
// way it stands still, so that it costs memory and nothing else. Why it has ended is known once, in one sentence.

import { drawnLetters } from '../../base/drawn-letters.js';
import type { SessionLimits } from '../../config/settings.js';
import { processorGroup, processorUseIn } from '../../engine/cgroup.js';
import type { SessionFacts } from '../../protocol/frames.js';
import { breached } from '../../run/outcome/ending-errors.js';
import { megabytes } from '../../run/outcome/hints/hint.js';
import { heldBytes } from '../../sandbox/held-memory.js';
import type { Sandbox, SandboxEnd } from '../../sandbox/sandbox.js';

/** 79 bits, which nobody guesses. */
const HANDLE_LETTERS = 16;
/** A task that an answer has left may have something to finish. */
const HOLD_AFTER_MS = 500;
/** What stands still uses nothing; the look of its first process once a second takes a hundredth of this. */
const LOOK_EVERY_MS = 10_000;
const MAX_IDLE_PROCESSOR_SECONDS = 0.5;

export type SessionParts = {
  readonly name: string;
  /** Within which its name means it. */
  readonly scope: string;
  /** Who has made it. */
  readonly client: string;
  readonly limits: Pick<SessionLimits, 'idleSeconds' | 'lifeSeconds'>;
  /** Whether a person has ended it from outside. */
  readonly wasEndedByHand: (handle: string) => boolean;
  /** It has ended, for the reason given; its sandbox is to be got rid of. */
  readonly onEnded: (session: Session) => void;
};

export class Session {
  readonly name: string;
  readonly scope: string;
  readonly client: string;
  readonly handle = `s-${drawnLetters(HANDLE_LETTERS)}`;
  readonly createdAt = new Date();
  /** Those that its code has, whichever call they came with. */
  servers: readonly string[] = [];
  readonly #parts: SessionParts;
  readonly #startedAt = performance.now();
  readonly #life: NodeJS.Timeout;
  #lastCallAt = new Date();
  #idleSince = performance.now();
  #sandbox: Sandbox | undefined;
  #calls = 0;
  #goesOn = false;
  #isBusy = false;
  /** Calls that wait for this one's turn, in their order. */
  readonly #waiting: Array<() => void> = [];
  #timers: NodeJS.Timeout[] = [];
  #reason: string | undefined;
  #isGone = false;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.scope = parts.scope;
    this.client = parts.client;
    const { lifeSeconds } = parts.limits;
    this.#life = setTimeout(() => this.end(`it had lived for ${lifeSeconds} s`), lifeSeconds * 1000).unref();
  }

  /** For people, and unlike that of any other session. */
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

  /** By performance.now(). */
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

  /** What it holds, in bytes; its limit where nobody can see it. */
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
      this.#next();
      return false;
    }
    if (this.ended !== undefined) return true;
    this.#isBusy = true;
    this.#stopTimers();
    return true;
  }

  /** The sandbox that it has from now on. */
  adopt(sandbox: Sandbox): void {
    this.#sandbox = sandbox;
    void sandbox.ended.then((end) => this.#whenEnded(end));
  }

  /** For the code of a call that begins now. */
  facts(): SessionFacts {
    this.#calls++;
    this.#lastCallAt = new Date();
    const { idleSeconds, lifeSeconds } = this.#parts.limits;
    const ageSeconds = (performance.now() - this.#startedAt) / 1000;
    const { name, handle } = this;
    return { name, handle, call: this.#calls, ageSeconds, idleSeconds, lifeSeconds };
  }

  answered(goesOn: boolean): void {
    this.#goesOn = goesOn;
  }

  /** Its sandbox is about to be ended; the first reason counts. */
  willEnd(why: string): void {
    this.#reason ??= why;
  }

  /** The call that had it has ended: the next one's turn, or it stands still in a moment. */
  leave(): void {
    this.#isBusy = false;
    this.#idleSince = performance.now();
    this.#sandbox?.rests();
    if (this.ended === undefined && this.#waiting.length === 0) this.#becomeIdle();
    this.#next();
  }

  /** Ends it for good. */
  end(why: string): void {
    this.willEnd(why);
    if (this.#sandbox === undefined) this.#whenGone();
    else this.#sandbox.kill();
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

  #next(): void {
    this.#waiting.shift()?.();
  }

  #becomeIdle(): void {
    const { idleSeconds } = this.#parts.limits;
    const idle = setTimeout(() => this.end(`it was idle for ${idleSeconds} s`), idleSeconds * 1000).unref();
    this.#timers.push(idle);
    if (!this.#goesOn) this.#timers.push(setTimeout(() => this.#hold(), HOLD_AFTER_MS).unref());
  }

  #hold(): void {
    this.#sandbox?.hold();
    const pid = this.#sandbox?.pid;
    const group = pid === undefined ? undefined : processorGroup(pid);
    if (group === undefined) return;
    let before = processorUseIn(group);
    const look = () => {
      const now = processorUseIn(group);
      if (before !== undefined && now !== undefined && now - before > MAX_IDLE_PROCESSOR_SECONDS)
        this.end('it used the processor while it was to stand still');
      before = now;
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
    this.#parts.onEnded(this);
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** What follows "it has ended:". */
function reasonOf(end: SandboxEnd, sandbox: Sandbox | undefined): string {
  switch (end.how) {
    case 'limit':
      return lowerFirst(breached(end.breach).message);
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
  `it exceeded its memory limit of ${megabytes(sandbox?.spec.memoryBytes ?? 0)}`;

const lowerFirst = (sentence: string): string =>
  `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`;
