// A bridge for one command that runs code: audited, with the slow steps before its run told on stderr.

import { join } from 'node:path';
import type { Progress } from '../../mcp/requests/progress.js';
import type { CallContext } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import {
  DATA_ONE,
  IS_WHOLE,
  openFolders,
  placedFolders,
  writtenFolders,
} from '../../settings/files/data-folders.js';
import { Bridge } from '../../tenant/bridge.js';
import { type Prepared, startAudit, withProgress } from '../serving/prepare.js';
import { coloursFor, sayNote, USAGE_EXIT_CODE, usageError } from '../terminal/output.js';
import type { ProgramOutput } from '../terminal/pass-on.js';
import { takeOut } from './left.js';

/** Has a person see how a call fares, by `signs`, and `output` what it prints. */
export const shownBy =
  (signs: Progress, output: ProgramOutput | undefined): CallContext['tell'] =>
  (event) =>
    event.type === 'output' ? output?.add(event.stream, event.text, event.base64) : signs.hear(event);

/** Everything that it started is gone when this resolves. */
export async function withBridge<T>(prepared: Prepared, use: (bridge: Bridge) => Promise<T>): Promise<T> {
  const { settings, discovery, redactor } = prepared;
  await using audit = startAudit(prepared);
  const observer = withProgress(audit.observer, sayNote);
  await using bridge = new Bridge({ settings, discovery, observer, redactor });
  return await use(bridge);
}

// How a run ends for a shell: what came of it, what went wrong, and the exit code.

/** Exit code of `timeout(1)` after a timeout. */
const TIMEOUT_EXIT_CODE = 124;
/** Exit code of sysexits for what may succeed at another try: a call needed an approval, and nobody gave one in time. */
const UNANSWERED_EXIT_CODE = 75;

/** Says what came of a run, takes its files out and sets the exit code; a reader who has gone is told nothing. */
export async function endRun(
  outcome: Outcome,
  ending: {
    readonly prepared: Prepared;
    /** The folder into which files are taken. */
    readonly out: string | undefined;
    /** Aborted when nobody reads the output any more. */
    readonly readerGone: AbortSignal;
    /** Ids of questions that nobody answered in time. */
    readonly unanswered?: readonly string[];
    /** Says what came of the run; false where some of its output is missing. */
    readonly say: (outcome: Outcome) => boolean;
  },
): Promise<void> {
  const { prepared, out, readerGone, unanswered = [], say } = ending;
  if (readerGone.aborted) return;
  const isPassedOn = say(outcome);
  const isTakenOut = await takeOut(outcome, out, prepared);
  const exitCode = exitCodeOf(outcome) || (isPassedOn && isTakenOut ? 0 : 1);
  // Code that has dealt with it has an exit code of its own.
  const isForWant = exitCode === 1 && unanswered.length > 0;
  if (isForWant) process.stderr.write(`Nobody answered ${unanswered.join(', ')} in time.\n`);
  process.exitCode = isForWant ? UNANSWERED_EXIT_CODE : exitCode;
}

export function showError(status: Outcome['status'], error: NonNullable<Outcome['error']>): void {
  const { message, traceback, remedy } = error;
  const lines = traceback.length > 0 && status !== 'timeout' ? traceback : [message, ...traceback];
  process.stderr.write(`${coloursFor(process.stderr).red(`${status}:`)} ${lines.join('\n')}\n`);
  showRemedy(remedy);
}

export function showRemedy(remedy: string | undefined): void {
  if (remedy !== undefined) process.stderr.write(`${coloursFor(process.stderr).dim('next:')} ${remedy}\n`);
}

export function exitCodeOf({ status, exitCode }: Outcome): number {
  switch (status) {
    case 'success':
      return exitCode ?? 0;
    case 'error':
      return exitCode || 1;
    case 'timeout':
      return TIMEOUT_EXIT_CODE;
    case 'validation_error':
      return USAGE_EXIT_CODE;
    // A command line waits for the end.
    case 'running':
    case 'cancelled':
      return 1;
  }
}

// `--data FOLDER`: folders that the code of one command sees, in the place of those of MCP_BRIDGE_DATA.

/** `prepared`, with these folders where there are any; a path may be relative. Throws E_ARGUMENTS. */
export function withData(prepared: Prepared, said: readonly string[]): Prepared {
  if (said.length === 0) return prepared;
  const { discovery, settings: before } = prepared;
  const { host } = discovery;
  const wrong = (trouble: string) => usageError(`--data: ${trouble}`, `Name ${DATA_ONE}.`);
  const whole = said.map((text) => (IS_WHOLE.test(text) ? text : join(host.cwd, text)));
  const read = writtenFolders.safeParse(whole);
  if (!read.success) throw wrong(read.error.issues[0]?.message ?? '');
  const place = { ...host, stateDir: before.stateDir };
  const { folders, troubles } = openFolders(placedFolders(read.data, host), place);
  if (troubles.length > 0) throw wrong(troubles.join(' '));
  const settings = { ...before, data: folders };
  return { ...prepared, settings, discovery: { ...discovery, settings } };
}
