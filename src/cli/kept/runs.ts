// `runs`: what the audit says of runs and of their tool calls, of all bridges of this user. Starts nothing.

import { join } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { joinedNames } from '../../base/text/shown-name.js';
import { makeVisible } from '../../base/text/unseen.js';
import type { CallLine, LoginLine, LostLine } from '../../run/audit/audit-line.js';
import { AUDIT_FOLDER, prepare } from '../serving/prepare.js';

import { columns } from '../terminal/columns.js';
import { coloursFor, printJson, seconds, usageError, visibleText } from '../terminal/output.js';
import { hangText, paragraph, widthOf } from '../terminal/wrap.js';
import { followAudit } from './follow-audit.js';
import {
  type AuditedRun,
  beginOf,
  principalOf,
  type RunsOptions,
  readAudit,
  reasonOf,
  shownPrincipal,
  sinceFrom,
  time,
  wantedBy,
} from './read-audit.js';

const USUAL_LAST = 20;

export async function runs(options: RunsOptions): Promise<void> {
  const since = options.since === undefined ? undefined : sinceFrom(options.since);
  const { calls, json, last = since === undefined ? USUAL_LAST : Number.POSITIVE_INFINITY } = options;
  refuseTogether(options);
  const { settings } = prepare('error', 'ends');
  const dir = join(settings.stateDir, AUDIT_FOLDER);
  const isWanted = wantedBy(options, since);
  if (options.follow) return await followAudit(dir, isWanted, options, since);
  const { runs: all, logins, lost } = readAudit(dir);
  const newest = <T>(some: readonly T[]): readonly T[] => (last === 0 ? [] : some.slice(-last));
  if (calls !== undefined) {
    const run = findRun(calls, all);
    if (json) printJson(run);
    else process.stdout.write(runsText([run]) + commandText(run) + callsText(run.calls) + notShownText(run));
    return;
  }
  if (options.logins) {
    const chosen = newest(logins.filter(isWanted.login));
    if (json) return printJson({ logins: chosen, lost });
    const none = `The audit has no logins over HTTP${logins.length === 0 ? '' : ' that match'}.\n`;
    process.stdout.write((chosen.length === 0 ? none : httpLoginsText(chosen)) + lostText(lost));
    return;
  }
  const chosen = newest(all.filter(isWanted.run));
  if (json) return printJson({ runs: chosen, lost });
  const text = chosen.length > 0 ? runsText(chosen) : noRunsText(all.length, settings.audit === 'off');
  process.stdout.write(text + lostText(lost));
}

function refuseTogether({ calls, follow, logins }: RunsOptions): void {
  const both = calls !== undefined ? (follow ? '--follow' : logins ? '--logins' : undefined) : undefined;
  if (both !== undefined)
    throw usageError(`--calls and ${both} cannot be used together.`, 'Leave out one of the two.');
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
      : `${others.length + 1} runs have a name that begins with '${visibleText(word)}'.`;
  throw new BridgeError('E_ARGUMENTS', trouble, { fault: 'operator', remedy: 'To list the runs: runs.' });
}

const noRunsText = (known: number, isOff: boolean): string => {
  if (known > 0) return `None of ${known} runs matches.\n`;
  return isOff ? 'Runs are not recorded: MCP_BRIDGE_AUDIT is off.\n' : 'No runs yet.\n';
};

const MAX_NAMES_SHOWN = 4;
const MAX_LOSSES_SHOWN = 5;

