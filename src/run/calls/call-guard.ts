// The guard between a call and whoever answers it. Each call is judged here once, by exact name and by the policy of this
// moment; the verdict goes to the audit as it is. What is denied is refused by its rule and shown nowhere, what costs too
// much is refused by its limit. Handlers take calls that bear the guard's mark, which nothing else can put on one.

import { didYouMean } from '../../base/closest.js';
import { BridgeError } from '../../base/errors.js';
import type { Observer } from '../../base/events.js';
import { clip } from '../../base/text.js';
import type { CallMethod, ServerDoc, ToolDoc, ToolHit } from '../../protocol/frames.js';
import { denied, type JudgedTool, type Policy, type Verdict } from '../policy/policy.js';
import type { CallAudit } from './call-audit.js';
import type { CallLimits } from './call-limits.js';
import type { CallTarget, GuestCall } from './guest-call.js';

/** The guard's mark. It is not exported, so that no other file can make an Admitted. */
const ADMITTED = Symbol('admitted');

/** A call that policy allows, by the rule in its verdict. */
export type Admitted<M extends CallMethod = CallMethod> = GuestCall<M> & {
  readonly verdict: Verdict & { readonly allowed: true };
  readonly [ADMITTED]: true;
};

/** Who answers which method: with a value for the reply, or by throwing a BridgeError for the refusal. */
export type Handlers = {
  readonly [M in CallMethod]: (call: Admitted<M>, signal: AbortSignal) => unknown;
};

/** Resolves when a call may begin, also when `signal` ends the wait; what it gives is disposed of when the call has ended. */
export type CallTurn = (signal: AbortSignal) => Promise<Disposable>;

export type CallGuardParts = {
  readonly runId: string;
  readonly policy: () => Policy;
  readonly limits: CallLimits;
  readonly audit: CallAudit;
  readonly handlers: Handlers;
  /** A server of the run whole, with what policy hides of it; undefined for one that the run has not. */
  readonly whole: (server: string) => ServerDoc | undefined;
  /** What a server has changed of a tool by now, in words; null where nothing. */
  readonly changed: (server: string, tool: string) => string | null;
  readonly turn?: CallTurn | undefined;
  readonly observer: Observer;
};

/** A verdict, and the error that it is to the caller; undefined where it allows. */
type PolicyDecision = { readonly verdict: Verdict; readonly refusal: BridgeError | undefined };

const UNJUDGED: PolicyDecision = { verdict: { allowed: true, rule: 'no rule' }, refusal: undefined };
/** Names and reasons in events: hostile code chooses the names. */
const MAX_TOLD_CHARS = 500;

export class CallGuard {
  readonly #parts: CallGuardParts;

  constructor(parts: CallGuardParts) {
    this.#parts = parts;
  }

  /** The value for the reply. Throws a BridgeError for the refusal; what is asked of a server is told to the audit either way. */
  async answer(call: GuestCall, signal: AbortSignal): Promise<unknown> {
    const { target } = call;
    const judgement = this.#judge(target);
    if (target.kind === 'lookup' || target.kind === 'no server')
      return this.#visible(call, await this.#pass(admit(call, judgement), signal));
    const work = () => this.#tellingRefusals(target, () => this.#pass(admit(call, judgement), signal));
    return await this.#parts.audit.record({ call, target, verdict: judgement.verdict }, work, signal);
  }

  /** From the guard to the handler, within the limits. */
  async #pass(call: Admitted, signal: AbortSignal): Promise<unknown> {
    const { limits, handlers, whole, turn } = this.#parts;
    const { target, argumentsText } = call;
    using _turn = await turn?.(signal);
    signal.throwIfAborted();
    const ask = (ends: AbortSignal) => handlerOf(handlers, call)(ends);
    if (target.kind === 'tool' || target.kind === 'request')
      return await limits.hold({ ...target, argumentsText }, ask, signal);
    // Starting a server is a call of it. A person may have to be asked first, so nothing limits how long it takes.
    if (target.kind === 'start' && whole(target.server) === undefined) limits.count(target.server);
    return await ask(signal);
  }

  #judge(target: CallTarget): PolicyDecision {
    if (target.kind === 'no server') return UNJUDGED;
    const { server } = target;
    const policy = this.#parts.policy();
    const ofServer = judged(policy.server(server), `Server '${server}'`);
    if (ofServer.refusal !== undefined) return ofServer;
    if (target.kind === 'tool') return this.#judgeTool(server, target.name, policy);
    if (target.kind === 'request')
      return judged(policy.request(server, target.name), `'${target.name}' of server '${server}'`);
    return ofServer;
  }

  #judgeTool(server: string, name: string, policy: Policy): PolicyDecision {
    const { whole, changed } = this.#parts;
    const subject: JudgedTool = {
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
    return judged(verdict, `Tool '${name}' of server '${server}'`, hint);
  }

  #maySee(server: string): (tool: ToolDoc) => boolean {
    return (tool) => this.#parts.policy().tool(server, tool).allowed;
  }

  /** Whoever answers has left out what is denied; here nothing of it gets through. */
  #visible({ method, target }: GuestCall, answer: unknown): unknown {
    if (target.kind === 'lookup') return (answer as readonly ToolDoc[]).filter(this.#maySee(target.server));
    if (method !== 'docs.search') return answer;
    return (answer as readonly ToolHit[]).filter(({ server, tool }) => this.#maySee(server)(tool));
  }

  /** What is refused by policy is an event, besides what the audit is told. */
  async #tellingRefusals<T>(target: Told, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      // Among the handlers, only the one that loads a server throws one of these codes, and that is a refusal too.
      if (thrown instanceof BridgeError && ['E_DENIED', 'E_LIMIT'].includes(thrown.code))
        this.#tellRefusal(target, thrown);
      throw thrown;
    }
  }

  #tellRefusal(target: Told, { code, message }: BridgeError): void {
    const { runId: run, observer } = this.#parts;
    const [server = '', tool = '', why = ''] = [target.server, target.name, message].map((text) =>
      clip(text, MAX_TOLD_CHARS),
    );
    observer({ type: 'run.refused', run, server, tool, code, message: why });
  }
}

type Told = { readonly server: string; readonly name: string };

/** The one place where a call gets the guard's mark. Throws the refusal of one that is denied. */
function admit(call: GuestCall, { verdict, refusal }: PolicyDecision): Admitted {
  if (refusal !== undefined) throw refusal;
  return { ...call, verdict: { ...verdict, allowed: true }, [ADMITTED]: true };
}

const judged = (verdict: Verdict, what: string, hint = ''): PolicyDecision => ({
  verdict,
  refusal: verdict.allowed ? undefined : denied(what, verdict, hint),
});

const handlerOf =
  <M extends CallMethod>(handlers: Handlers, call: Admitted<M>) =>
  (signal: AbortSignal): unknown =>
    (handlers[call.method] as Handlers[M])(call, signal);

const namesOf = (tools: readonly ToolDoc[]): string[] => tools.map(({ name }) => name);
