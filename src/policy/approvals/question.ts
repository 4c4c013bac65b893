// A question to a person about calls that wait, and where it waits besides the agent.

/** Decisions that a question may have; `always` is written into the policy file. */
export type Decision = 'once' | 'run' | 'session' | 'always' | 'no';
type AnsweredBy = 'agent' | 'page' | 'command line';
export type ApprovalAnswer = {
  readonly decision: Decision;
  /** Comment of a person on a `no`, or the reason of an `always`. */
  readonly word?: string;
  readonly by: AnsweredBy;
  /** Who, as far as known: a user's name, a client. */
  readonly who: string;
};
export type AskedCall = {
  /** The arguments as they will be sent, JSON text. */
  readonly arguments: string;
};
export type Question = {
  /** `q-` and 16 letters and digits (drawnLetters). */
  readonly id: string;
  readonly object: {
    readonly kind: 'tool';
    readonly server: string;
    readonly tool: string;
    readonly calls: readonly AskedCall[];
  };
  /** Which rule asks, as a noun. */
  readonly rule: string;
  readonly run: string;
  readonly client: string;
  /** Undefined for the local user. */
  readonly principal: string | undefined;
  /** Name of the session, where the run is one of a session. */
  readonly session: string | undefined;
  /** Which decisions are offered. */
  readonly offers: readonly Decision[];
  /** ISO 8601. */
  readonly askedAt: string;
  readonly expiresAt: string;
};
/** Where a question waits besides the agent: the page and the command line. */
export interface Inbox extends AsyncDisposable {
  /** Puts it where it can be answered. `answered` resolves once, never rejects; it stays pending when withdrawn. */
  post(question: Question): {
    readonly answered: Promise<ApprovalAnswer>;
    /** Takes it away; `why` is told to whoever looks: answered elsewhere, expired, cancelled. */
    readonly withdraw: (why: string) => void;
  };
  /** The page of one question for URL elicitation and messages; undefined where there is no page. Starts it on first need. */
  pageOf(id: string): Promise<string | undefined>;
}
