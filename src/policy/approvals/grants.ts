// Grants of persons for more than one call: in a run, in a session, always. By the tool and never by its arguments.

import { messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { shownName } from '../../base/text/shown-name.js';
import type { Decision } from './question.js';

/** Whose calls; a run that is one of no named session has that of its bridge. */
type GrantScope = { readonly run: string; readonly session: string | undefined };

/** The tool that is allowed for good. */
export type Always = {
  readonly server: string;
  readonly tool: string;
  /** Key that tells the server's entry from others of its name. */
  readonly entry?: string;
  readonly reason: string | undefined;
};

type GrantParts = {
  /** Writes it into the policy file; rejects where that cannot be done. */
  readonly write: (always: Always) => Promise<void>;
  readonly observer: Observer;
};

export class Grants {
  readonly #parts: GrantParts;
  readonly #ofRuns = new Map<string, Set<string>>();
  readonly #ofSessions = new Map<string, Set<string>>();

  constructor(parts: GrantParts) {
    this.#parts = parts;
  }

  /** `what` names a tool of an entry and all rules that ask about it: a decision about some of them is none about the others. */
  has({ run, session }: GrantScope, what: string): boolean {
    return (
      this.#ofRuns.get(run)?.has(what) === true ||
      this.#ofSessions.get(sessionKey(session))?.has(what) === true
    );
  }

  /** Adds a grant. One that cannot be written holds for the session, and is told in the log. */
  async add(decision: Decision, { run, session }: GrantScope, what: string, always: Always): Promise<void> {
    if (decision === 'run') put(this.#ofRuns, run, what);
    if (decision === 'session' || decision === 'always') put(this.#ofSessions, sessionKey(session), what);
    if (decision !== 'always') return;
    try {
      await this.#parts.write(always);
    } catch (thrown) {
      const message = `'${shownName(always.tool)}' of '${shownName(always.server)}' is allowed for this session only: ${messageOf(thrown)}`;
      this.#parts.observer({ type: 'config.problem', file: 'the policy file', message });
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
