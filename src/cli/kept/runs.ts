// `runs`: what the audit says of runs and of their tool calls, of all bridges of this user. Starts nothing.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { joinedNames } from '../../base/text/shown-name.js';
import { makeVisible } from '../../base/text/unseen.js';
import { AUDIT_SUFFIX } from '../../run/audit/audit-files.js';
import {
  type AuditLine,
  type CallLine,
  type LostLine,
  parseAuditLine,
  type QuestionLine,
  type RunLine,
} from '../../run/audit/audit-line.js';
import { AUDIT_FOLDER, prepare } from '../serving/prepare.js';

import { columns } from '../terminal/columns.js';
import { coloursFor, printJson, seconds, visibleText } from '../terminal/output.js';
import { hangText, paragraph, widthOf } from '../terminal/wrap.js';

export type RunsOptions = {
  readonly last: number;
  readonly failed?: true;
  readonly server?: string;
  /** A run, or the beginning of its name. */
  readonly calls?: string;
  readonly json?: true;
};

export function runs(options: RunsOptions): void {
  const { settings } = prepare('error', 'ends');
  const { runs: all, lost } = readAudit(join(settings.stateDir, AUDIT_FOLDER));
  const { calls, json, last } = options;
  if (calls !== undefined) {
    const run = findRun(calls, all);
    if (json) printJson(run);
    else
      process.stdout.write(
        runsText([run], true) + commandText(run) + callsText(run.calls) + notShownText(run),
      );
    return;
  }
  const chosen = last === 0 ? [] : all.filter((run) => isWanted(run, options)).slice(-last);
  if (json) return printJson({ runs: chosen, lost });
  const text =
    chosen.length > 0 ? runsText(chosen, options.failed) : noRunsText(all.length, settings.audit === 'off');
  process.stdout.write(text + lostText(lost));
}

function isWanted(run: AuditedRun, { failed, server }: RunsOptions): boolean {
  const hasFailed = run.line?.status !== 'success' || run.calls.some(({ error }) => error !== undefined);
  const names = [...(run.line?.servers ?? []), ...run.calls.map((call) => call.server)];
  return (failed === undefined || hasFailed) && (server === undefined || names.includes(server));
}

function findRun(word: string, all: readonly AuditedRun[]): AuditedRun {
  const exact = all.find(({ run }) => run === word);
  const [found, ...others] = exact === undefined ? all.filter(({ run }) => run.startsWith(word)) : [exact];
  if (found !== undefined && others.length === 0) return found;
  const trouble =
    found === undefined
      ? `There is no run '${visibleText(word)}' in the audit.${didYouMean(
          word,
          all.map(({ run }) => run),
        )}`
      : `${others.length + 1} runs begin with '${visibleText(word)}'.`;
  throw new BridgeError('E_ARGUMENTS', trouble, { fault: 'operator', remedy: 'See which there are: runs.' });
}

const noRunsText = (known: number, isOff: boolean): string => {
  if (known > 0) return `None of ${known} runs fits.\n`;
  return isOff ? 'No runs are kept: MCP_BRIDGE_AUDIT is off.\n' : 'No runs are kept yet.\n';
};

const MAX_NAMES_SHOWN = 4;
const MAX_LOSSES_SHOWN = 5;

