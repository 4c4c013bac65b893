// A run's view of the session that the run is a call of. The session itself outlives the run (run/sessions/).

import type { SessionFacts } from '../../wire/frames.js';

export type SessionUse = {
  readonly name: string;
  /** The session's name with its handle, which no other session has: what a person has allowed in it is allowed in no other. */
  readonly title: string;
  /** For the code, as it is now. */
  readonly facts: () => SessionFacts;
  /** Servers of this call that code of earlier calls gets as well; each is asked for like one that code asks for. */
  readonly added: readonly string[];
  /** The interpreter waits for the next call; `goesOn` where its code has asked not to stand still until then. */
  readonly answered: (goesOn: boolean) => void;
  /** Says that the session's sandbox is about to be ended, and why, in words that follow "it has ended:". */
  readonly willEnd: (why: string) => void;
};
