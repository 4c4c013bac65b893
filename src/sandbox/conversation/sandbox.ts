// One container and its channel, as a single-use thing: started, greeted, given one run, gone. There is no reset. That of a
// session is given its calls instead of a run, one after another, and is gone with it.
// Whatever ends it first is its end for good. Which frames may come when is told by turn.ts; this file acts on it. It
// knows nothing of tools, policy or MCP.
//
// Before its run a sandbox may be asked to check code, and then go on waiting. That is no second use. Code of a call
// runs only after the host has sent `run`, and a check is answered by our own harness alone, also one with which a run was
// sent: the harness answers before it hands the code over. Until then nothing has run in the container but the image, the
// harness, and the commands and the interpreter that a language's record names. A program of another language needs no check,
// and is not there before its `run` at all. From `run` on everything in it may be a forgery: code of the same user opens the
// supervisor's streams and says `refused` in its name. So what the host has sent decides, and never what the sandbox says: one
// that was sent `run` never waits again (rest()), and a frame out of turn is its end.

import { asBridgeError, BridgeError } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { ownCommand } from '../../base/process/own-command.js';
import { heardOut } from '../../base/process/streams.js';
import { clip, clipHarmless } from '../../base/text/text.js';
import type { Container, Engine, SandboxSpec } from '../../engine/engine.js';
import { type Enforcement, UNENFORCED } from '../../engine/machine/enforcement.js';
import { Channel } from '../../wire/channel.js';
import { type HostFrame, PROTOCOL_VERSION, type RunFrame, type SupervisorFrame } from '../../wire/frames.js';
import { Guard } from '../limits/guard.js';
import { ProcessorTime } from '../limits/measure.js';
import type { Breach } from '../limits/watchdog.js';
import { MAX_WAKES, SandboxFreeze } from './sandbox-freeze.js';
import {
  type Ahead,
  afterGuest,
  afterSupervisor,
  beginCheck,
  beginRun,
  type CheckAnswer,
  endsBetweenCalls,
  type FrameOf,
  type GuestEnd,
  isOfRun,
  mayRest,
  type RunHandlers,
  type SandboxTurn,
  type TurnStep,
  wasGivenRun,
} from './turn.js';

export type GuestError = FrameOf<SupervisorFrame, 'refused'>['error'];

/** How a sandbox ended: the supervisor's report, broken rules, a limit, or no word at all. */
export type SandboxEnd =
  | { readonly how: 'exited'; readonly report: GuestEnd }
  | { readonly how: 'violation'; readonly error: BridgeError }
  | { readonly how: 'limit'; readonly breach: Breach }
  | { readonly how: 'lost'; readonly detail: string; readonly waitedMs?: number };

export type StartOptions = {
  readonly timeoutMs: number;
  /** Mechanisms that hold containers to their limits here; undefined while they are being found out. */
  readonly enforcement?: Enforcement | undefined;
  readonly observer: Observer;
  /** Asks an engine that runs elsewhere why it does not answer; undefined for one whose processes can be seen. */
  readonly whyUnreachable?: Engine['whyUnreachable'];
};

/** A start takes a second or two elsewhere. From here on its client may wait for an engine that is not there any more. */
const START_ASKS_AFTER_MS = 10_000;
const SHUTDOWN_WITHIN_MS = 1_000;
/**
 * Signals by which a machine that is shut down ends its processes, a moment before its engine, and how often the engine is then
 * asked: a slow machine's answers once more, but SIGKILL is mostly the kernel's for memory, and the answer to that is not to
 * wait.
 */
const SHUTDOWN_LOOKS: ReadonlyMap<string | null, number> = new Map([
  ['SIGTERM', 3],
  ['SIGKILL', 1],
]);

/** The supervisor ends when it has heard nothing for four times as long (`HEARD_WITHIN_S` in harness/session.py). */
const ALIVE_EVERY_MS = 30_000;

