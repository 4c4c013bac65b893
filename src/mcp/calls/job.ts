// One call of a tool, which may outlive the request that began it. Its work follows no request: requests come and go and listen
// to it, each until it has an answer: the end of the job, what the job asks, or a name by which a later request finds the job.
// Output is kept until somebody has been given it.

import { setMaxListeners } from 'node:events';
import { randomBytes } from '../../base/crypto.js';
import type { JsonObject } from '../../base/json/records.js';
import { clipHarmless, HeadTail } from '../../base/text/text.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import { MAX_OUTPUT_CHARS } from '../../run/artifacts/shown-amounts.js';
import type { CallContext, CallEvent, OutputEvent } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { capturedOf, runningOutcome } from '../../run/outcome/transcript.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { AgentRequest, ClientOffers } from '../requests/agent-request.js';
import { OutputLog } from '../requests/log-notifications.js';
import { Progress } from '../requests/progress.js';
import type { ToolAnswer } from '../tools/definitions.js';
import { ANSWER_WITHIN_MS, type InputRequest, isOffered, Questions } from './questions.js';
import type { Round } from './request-state.js';

const MAX_SAID_CHARS = 200;
const NOT_READ = '[… what follows was not read in time …]\n';
/** Limit for missed output: our own command line misses a moment's between two requests, and more only if it was killed. */
const MAX_MISSED_CHARS = 16 * 1024 ** 2;

export class Job implements Disposable {
  /** Names its task, and is in the states of its rounds. */
  readonly id = randomBytes(24).toString('base64url');
  readonly tool: string;
  /** Caller who began it; the caller's agent is asked by answers to the job's requests. */
  readonly caller: CallContext['caller'];
  /** Aborts when the job is cancelled. */
  readonly signal: AbortSignal;
  readonly questions: Questions;
  /** Resolves when the work has ended; never rejects. */
  readonly ended: Promise<void>;
  /** The answer as the client that began it can read it. */
  readonly show: (answer: ToolAnswer) => object;
  /** Name by which its client asks for the rest, where a part was the answer. */
  handle: string | undefined;
  /** In ms since 1970: since when it is a task, where it is one. */
  taskSinceMs: number | undefined;
  /** Whether somebody has been given its end. */
  isTold = false;
  readonly #others;
  readonly #ending = new AbortController();
  readonly #startedAt = performance.now();
  readonly #timeoutSeconds: number;
  readonly #wantsPieces: boolean;
  readonly #log: OutputLog;
  readonly #progress: Progress;
  readonly #watchers = new Set<() => void>();
  /** The request that listens; undefined while a person thinks, and between two answers. */
  #request: AgentRequest | undefined;
  #offers: ClientOffers;
  #round: { readonly nonce: string; readonly timer: NodeJS.Timeout } | undefined;
  #end: { readonly answer: ToolAnswer } | { readonly thrown: unknown } | undefined;
  #changedAtMs = Date.now();
  #said: string | undefined;
  #unread = noOutput();
  /** Whether some of the output has been given out, so that the end is only the rest. */
  #isInParts = false;
  /** Pieces that were printed while nobody listened, for a caller that wants each piece. */
  #missed: OutputEvent[] = [];
  #missedChars = 0;