function namesOf(servers: readonly string[]): string {
  const more = servers.length - MAX_NAMES_SHOWN;
  return servers.slice(0, MAX_NAMES_SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Client, language and servers are the first to go where a line is too narrow, then when it began. */
const RUNS_DROPS = ['client', 'language', 'servers', 'began'];

/** A line for each run, and one below for why it failed or was refused; ends with a newline. */
export function runsText(chosen: readonly AuditedRun[]): string {
  const paint = coloursFor(process.stdout);
  // Over stdio there is one principal, and nothing to tell apart.
  const hasPrincipals = chosen.some((run) => principalOf(run) !== undefined);
  const head = [
    'began',
    'run',
    ...(hasPrincipals ? ['principal'] : []),
    ...['language', 'status', 'took', 'calls', 'servers', 'client'],
  ];
  const rows = chosen.map((one) => {
    const { run, line, calls } = one;
    const failed = calls.filter(({ error }) => error !== undefined).length;
    const status = line?.status ?? 'unfinished';
    return [
      time(beginOf(one)),
      run,
      ...(hasPrincipals ? [shownPrincipal(principalOf(one))] : []),
      visibleText(line?.language ?? ''),
      status === 'success' ? paint.green(status) : paint.yellow(status),
      line === undefined ? '' : seconds(line.durationMs),
      `${line?.calls ?? calls.length}${failed === 0 ? '' : paint.yellow(` (${failed} failed)`)}`,
      visibleText(namesOf(line?.servers ?? [...new Set(calls.map(({ server }) => server))])),
      paint.dim(visibleText(line?.client ?? '')),
    ];
  });
  const fit = { width: widthOf(process.stdout), drops: RUNS_DROPS.map((name) => head.indexOf(name)) };
  // Each row is one line: its only long cells are left out rather than wrapped.
  const [first = '', ...lines] = columns([head.map((word) => paint.dim(word)), ...rows], fit)
    .trimEnd()
    .split('\n');
  const texts = lines.map((line, at) => line + belowText(reasonOf(chosen[at]?.line)));
  return [first, ...texts, ''].join('\n');
}

const REASON_INDENT = '  ';

/** Lines behind the one that they explain; empty where there is nothing to say. */
const belowText = (text: string | undefined): string =>
  text === undefined
    ? ''
    : `\n${REASON_INDENT}${hangText(visibleText(text), REASON_INDENT.length, widthOf(process.stdout))}`;

/** A line for each login, and one below for why it was refused; ends with a newline. */
export function httpLoginsText(chosen: readonly LoginLine[]): string {
  const paint = coloursFor(process.stdout);
  const head = ['at', 'principal', 'outcome', 'from', 'method'].map((word) => paint.dim(word));
  const rows = chosen.map(({ at, principal, outcome, remote, method }) => [
    time(at),
    principal === undefined ? '' : shownPrincipal(principal),
    outcome === 'accepted' ? paint.green(outcome) : paint.yellow(visibleText(outcome)),
    visibleText(remote),
    visibleText(method),
  ]);
  const [first = '', ...lines] = columns([head, ...rows], { width: widthOf(process.stdout), drops: [4] })
    .trimEnd()
    .split('\n');
  const texts = lines.map((line, at) => {
    const { status, reason, notListed = 0 } = chosen[at] ?? {};
    const more = notListed === 0 ? '' : ` ${notListed} more before it have no line.`;
    const why = reason === undefined ? undefined : `${status}: ${reason}`;
    return line + belowText(why === undefined && more === '' ? undefined : `${why ?? ''}${more}`);
  });
  return [first, ...texts, ''].join('\n');
}

/** The arguments of a command where the audit has kept them, ending with a newline; otherwise an empty string. */
const commandText = ({ line }: AuditedRun): string =>
  line?.argumentsText === undefined ? '' : `\n${paragraph(visibleText(line.argumentsText))}`;

/** A line for each call; ends with a newline, or is empty. */
export function callsText(calls: readonly CallLine[]): string {
  if (calls.length === 0) return '';
  const paint = coloursFor(process.stdout);
  const head = ['ended', 'call', 'tool', 'result', 'took', 'sent', 'got', 'rule'].map((word) =>
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
      : `${gone} more were removed to make room for newer lines. MCP_BRIDGE_AUDIT_MB says how much is kept; a bridge has half of it.`,
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

const bytes = (weight: CallLine['arguments'] | undefined): string =>
  weight === undefined ? '' : `${weight.bytes} B`;