/** After the supervisor's report the guest's last frame may still be on its way through the other stream. */
const LAST_FRAME_WITHIN_MS = 500;

const RESTLESS: Breach = { limit: 'wakes', allowed: MAX_WAKES, seen: MAX_WAKES + 1 };

export class Sandbox implements AsyncDisposable {
  readonly ended: Promise<SandboxEnd>;
  /** When the engine's own clock began to run, which ends every container at last; by performance.now(). */
  readonly startedAt: number;
  /** The walls that it was started with. */
  readonly spec: SandboxSpec;
  readonly #enforcement: Enforcement;
  #isSeen = false;
  #python = '';
  readonly #container: Container;
  readonly #channel: Channel;
  readonly #observer: Observer;
  readonly #words: EngineWords;
  readonly #greeted: Promise<FrameOf<SupervisorFrame, 'hello'>>;
  readonly #settle: (end: SandboxEnd) => void;
  readonly #whyUnreachable: StartOptions['whyUnreachable'];
  /** Whether we have told the code to stop: then its end by a signal is our doing. */
  #wasStopped = false;
  /**
   * A sandbox that lives is where its conversation is. What a dying or a gone one had said before is still in our pipes and
   * is read on, in the turn that it `was` in. Nothing leads back from `dying`, and nothing at all from `gone`.
   */
  #state:
    | SandboxTurn
    | { readonly at: 'dying'; readonly was: SandboxTurn; readonly breach: Breach | undefined }
    | { readonly at: 'gone'; readonly was: SandboxTurn };
  /** From its greeting on, where its processes can be seen; when it is gone it knows what the kernel has killed. */
  #guard: Guard | undefined;
  #processorTime: ProcessorTime | undefined;
  /** From when it has to stand still for the first time, in a session of each call. */
  #standstill: SandboxFreeze | undefined;
  /** Memory kills that the supervisor has read in the container, for where its control group cannot be seen from here. */
  #toldMemoryKills: number | undefined;
  /** How many of them were in earlier calls of its session. */
  #earlierMemoryKills = 0;
  /** Tells the supervisor of a session that we are there. */
  #lease: NodeJS.Timeout | undefined;