  constructor(
    {
      tool,
      timeoutSeconds,
      wantsPieces,
      request,
      work,
      show,
    }: {
      /** Name of the tool. */
      readonly tool: string;
      readonly timeoutSeconds: number;
      /** Whether each piece of output is told, as our own command line wants it. */
      readonly wantsPieces: boolean;
      /** The request that begins it. */
      readonly request: AgentRequest;
      readonly work: (job: Job) => Promise<ToolAnswer>;
      /** The answer as the client that began it can read it. */
      readonly show: (answer: ToolAnswer) => object;
    },
    /** The other jobs of the job's principal, as far as the job needs them. */
    others: {
      /** Another job of the same client, which can ask in place of this one. */
      readonly siblingOf: (job: Job) => Job | undefined;
      /** Throws where this job may not ask just now. */
      readonly admitQuestion: (job: Job) => void;
      /** The client of this job has not come back, and nothing else names the job. */
      readonly forget: (job: Job) => void;
    },
  ) {
    this.tool = tool;
    this.show = show;
    this.signal = this.#ending.signal;
    // Everything that a call does listens to its end; Node takes more than ten listeners for a leak.
    setMaxListeners(0, this.signal);
    this.#others = others;
    this.#timeoutSeconds = timeoutSeconds;
    this.#wantsPieces = wantsPieces;
    this.#request = request;
    this.#offers = request.offers;
    this.questions = new Questions(() => this.#change());
    this.caller =
      request.era === 'legacy'
        ? request.caller
        : { ...request.caller, agent: this.#agentOf(request.connection) };
    this.#log = new OutputLog(
      tool,
      () => this.#request?.logLevel,
      (params) => this.#request?.tell({ type: 'logged', params }),
    );
    this.#progress = new Progress((params) => {
      this.#said = clipHarmless(params.message, MAX_SAID_CHARS);
      this.#change();
      this.#request?.tell({ type: 'said', params });
    });
    // Keep neither the work nor its arguments here: a job may go on for hours, and its end is kept.
    this.ended = this.#run(work(this));
  }

  /** The request that listens to the job now. */
  get request(): AgentRequest | undefined {
    return this.#request;
  }

  /** How the work has ended: the answer of its tool, or what was thrown instead; undefined until then. */
  get end() {
    return this.#end;
  }

  /** In the words of MCP's tasks. */
  get state(): 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled' {
    if (this.signal.aborted) return 'cancelled';
    if (this.#end === undefined) return this.questions.size > 0 ? 'input_required' : 'working';
    return 'thrown' in this.#end ? 'failed' : 'completed';
  }

  /** In ms since 1970: when it last asked, was answered, told of its progress, or ended. */
  get changedAtMs(): number {
    return this.#changedAtMs;
  }

  /** Sentence that it has last told of its progress. */
  get said(): string | undefined {
    return this.#said;
  }

  /** Whether it was answered with a name by which it is found until its end, and for a while after that. */
  get isNamed(): boolean {
    return this.handle !== undefined || this.taskSinceMs !== undefined;
  }

  /** Whether it waits for its client to come back with answers. */
  get isInRound(): boolean {
    return this.#round !== undefined;
  }

  /** Whether a question of it would reach a person. */
  get canAsk(): boolean {
    const isHeard = this.#request !== undefined || this.isInRound || this.taskSinceMs !== undefined;
    return this.#end === undefined && !this.signal.aborted && isHeard;
  }

  /** Hears what happens to the call. */
  readonly tell = (event: CallEvent): void => {
    if (event.type !== 'output') return this.#progress.hear(event);
    const { stream, text } = event;
    this.#unread[stream].add(text);
    if (this.#wantsPieces) this.#pass(event);
    this.#log.add(stream, text);
  };

  /** Calls `onChange` after each question, answer and progress report and at the end, until the returned function is called. */
  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange);
    return () => void this.#watchers.delete(onChange);
  }

  /** From now on `request` is told how far the job is, and answered with what it asks; `responses` are answers to that. */
  listen(request: AgentRequest, responses: ReadonlyMap<string, JsonObject> = new Map()): void {
    this.#leaveRound();
    this.#request = request;
    this.#offers = request.offers;
    for (const piece of this.#missed) request.tell(piece);
    this.#missed = [];
    this.#missedChars = 0;
    this.questions.answer(responses);
    this.questions.keepTo(this.#offers);
    this.#progress.beat();
  }

  /** `request` has its answer, or was taken back. */
  leave(request: AgentRequest): void {
    if (this.#request === request) this.#request = undefined;
  }

  /** Whether `round` is the one in which the job waits for its client. */
  isIn({ nonce }: Round): boolean {
    return this.#round?.nonce === nonce;
  }

  /**
   * Waits for the client to come back with answers, for as long as a question waits; work that ends meanwhile keeps its end for
   * that long.
   */
  enterRound(): Round {
    const nonce = randomBytes(16).toString('base64url');
    const timer = setTimeout(() => {
      this.#round = undefined;
      if (this.isNamed) return;
      this.cancel('cancelled');
      this.#others.forget(this);
    }, ANSWER_WITHIN_MS).unref();
    this.#round = { nonce, timer };
    this.#request = undefined;
    return { job: this.id, nonce, expiresAtMs: Date.now() + ANSWER_WITHIN_MS };
  }

  /** Ends the work, which then answers that it was cancelled; one that has ended stays as it is. */
  cancel(reason: unknown): void {
    if (this.#end !== undefined || this.signal.aborted) return;
    this.#changedAtMs = Date.now();
    this.#ending.abort(reason);
    this.#change();
  }

  /** How the job is now, with its new output, which the next one who asks is given too. */
  glance(): Outcome {
    const { stdout, stderr } = this.#unread;
    return runningOutcome({
      handle: this.handle ?? '',
      tool: this.tool,
      says: this.#progress.sentence,
      elapsedMs: performance.now() - this.#startedAt,
      timeoutSeconds: this.#timeoutSeconds,
      stdout: capturedOf(stdout),
      stderr: capturedOf(stderr),
    });
  }

  /** How the job is now, with what it has printed since the last part. */
  part(): Outcome {
    const part = this.glance();
    this.#unread = noOutput();
    this.#isInParts = true;
    return part;
  }

  /**
   * Answer of a job that has ended; where parts of it were given out before, with what is left. The same whenever it is asked.
   * Throws what the work has thrown.
   */
  rest(): ToolAnswer {
    if (this.#end === undefined) throw new Error('The job has not ended.');
    if ('thrown' in this.#end) throw this.#end.thrown;
    const { answer } = this.#end;
    if (!this.#isInParts || 'isRelayed' in answer) return answer;
    const { stdout, stderr } = answer;
    return {
      ...answer,
      stdout: capturedOf(this.#unread.stdout, stdout.whole),
      stderr: capturedOf(this.#unread.stderr, stderr.whole),
    };
  }

  /** Nobody hears of it any more; its work is ended. */
  [Symbol.dispose](): void {
    this.cancel('shutdown');
    this.#leaveRound();
    this.#progress[Symbol.dispose]();
    this.#log[Symbol.dispose]();
  }

  async #run(work: Promise<ToolAnswer>): Promise<void> {
    try {
      this.#end = { answer: await work };
    } catch (thrown) {
      this.#end = { thrown };
    }
    this.#progress[Symbol.dispose]();
    this.#log[Symbol.dispose]();
    // A server does not say for which call it asks; what it asks may be for another one that is still under way.
    const sibling = this.questions.size === 0 ? undefined : this.#others.siblingOf(this);
    this.questions.handOver(sibling && ((request, signal) => sibling.#ask(request, signal)));
    this.#change();
  }

  #change(): void {
    if (!this.signal.aborted) this.#changedAtMs = Date.now();
    // One that is told may stop watching.
    for (const onChange of [...this.#watchers]) onChange();
  }

  #pass(piece: OutputEvent): void {
    if (this.#request !== undefined) return this.#request.tell(piece);
    const { text } = piece;
    if (this.#missedChars > MAX_MISSED_CHARS) return;
    this.#missedChars += text.length;
    if (this.#missedChars <= MAX_MISSED_CHARS) this.#missed.push(piece);
    else this.#missed.push({ ...piece, stream: 'stderr', text: NOT_READ, base64: null });
  }

  #leaveRound(): void {
    clearTimeout(this.#round?.timer);
    this.#round = undefined;
  }

  async #ask(request: InputRequest, signal: AbortSignal): Promise<JsonObject> {
    if (!this.canAsk) {
      const sibling = this.#others.siblingOf(this);
      if (sibling === undefined) throw new Error('The call has ended.');
      return await sibling.#ask(request, signal);
    }
    if (!isOffered(request, this.#offers)) throw new Error('The client does not offer to answer this.');
    if (this.questions.size === 0) this.#others.admitQuestion(this);
    return await this.questions.ask(request, signal);
  }

  /**
   * The agent as the job sees it, from revision 2026-07-28 on: what its newest request declares, asked through the answers to
   * its requests. Roots are asked for once in a job, and only where a server wants them.
   */
  #agentOf(client: object): AgentCapabilities {
    let roots: Promise<JsonObject> | undefined;
    return {
      client,
      elicits: () => ({ form: this.#offers.form, url: this.#offers.url }),
      // A question about a page had an id before, so that its end could be told.
      elicit: ({ elicitationId: _, ...params }, signal) =>
        this.#ask({ method: 'elicitation/create', params: params as JsonObject }, signal),
      // This revision tells the client nothing about a page: the person says that the page is done with.
      elicitationDone: () => {},
      hasRoots: () => this.#offers.roots,
      tellsRootsChanges: () => false,
      listRoots: (signal) => {
        roots ??= this.#ask({ method: 'roots/list' }, this.signal).catch((thrown: unknown) => {
          roots = undefined;
          throw thrown;
        });
        return unlessAborted(roots, signal, { message: 'The roots are no longer wanted.' });
      },
    };
  }
}

const noOutput = () => ({
  stdout: new HeadTail(MAX_OUTPUT_CHARS),
  stderr: new HeadTail(MAX_OUTPUT_CHARS),
});
