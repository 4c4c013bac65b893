// History of what ran: the runs and calls of the audit, and those that only bridges remember, in one list, with sums for each tool.

import type { AuditLine, CallLine, QuestionLine, RunLine } from '../../run/audit/audit-line.js';
import type { SeenCall, SeenRun } from '../told/told.js';
import type { RunOfBridge } from './bridges.js';
import { ChangeCounts } from './change-counts.js';

/** The oldest runs are forgotten first. The audit's own files hold more. */
const MAX_RUNS = 20_000;
/** Durations of one tool that are remembered, for its percentiles. */
const MAX_DURATIONS = 1_000;
/** Verdicts that are listed, the newest ones; of further ones a run's own page tells. */
const MAX_VERDICTS = 5_000;

/** A question to a person about calls of a run, that has ended. */
export type SeenQuestion = Pick<
  QuestionLine,
  'question' | 'server' | 'tool' | 'callCount' | 'rule' | 'answer' | 'word' | 'by' | 'who' | 'at'
>;

/** A run in the list, with the tools that it called, as `server.tool`. */
export type ListedRun = SeenRun & { readonly tools: readonly string[] };

/** A verdict on a call of a tool with the rule that it comes from, or a question to a person and how it ended. */
export type SeenVerdict = Pick<SeenQuestion, 'server' | 'tool' | 'rule' | 'at'> &
  Partial<Pick<SeenQuestion, 'answer' | 'word' | 'by' | 'who'>> & {
    /** Counts within its run, or is the question's id. */
    readonly of: string;
    readonly run: string;
    readonly principal?: string;
    readonly is: 'allowed' | 'refused' | 'asked';
  };

/** Sums of one tool over all calls that are known. */
export type ToolSums = {
  readonly server: string;
  readonly tool: string;
  readonly calls: number;
  readonly failed: number;
  readonly denied: number;
  /** Percentiles of the last calls that were sent, in milliseconds; undefined where none was. */
  readonly medianMs: number | undefined;
  readonly p95Ms: number | undefined;
  /** Bytes of arguments and results that went between code and server, past the model. */
  readonly bytes: number;
};

type Known = {
  run: string;
  principal?: string | undefined;
  line?: RunLine;
  readonly calls: SeenCall[];
  readonly questions: SeenQuestion[];
};
type Sums = {
  server: string;
  tool: string;
  calls: number;
  failed: number;
  denied: number;
  bytes: number;
  durations: number[];
};

export class History {
  readonly #runs = new Map<string, Known>();
  readonly #tools = new Map<string, Sums>();
  readonly #versions = new ChangeCounts();

  /** Grows with each change; with a principal, with each change of what is theirs. */
  versionOf(principal?: string): number {
    return this.#versions.of(principal);
  }

