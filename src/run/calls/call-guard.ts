// The guard between a call and whoever answers it. Each call is judged here once, by exact name and by the policy of this
// moment; the verdict goes to the audit as it is. What is denied is refused by its rule and shown nowhere, what costs too much
// is refused by its limit, and what a person has to allow waits for them here, as the text that is sent. Handlers take calls
// that bear the guard's mark, which nothing else can put on one.

import { BridgeError } from '../../base/errors.js';
import { wellFormedJson } from '../../base/json/json-text.js';
import type { Observer } from '../../base/log/events.js';
import { didYouMean } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import { clip } from '../../base/text/text.js';
import type { StopClock } from '../../base/waiting/deadline.js';
import type { Plan, PlannedCall } from '../../policy/approvals/plan.js';
import { notApproved, planSavesNothing, type RunApprovals } from '../../policy/approvals/run-approvals.js';
import type { ApprovalVerdict } from '../../policy/rules/approval-rules.js';
import { deniedError, type Policy, type Verdict } from '../../policy/rules/policy.js';
import type { ServerTool } from '../../servers/server/tool-list.js';
import type { CallMethod, ServerDoc, ToolDoc, ToolHit } from '../../wire/frames.js';
import type { CallAudit } from './call-audit.js';
import type { CallLimits, CallTurn } from './call-limits.js';
import { type CallTarget, type GuestCall, keptName } from './guest-call.js';

/** The guard's mark. It is not exported, so that no other file can make an Admitted. */
const ADMITTED = Symbol('admitted');

/** A call that policy allows, by the rule in its verdict. */
export type Admitted<M extends CallMethod = CallMethod> = GuestCall<M> & {
  readonly verdict: Verdict & { readonly allowed: true };
  readonly [ADMITTED]: true;
};

/**
 * Who answers which method: with a value for the reply, or by throwing a BridgeError for the refusal. `stopClock` is for what
 * is asked of a server, while that has a person asked.
 */
export type Handlers = {
  readonly [M in CallMethod]: (call: Admitted<M>, signal: AbortSignal, stopClock: StopClock) => unknown;
};

/** A call of a tool, as its verdict needs it. */
type ToolTarget = Extract<CallTarget, { readonly kind: 'tool' }>;

/** A verdict, and the error that it is to the caller; undefined where it allows. */
type PolicyDecision = {
  readonly verdict: Verdict;
  readonly refusal: BridgeError | undefined;
  /** Verdict on a call of a tool that the run has, where the call has to wait for a person. */
  readonly asks?: ApprovalVerdict;
  /** True for a call that a plan does not make. */
  readonly isPlanned?: boolean;
  /** Nobody has judged its arguments, since the run has no such tool: it must not have one when the call is answered. */
  readonly isOfNoTool?: boolean;
};

const UNJUDGED: PolicyDecision = { verdict: { allowed: true, rule: 'no rule' }, refusal: undefined };
const MAX_TOLD_CHARS = 500;

export class CallGuard {
  readonly #parts;

  constructor(parts: {
    readonly runId: string;
    readonly policy: () => Policy;
    readonly limits: CallLimits;
    readonly audit: CallAudit;
    readonly handlers: Handlers;
    /** A server of the run whole, with what policy hides of it; undefined for one that the run has not. */
    readonly whole: (server: string) => ServerDoc | undefined;
    /** Changes that a server has made to a tool by now, in words; null where there are none. */
    readonly changed: (server: string, tool: string) => string | null;
    /** Claims of the server about a tool, as of now; undefined where the server cannot be reached. */
    readonly said: (
      server: string,
      tool: string,
      signal: AbortSignal,
    ) => Promise<Pick<ServerTool, 'hints' | 'inputSchema'> | undefined>;
    /** Id of the principal. */
    readonly principal: string;
    /** Where a call waits for a person; undefined where nobody can be asked, and then such a call is refused. */
    readonly approvals: Pick<RunApprovals, 'pass'> | undefined;
    /** The plan of a run that only plans. */
    readonly plan?: Plan | undefined;
    readonly turn: CallTurn;
    readonly observer: Observer;
  }) {
    this.#parts = parts;
  }

