// The lines of the audit: what is kept of a run and of a tool call, and of lines that were lost, and how a line is read back. A
// line that is torn or of another version is no line.

import type { RunStatus } from '../events.js';
import type { TextDigest } from './digest.js';

/**
 * A run that has ended, or that was refused before it began. Times are ISO 8601 in UTC; `at` is when it began, or was
 * refused.
 */
export type RunLine = {
  readonly kind: 'run';
  readonly at: string;
  readonly run: string;
  /** Id of the principal that asked; absent where it was the user who started the bridge. */
  readonly principal?: string;
  /** Name and version of the agent's program, as it says. */
  readonly client: string;
  /** Servers that the run had, also those that it got while it ran. */
  readonly servers: readonly string[];
  /** Data folders that its code could see, by their paths in the sandbox; one that it could write has `:rw`. */
  readonly data?: readonly string[];
  /** Absent in lines of earlier versions, which knew Python only. */
  readonly language?: string;
  readonly code: TextDigest;
  /** The beginning of a command's argument vector; absent for other runs. */
  readonly argumentsText?: string;
  readonly timeoutSeconds: number;
  readonly status: RunStatus | 'refused';
  /** Why it failed or was refused: the class of the exception or a code of ours, and the beginning of its message's first line. */
  readonly error?: { readonly kind: string; readonly message: string };
  readonly durationMs: number;
  readonly calls: number;
  /** Number of the run's calls that had a line of their own when it ended; older lines make room for newer ones. */
  readonly listed?: number;
  /** How many of its tool calls never had a line. */
  readonly notListed: number;
  /** How many runs were refused before this one, since the last line, that have no line: there were too many. */
  readonly moreRefused?: number;
};

/** A tool call that has ended; `at` is when. `call` counts within its run. */
export type CallLine = {
  readonly kind: 'call';
  readonly at: string;
  readonly run: string;
  readonly principal?: string;
  readonly call: number;
  readonly server: string;
  readonly tool: string;
  /** The policy's, with the rule that it comes from. */
  readonly verdict: 'allowed' | 'denied';
  readonly rule: string;
  /** Code of what it failed with, also where the server answered that its tool has failed; then there is a result too. */
  readonly error?: string;
  readonly durationMs: number;
  readonly arguments: TextDigest;
  readonly result?: TextDigest;
  readonly argumentsText?: string;
};

/** A question to a person about calls of a run, that has ended; `at` is when. */
export type QuestionLine = {
  readonly kind: 'question';
  readonly at: string;
  readonly run: string;
  readonly principal?: string;
  /** Id of the question. */
  readonly question: string;
  readonly server: string;
  readonly tool: string;
  /** The arguments of each call, by size and digest; only of the first ones, where there are many. */
  readonly calls: readonly TextDigest[];
  /** How many calls it was about. */
  readonly callCount: number;
  /** Which rule asked. */
  readonly rule: string;
  /** The decision: once, run, session, always or no; or why there was none: expired, cancelled, closed or nobody. */
  readonly answer: string;
  /** The person's word with a `no`, or the reason of an `always`. */
  readonly word?: string;
  /** Way by which the answer came (agent, page, command line), and the person who gave it, as far as known. */
  readonly by?: string;
  readonly who?: string;
  readonly durationMs: number;
};

/**
 * Somebody who came in over HTTP, once in an hour for each address; or a request that was refused because of who sent it.
 * Never with a credential.
 */
export type LoginLine = {
  readonly kind: 'login';
  readonly at: string;
  /** Id of the principal; absent where nobody knows whose credential it was. */
  readonly principal?: string;
  readonly outcome: 'accepted' | 'refused';
  /** Address of the sender; `a unix socket` for one without. */
  readonly remote: string;
  /** Method of the HTTP request. */
  readonly method: string;
  /** Status of the HTTP answer, and the reason that it gave; absent where it was accepted. */
  readonly status?: number;
  readonly reason?: string;
  /** How many like it, since the last line, have no line: there were too many. */
  readonly notListed?: number;
};

/** Lines of one bridge that the disk did not take; `at` is when it took lines again, `since` when the first was lost. */
export type LostLine = {
  readonly kind: 'lost';
  readonly at: string;
  readonly since: string;
  readonly lines: number;
};

export type AuditLine = RunLine | CallLine | QuestionLine | LoginLine | LostLine;

/** Undefined for what nobody has written whole. */
export function parseAuditLine(text: string): AuditLine | undefined {
  try {
    const line = JSON.parse(text) as Partial<
      Record<keyof RunLine | keyof CallLine | keyof LoginLine | keyof LostLine, unknown>
    > | null;
    const isLost =
      line?.kind === 'lost' &&
      typeof line.at === 'string' &&
      typeof line.since === 'string' &&
      typeof line.lines === 'number';
    const isLogin =
      line?.kind === 'login' &&
      typeof line.at === 'string' &&
      typeof line.outcome === 'string' &&
      typeof line.remote === 'string';
    const isLine =
      isLost ||
      isLogin ||
      ((line?.kind === 'run' || line?.kind === 'call' || line?.kind === 'question') &&
        typeof line.at === 'string' &&
        typeof line.run === 'string' &&
        typeof line.durationMs === 'number' &&
        (line.kind === 'run' ? Array.isArray(line.servers) : typeof line.server === 'string'));
    return isLine ? (line as unknown as AuditLine) : undefined;
  } catch {
    return undefined;
  }
}
