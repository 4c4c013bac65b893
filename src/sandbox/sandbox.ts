// One container and its channel, as a single-use thing: started, greeted, given one run, gone. There is no reset.
// Whatever ends it first is its end for good. Reads frames; knows nothing of tools, policy or MCP.
//
// Before its run a sandbox may be asked to check code, and then go on waiting. That is no second use. Code of a call
// runs only after the host has sent `run`, and a check is answered by our own harness alone: until then nothing has
// run in the container but the image, the harness, and the commands that a language's record names. A program of
// another language needs no check, and is not there before its `run` at all. From `run` on everything in it may be a
// forgery: code of the same user opens the supervisor's streams and says `refused` in its name. So what the host has
// sent decides, and never what the sandbox says: one that was sent `run` never waits again (rest()), and a frame out
// of turn is its end.

import { asBridgeError, BridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import { closed } from '../base/streams.js';
import { clip, harmless } from '../base/text.js';
import { within } from '../base/within.js';
import { isExpectedWarning, saysNotAnswering } from '../engine/client-words.js';
import { type Enforcement, UNENFORCED } from '../engine/enforcement.js';
import type { Container, Engine, SandboxSpec } from '../engine/engine.js';
import { inSeconds } from '../engine/hanging.js';
import { Channel } from '../protocol/channel.js';
import {
  type GuestFrame,
  type HostFrame,
  PROTOCOL_VERSION,
  type SupervisorFrame,
} from '../protocol/frames.js';
import { type CheckAnswer, Checks } from './checks.js';
import { Guard } from './guard.js';
import { NotStarted } from './not-started.js';
import type { Breach } from './watchdog.js';

type FrameOf<F, T> = Extract<F, { type: T }>;
/** Made one by one, as they are sent. */
export type InputFrames = Iterable<FrameOf<HostFrame, 'input'>>;
/** A file that the code left, or the names of those that stay behind. */
export type LeftFrame = FrameOf<SupervisorFrame, 'file' | 'skipped'>;
export type GuestError = FrameOf<SupervisorFrame, 'refused'>['error'];

/** How a sandbox ended: the supervisor's report, broken rules, a limit, or no word at all. */
export type SandboxEnd =
  | { readonly how: 'exited'; readonly report: GuestEnd }
  | { readonly how: 'violation'; readonly error: BridgeError }
  | { readonly how: 'limit'; readonly breach: Breach }
  | { readonly how: 'lost'; readonly detail: string; readonly waitedMs?: number };

export type StartOptions = {
  readonly timeoutMs: number;
  /** What holds containers to their limits here; undefined while that is being found out. */
  readonly enforcement?: Enforcement | undefined;
  readonly observer: Observer;
};

/** How the guest's process ended, in the supervisor's words. */
export type GuestEnd = Pick<FrameOf<SupervisorFrame, 'exited'>, 'code' | 'signal'>;

export type RunHandlers = {
  readonly onOutput: (stream: 'stdout' | 'stderr', text: string, base64: string | null) => void;
  /** Every frame of the guest; `text` is its line, for values that are relayed verbatim. */
  readonly onGuest: (frame: GuestFrame, text: string) => void;
  /** What the code has left in its folder for results, after its end. */
  readonly onFile: (frame: LeftFrame) => void;
  /** As soon as the code itself has ended: its files may follow. Whatever speaks for the supervisor may say it twice. */
  readonly onGuestEnd?: (end: GuestEnd) => void;
};

/** After the supervisor's report the guest's last frame may still be on its way through the other stream. */
const LAST_FRAME_WITHIN_MS = 500;
const MAX_NOISE_LINES = 20;
const MAX_DETAIL_CHARS = 600;
/** After one of these a guest has said how its code ended. */
const LAST_WORDS: ReadonlySet<GuestFrame['type']> = new Set(['result', 'raised', 'where']);
/** What only a sandbox that has its run may say. */
const OF_A_RUN: ReadonlySet<SupervisorFrame['type']> = new Set([
  'output',
  'ended',
  'file',
  'skipped',
  'exited',
]);

export class Sandbox implements AsyncDisposable {
  readonly ended: Promise<SandboxEnd>;
  /** By performance.now(): since when the engine's own clock runs, which ends every container at last. */
  readonly startedAt: number;
  /** The walls that it was started with. */
  readonly spec: SandboxSpec;
  readonly #enforcement: Enforcement;
  readonly #container: Container;
  readonly #channel: Channel;
  readonly #observer: Observer;
  readonly #noise: string[] = [];
  readonly #checks = new Checks();
  readonly #greeted: Promise<FrameOf<SupervisorFrame, 'hello'>>;
  #isGreeted = false;
  #onHello: (hello: FrameOf<SupervisorFrame, 'hello'>) => void = () => {};
  #onEnd: (end: SandboxEnd) => void = () => {};
  #handlers: RunHandlers | undefined;
  #report: FrameOf<SupervisorFrame, 'exited'> | undefined;
  #guard: Guard | undefined;
  #breach: Breach | undefined;
  #guestIsDone = false;
  #isAlive = true;

  private constructor(
    container: Container,
    spec: SandboxSpec,
    startedAt: number,
    { observer, enforcement }: StartOptions,
  ) {
    this.startedAt = startedAt;
    this.#container = container;
    this.spec = spec;
    this.#enforcement = enforcement ?? UNENFORCED;
    this.#observer = observer;
    this.#greeted = new Promise((resolve) => {
      this.#onHello = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.#onEnd = (end) => {
        this.#isAlive = false;
        this.#guard?.[Symbol.dispose]();
        resolve(end);
      };
    });
    this.#channel = new Channel(container, {
      onGuest: (frame, text) => this.#fromGuest(frame, text),
      onSupervisor: (frame) => this.#fromSupervisor(frame),
      onNoise: (line) => this.#keepNoise(line),
      onViolation: (error, line) => this.#onViolation(error, line),
    });
    // The container's group is gone soon after its last process: this is the last moment to look into it.
    container.stdout.once('close', () => this.memoryKills);
    void this.#whenContainerEnded();
  }

  /**
   * Starts a container and waits for its greeting; `signal` ends the start, not what has started. Throws
   * E_SANDBOX_START with the engine's own words.
   */
  static async start(
    engine: Engine,
    spec: SandboxSpec,
    options: StartOptions,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    const startedAt = performance.now();
    const sandbox = new Sandbox(engine.start(spec), spec, startedAt, options);
    const onAbort = () => sandbox.kill();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const timer = setTimeout(() => {
      const waitedMs = options.timeoutMs;
      sandbox.#onEnd({ how: 'lost', detail: `no greeting within ${inSeconds(waitedMs)}`, waitedMs });
    }, options.timeoutMs);
    const first = await Promise.race([sandbox.#greeted, sandbox.ended]);
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    if ('how' in first) {
      await sandbox[Symbol.asyncDispose]();
      throw startFailure(first);
    }
    if (first.protocol !== PROTOCOL_VERSION) {
      await sandbox[Symbol.asyncDispose]();
      throw new BridgeError(
        'E_PROTOCOL',
        `the harness speaks protocol ${first.protocol}, not ${PROTOCOL_VERSION}`,
        { fault: 'bridge' },
      );
    }
    options.observer({
      type: 'sandbox.started',
      container: spec.name,
      durationMs: performance.now() - startedAt,
    });
    return sandbox;
  }

  /** False once it has ended or was killed, whatever the cause. */
  get isAlive(): boolean {
    return this.#isAlive && this.#container.isRunning;
  }

  get name(): string {
    return this.#container.name;
  }

  /** Host pid of its first process, where that means something here. */
  get pid(): number | undefined {
    return this.#container.pid;
  }

  /** How many of its processes the kernel has killed for want of memory; undefined where nobody can know. */
  get memoryKills(): number | undefined {
    // Where nothing limits memory, nothing kills for that limit.
    return this.#enforcement.memory === 'none' ? 0 : this.#guard?.memoryKills;
  }

  /** Whether it was given its run: from then on nothing that it says decides anything. */
  get hasRun(): boolean {
    return this.#handlers !== undefined;
  }

  /** Has the Python `code` compiled, and nothing of it run. Resolves with the answer; never, when `ended` comes first. */
  check(code: string, file: string | null = null): Promise<CheckAnswer> {
    this.#demand(!this.hasRun, 'a sandbox checks nothing after its run has begun');
    const answer = this.#checks.begin(code);
    this.#startGuard();
    this.#channel.send({ type: 'check', code, file });
    return answer;
  }

  /**
   * Starts the code that was checked last, or a program that needs no check: the one run of this sandbox. `input` goes
   * ahead of it, as fast as the sandbox reads; from its first piece on the sandbox counts as one that has its run.
   */
  run(frame: FrameOf<HostFrame, 'run'>, handlers: RunHandlers, input: InputFrames = []): void {
    this.#demand(!this.hasRun, 'a sandbox serves one run');
    const isChecked = (frame.program?.ways ?? []).length === 0;
    this.#demand(!isChecked || this.#checks.passed, 'a sandbox runs what it has checked');
    this.#handlers = handlers;
    this.#startGuard();
    // Without input it is sent before this returns.
    this.#channel
      .sendInTurn(inOrder(input, frame))
      .catch((thrown) => this.#onEnd({ how: 'violation', error: asBridgeError(thrown) }));
  }

  /**
   * Lets it wait again after its checks; false where it has ended, was asked and has not answered, or is not as it was.
   * Throws E_INTERNAL for one that was given its run: see above.
   */
  rest(): boolean {
    this.#demand(!this.hasRun, 'a sandbox that was given its run never waits again');
    const isAsItWas = !this.#checks.leftMarks && (this.memoryKills ?? 0) === 0;
    this.#guard?.[Symbol.dispose]();
    this.#guard = undefined;
    return isAsItWas && !this.#checks.underWay && this.isAlive;
  }

  /** False when the guest has stopped reading and the frame was dropped. */
  send(frame: HostFrame): boolean {
    return this.#channel.send(frame);
  }

  /** Synchronous; `ended` follows. */
  kill(): void {
    this.#isAlive = false;
    this.#container.kill();
  }

  /** Resolves when the container is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#channel.close();
    await this.#container[Symbol.asyncDispose]();
    const end = await this.ended;
    this.#observer({ type: 'sandbox.ended', container: this.name, reason: end.how });
  }

  #fromGuest(frame: GuestFrame, text: string): void {
    if (!this.hasRun) return this.#onOutOfTurn(frame.type);
    if (LAST_WORDS.has(frame.type)) this.#guestIsDone = true;
    this.#handlers?.onGuest(frame, text);
  }

  #fromSupervisor(frame: SupervisorFrame): void {
    if (!this.#isInTurn(frame)) return this.#onOutOfTurn(frame.type);
    switch (frame.type) {
      case 'hello':
        this.#isGreeted = true;
        return this.#onHello(frame);
      case 'unloaded':
        return this.#observer({ ...frame, type: 'sandbox.unloaded', container: this.name });
      case 'checked':
      case 'refused':
        return this.#checks.onAnswer(frame);
      case 'output':
        return this.#handlers?.onOutput(frame.stream, frame.text, frame.base64);
      case 'file':
      case 'skipped':
        return this.#handlers?.onFile(frame);
      case 'ended':
        return this.#handlers?.onGuestEnd?.(frame);
      case 'exited':
        this.#handlers?.onGuestEnd?.(frame);
        return void this.#whenReported(frame);
    }
  }

  /** Before the run the supervisor greets and answers; after it, there is output, what was left, and one end to tell of. */
  #isInTurn({ type }: SupervisorFrame): boolean {
    if (OF_A_RUN.has(type)) return this.hasRun;
    if (this.hasRun) return false;
    return type === 'hello' ? !this.#isGreeted : type === 'unloaded' || this.#checks.underWay;
  }

  #onOutOfTurn(type: string): void {
    this.#channel.close();
    const error = new BridgeError('E_PROTOCOL', `the sandbox sent '${type}' out of turn`, { fault: 'guest' });
    this.#onEnd({ how: 'violation', error });
  }

  /** Before the harness has greeted, what stands on its stream is the engine's own: its monitor complains there. */
  #onViolation(error: BridgeError, line: string | undefined): void {
    if (this.#isGreeted || line === undefined) return this.#onEnd({ how: 'violation', error });
    this.#onEnd({ how: 'lost', detail: clip(harmless(line), MAX_DETAIL_CHARS) });
  }

  #demand(condition: boolean, rule: string): void {
    if (!condition) throw new BridgeError('E_INTERNAL', rule, { fault: 'bridge' });
  }

  /** From the first byte of code on: compiling takes memory too. */
  #startGuard(): void {
    const { pid } = this;
    if (pid === undefined || this.#guard !== undefined) return;
    this.#guard = new Guard(pid, this.spec, this.#enforcement, (breach) => this.#onBreach(breach));
  }

  /** The report came by the other stream: what the guest said last may still be on its way. */
  async #whenReported(report: FrameOf<SupervisorFrame, 'exited'>): Promise<void> {
    this.#report = report;
    // Looked at now: see memoryKills. The supervisor has waited for that where it matters.
    void this.memoryKills;
    this.#channel.hangUp();
    // Not in the same tick even then: frames that arrived together are handed on first.
    if (this.#guestIsDone) await new Promise((resolve) => setImmediate(resolve));
    else await within(LAST_FRAME_WITHIN_MS, closed(this.#container.stdout));
    this.#onEnd({ how: 'exited', report });
  }

  /** The container is gone; its last bytes may still be in our pipes. */
  async #whenContainerEnded(): Promise<void> {
    const { code, signal } = await this.#container.exited;
    const { stdout, stderr } = this.#container;
    await within(LAST_FRAME_WITHIN_MS, Promise.all([closed(stdout), closed(stderr)]));
    if (this.#breach !== undefined) return this.#onEnd({ how: 'limit', breach: this.#breach });
    if (this.#report !== undefined) return this.#onEnd({ how: 'exited', report: this.#report });
    this.#onEnd({
      how: 'lost',
      detail: this.#lastWords(signal ?? (code === undefined ? 'no word' : `exit code ${code}`)),
    });
  }

  /** Why it was lost, in the words of the engine's client, as far as it said any. */
  #lastWords(exit: string): string {
    const words = this.#noise
      .filter((line) => !isExpectedWarning(line))
      .join(' ')
      .trim();
    if (words === '') return `the container ended with ${exit}`;
    const lost = this.#isGreeted && saysNotAnswering(words) ? 'the connection to the engine was lost: ' : '';
    return clip(lost + words, MAX_DETAIL_CHARS);
  }

  /** Ends it for good; what it had said before is still in our pipes. */
  async #onBreach(breach: Breach): Promise<void> {
    this.#breach = breach;
    this.kill();
    this.#observer({ type: 'sandbox.limit', container: this.name, ...breach });
    const { stdout, stderr } = this.#container;
    await within(LAST_FRAME_WITHIN_MS, Promise.all([closed(stdout), closed(stderr)]));
    this.#onEnd({ how: 'limit', breach });
  }

  #keepNoise(line: string): void {
    this.#observer({ type: 'sandbox.noise', container: this.name, line });
    this.#noise.push(line);
    if (this.#noise.length > MAX_NOISE_LINES) this.#noise.shift();
  }
}

function* inOrder(input: InputFrames, run: FrameOf<HostFrame, 'run'>): Generator<HostFrame> {
  yield* input;
  yield run;
}

function startFailure(end: SandboxEnd): BridgeError {
  if (end.how === 'violation') return end.error;
  const detail = end.how === 'lost' ? end.detail : `it ended before it was greeted (${end.how})`;
  return new NotStarted(detail, { waitedMs: end.how === 'lost' ? end.waitedMs : undefined });
}