  private constructor(
    container: Container,
    says: Engine['says'],
    spec: SandboxSpec,
    startedAt: number,
    { observer, enforcement, whyUnreachable }: StartOptions,
  ) {
    this.#words = new EngineWords(says);
    this.#whyUnreachable = whyUnreachable;
    this.startedAt = startedAt;
    this.#container = container;
    this.spec = spec;
    this.#enforcement = enforcement ?? UNENFORCED;
    this.#observer = observer;
    let onHello = (_hello: FrameOf<SupervisorFrame, 'hello'>): void => {};
    this.#greeted = new Promise((resolve) => {
      onHello = resolve;
    });
    this.#state = { at: 'starting', onHello };
    let settle = (_end: SandboxEnd): void => {};
    this.ended = new Promise((resolve) => {
      settle = resolve;
    });
    this.#settle = settle;
    this.#channel = new Channel(container, {
      onGuest: (frame, text) => this.#take(frame.type, afterGuest(this.#turn, frame, text)),
      onSupervisor: (frame) => this.#fromSupervisor(frame),
      onNoise: (line) => this.#onNoise(line),
      onViolation: (error, line) => this.#onViolation(error, line),
    });
    // The container's group is gone soon after its last process: this is the last moment to look into it.
    container.stdout.once('close', () => {
      void this.memoryKills;
      this.#processorTime?.look();
    });
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
    const sandbox = new Sandbox(engine.start(spec), engine.says, spec, startedAt, options);
    const onAbort = () => sandbox.kill();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const timer = setTimeout(() => {
      const waitedMs = options.timeoutMs;
      sandbox.#end({ how: 'lost', detail: `no greeting within ${Math.round(waitedMs / 1000)} s`, waitedMs });
    }, options.timeoutMs);
    const asking = setTimeout(() => void sandbox.#endStartIfUnreachable(), START_ASKS_AFTER_MS);
    const first = await Promise.race([sandbox.#greeted, sandbox.ended]);
    clearTimeout(timer);
    clearTimeout(asking);
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
    sandbox.#isSeen = sandbox.pid !== undefined;
    sandbox.#python = first.python;
    // One that waits has the time; where a container stands among the groups takes half a millisecond to find out.
    setImmediate(() => sandbox.#makeGuard());
    options.observer({
      type: 'sandbox.started',
      container: spec.name,
      durationMs: performance.now() - startedAt,
    });
    return sandbox;
  }

  /** False once it has ended or was killed, whatever the cause. */
  get isAlive(): boolean {
    return !('was' in this.#state) && this.#container.isRunning;
  }

  /** Whether its end shows at once in the processes of this machine; elsewhere it shows when it is asked something. */
  get isSeen(): boolean {
    return this.#isSeen;
  }

  /** The version of the Python that has greeted, as it says. */
  get python(): string {
    return this.#python;
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
    if (this.#enforcement.memory === 'none') return 0;
    const all = this.#guard === undefined ? this.#toldMemoryKills : this.#guard.memoryKills;
    return all === undefined ? undefined : all - this.#earlierMemoryKills;
  }

  /** From now on `processorSeconds` counts; where the processes cannot be seen from here, it stays undefined. */
  countProcessorTime(): void {
    const { pid } = this;
    if (pid !== undefined && this.#state.at !== 'gone') this.#processorTime ??= new ProcessorTime(pid);
  }

  /** Processor time that it has used since then; undefined where nobody can know. */
  get processorSeconds(): number | undefined {
    this.#processorTime?.look();
    return this.#processorTime?.seconds;
  }

  /** Whether another machine runs it, which may be turned off under it. */
  get isElsewhere(): boolean {
    return this.#whyUnreachable !== undefined;
  }

  /** Whether it was given its run: from then on nothing that it says decides anything. */
  get hasRun(): boolean {
    return wasGivenRun(this.#turn);
  }

  /**
   * Has the Python `code` compiled, and nothing of it run, but where a run is sent `ahead`: that begins at once, as run() would
   * have it, where the code compiles and names no tool. Resolves with the answer; never, when `ended` comes first.
   */
  check(code: string, file: string | null = null, ahead?: Ahead): Promise<CheckAnswer> {
    let onAnswer = (_answer: CheckAnswer): void => {};
    const answer = new Promise<CheckAnswer>((resolve) => {
      onAnswer = resolve;
    });
    if (endsBetweenCalls(this.#turn)) return answer;
    this.#enter(beginCheck(this.#turn, code, onAnswer, ahead));
    if (ahead?.frame.session !== undefined) this.#renewLease();
    // Ahead of it: compiling takes memory too, and what is sent ahead may run.
    this.#makeGuard()?.watch();
    this.#channel.send({ type: 'check', code, file, run: ahead?.frame ?? null });
    return answer;
  }

  /**
   * Starts the code that was checked last, or a program that needs no check: the one run of this sandbox, or a call of its
   * session. `input` goes ahead of it, as fast as the sandbox reads; from its first piece on the sandbox counts as one that has
   * its run. Does nothing where the guest has ended between two calls: `ended` says so in a moment.
   */
  run(frame: RunFrame, handlers: RunHandlers, input: Iterable<FrameOf<HostFrame, 'input'>> = []): void {
    if (endsBetweenCalls(this.#turn)) return;
    this.#standstill?.endForRun();
    this.#enter(beginRun(this.#turn, frame, handlers));
    this.#makeGuard()?.watch();
    if (frame.session !== undefined) this.#renewLease();
    // Without input it is sent before this returns.
    this.#channel
      .sendInTurn(inOrder(input, frame))
      .catch((thrown) => this.#end({ how: 'violation', error: asBridgeError(thrown) }));
  }

  /**
   * Lets it wait again after its checks; false where it has ended, was asked and has not answered, or is not as it was.
   * Throws E_INTERNAL for one that was given its run: see above.
   */
  rest(): boolean {
    const isAsItWas = mayRest(this.#turn) && (this.memoryKills ?? 0) === 0;
    this.#guard?.rest();
    this.#processorTime?.[Symbol.dispose]();
    this.#processorTime = undefined;
    return isAsItWas && this.isAlive;
  }

  /** A call of its session has ended, and none is under way: what it has used of the processor is counted anew. */
  rests(): void {
    this.#earlierMemoryKills += this.memoryKills ?? 0;
    this.#processorTime?.[Symbol.dispose]();
    this.#processorTime = undefined;
  }

  /**
   * Has everything in it but its first process stand still until the next call, when nobody needs to look at its memory; not
   * for code that has asked to go on.
   */
  hold(): void {
    this.#guard?.rest();
    // Processes that cannot be stopped from here are stopped by the first process of their container.
    if (this.freezeProcesses() === undefined) this.#channel.send({ type: 'hold' });
  }

  /** False when the guest has stopped reading and the frame was dropped. */
  send(frame: HostFrame): boolean {
    if (frame.type === 'stop') this.#wasStopped = true;
    return this.#channel.send(frame);
  }

  /** Stops what runs in the sandbox until the returned function is called; undefined where it cannot be stopped from here. */
  freezeProcesses(): (() => void) | undefined {
    const { pid } = this;
    // A container that has a process here runs.
    if (pid === undefined || 'was' in this.#state) return undefined;
    const standstill =
      this.#standstill ?? new SandboxFreeze({ pid, onRestless: () => this.#onBreach(RESTLESS) });
    this.#standstill = standstill;
    return standstill.begin() ? () => standstill.end() : undefined;
  }

  /** Synchronous; `ended` follows. */
  kill(): void {
    this.#die(undefined);
  }

  /** Resolves when the container is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#channel.close();
    await this.#container[Symbol.asyncDispose]();
    const end = await this.ended;
    this.#observer({ type: 'sandbox.ended', container: this.name, reason: end.how });
  }

  get #turn(): SandboxTurn {
    return 'was' in this.#state ? this.#state.was : this.#state;
  }

  /** The conversation goes on, whether or not its end is decided. */
  #enter(turn: SandboxTurn): void {
    this.#state = 'was' in this.#state ? { ...this.#state, was: turn } : turn;
  }

  #take(type: string, step: TurnStep | undefined): void {
    if (step === undefined) return this.#onOutOfTurn(type);
    this.#enter(step.next);
    step.tell();
  }

  #fromSupervisor(frame: SupervisorFrame): void {
    const step = afterSupervisor(this.#turn, frame);
    // A run that was sent ahead has begun; processes of a session that stand still go on with it.
    if (this.#turn.at === 'checking' && step?.next.at === 'running') {
      this.#standstill?.endForRun();
      this.#guard?.watch();
    }
    this.#take(frame.type, step);
    if (step === undefined) return;
    if (frame.type === 'answered') this.#toldMemoryKills = frame.memoryKills ?? undefined;
    if (frame.type === 'restless') this.#onRestlessWord();
    if (frame.type === 'exited') void this.#whenReported(frame);
    if (frame.type === 'unloaded')
      this.#observer({ ...frame, type: 'sandbox.unloaded', container: this.name });
  }

  #onOutOfTurn(type: string): void {
    this.#channel.close();
    const error = new BridgeError('E_PROTOCOL', `the sandbox sent '${type}' out of turn`, { fault: 'guest' });
    this.#end({ how: 'violation', error });
  }

  /** Before the harness has greeted, what stands on its stream is the engine's own: its monitor complains there. */
  #onViolation(error: BridgeError, line: string | undefined): void {
    const isOfEngine = this.#turn.at === 'starting' && line !== undefined;
    this.#end(isOfEngine ? { how: 'lost', detail: asEngineWords(line) } : { how: 'violation', error });
  }

  /** Undefined where it is gone, or its processes cannot be seen. */
  #makeGuard(): Guard | undefined {
    const { pid } = this;
    if (this.#state.at === 'gone') return undefined;
    if (pid !== undefined)
      this.#guard ??= new Guard(pid, this.spec, this.#enforcement, (breach) => this.#onBreach(breach));
    return this.#guard;
  }

  /** The report came by the other stream: what the guest said last may still be on its way. */
  async #whenReported(report: FrameOf<SupervisorFrame, 'exited'>): Promise<void> {
    this.#toldMemoryKills = report.memoryKills ?? undefined;
    // Looked at now: see memoryKills. The supervisor has waited for that where it matters.
    void this.memoryKills;
    this.#processorTime?.look();
    this.#channel.hangUp();
    // Not in the same tick even then: frames that arrived together are handed on first.
    const turn = this.#turn;
    if (isOfRun(turn) && turn.hasLastWord) await new Promise((resolve) => setImmediate(resolve));
    else await heardOut([this.#container.stdout], LAST_FRAME_WITHIN_MS);
    if (this.#mayBeShutdown(report)) await this.#endIfShutDown(SHUTDOWN_LOOKS.get(report.signal) ?? 0);
    this.#end({ how: 'exited', report });
  }

  /** Whether the machine that its engine runs on may have ended it, which the code did not do and we did not ask for. */
  #mayBeShutdown({ signal }: GuestEnd): boolean {
    const isOurs = this.#wasStopped || 'was' in this.#state || (this.memoryKills ?? 0) > 0;
    return this.isElsewhere && SHUTDOWN_LOOKS.has(signal) && !isOurs;
  }

  /** An engine that only says nothing may be busy: what was reported is believed until it is known to be gone. */
  async #endIfShutDown(looks: number): Promise<void> {
    for (let look = 0; look < looks && this.#state.at !== 'gone'; look += 1) {
      await new Promise((resolve) => setTimeout(resolve, SHUTDOWN_WITHIN_MS));
      const found = await this.#whyUnreachable?.(this.name);
      if (found?.isSilent === false) return this.#end({ how: 'lost', detail: connectionLost(found.why) });
    }
  }

  /** One that has greeted while the engine was asked is none of its business any more. */
  async #endStartIfUnreachable(): Promise<void> {
    const found = await this.#whyUnreachable?.();
    if (found !== undefined && this.#turn.at === 'starting')
      this.#end({ how: 'lost', detail: connectionLost(found.why) });
  }

  /** The container is gone; its last bytes may still be in our pipes. */
  async #whenContainerEnded(): Promise<void> {
    const { code, signal } = await this.#container.exited;
    const { stdout, stderr } = this.#container;
    await heardOut([stdout, stderr], LAST_FRAME_WITHIN_MS);
    const state = this.#state;
    if (state.at === 'dying' && state.breach !== undefined)
      return this.#end({ how: 'limit', breach: state.breach });
    const turn = this.#turn;
    if (turn.at === 'reported') {
      const { report } = turn;
      const found = this.#mayBeShutdown(report) ? await this.#whyUnreachable?.(this.name) : undefined;
      return this.#end(
        found?.isSilent === false
          ? { how: 'lost', detail: connectionLost(found.why) }
          : { how: 'exited', report },
      );
    }
    const exit = signal ?? (code === undefined ? 'no word' : `exit code ${code}`);
    const detail = this.#words.whyLost(exit, { wasGreeted: turn.at !== 'starting' });
    this.#end({ how: 'lost', detail });
  }

  /** Ends it for good; what it had said before is still in our pipes. */
  async #onBreach(breach: Breach): Promise<void> {
    this.#die(breach);
    this.#observer({ type: 'sandbox.limit', container: this.name, ...breach });
    const { stdout, stderr } = this.#container;
    await heardOut([stdout, stderr], LAST_FRAME_WITHIN_MS);
    this.#end({ how: 'limit', breach });
  }

  /** The supervisor ends the guest after this word, and that end is none of its own. */
  #onRestlessWord(): void {
    void this.#onBreach(RESTLESS);
    this.#end({ how: 'limit', breach: RESTLESS });
  }

  /** A limit is the better reason, also for one that is being killed. */
  #die(breach: Breach | undefined): void {
    const isDying = this.#state.at === 'dying' && breach === undefined;
    if (this.#state.at !== 'gone' && !isDying) this.#state = { at: 'dying', was: this.#turn, breach };
    this.#container.kill();
  }

  /** The first end counts. */
  #end(end: SandboxEnd): void {
    if (this.#state.at === 'gone') return;
    this.#state = { at: 'gone', was: this.#turn };
    this.#guard?.[Symbol.dispose]();
    this.#processorTime?.[Symbol.dispose]();
    this.#standstill?.[Symbol.dispose]();
    clearInterval(this.#lease);
    this.#settle(end);
  }

  #renewLease(): void {
    this.#channel.countAnew();
    if (this.#state.at === 'gone') return;
    this.#lease ??= setInterval(() => this.#channel.send({ type: 'alive' }), ALIVE_EVERY_MS).unref();
  }

  #onNoise(line: string): void {
    this.#observer({ type: 'sandbox.noise', container: this.name, line });
    this.#words.add(line);
  }
}

function* inOrder(input: Iterable<FrameOf<HostFrame, 'input'>>, run: RunFrame): Generator<HostFrame> {
  yield* input;
  yield run;
}

function startFailure(end: SandboxEnd): BridgeError {
  if (end.how === 'violation') return end.error;
  const detail = end.how === 'lost' ? end.detail : `it ended before it was greeted (${end.how})`;
  return new NotStarted(detail, { waitedMs: end.how === 'lost' ? end.waitedMs : undefined });
}

/** Lines of the engine's client that are kept, and characters of them that are shown. */
const MAX_LINES = 20;
const MAX_DETAIL_CHARS = 600;

/** Words of the engine's client on the harness's stream, kept for the error of a sandbox that was lost. */
class EngineWords {
  readonly #says: Engine['says'];
  /** The last ones, oldest first. */
  readonly #lines: string[] = [];

  constructor(says: Engine['says']) {
    this.#says = says;
  }

  add(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }

  /** Why a sandbox was lost whose container ended with `exit`, in the client's words as far as it said any. */
  whyLost(exit: string, { wasGreeted }: { readonly wasGreeted: boolean }): string {
    const words = this.#lines
      .filter((line) => !this.#says.isExpected(line))
      .join(' ')
      .trim();
    if (words === '') return `the container ended with ${exit}`;
    return wasGreeted && this.#says.isUnreachable(words)
      ? connectionLost(words)
      : clip(words, MAX_DETAIL_CHARS);
  }
}

/** The reason of a loss, in `words` of the engine's client. */
const connectionLost = (words: string): string =>
  clip(`the connection to the engine was lost: ${words}`, MAX_DETAIL_CHARS);

/** A line that broke the rules of the stream before the harness had greeted, so the engine's own. */
const asEngineWords = (line: string): string => clipHarmless(line, MAX_DETAIL_CHARS);

/**
 * The error of a sandbox that did not start. What the engine or the image said is a fact of its own, so that nobody has to
 * find it in the message again.
 */
export class NotStarted extends BridgeError {
  /** Why, in the words of the engine, of the image or of the bridge; without a full stop. */
  readonly detail: string;

  constructor(
    detail: string,
    options: { readonly cause?: unknown; readonly waitedMs?: number | undefined } = {},
  ) {
    super('E_SANDBOX_START', `The sandbox did not start: ${detail}`, {
      fault: 'engine',
      remedy: `Run \`${ownCommand('doctor')}\`.`,
      ...options,
    });
    this.detail = detail;
  }
}
