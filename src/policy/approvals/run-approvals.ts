// The questions of one run. Calls of one tool that come within a moment are one question with a list; what is decided of them
// is decided of each. While a question is open the clock of the run stands (standing-clock.ts).

import { setMaxListeners } from 'node:events';
import { drawnLetters } from '../../base/crypto.js';
import { BridgeError, messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { ownCommand } from '../../base/process/own-command.js';
import { shownName, shownTool } from '../../base/text/shown-name.js';
import { clipHarmless } from '../../base/text/text.js';
import type { StopClock } from '../../base/waiting/deadline.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { Always } from '../rules/always-allowed.js';
import type { ApprovalVerdict } from '../rules/approval-rules.js';
import { type AskingEnd, type AskingParts, ask } from './asking.js';
import { type ApprovalAnswer, type Decision, MAX_WORD_CHARS, type Question } from './question.js';
import { AskingTime } from './standing-clock.js';

/** A call that waits for a person; `text` is the JSON of its arguments as it will be sent. */
type WaitingCall = {
  readonly server: string;
  readonly tool: string;
  readonly text: string;
  readonly verdict: ApprovalVerdict;
};

/** Parts that are one run's own. */
export type ApprovalScope = {
  readonly run: string;
  readonly client: string;
  readonly agent: AgentCapabilities;
  /** Name of the session, where the run is one of a session. */
  readonly session: string | undefined;
  /** Whether it can make further calls, so that something can be decided for all of them. */
  readonly isRun: boolean;
  /** The run's clock stands from now until what is given back is called. */
  readonly stopClock: StopClock;
};

/** Parts that all runs of a bridge share. */
export type SharedApprovals = Omit<AskingParts, 'agent'> & {
  /** Id of the principal; undefined for the user who started the bridge. */
  readonly principal: string | undefined;
  readonly grants: Grants;
  /** How long the questions of one run may wait, in sum. */
  readonly waitSeconds: number;
  /** Whether `always` can be written somewhere now. */
  readonly canWrite: () => boolean;
  readonly observer: Observer;
};

const QUESTION_LETTERS = 16;
/** asyncio.gather sends its calls within a few milliseconds. */
const GATHER_MS = 100;
/** Code could ask for ever; nobody reads more. */
export const MAX_QUESTIONS = 50;
const MAX_CALLS_OF_QUESTION = 200;
/** Limit for the arguments of all calls of one question together. */
const MAX_QUESTION_CHARS = 256 * 1024;

type Batch = {
  readonly first: WaitingCall;
  readonly waiters: Set<{
    readonly text: string;
    readonly settle: (refused: BridgeError | undefined) => void;
  }>;
  readonly calls: string[];
  chars: number;
  readonly ending: AbortController;
};

export class RunApprovals implements Disposable {
  readonly #scope: ApprovalScope;
  readonly #shared: SharedApprovals;
  /** Calls of one tool, of which the same rules ask, that are still being gathered: by what is decided of them. */
  readonly #gathering = new Map<string, Batch>();
  /** Questions that are put, by their id. */
  readonly #open = new Map<
    string,
    { readonly question: Question; readonly what: string; readonly batch: Batch }
  >();
  /** Errors of calls that a person has refused: such a call is refused again without a question. */
  readonly #refused = new Map<string, BridgeError>();
  readonly #ending = new AbortController();
  readonly #time: AskingTime;
  #asked = 0;

  constructor(scope: ApprovalScope, shared: SharedApprovals) {
    this.#scope = scope;
    this.#shared = shared;
    this.#time = new AskingTime(scope.stopClock, shared.waitSeconds * 1000);
    // Every open question listens; some dozens are no leak.
    setMaxListeners(0, this.#ending.signal);
  }

  /** Resolves when the call may be sent, as its text is. Throws E_DENIED. */
  async pass(call: WaitingCall, signal: AbortSignal): Promise<void> {
    const { grants } = this.#shared;
    const { run, session } = this.#scope;
    const what = subjectOf(call);
    if (call.verdict.isUnclear !== true && grants.has({ run, session }, what)) return;
    const before = this.#refused.get(`${what} ${call.text}`);
    if (before !== undefined) throw before;
    if (call.text.length > MAX_QUESTION_CHARS) throw tooMuchToShow(call.text.length, MAX_QUESTION_CHARS);
    const refused = await this.#gather(call, what, signal);
    if (refused !== undefined) throw refused;
  }

  /** Sentence about the calls that wait for a person just now; empty where no call waits. */
  get waiting(): string {
    const names = [...this.#open.values()].map(({ question }) => {
      const { server, tool, calls } = question.object;
      const name = shownTool(server, tool);
      return calls.length === 1 ? name : `${name} (${calls.length} calls)`;
    });
    const [first, ...more] = names;
    if (first === undefined) return '';
    const others = more.length === 0 ? '' : ` and ${more.length} more`;
    const places = [
      ...(this.#canAskAgent ? ['in a dialog of this client'] : []),
      ...(this.#shared.inbox === undefined || !this.#shared.isLocal ? [] : ['with the command `approvals`']),
    ];
    const where = places.length === 0 ? '' : `, with an answer ${places.join(' or ')}`;
    return `Waits for the user to approve ${first}${others}${where}.`;
  }

  /** Nobody waits for its questions any more, while its code goes on: that of a session which is interrupted. */
  takeBack(): void {
    for (const batch of this.#gathering.values()) batch.ending.abort('cancelled');
    for (const { batch } of this.#open.values()) batch.ending.abort('cancelled');
  }

  /** The run has ended: its questions are taken back, and nothing more is sent. */
  [Symbol.dispose](): void {
    this.#ending.abort('cancelled');
    for (const { ending } of this.#gathering.values()) ending.abort('cancelled');
    this.#time[Symbol.dispose]();
    this.#shared.grants.forgetRun(this.#scope.run);
  }

  get #canAskAgent(): boolean {
    const { form, url } = this.#scope.agent.elicits();
    return form || url;
  }

  /** Undefined where the call may be sent. */
  #gather(call: WaitingCall, what: string, signal: AbortSignal): Promise<BridgeError | undefined> {
    return new Promise((resolve, reject) => {
      let batch = this.#gathering.get(what);
      // One that nobody waits for any more, or that was taken back, is not put to a person.
      const fits =
        batch?.ending.signal.aborted === false &&
        batch.calls.length < MAX_CALLS_OF_QUESTION &&
        batch.chars + call.text.length <= MAX_QUESTION_CHARS;
      if (batch === undefined || !fits) batch = this.#begin(call, what);
      const own = batch;
      const leave = () => {
        own.waiters.delete(waiter);
        // Nobody wants the answer any more.
        if (own.waiters.size === 0) own.ending.abort('cancelled');
        reject(signal.reason instanceof Error ? signal.reason : new Error('The call was cancelled.'));
      };
      const waiter = {
        text: call.text,
        settle: (refused: BridgeError | undefined) => {
          signal.removeEventListener('abort', leave);
          resolve(refused);
        },
      };
      own.waiters.add(waiter);
      own.calls.push(call.text);
      own.chars += call.text.length;
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
    });
  }

  #begin(first: WaitingCall, what: string): Batch {
    const batch: Batch = { first, waiters: new Set(), calls: [], chars: 0, ending: new AbortController() };
    this.#gathering.set(what, batch);
    const goOn = this.#time.ask();
    setTimeout(() => {
      if (this.#gathering.get(what) === batch) this.#gathering.delete(what);
      void this.#decide(batch, what).finally(goOn);
    }, GATHER_MS);
    return batch;
  }

  async #decide(batch: Batch, what: string): Promise<void> {
    const settle = (refused: BridgeError | undefined) => {
      for (const waiter of batch.waiters) waiter.settle(refused);
      batch.waiters.clear();
    };
    const { grants, waitSeconds } = this.#shared;
    const { run, session } = this.#scope;
    // Another question of the same tool may have been answered for all while this one was gathered.
    if (grants.has({ run, session }, what)) return settle(undefined);
    if (batch.waiters.size === 0) return;
    const { leftMs } = this.#time;
    if (++this.#asked > MAX_QUESTIONS) return settle(tooManyQuestions(MAX_QUESTIONS));
    if (leftMs <= 0) return settle(timeUsedUp(waitSeconds));
    const question = this.#questionOf(batch, leftMs);
    this.#open.set(question.id, { question, what, batch });
    const startedAt = performance.now();
    const onEnd = () => batch.ending.abort('cancelled');
    this.#ending.signal.addEventListener('abort', onEnd, { once: true });
    if (this.#ending.signal.aborted) onEnd();
    const asked = await ask(
      question,
      { ...this.#shared, agent: this.#scope.agent },
      leftMs,
      batch.ending.signal,
    );
    this.#ending.signal.removeEventListener('abort', onEnd);
    this.#open.delete(question.id);
    this.#tell(question, asked, performance.now() - startedAt);
    settle(await this.#outcome(question, asked, batch, what));
  }

  async #outcome(
    { rule, object: { server, tool }, offers }: Question,
    asked: AskingEnd,
    batch: Batch,
    what: string,
  ): Promise<BridgeError | undefined> {
    const { run, session } = this.#scope;
    // Another question about the same was answered for this one too.
    if (asked.is === 'cancelled' && this.#shared.grants.has({ run, session }, what)) return undefined;
    if (asked.is !== 'answered') return notApproved(asked.is, rule, this.#shared.waitSeconds);
    const { answer } = asked;
    // An answer that was not offered is no decision, whoever gives it.
    const isOffered = offers.includes(answer.decision);
    if (answer.decision === 'no' || !isOffered) {
      const refused = deniedByUser(
        isOffered ? answer : { word: 'the answer is not one of those that were offered' },
      );
      for (const text of batch.calls) this.#refused.set(`${what} ${text}`, refused);
      return refused;
    }
    const { entry } = batch.first.verdict;
    const about = { server, tool, ...(entry === undefined ? {} : { entry }), reason: answer.word };
    await this.#shared.grants.add(answer.decision, { run, session }, what, about);
    if (answer.decision !== 'once')
      for (const other of this.#open.values()) if (other.what === what) other.batch.ending.abort('cancelled');
    return undefined;
  }

  #questionOf({ first: { server, tool, verdict }, calls }: Batch, leftMs: number): Question {
    const { run, client, session } = this.#scope;
    const now = Date.now();
    return {
      id: `q-${drawnLetters(QUESTION_LETTERS)}`,
      object: { kind: 'tool', server, tool, calls: calls.map((text) => ({ arguments: text })) },
      rule: verdict.rule,
      run,
      client,
      principal: this.#shared.principal,
      session,
      offers: this.#offersFor(verdict),
      askedAt: new Date(now).toISOString(),
      expiresAt: new Date(now + leftMs).toISOString(),
    };
  }

  #offersFor({ isConditional, isUnclear }: ApprovalVerdict): readonly Decision[] {
    const { canWrite } = this.#shared;
    // A decision for more calls would hold for what other rules would have asked about.
    if (isUnclear === true) return ['once', 'no'];
    return [
      'once',
      ...(this.#scope.isRun ? (['run'] as const) : []),
      'session',
      // An `always` would go by the tool, and the rule goes by the arguments.
      ...(!isConditional && canWrite() ? (['always'] as const) : []),
      'no',
    ];
  }

  #tell({ id, object, rule, run }: Question, asked: AskingEnd, durationMs: number): void {
    const answer: ApprovalAnswer | undefined = asked.is === 'answered' ? asked.answer : undefined;
    this.#shared.observer({
      type: 'run.asked',
      run,
      question: id,
      server: object.server,
      tool: object.tool,
      calls: object.calls.map((call) => call.arguments),
      rule,
      answer: answer?.decision ?? (asked.is as Exclude<AskingEnd['is'], 'answered'>),
      word: answer?.word,
      by: answer?.by,
      who: answer?.who,
      durationMs,
    });
  }
}

/**
 * Key of a decision about a call: its tool, of this entry and no other of the name, and all rules that have asked about it. A call
 * of which nobody could tell whether a rule is met is not like one of which it is.
 */
const subjectOf = ({ server, tool, verdict }: WaitingCall): string =>
  JSON.stringify([server, verdict.entry ?? null, tool, verdict.rule, verdict.isUnclear === true]);

// Grants of persons for more than one call: in a run, in a session, always. By the tool and never by its arguments.

export class Grants {
  readonly #write: (always: Always) => Promise<void>;
  readonly #observer: Observer;
  readonly #ofRuns = new Map<string, Set<string>>();
  readonly #ofSessions = new Map<string, Set<string>>();

  /** `write` writes it into the policy file, and rejects where that cannot be done. */
  constructor(parts: { readonly write: (always: Always) => Promise<void>; readonly observer: Observer }) {
    this.#write = parts.write;
    this.#observer = parts.observer;
  }

  /** `what` names a tool of an entry and all rules that ask about it: a decision about some rules is none about the others. */
  has({ run, session }: Pick<ApprovalScope, 'run' | 'session'>, what: string): boolean {
    return (
      this.#ofRuns.get(run)?.has(what) === true ||
      this.#ofSessions.get(sessionKey(session))?.has(what) === true
    );
  }

  /** Adds a grant. One that cannot be written holds for the session, and is told in the log. */
  async add(
    decision: Decision,
    { run, session }: Pick<ApprovalScope, 'run' | 'session'>,
    what: string,
    always: Always,
  ): Promise<void> {
    if (decision === 'run') put(this.#ofRuns, run, what);
    if (decision === 'session' || decision === 'always') put(this.#ofSessions, sessionKey(session), what);
    if (decision !== 'always') return;
    try {
      await this.#write(always);
    } catch (thrown) {
      const message = `'${shownName(always.tool)}' of '${shownName(always.server)}' is allowed for this session only: ${messageOf(thrown)}`;
      this.#observer({ type: 'config.problem', file: 'the policy file', message });
    }
  }

  forgetRun(run: string): void {
    this.#ofRuns.delete(run);
  }

  /** A named session has ended. */
  forgetSession(session: string): void {
    this.#ofSessions.delete(sessionKey(session));
  }
}

/** No name of a session is taken for the bridge's own. */
const sessionKey = (session: string | undefined): string =>
  session === undefined ? '' : `session ${session}`;

function put(sets: Map<string, Set<string>>, key: string, what: string): void {
  const set = sets.get(key) ?? new Set();
  set.add(what);
  sets.set(key, set);
}

// Errors that code is given for calls that were not approved. Each error is a refusal of its own call.

const GO_ON = 'Go on without it; do not do the same in another way.';
const NO_WORD = 'no reason was given';

const deniedByUser = ({ word = '' }: Pick<ApprovalAnswer, 'word'>): BridgeError =>
  refusal(`denied by the user: ${clipHarmless(word, MAX_WORD_CHARS) || NO_WORD}`, GO_ON);

/** `seconds`: how long the question could be answered. */
export function notApproved(
  asked: Exclude<AskingEnd['is'], 'answered'>,
  rule: string,
  seconds: number,
): BridgeError {
  switch (asked) {
    case 'expired':
      return refusal(
        `not approved: nobody answered within ${seconds} s`,
        `The question has expired, and nothing was sent. Ask the user before you try again; open questions are in \`${ownCommand('approvals')}\`.`,
      );
    case 'closed':
      return refusal('not approved: the user closed the question without an answer', GO_ON);
    case 'cancelled':
      return refusal('not approved: the run has ended', 'Nothing was sent.');
    case 'nobody':
      return refusal(
        `not approved: ${rule} demands a question, and nobody can be asked`,
        'This client cannot ask its user. The user can allow the tool in the policy file, or use a client that can.',
      );
  }
}

const tooMuchToShow = (chars: number, max: number): BridgeError =>
  refusal(
    `not approved: its arguments have ${chars} characters, and a person is shown at most ${max}`,
    'Pass less in one call.',
  );

const tooManyQuestions = (max: number): BridgeError =>
  refusal(
    `not approved: the user was asked ${max} times in this run already`,
    'Make calls of one tool at once (asyncio.gather): they are one question.',
  );

const timeUsedUp = (seconds: number): BridgeError =>
  refusal(
    `not approved: the ${seconds} s for questions of one run are used up`,
    'Make the call in another run. The user sets the time with MCP_BRIDGE_APPROVE_WAIT.',
  );

export const planSavesNothing = (): BridgeError =>
  refusal('a plan saves nothing', 'Run the code without mode="plan" to save a function.');

const refusal = (message: string, remedy: string): BridgeError =>
  new BridgeError('E_DENIED', `${message}.`, { fault: 'operator', remedy });
