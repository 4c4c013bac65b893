// The calls of one principal that go on after they were answered: each has a handle, by which whoever was given it asks for
// the rest, or ends it. What a call has come to is kept for a while, whether or not anybody asks.

import { drawnLetters } from '../../base/text/drawn-letters.js';
import { charsIn, clipHarmless } from '../../base/text/text.js';

import { aborted, within } from '../../base/waiting/unless-aborted.js';

import type { AgentContext } from '../requests/agent-request.js';
import type { ToolAnswer } from '../tools/answer.js';

/** 79 bits, which nobody guesses. */
const HANDLE_LETTERS = 16;
/** Calls of one principal that have ended, and are kept; the oldest goes. */
export const MAX_ENDED = 32;
/** Characters of all that is kept of them; the oldest goes, but for the last one. */
export const MAX_ENDED_CHARS = 64_000_000;
/** Seconds that what a call has come to is kept at least, also where no files are kept. */
const LEAST_KEPT_SECONDS = 300;
/** An agent that has not asked by then for what its call has come to does without it where something else has to end. */
const ASKED_WITHIN_MS = 600_000;
/** Handles that are remembered after what they named has gone. */
const MAX_REMEMBERED = 200;
/** For code that is told to end; a container that does not is killed long before. */
const STOPS_WITHIN_MS = 15_000;

/** A call that may go on after it was answered (detached-call.ts). */
export type GoingOn = {
  /** Never rejects; what it has come to. */
  readonly ended: Promise<unknown>;
  readonly hasEnded: boolean;
  /** From now on `request` is told how far it is. */
  readonly tell: (request: AgentContext) => void;
  readonly cancel: (reason: unknown) => void;
  /** Answer with the output since the last part. */
  readonly part: (handle: string) => ToolAnswer;
  /** Answer like `part`, whose output stays for the next one who asks. */
  readonly glance: (handle: string) => ToolAnswer;
  /** Answer with all that is left when the call has ended. Throws what the call's work has thrown. */
  readonly rest: () => Promise<ToolAnswer>;
};

/** Request to wait for a call that goes on, or to stop it, by its handle. */
export type GoOn = { readonly wait: string } | { readonly stop: string };

/** There is no such call; the message says why, as far as that is known. */
export class NoDetachedCall extends Error {}

type HeldCall = {
  readonly call: GoingOn;
  /** Whether somebody has been given its end. */
  isTold: boolean;
  /** Since when it has ended, by performance.now(), and what takes it away in time. */
  ended: { readonly at: number; readonly timer: NodeJS.Timeout; readonly chars: number } | undefined;
};

export class DetachedCalls implements Disposable {
  readonly #keepMs: number;
  readonly #held = new Map<string, HeldCall>();
  /** Why what a handle named is gone. */
  readonly #gone = new Map<string, string>();
  readonly #startedAt = new Date();

  /** `keepSeconds`: how long what a call has come to is kept, but for LEAST_KEPT_SECONDS. */
  constructor(keepSeconds: number) {
    this.#keepMs = Math.max(keepSeconds, LEAST_KEPT_SECONDS) * 1000;
  }

  /** How many are under way, or have ended and are kept. */
  get size(): number {
    return this.#held.size;
  }

