// Reads back what the audit of all bridges of this user holds: runs with their calls, and logins; which of them are
// asked for, and the words that a list and a line of them have in common.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL_USER, nameInId } from '../../base/principal.js';
import { dayOf, durationOf, instantOf } from '../../base/text/moments.js';
import { AUDIT_SUFFIX } from '../../run/audit/audit-files.js';
import {
  type AuditLine,
  type CallLine,
  type LoginLine,
  type LostLine,
  parseAuditLine,
  type QuestionLine,
  type RunLine,
} from '../../run/audit/audit-line.js';
import { usageError, visibleText } from '../terminal/output.js';

export type RunsOptions = {
  /** How many; without it 20, and all where `since` says from when. */
  readonly last?: number;
  readonly failed?: true;
  readonly server?: string;
  readonly principal?: string;
  readonly since?: string;
  /** A run, or the beginning of its name. */
  readonly calls?: string;
  readonly logins?: true;
  readonly follow?: true;
  readonly json?: true;
};

/** The moment of `--since` in ms since 1970. Throws E_ARGUMENTS. */
export function sinceFrom(text: string, nowMs = Date.now()): number {
  const agoMs = durationOf(text);
  const atMs = agoMs === undefined ? (dayOf(text) ?? instantOf(text)) : nowMs - agoMs;
  if (atMs !== undefined) return atMs;
  throw usageError(
    `--since is '${visibleText(text)}'; allowed: a time up to now such as 30m, 12h or 7d, a date such as 2026-12-31 (UTC), or a moment such as 2026-12-31T12:00Z.`,
    'Write one of these.',
  );
}

/** Which lines of the audit are asked for. */
export type Wanted = {
  readonly run: (run: AuditedRun) => boolean;
  readonly login: (login: LoginLine) => boolean;
};

export function wantedBy({ failed, server, principal }: RunsOptions, since: number | undefined): Wanted {
  const isTheirs = (id = LOCAL_USER.id): boolean =>
    principal === undefined || principal === id || principal === nameInId(id);
  const isSince = (at: string): boolean => since === undefined || Date.parse(at) >= since;
  return {
    run: (run) => {
      const hasFailed = run.line?.status !== 'success' || run.calls.some(({ error }) => error !== undefined);
      const names = [...(run.line?.servers ?? []), ...run.calls.map((call) => call.server)];
      return (
        (failed === undefined || hasFailed) &&
        (server === undefined || names.includes(server)) &&
        isTheirs(run.line?.principal ?? run.calls[0]?.principal) &&
        isSince(beginOf(run))
      );
    },
    login: (login) =>
      (failed === undefined || login.outcome === 'refused') &&
      server === undefined &&
      (principal === undefined || (login.principal !== undefined && isTheirs(login.principal))) &&
      isSince(login.at),
  };
}

/** `line` is undefined of a run that goes on, or whose bridge was killed. */
export type AuditedRun = {
  readonly run: string;
  readonly line: RunLine | undefined;
  /** Calls in the order in which they ended. */
  readonly calls: readonly CallLine[];
  /** Questions that a person was asked about the run's calls, in the order in which they ended; absent where there are none. */
  readonly questions?: readonly QuestionLine[];
};

/**
 * Reads what the audit of all bridges holds from its files: runs with their calls, the newest last. Files that go while they
 * are read, and lines that are torn, are passed over.
 */
export function readAudit(dir: string): {
  readonly runs: readonly AuditedRun[];
  readonly logins: readonly LoginLine[];
  /** Where lines are missing, in the order in which the disk took lines again. */
  readonly lost: readonly LostLine[];
} {
  const lines = filesOf(dir).flatMap((file) => linesOf(join(dir, file)));
  const [logins, lost] = [ofKind(lines, 'login'), ofKind(lines, 'lost')];
  const ofRuns = [...ofKind(lines, 'run'), ...ofKind(lines, 'call'), ...ofKind(lines, 'question')];
  return { runs: runsOf(ofRuns), logins: logins.sort(byTime), lost: lost.sort(byTime) };
}

const ofKind = <Kind extends AuditLine['kind']>(lines: readonly AuditLine[], kind: Kind) =>
  lines.filter((line): line is Extract<AuditLine, { kind: Kind }> => line.kind === kind);

function runsOf(lines: readonly (RunLine | CallLine | QuestionLine)[]): readonly AuditedRun[] {
  const runs = new Map<string, { line: RunLine | undefined; calls: CallLine[]; questions: QuestionLine[] }>();
  for (const line of lines) {
    const known = runs.get(line.run) ?? { line: undefined, calls: [], questions: [] };
    runs.set(line.run, known);
    if (line.kind === 'run') known.line = line;
    else if (line.kind === 'question') known.questions.push(line);
    else known.calls.push(line);
  }
  return [...runs]
    .map(([run, { line, calls, questions }]) => ({
      run,
      line,
      calls: calls.sort(byTime),
      ...(questions.length === 0 ? {} : { questions: questions.sort(byTime) }),
    }))
    .sort((one, other) => beginOf(one).localeCompare(beginOf(other)));
}

/** When the run began, as far as is known: ISO 8601. */
export const beginOf = ({ line, calls }: AuditedRun): string => line?.at ?? calls[0]?.at ?? '';

export const byTime = (one: { readonly at: string }, other: { readonly at: string }): number =>
  one.at.localeCompare(other.at);

/** Names of the audit's files. */
export function filesOf(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => name.endsWith(AUDIT_SUFFIX));
  } catch {
    return [];
  }
}

export const auditLines = (text: string): AuditLine[] =>
  text.split('\n').flatMap((line) => parseAuditLine(line) ?? []);

function linesOf(path: string): AuditLine[] {
  try {
    return auditLines(readFileSync(path, 'utf8'));
  } catch {
    return [];
  }
}

/** `2026-11-22 01:06:02`, in UTC as the lines are. */
export const time = (iso: string): string => visibleText(iso.slice(0, 19).replace('T', ' '));

export const principalOf = ({ line, calls }: AuditedRun): string | undefined =>
  line?.principal ?? calls[0]?.principal;

export const shownPrincipal = (id: string = LOCAL_USER.id): string => visibleText(nameInId(id));

/** Why a run failed or was refused; undefined for one that did not, and where nothing is known of it. */
export function reasonOf(line: RunLine | undefined): string | undefined {
  if (line?.error === undefined) return undefined;
  const { kind, message: words } = line.error;
  // Python's messages begin with their class already.
  return words.startsWith(kind) ? words : `${kind}: ${words}`;
}
