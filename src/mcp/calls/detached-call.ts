// A call of a tool that may go on after it was answered, for hosts that wait less long than it takes. Its work follows no
// request: it tells whoever waits for it at the moment, and what it prints is kept until somebody has been given it.

import { HeadTail } from '../../base/text/text.js';
import { MAX_OUTPUT_CHARS } from '../../run/artifacts/shown-amounts.js';
import type { CallEvent, OutputEvent } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { capturedOf, running } from '../../run/outcome/transcript.js';
import type { Bridge } from '../../tenant/bridge.js';
import type { AgentContext } from '../requests/agent-request.js';
import { OutputLog } from '../requests/log-notifications.js';
import { Progress } from '../requests/progress.js';
import type { ToolAnswer } from '../tools/answer.js';
import type { BridgeTool } from '../tools/tool.js';
import type { GoingOn } from './detached-calls.js';

/** End of a call: its answer, or what was thrown instead. */
export type DetachedCallEnd = { readonly answer: ToolAnswer } | { readonly thrown: unknown };

export type DetachedCallParts = {
  readonly tool: BridgeTool;
  /** Clean (tools/clean-arguments.ts). */
  readonly args: unknown;
  readonly bridge: Bridge;
  /** The request that begins it. */
  readonly request: AgentContext;
  readonly timeoutSeconds: number;
};

const NOT_READ = '[… what follows was not read in time …]\n';
/** Limit for missed output: our own command line misses a moment's between two requests, and more only if it was killed. */
const MAX_MISSED_CHARS = 16 * 1024 ** 2;

export class DetachedCall implements GoingOn {
  readonly tool: string;
  /** Never rejects. */
  readonly ended: Promise<DetachedCallEnd>;
  readonly #startedAt = performance.now();
  readonly #ending = new AbortController();
  readonly #log: OutputLog;
  readonly #progress: Progress;
  readonly #timeoutSeconds: number;
  #unread = noOutput();
  /** Pieces that were printed while nobody listened, for a caller that wants each piece. */
  #missed: OutputEvent[] = [];
  #missedChars = 0;
  readonly #wantsPieces: boolean;
  /** Whether some of its output has been given out, so that its end is only the rest. */
  #isInParts = false;
  /** Nobody between two answers: after its own, a request hears nothing. */
  #toldNow: AgentContext | undefined;
  #last: DetachedCallEnd | undefined;

  constructor({ tool, args, bridge, request, timeoutSeconds }: DetachedCallParts) {
    this.tool = tool.definition.name;
    this.#toldNow = request;
    this.#wantsPieces = bridge.isForCommandLine;
    this.#timeoutSeconds = timeoutSeconds;
    this.#log = new OutputLog(
      this.tool,
      () => this.#toldNow?.logLevel,
      (params) => this.#toldNow?.tell({ type: 'logged', params }),
    );
    this.#progress = new Progress((params) => this.#toldNow?.tell({ type: 'said', params }));
    const { caller } = request;
    const context = { caller, signal: this.#ending.signal, tell: (event: CallEvent) => this.#hear(event) };
    // Keep neither tool nor arguments here: a call may go on for hours.
    this.ended = this.#end(tool.call(args, context, bridge));
  }

  get hasEnded(): boolean {
    return this.#last !== undefined;
  }

  /** From now on `request` is told how far it is, until it has an answer or another one asks. */
  tell(request: AgentContext): void {
    this.#toldNow = request;
    for (const piece of this.#missed) request.tell(piece);
    this.#missed = [];
    this.#missedChars = 0;
    this.#progress.beat();
  }

  /** Ends its work, which then answers that it was cancelled. */
  cancel(reason: unknown): void {
    this.#ending.abort(reason);
  }

  /** How it is now, with what it has printed since it was last asked. `handle` names it. */
  part(handle: string): Outcome {
    const part = this.glance(handle);
    this.#toldNow = undefined;
    this.#unread = noOutput();
    this.#isInParts = true;
    return part;
  }

  /** How the call is now, with its new output, which the next one who asks is given too. */
  glance(handle: string): Outcome {
    const { stdout, stderr } = this.#unread;
    return running({
      handle,
      tool: this.tool,
      says: this.#progress.sentence,
      elapsedMs: performance.now() - this.#startedAt,
      timeoutSeconds: this.#timeoutSeconds,
      stdout: capturedOf(stdout),
      stderr: capturedOf(stderr),
    });
  }

  /** Its answer; where parts of it were given out before, with what is left. The same whenever it is asked. */
  async rest(): Promise<ToolAnswer> {
    const last = await this.ended;
    if ('thrown' in last) throw last.thrown;
    const { answer } = last;
    if (!this.#isInParts || 'isRelayed' in answer) return answer;
    const { stdout, stderr } = answer;
    return {
      ...answer,
      stdout: capturedOf(this.#unread.stdout, stdout.whole),
      stderr: capturedOf(this.#unread.stderr, stderr.whole),
    };
  }

  #hear(event: CallEvent): void {
    if (event.type !== 'output') return this.#progress.hear(event);
    const { stream, text } = event;
    this.#unread[stream].add(text);
    if (this.#wantsPieces) this.#pass(event);
    this.#log.add(stream, text);
  }

  #pass(piece: OutputEvent): void {
    if (this.#toldNow !== undefined) return this.#toldNow.tell(piece);
    const { text } = piece;
    if (this.#missedChars > MAX_MISSED_CHARS) return;
    this.#missedChars += text.length;
    if (this.#missedChars <= MAX_MISSED_CHARS) this.#missed.push(piece);
    else this.#missed.push({ ...piece, stream: 'stderr', text: NOT_READ, base64: null });
  }

  async #end(work: Promise<ToolAnswer>): Promise<DetachedCallEnd> {
    try {
      this.#last = { answer: await work };
    } catch (thrown) {
      this.#last = { thrown };
    }
    this.#progress[Symbol.dispose]();
    this.#log[Symbol.dispose]();
    return this.#last;
  }
}

const noOutput = () => ({
  stdout: new HeadTail(MAX_OUTPUT_CHARS),
  stderr: new HeadTail(MAX_OUTPUT_CHARS),
});
