// Data that the page is sent: the browser puts every text of it into the document as text.

import type { Decision } from '../../policy/approvals/question.js';
import type { SeenQuestion, ToolSums } from '../gather/history.js';
import type { BridgeFacts, Recorded, SeenCall, SeenRun } from '../told/told.js';

/** A bridge that is there; of one that serves many, whoever is one of them is told their own servers and nothing else. */
export type ShownBridge = BridgeFacts | Pick<BridgeFacts, 'servers'>;

/** Runs that are under way, and how many bridges are there. */
export type ShownNow = {
  readonly bridges: number;
  readonly running: readonly {
    readonly seen: SeenRun;
    readonly calls: readonly SeenCall[];
    readonly recorded: Recorded | null;
  }[];
  readonly questions: number;
};

export type ShownRun = {
  readonly seen: SeenRun;
  readonly calls: readonly SeenCall[];
  readonly questions: readonly SeenQuestion[];
  readonly recorded: Recorded | null;
};

/** A file that a run has left, and that can be saved from the page. */
export type ShownFile = {
  readonly name: string;
  readonly bytes: number;
  /** As which kind of content the page shows it; absent where it can only be saved. */
  readonly shows?: 'text' | Recorded['pictures'][number]['kind'];
};

/** A question that waits; `token` goes with its answer. */
export type ShownQuestion = {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly rule: string;
  readonly run: string;
  readonly client: string;
  readonly principal?: string;
  readonly session?: string;
  readonly askedAt: string;
  readonly expiresAt: string;
  readonly offers: readonly Decision[];
  /** The arguments of each call in lines, as pieces that browsers colour. Undefined where they are too long for a page. */
  readonly calls: readonly (readonly { readonly is: string; readonly text: string }[])[] | undefined;
  readonly callCount: number;
  readonly token: string;
};

/** A question that has ended not long ago, and how. */
export type ShownEnd = {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  /** A sentence without its end. */
  readonly why: string;
  /** ISO 8601. */
  readonly at: string;
};

/** A session that is alive; `token` goes with the wish to end it. */
export type ShownSession = {
  readonly handle: string;
  readonly name: string;
  readonly client: string;
  readonly principal?: string;
  readonly createdAt: string;
  readonly lastCallAt: string;
  readonly calls: number;
  readonly heldBytes?: number;
  readonly memoryLimitBytes: number;
  readonly token: string;
};

export type ShownTools = {
  readonly tools: readonly ToolSums[];
};

export type ViewName = 'now' | 'questions' | 'runs' | 'sessions' | 'bridges' | 'tools' | 'verdicts';

/** Names of the data that have changed, told to every page that is open. */
export type Changed = readonly ('now' | 'bridges' | 'runs' | 'questions' | 'sessions')[];

/** Words of the buttons that answer a question. */
export const BUTTONS: Readonly<Record<Decision, string>> = {
  once: 'Allow once',
  run: 'For this run',
  session: 'For this session',
  always: 'Always',
  no: 'Deny',
};