function namesOf(servers: readonly string[]): string {
  const more = servers.length - MAX_NAMES_SHOWN;
  return servers.slice(0, MAX_NAMES_SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Client, language and servers are the first to go where a line is too narrow, then when it began. */
const RUNS_DROPS = [7, 2, 6, 0];

/** A line for each run, and with `withReasons` one below for why it failed; ends with a newline. */
export function runsText(chosen: readonly AuditedRun[], withReasons = false): string {
  const paint = coloursFor(process.stdout);
  const head = ['began', 'run', 'language', 'status', 'took', 'calls', 'servers', 'client'].map((word) =>
    paint.dim(word),
  );
  const rows = chosen.map((one) => {
    const { run, line, calls } = one;
    const failed = calls.filter(({ error }) => error !== undefined).length;
    const status = line?.status ?? 'unfinished';
    return [
      time(beginOf(one)),
      run,
      visibleText(line?.language ?? ''),
      status === 'success' ? paint.green(status) : paint.yellow(status),
      line === undefined ? '' : seconds(line.durationMs),
      `${line?.calls ?? calls.length}${failed === 0 ? '' : paint.yellow(` (${failed} failed)`)}`,
      visibleText(namesOf(line?.servers ?? [...new Set(calls.map(({ server }) => server))])),
      paint.dim(visibleText(line?.client ?? '')),
    ];
  });
  const fit = { width: widthOf(process.stdout), drops: RUNS_DROPS };
  // Each row is one line: its only long cells are left out rather than wrapped.
  const [first = '', ...lines] = columns([head, ...rows], fit)
    .trimEnd()
    .split('\n');
  const texts = lines.map((line, at) => line + (withReasons ? reasonText(chosen[at]) : ''));
  return [first, ...texts, ''].join('\n');
}

const REASON_INDENT = '  ';

/** Why a run failed, as lines behind its own; empty for one that did not, and where nothing is known of it. */
function reasonText(run: AuditedRun | undefined): string {
  const { error } = run?.line ?? {};
  if (error === undefined) return '';
  const { kind, message: words } = error;
  // Python's messages begin with their class already.
  const text = words.startsWith(kind) ? words : `${kind}: ${words}`;
  const { length } = REASON_INDENT;
  return `\n${REASON_INDENT}${hangText(visibleText(text), length, widthOf(process.stdout))}`;
}

/** The arguments of a command where the audit has kept them, ending with a newline; otherwise an empty string. */
const commandText = ({ line }: AuditedRun): string =>
  line?.argumentsText === undefined ? '' : `\n${paragraph(visibleText(line.argumentsText))}`;

/** A line for each call; ends with a newline, or is empty. */
export function callsText(calls: readonly CallLine[]): string {
  if (calls.length === 0) return '';
  const paint = coloursFor(process.stdout);
  const head = ['ended', 'call', 'tool', 'came of it', 'took', 'sent', 'got', 'rule'].map((word) =>
    paint.dim(word),
  );
  const rows = calls.map((call) => [
    time(call.at),
    String(call.call),
    makeVisible(joinedNames(call.server, call.tool)),
    call.error === undefined ? paint.green('answered') : paint.yellow(visibleText(call.error)),
    seconds(call.durationMs),
    bytes(call.arguments),
    bytes(call.result),
    paint.dim(visibleText(call.rule)),
  ]);
  const texts = calls.flatMap(({ call, argumentsText }) =>
    argumentsText === undefined ? [] : [paragraph(`${call}: ${visibleText(argumentsText)}`)],
  );
  const fit = { width: widthOf(process.stdout), drops: [7, 0, 5, 6] };
  return `\n${columns([head, ...rows], fit)}${texts.length === 0 ? '' : `\n${texts.join('')}`}`;
}

/** Which calls of the run have no line here, and why; empty where all have one. */
export function notShownText({ line, calls }: AuditedRun): string {
  if (line === undefined) return '';
  const gone = Math.max(0, (line.listed ?? 0) - calls.length);
  const sentences = [
    gone === 0
      ? ''
      : `${gone} more made room for newer lines: MCP_BRIDGE_AUDIT_MB says how much is kept, and a bridge has half of it.`,
    line.notListed === 0
      ? ''
      : `${line.notListed} more have no line, since only the first calls of a run have one.`,
  ].filter((sentence) => sentence !== '');
  return sentences.length === 0 ? '' : `\n${sentences.map(paragraph).join('')}`;
}

/** Where lines are missing, the last few times; empty where none are known to be. */
export function lostText(lost: readonly LostLine[]): string {
  const sentences = lost
    .slice(-MAX_LOSSES_SHOWN)
    .map(
      ({ lines, since, at }) =>
        `${lines} ${lines === 1 ? 'line is' : 'lines are'} missing from ${time(since)} to ${time(at)}: the disk was too slow, full or broken.`,
    );
  return sentences.length === 0 ? '' : `\n${sentences.map(paragraph).join('')}`;
}

/** `2026-11-22 01:06:02`, in UTC as the lines are. */
const time = (iso: string): string => visibleText(iso.slice(0, 19).replace('T', ' '));

const bytes = (weight: CallLine['arguments'] | undefined): string =>
  weight === undefined ? '' : `${weight.bytes} B`;

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
  /** Where lines are missing, in the order in which the disk took lines again. */
  readonly lost: readonly LostLine[];
} {
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

/** When the run began, as far as is known: ISO 8601. */
const beginOf = ({ line, calls }: AuditedRun): string => line?.at ?? calls[0]?.at ?? '';

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
