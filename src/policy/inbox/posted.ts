// A question that was put into the inbox, from then until it is forgotten. It ends once: answered, or taken away.

import type { ApprovalAnswer, Question } from '../approvals/question.js';

export type PostedState =
  | { readonly at: 'open' }
  /** `why` says how it ended, as the rest of a sentence about it: `expired`, `denied by ann on the page`. */
  | { readonly at: 'closed'; readonly why: string; readonly sinceMs: number };

export type Posted = {
  readonly question: Question;
  /** Digest of the text that was written for the question; an answer has to name the digest. */
  readonly digest: string;
  readonly state: PostedState;
};

/** Outcome of an answer: it is taken, or why not. */
export type TakenAnswer =
  | { readonly is: 'taken' }
  /** The question has ended already; `why` as above. */
  | { readonly is: 'late'; readonly why: string }
  | { readonly is: 'wrong'; readonly why: string };

/** Part of the inbox that the page knows. */
export interface PostedQuestions {
  /** Questions of this principal, the newest first; the ones that have ended not long ago are among them. */
  of(principal: string | undefined): readonly Posted[];
  /** Whether anything of anybody waits. */
  isAnyOpen(): boolean;
  answer(id: string, answer: ApprovalAnswer): TakenAnswer;
  /** Calls `listener` after each change; returns how to take it back. */
  onChange(listener: () => void): () => void;
}

/** Where a browser shows the questions of an inbox. */
export interface PostedPage extends AsyncDisposable {
  /** The address of one question. */
  linkTo(question: Question): string;
}

/** Rejects where no page can be opened; calls `onEnd` when the page has ended by itself. */
export type OpenPage = (
  source: PostedQuestions,
  options: { readonly onEnd: () => void },
) => Promise<PostedPage>;