  /** The value for the reply. Throws a BridgeError for the refusal; what is asked of a server goes to the audit either way. */
  async answer(call: GuestCall, signal: AbortSignal): Promise<unknown> {
    const { target } = call;
    const { plan } = this.#parts;
    if (plan !== undefined && call.method === 'saved.put') throw planSavesNothing();
    const ofPolicy = this.#judge(target);
    if (target.kind === 'lookup' || target.kind === 'no server')
      return this.#visiblePart(call, await this.#pass(admit(call, ofPolicy), signal));
    const isWhole = target.kind !== 'tool' || ofPolicy.refusal !== undefined || !this.#looksAtArguments;
    const judgement = isWhole ? ofPolicy : await this.#judgeCall(call, target, ofPolicy, signal);
    if (judgement.isPlanned === true && target.kind === 'tool')
      return await writePlanned(plan, { server: target.server, tool: target.name, text: sentText(call) });
    const work = () =>
      this.#tellingRefusals(target, () => this.#pass(admit(call, judgement), signal, judgement));
    return await this.#parts.audit.record({ call, target, verdict: judgement.verdict }, work, signal);
  }

  /** Whether what a call says, and what its server says of its tool, can make a difference. */
  get #looksAtArguments(): boolean {
    return this.#parts.plan !== undefined || this.#parts.policy().approvals.isOn;
  }

  /** Judges by policy a call of a tool that policy allows as such. */
  async #judgeCall(
    call: GuestCall,
    { server, name: tool }: ToolTarget,
    ofPolicy: PolicyDecision,
    signal: AbortSignal,
  ): Promise<PolicyDecision> {
    const { plan, principal, policy, said } = this.#parts;
    // A call of a tool that the run has not will be refused. Nothing is started, and nobody is asked, for what does not exist.
    if (!this.#hasTool(server, tool)) return { ...ofPolicy, isOfNoTool: true };
    const argumentsText = sentText(call);
    const { hints, inputSchema } = (await said(server, tool, signal)) ?? {};
    const facts = { server, tool, principal, argumentsText, hints, inputSchema };
    const { approvals } = policy();
    const approval = approvals.judge(facts);
    const { is, rule } = approval;
    if (is === 'deny')
      return decisionOf(
        { allowed: false, rule },
        `This call of tool '${shownName(tool)}' of server '${shownName(server)}'`,
      );
    if (plan !== undefined && (plan.isAtWrite || !approvals.isRead(facts)))
      return { ...ofPolicy, isPlanned: true };
    return is === 'ask' ? { ...ofPolicy, verdict: { allowed: true, rule }, asks: approval } : ofPolicy;
  }

  #hasTool(server: string, tool: string): boolean {
    return this.#parts.whole(server)?.tools.some(({ name }) => name === tool) === true;
  }

  /** Resolves when a person has allowed it. Throws what they said instead. */
  async #waitForApproval(
    call: GuestCall,
    { server, name: tool }: ToolTarget,
    verdict: ApprovalVerdict,
    signal: AbortSignal,
  ): Promise<void> {
    const { approvals } = this.#parts;
    if (approvals === undefined) throw notApproved('nobody', verdict.rule, 0);
    await approvals.pass({ server, tool, text: sentText(call), verdict }, signal);
    signal.throwIfAborted();
    // The tool may have been denied while the person thought.
    const { refusal } = this.#judge({ kind: 'tool', server, name: tool });
    if (refusal !== undefined) throw refusal;
  }

  /** From the guard to the handler, within the limits. */
  async #pass(
    call: Admitted,
    signal: AbortSignal,
    { asks, isOfNoTool = false }: Partial<PolicyDecision> = {},
  ): Promise<unknown> {
    const { limits, handlers, whole, turn } = this.#parts;
    const { target, argumentsText } = call;
    if (target.kind === 'tool' && asks !== undefined) {
      // Ask nobody about a call beyond the limits; a call that a person refuses counts too.
      limits.begin({ ...target, argumentsText });
      await this.#waitForApproval(call, target, asks, signal);
    }
    const ask = (ends: AbortSignal, stopClock: StopClock = () => () => {}) => {
      if (isOfNoTool && target.kind === 'tool' && this.#hasTool(target.server, target.name))
        throw loadedMeanwhile(target);
      return handlerOf(handlers, call)(ends, stopClock);
    };
    if (target.kind === 'tool' || target.kind === 'request') {
      if (asks === undefined) limits.begin({ ...target, argumentsText });
      return await limits.hold(target, ask, signal);
    }
    // Starting a server is a call of it. A person may have to be asked first, so nothing limits how long it takes.
    if (target.kind === 'start' && whole(target.server) === undefined) limits.count(target.server);
    using _turn = await turn(undefined, signal);
    signal.throwIfAborted();
    return await ask(signal);
  }

  #judge(target: CallTarget): PolicyDecision {
    if (target.kind === 'no server') return UNJUDGED;
    const { server } = target;
    const policy = this.#parts.policy();
    const ofServer = decisionOf(policy.server(server), `Server '${shownName(server)}'`);
    if (ofServer.refusal !== undefined) return ofServer;
    if (target.kind === 'tool') return this.#judgeTool(server, target.name, policy);
    if (target.kind === 'request')
      return decisionOf(
        policy.request(server, target.name),
        `'${shownName(target.name)}' of server '${shownName(server)}'`,
      );
    return ofServer;
  }

  #judgeTool(server: string, name: string, policy: Policy): PolicyDecision {
    const { whole, changed } = this.#parts;
    const subject: Pick<ToolDoc, 'name' | 'changed'> = {
      name,
      // As the run's server is now: it may have listed its tools anew since it was loaded.
      get changed() {
        return changed(server, name);
      },
    };
    const verdict = policy.tool(server, subject);
    if (verdict.allowed) return { verdict, refusal: undefined };
    const tools = whole(server)?.tools ?? [];
    const isKnown = tools.some((tool) => tool.name === name);
    // A mistyped name is on no allow list either.
    const hint = isKnown ? '' : didYouMean(name, namesOf(tools.filter(this.#maySee(server))));
    return decisionOf(verdict, `Tool '${shownName(name)}' of server '${shownName(server)}'`, hint);
  }

  #maySee(server: string): (tool: ToolDoc) => boolean {
    return (tool) => this.#parts.policy().tool(server, tool).allowed;
  }

  /** Drops denied tools from an answer: the handler has left them out already, and none gets through here. */
  #visiblePart({ method, target }: GuestCall, answer: unknown): unknown {
    if (target.kind === 'lookup') return (answer as readonly ToolDoc[]).filter(this.#maySee(target.server));
    if (method !== 'docs.search') return answer;
    return (answer as readonly ToolHit[]).filter(({ server, tool }) => this.#maySee(server)(tool));
  }

  /** Reports a refusal by policy as an event, besides what the audit is told. */
  async #tellingRefusals<T>(
    target: { readonly server: string; readonly name: string },
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      // Among the handlers, only the one that loads a server throws one of these codes, and that is a refusal too.
      if (thrown instanceof BridgeError && ['E_DENIED', 'E_LIMIT'].includes(thrown.code))
        this.#tellRefusal(target, thrown);
      throw thrown;
    }
  }

  #tellRefusal(
    target: { readonly server: string; readonly name: string },
    { code, message }: BridgeError,
  ): void {
    const { runId: run, observer } = this.#parts;
    const [server, tool] = [target.server, target.name].map((name) => keptName(name)) as [string, string];
    observer({ type: 'run.refused', run, server, tool, code, message: clip(message, MAX_TOLD_CHARS) });
  }
}

