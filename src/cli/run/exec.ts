// `exec FILE`: a program of any language that execute_code knows, as a shell would run it. Its output passes through as it
// comes, or stands in one line of JSON; the exit code is its own.

import type { OutputStream } from '../../base/process/streams.js';
import { HeadTail } from '../../base/text/text.js';
import { madeVisibleJson } from '../../base/text/unseen.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import { Progress } from '../../mcp/requests/progress.js';
import { pictureLines } from '../../run/answer/pieces.js';
import type { Left } from '../../run/artifacts/artifacts.js';
import { byCommandLine } from '../../run/calls/call-context.js';
import type { RunInput } from '../../run/life/run-request.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { Snippets } from '../../run/programs/snippets.js';
import { planFor } from '../../settings/environment/plan.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Language } from '../../settings/languages/records.js';
import { RunQuestions } from '../approvals/run-questions.js';
import { prepare } from '../serving/prepare.js';
import { interruptSignal, signalOfLostReader } from '../terminal/interrupt.js';
import { sayDim, sayNote, usageError } from '../terminal/output.js';
import { PassedOn, type ProgramOutput } from '../terminal/pass-on.js';
import { endRun, showError, shownBy, showRemedy, withBridge, withData } from './command-bridge.js';
import { type ExecInputOptions, execInput, type Words } from './exec-input.js';

export async function exec(
  words: Words,
  options: ExecInputOptions & {
    /** Data folders, as `run` has them. */
    readonly data: readonly string[];
    readonly servers: readonly string[];
    readonly timeout?: number;
    readonly out?: string;
    readonly json?: true;
  },
): Promise<void> {
  const prepared = withData(prepare('warn', 'ends'), options.data);
  const { settings } = prepared;
  const { program, files } = await execInput(words, options, new Snippets(settings.snippetsDir));
  const servers = serversFor(program.language, options.servers);
  const timeoutSeconds = timeoutFor(program.language, options.timeout, settings);
  const input: RunInput = { task: program, servers, files, timeoutSeconds };
  const readerGone = signalOfLostReader();
  using signal = new LinkedSignal(interruptSignal(), readerGone);
  const isStdinRead = options.stdin === '-' || words.before[0] === '-';
  await using questions = new RunQuestions(settings.stateDir, {
    isOwn: ({ pid }) => pid === process.pid,
    hasKeys: !isStdinRead && process.stdin.isTTY === true && process.stderr.isTTY === true,
  });
  await withBridge(prepared, async (bridge) => {
    // Between a program's own lines, only for somebody who looks on.
    using signs = new Progress(
      process.stderr.isTTY ? (told) => questions.isAsking || sayNote(told.message) : undefined,
    );
    const outputs = options.json ? new Collected() : new PassedOn();
    const context = byCommandLine(signal.signal, shownBy(signs, outputs));
    const outcome = await bridge.run(input, context);
    const say = () =>
      outputs instanceof Collected ? writeJson(outcome, outputs) : showEnd(outcome, outputs);
    const unanswered = await questions.end();
    await endRun(outcome, { prepared, out: options.out, readerGone, unanswered, say });
  });
}

function serversFor({ title, tools }: Language, servers: readonly string[]): readonly string[] {
  if (tools !== 'none' || servers.length === 0) return [...new Set(servers)];
  throw usageError(`--servers: programs in ${title} cannot call MCP tools.`, 'Leave --servers out.');
}

function timeoutFor(language: Language, said: number | undefined, settings: Settings): number {
  const { maxTimeoutSeconds } = settings;
  if (said === undefined) return planFor(language, settings).timeoutSeconds;
  if (said >= 1 && said <= maxTimeoutSeconds) return said;
  const expected = `a whole number of seconds from 1 to ${maxTimeoutSeconds}`;
  throw usageError(`--timeout: got ${said}, expected ${expected}.`, 'MCP_BRIDGE_MAX_TIMEOUT sets the most.');
}

function writeJson(outcome: Outcome, collected: Collected): boolean {
  for (const piece of jsonPieces(outcome, collected)) process.stdout.write(piece);
  return true;
}

/** Says what the program has not said itself; false where some of its output is missing. */
function showEnd({ status, stdout, stderr, pictures, error }: Outcome, outputs: PassedOn): boolean {
  const isWhole = outputs.end();
  for (const line of pictureLines(pictures, stdout.text)) sayDim(line);
  if (error === undefined || error.type === 'E_EXIT') return isWhole;
  // Python, and the compiler of a step, have said on stderr how it failed.
  if (stderr.text.trimEnd().endsWith(error.message)) showRemedy(error.remedy);
  else showError(status, { ...error, traceback: [] });
  return isWhole;
}

// The result of `exec --json`: the fields of isolator's command line, in one line, and what isolator has not: files, and
// how much of an endless output is missing.

/** Characters kept of each stream. A string may have 512 MB, and JSON needs up to six characters for one. */
const MAX_STREAM_CHARS = 64 * 1024 ** 2;
/** Where no process of the program ended by itself, as Go has it, in which isolator's command line is written. */
const NO_EXIT_CODE = -1;

/** Collects what the program prints, for a line of JSON in the end. */
export class Collected implements ProgramOutput {
  readonly stdout: HeadTail;
  readonly stderr: HeadTail;

  constructor(maxChars = MAX_STREAM_CHARS) {
    this.stdout = new HeadTail(maxChars);
    this.stderr = new HeadTail(maxChars);
  }

  readonly add = (stream: OutputStream, text: string): void => this[stream].add(text);
}

/** The line in pieces, since all of it may be longer than one string can be. */
export function* jsonPieces(outcome: Outcome, { stdout, stderr }: Collected): Generator<string> {
  const { exitCode, durationMs, error, left } = outcome;
  const dropped = stdout.dropped + stderr.dropped;
  const fields = {
    status: statusOf(outcome),
    exitCode: exitCode ?? NO_EXIT_CODE,
    stdout: () => stdout.toString(),
    stderr: () => stderr.toString(),
    durationMs: Math.round(durationMs),
    ...(error === undefined ? {} : { error: [error.message, error.remedy ?? ''].join(' ').trim() }),
    ...(dropped === 0 ? {} : { droppedCharacters: dropped }),
    ...(left === undefined ? {} : { files: filesOf(left) }),
  };
  let mark = '{';
  for (const [name, value] of Object.entries(fields)) {
    const text = typeof value === 'function' ? value().toWellFormed() : value;
    yield `${mark}${JSON.stringify(name)}:${madeVisibleJson(JSON.stringify(text))}`;
    mark = ',';
  }
  yield '}\n';
}

/** isolator knows three; what was refused or cancelled has not succeeded. */
function statusOf({ status }: Outcome): 'success' | 'timeout' | 'error' {
  return status === 'success' || status === 'timeout' ? status : 'error';
}

function filesOf({ files, skipped, skippedMore }: Left): object[] {
  return [
    ...files.map(({ name, content, text }) => ({
      name,
      bytes: content.length,
      ...(text === undefined ? {} : { text }),
    })),
    ...skipped.map(({ name, reason }) => ({ name, problem: `not saved: it ${reason}` })),
    ...(skippedMore === 0 ? [] : [{ name: `${skippedMore} more`, problem: 'not saved' }]),
  ];
}