  /** Takes lines of the audit, the oldest first. */
  add(lines: readonly AuditLine[]): void {
    for (const line of lines) {
      if ('run' in line) this.#of(line.run).principal = line.principal;
      if (line.kind === 'run') this.#of(line.run).line = line;
      else if (line.kind === 'call') {
        const call = callOf(line);
        this.#of(line.run).calls.push(call);
        sum(this.#tools, call);
      } else if (line.kind === 'question') this.#of(line.run).questions.push(questionOf(line));
      else continue;
      this.#versions.grow(line.principal);
    }
    for (const id of this.#runs.keys()) {
      if (this.#runs.size <= MAX_RUNS) break;
      this.#runs.delete(id);
    }
  }

  /** All runs, the newest first; what a bridge remembers of a run counts before what the audit has. */
  list(remembered: Iterable<RunOfBridge>): readonly ListedRun[] {
    const runs = new Map<string, ListedRun>();
    for (const { run, line, calls } of this.#runs.values())
      if (line !== undefined) runs.set(run, { ...seenOf(line, calls), tools: toolsIn(calls) });
    for (const { seen, calls } of remembered) {
      const more = this.#runs.get(seen.run)?.calls ?? [];
      runs.set(seen.run, { ...seen, tools: toolsIn(more.length > calls.length ? more : calls) });
    }
    return [...runs.values()].sort((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0));
  }

  /** A run with its calls in the order in which they ended; undefined where nobody knows it. */
  run(
    id: string,
    remembered: RunOfBridge | undefined,
  ):
    | {
        readonly seen: SeenRun;
        readonly calls: readonly SeenCall[];
        readonly questions: readonly SeenQuestion[];
      }
    | undefined {
    const known = this.#runs.get(id);
    const { line, calls = [], questions = [] } = known ?? {};
    const seen = remembered?.seen ?? (line && seenOf(line, calls));
    if (seen === undefined) return undefined;
    const more = remembered !== undefined && remembered.calls.length >= calls.length;
    const ended = more ? remembered.calls : calls;
    return { seen, calls: [...ended, ...(remembered?.underWay?.values() ?? [])], questions };
  }

  /**
   * Sums of each tool, the most called first. Calls that only a bridge remembers count too. With a principal, those of this
   * principal's runs alone, among `remembered` too.
   */
  tools(remembered: Iterable<RunOfBridge>, principal?: string): readonly ToolSums[] {
    const sums = new Map<string, Sums>();
    if (principal === undefined)
      for (const [key, one] of this.#tools) sums.set(key, { ...one, durations: [...one.durations] });
    else
      for (const { line, calls } of this.#runs.values())
        if (line?.principal === principal) for (const call of calls) sum(sums, call);
    for (const { seen, calls } of remembered)
      if (
        (principal === undefined || seen.principal === principal) &&
        (this.#runs.get(seen.run)?.calls.length ?? 0) === 0
      )
        for (const call of calls) sum(sums, call);
    return [...sums.values()]
      .map(({ durations, ...one }) => {
        const sorted = durations.sort((a, b) => a - b);
        return { ...one, medianMs: percentile(sorted, 0.5), p95Ms: percentile(sorted, 0.95) };
      })
      .sort((one, other) => other.calls - one.calls);
  }

  /** The newest verdicts of those whose principal `isWanted`, the newest first; calls that only a bridge remembers have theirs too. */
  verdicts(
    remembered: Iterable<RunOfBridge>,
    isWanted: (of: { readonly principal?: string | undefined }) => boolean = () => true,
  ): readonly SeenVerdict[] {
    const runs = new Map<string, Pick<Known, 'run' | 'principal' | 'calls' | 'questions'>>(this.#runs);
    for (const { seen, calls } of remembered) {
      const { run, principal } = seen;
      const known = runs.get(run);
      // A run that goes on is newer than whatever has ended before it began.
      runs.delete(run);
      const ofBridge = calls.length >= (known?.calls.length ?? 0);
      runs.set(run, {
        ...{ run, principal, questions: known?.questions ?? [] },
        calls: ofBridge ? [...calls] : (known?.calls ?? []),
      });
    }
    const found: SeenVerdict[] = [];
    for (const { run, principal, calls, questions } of [...runs.values()].reverse()) {
      if (found.length >= MAX_VERDICTS) break;
      if (!isWanted({ principal })) continue;
      const whose = { run, ...(principal === undefined ? {} : { principal }) };
      found.push(
        ...calls.slice(-MAX_VERDICTS).map((call) => verdictOn(call, whose)),
        ...questions.map(({ question, callCount: _count, ...asked }) => ({
          ...whose,
          ...asked,
          of: question,
          is: 'asked' as const,
        })),
      );
    }
    return found.sort((one, other) => other.at.localeCompare(one.at)).slice(0, MAX_VERDICTS);
  }

  #of(run: string): Known {
    const known = this.#runs.get(run) ?? { run, calls: [], questions: [] };
    this.#runs.set(run, known);
    return known;
  }
}

const verdictOn = (
  { call, server, tool, isAllowed, rule, endedAt }: SeenCall,
  whose: Pick<SeenVerdict, 'run' | 'principal'>,
): SeenVerdict => ({
  ...whose,
  ...{ server, tool, rule, at: endedAt, of: String(call) },
  is: isAllowed ? 'allowed' : 'refused',
});

function sum(sums: Map<string, Sums>, call: SeenCall): void {
  const { server, tool, error, isAllowed, durationMs, argumentBytes, resultBytes = 0 } = call;
  const key = JSON.stringify([server, tool]);
  const one = sums.get(key) ?? { server, tool, calls: 0, failed: 0, denied: 0, bytes: 0, durations: [] };
  sums.set(key, one);
  one.calls++;
  if (!isAllowed) one.denied++;
  else {
    if (error !== undefined) one.failed++;
    one.bytes += argumentBytes + resultBytes;
    one.durations.push(durationMs);
    if (one.durations.length > MAX_DURATIONS) one.durations.shift();
  }
}

/** A run that calls many has few words for them in the list. */
const MAX_TOOLS_LISTED = 20;

const toolsIn = (calls: readonly SeenCall[]): readonly string[] =>
  [...new Set(calls.map(({ server, tool }) => `${server}.${tool}`))].slice(0, MAX_TOOLS_LISTED);

/** The value below which this share of the sorted values lies; undefined where there are none. */
const percentile = (sorted: readonly number[], share: number): number | undefined =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

const seenOf = (line: RunLine, calls: readonly SeenCall[]): SeenRun => ({
  run: line.run,
  at: line.at,
  client: line.client,
  ...(line.principal === undefined ? {} : { principal: line.principal }),
  language: line.language ?? 'python',
  servers: [...line.servers],
  status: line.status,
  ...(line.error === undefined ? {} : { error: line.error }),
  durationMs: line.durationMs,
  callCount: line.calls,
  failedCalls: calls.filter(({ error }) => error !== undefined).length,
  codeBytes: line.code.bytes,
  isRecorded: false,
});

const callOf = (line: CallLine): SeenCall => ({
  call: line.call,
  server: line.server,
  tool: line.tool,
  isAllowed: line.verdict === 'allowed',
  rule: line.rule,
  ...(line.error === undefined ? {} : { error: line.error }),
  endedAt: line.at,
  durationMs: line.durationMs,
  argumentBytes: line.arguments.bytes,
  ...(line.result === undefined ? {} : { resultBytes: line.result.bytes }),
  ...(line.argumentsText === undefined ? {} : { argumentsText: line.argumentsText }),
});

const questionOf = ({
  question,
  server,
  tool,
  callCount,
  rule,
  answer,
  word,
  by,
  who,
  at,
}: QuestionLine): SeenQuestion => ({
  ...{ question, server, tool, callCount, rule, answer, at },
  ...(word === undefined ? {} : { word }),
  ...(by === undefined ? {} : { by }),
  ...(who === undefined ? {} : { who }),
});