/** The arguments as the handler of the call sends them. */
const sentText = ({ argumentsText }: GuestCall): string => wellFormedJson(argumentsText);

const writePlanned = (plan: Plan | undefined, call: PlannedCall): Promise<never> =>
  plan?.write(call) ?? Promise.reject(new Error('a planned call without a plan'));

const loadedMeanwhile = ({ server }: ToolTarget): BridgeError =>
  new BridgeError(
    'E_SERVER_NOT_LOADED',
    `Server '${shownName(server)}' was not loaded when this was called.`,
    {
      fault: 'guest',
      remedy: 'It is loaded now: make the same call again.',
    },
  );

/** The one place where a call gets the guard's mark. Throws the refusal of one that is denied. */
function admit(call: GuestCall, { verdict, refusal }: PolicyDecision): Admitted {
  if (refusal !== undefined) throw refusal;
  return { ...call, verdict: { ...verdict, allowed: true }, [ADMITTED]: true };
}

const decisionOf = (verdict: Verdict, what: string, hint = ''): PolicyDecision => ({
  verdict,
  refusal: verdict.allowed ? undefined : deniedError(what, verdict, hint),
});

const handlerOf =
  <M extends CallMethod>(handlers: Handlers, call: Admitted<M>) =>
  (signal: AbortSignal, stopClock: StopClock): unknown =>
    (handlers[call.method] as Handlers[M])(call, signal, stopClock);

const namesOf = (tools: readonly ToolDoc[]): string[] => tools.map(({ name }) => name);
