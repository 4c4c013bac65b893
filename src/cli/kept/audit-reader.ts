// What the audit of all bridges holds, read from its files: runs with their calls, the newest last. Files that go while
// they are read, and lines that are torn, are passed over.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AUDIT_SUFFIX } from '../../base/log/audit-files.js';
import {
  type AuditLine,
  type CallLine,
  type LostLine,
  parseAuditLine,
  type QuestionLine,
  type RunLine,
} from '../../base/log/audit-line.js';

/** `line` is undefined of a run that goes on, or whose bridge was killed. */
export type AuditedRun = {
  readonly run: string;
  readonly line: RunLine | undefined;
  /** In the order in which they ended. */
  readonly calls: readonly CallLine[];
  /** What a person was asked about its calls, likewise; absent where nothing was. */
  readonly questions?: readonly QuestionLine[];
};

export type AuditRead = {
  readonly runs: readonly AuditedRun[];
  /** Where lines are missing, in the order in which the disk took lines again. */
  readonly lost: readonly LostLine[];
};

export function readAudit(dir: string): AuditRead {
  const lines = filesOf(dir).flatMap((file) => linesOf(join(dir, file)));
  const lost = lines.filter((line) => line.kind === 'lost');
  return { runs: runsOf(lines.filter((line) => line.kind !== 'lost')), lost: lost.sort(byTime) };
}

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

/** When it began, as far as is known: ISO 8601. */
export const beginOf = ({ line, calls }: AuditedRun): string => line?.at ?? calls[0]?.at ?? '';

const byTime = (one: { readonly at: string }, other: { readonly at: string }): number =>
  one.at.localeCompare(other.at);

function filesOf(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => name.endsWith(AUDIT_SUFFIX));
  } catch {
    return [];
  }
}

function linesOf(path: string): AuditLine[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((text) => parseAuditLine(text) ?? []);
  } catch {
    return [];
  }
}
