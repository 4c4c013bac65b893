// Persons who answer questions about calls, without a client and without a page: an agent whose dialogs a test answers, and an
// inbox in memory.

import type { BridgeEvent } from '../../src/base/log/events.js';
import { Dialogs } from '../../src/policy/approvals/asking.js';
import type { ApprovalAnswer, Inbox, Question } from '../../src/policy/approvals/question.js';
import {
  type ApprovalScope,
  Grants,
  RunApprovals,
  type SharedApprovals,
} from '../../src/policy/approvals/run-approvals.js';
import type { Always } from '../../src/policy/rules/always-allowed.js';
import { type AgentCapabilities, NO_AGENT } from '../../src/servers/asking/agent-capabilities.js';

/** An inbox in which `answer` answers each question; one that it gives nothing for stays. */
export class MemoryInbox implements Inbox {
  readonly posted: Question[] = [];
  readonly withdrawn: string[] = [];
  readonly #answer: (question: Question) => Promise<ApprovalAnswer> | undefined;
  page: string | undefined;

  constructor(answer: (question: Question) => Promise<ApprovalAnswer> | undefined = () => undefined) {
    this.#answer = answer;
  }

  post(question: Question): ReturnType<Inbox['post']> {
    this.posted.push(question);
    return {
      answered: this.#answer(question) ?? new Promise(() => {}),
      withdraw: (why) => void this.withdrawn.push(why),
    };
  }

  async pageOf(id: string): Promise<string | undefined> {
    return this.page === undefined ? undefined : `${this.page}/${id}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

type Params = Readonly<Record<string, unknown>>;
export type AskedAgent = AgentCapabilities & {
  readonly asked: Params[];
  /** How many questions were taken back. */
  readonly takenBack: () => number;
};

/** An agent that answers each dialog with what `answer` gives. */
export function askedAgent(
  answer: (params: Params, signal: AbortSignal) => Promise<Params>,
  offers = { form: true, url: false },
): AskedAgent {
  const asked: Params[] = [];
  let takenBack = 0;
  return {
    ...NO_AGENT,
    client: {},
    asked,
    takenBack: () => takenBack,
    elicits: () => offers,
    elicit: (params, signal) => {
      asked.push(params);
      signal.addEventListener('abort', () => takenBack++);
      return answer(params, signal);
    },
  };
}

export const decided = (decision: string, word?: string): Params => ({
  action: 'accept',
  content: { decision, ...(word === undefined ? {} : { word }) },
});
export const later = <T>(ms: number, value: T): Promise<T> =>
  new Promise((resolve) => setTimeout(() => resolve(value), ms));
export const never = (): Promise<never> => new Promise(() => {});

type Parts = {
  readonly agent?: AgentCapabilities;
  readonly inbox?: Inbox | undefined;
  readonly waitSeconds?: number;
  readonly canWrite?: boolean;
  readonly principal?: string;
};

/** Approvals that runs of one bridge share, and runs of that bridge. */
export function approvalsWith({ agent = NO_AGENT, inbox, waitSeconds = 60, ...parts }: Parts) {
  const events: BridgeEvent[] = [];
  const written: Always[] = [];
  const clock: string[] = [];
  const observer = (event: BridgeEvent) => void events.push(event);
  const write = async (always: Always) => void written.push(always);
  const shared: SharedApprovals = {
    principal: parts.principal,
    isLocal: parts.principal === undefined,
    inbox,
    dialogs: new Dialogs(),
    grants: new Grants({ write, observer }),
    waitSeconds,
    canWrite: () => parts.canWrite ?? false,
    observer,
  };
  const run = (id = 'run-1', scope: Partial<ApprovalScope> = {}) =>
    new RunApprovals(
      {
        run: id,
        client: 'tester 1',
        agent,
        session: undefined,
        isRun: true,
        stopClock: () => {
          clock.push('stop');
          return () => void clock.push('go');
        },
        ...scope,
      },
      shared,
    );
  return { shared, run, events, written, clock };
}