  /** How many somebody waits for: those under way, and those that have ended lately and whose end nobody knows. */
  get unfinished(): number {
    return [...this.#held.values()].filter(({ ended }) => ended === undefined).length + this.untold;
  }

  /** How many have ended lately whose end nobody knows. */
  get untold(): number {
    const since = performance.now() - ASKED_WITHIN_MS;
    return [...this.#held.values()].filter(
      ({ isTold, ended }) => !isTold && ended !== undefined && ended.at > since,
    ).length;
  }

  /**
   * The answer of a call that has just begun, or after `patienceMs` what there is of it, with its handle. Until then `request`
   * ends it, and from then on nothing but a word does.
   */
  async answer(call: GoingOn, request: AgentContext, patienceMs: number | undefined): Promise<ToolAnswer> {
    const onAbort = () => call.cancel(request.signal.reason);
    request.signal.addEventListener('abort', onAbort, { once: true });
    if (request.signal.aborted) onAbort();
    try {
      do {
        await endOf(call, patienceMs);
        if (call.hasEnded) return await call.rest();
      } while (!request.isWaitedFor);
      return call.part(this.#hold(call));
    } finally {
      request.signal.removeEventListener('abort', onAbort);
    }
  }

  /** The rest of a call, or the next part of it where that takes longer than `patienceMs`. Throws NoDetachedCall. */
  async goOn(asked: GoOn, request: AgentContext, patienceMs: number | undefined): Promise<ToolAnswer> {
    const handle = 'wait' in asked ? asked.wait : asked.stop;
    const held = this.#find(handle, 'wait' in asked ? 'wait' : 'stop');
    const { call } = held;
    call.tell(request);
    if ('stop' in asked) call.cancel('stopped');
    await Promise.race([
      endOf(call, 'stop' in asked ? STOPS_WITHIN_MS : patienceMs),
      aborted(request.signal),
    ]);
    // Nobody reads the answer of a request that was taken back: what is new stays for the next one.
    if (request.signal.aborted) return call.glance(handle);
    if (!call.hasEnded) return call.part(handle);
    held.isTold = true;
    return await call.rest();
  }

  /** Ends all of them. */
  [Symbol.dispose](): void {
    for (const { call, ended } of this.#held.values()) {
      clearTimeout(ended?.timer);
      call.cancel('shutdown');
    }
    this.#held.clear();
  }

  #hold(call: GoingOn): string {
    const handle = `r-${drawnLetters(HANDLE_LETTERS)}`;
    const held: HeldCall = { call, isTold: false, ended: undefined };
    this.#held.set(handle, held);
    void call.ended.then((end) => this.#keep(handle, held, charsIn(end)));
    return handle;
  }

  #keep(handle: string, held: HeldCall, chars: number): void {
    if (!this.#held.has(handle)) return;
    const why = `it has ended, and what it came to was kept for ${this.#keepMs / 1000} s`;
    const timer = setTimeout(() => this.#drop(handle, why), this.#keepMs).unref();
    held.ended = { at: performance.now(), timer, chars };
    const ended = [...this.#held].flatMap(([name, each]) =>
      each.ended === undefined ? [] : [{ name, ...each.ended }],
    );
    // In the order in which they have ended.
    ended.sort((one, other) => one.at - other.at);
    let kept = ended.reduce((sum, each) => sum + each.chars, 0);
    for (const [at, each] of ended.entries()) {
      const left = ended.length - at;
      if (left <= MAX_ENDED && (kept <= MAX_ENDED_CHARS || left === 1)) return;
      kept -= each.chars;
      this.#drop(
        each.name,
        left > MAX_ENDED
          ? `it has ended, and ${MAX_ENDED} others have ended since; no more are kept`
          : `it has ended, and others since; no more than ${MAX_ENDED_CHARS / 1e6} MB are kept of them`,
      );
    }
  }

  #drop(handle: string, why: string): void {
    clearTimeout(this.#held.get(handle)?.ended?.timer);
    this.#held.delete(handle);
    this.#gone.set(handle, why);
    const [first] = this.#gone.keys();
    if (this.#gone.size > MAX_REMEMBERED && first !== undefined) this.#gone.delete(first);
  }

  #find(handle: string, argument: 'wait' | 'stop'): HeldCall {
    const held = this.#held.get(handle);
    if (held !== undefined) return held;
    const shown = clipHarmless(handle, 80);
    const why = this.#gone.get(handle);
    if (why !== undefined) throw new NoDetachedCall(`${argument}: '${shown}' is gone: ${why}.`);
    const since = this.#startedAt.toISOString().slice(0, 19).replace('T', ' ');
    throw new NoDetachedCall(
      `${argument}: there is no run '${shown}' of yours. This bridge has been running since ${since} UTC, and runs end with the bridge that began them.`,
    );
  }
}

/** The end of a call, or of `withinMs` where that is given. */
const endOf = (call: GoingOn, withinMs: number | undefined): Promise<unknown> =>
  withinMs === undefined ? call.ended : within(withinMs, call.ended);
