// Output for people: in colour on a terminal, plain in a pipe. Decides nothing; every command loads this file, `serve` too.

import picocolors from 'picocolors';
import { asBridgeError, BridgeError } from '../../base/errors.js';
import { madeVisibleJson, makeVisible } from '../../base/text/unseen.js';

/** Colours when `stream` is a terminal and NO_COLOR is not set. */
export function coloursFor(stream: NodeJS.WriteStream): ReturnType<typeof picocolors.createColors> {
  const wanted = stream.isTTY === true && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb';
  return picocolors.createColors(wanted);
}

/** A line on stderr that is not what was asked for, but about it. */
export function sayDim(line: string): void {
  process.stderr.write(`${coloursFor(process.stderr).dim(line)}\n`);
}

/** A line on stderr that `--quiet` leaves out: progress, or a hint. */
export function sayNote(line: string): void {
  if (!isQuiet()) sayDim(line);
}

/** Whether an option that means the same in every command was typed; words after `--` are a program's own. */
function isTyped(...names: readonly string[]): boolean {
  const words = process.argv.slice(2);
  const mark = words.indexOf('--');
  return names.some((name) => words.slice(0, mark === -1 ? undefined : mark).includes(name));
}

export const isQuiet = (): boolean => isTyped('--quiet', '-q');

/** Pretty JSON, as every `--json` prints it. What does not show is escaped as JSON does, so that nothing is changed. */
export function printJson(value: unknown): void {
  process.stdout.write(`${madeVisibleJson(JSON.stringify(value, undefined, 2))}\n`);
}

export function megabytes(sizeBytes: number): string {
  return `${(sizeBytes / 1e6).toFixed(sizeBytes < 1e7 ? 1 : 0)} MB`;
}

export function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(durationMs < 10_000 ? 2 : 0)} s`;
}

/** Names come from files; one with characters that do not show must not rewrite the terminal, nor read as another. */
export const visibleText = (text: string): string =>
  makeVisible(JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"'));

// How a command that cannot go on says so: what happened and the next step on stderr, and an exit code.

/** Exit code where the user's request makes no sense: a wrong option, setting or argument. */
export const USAGE_EXIT_CODE = 2;

const USAGE_ERRORS = ['E_SETTINGS', 'E_ARGUMENTS'];

/** Words of the command line that cannot be meant, and what to write instead. */
export const usageError = (message: string, remedy: string): BridgeError =>
  new BridgeError('E_ARGUMENTS', message, { fault: 'operator', remedy });

/**
 * Says what went wrong and sets the exit code: 2 for what the user wrote, else 1. With `--json` it is JSON on stdout, where the
 * result would have been, else text on stderr.
 */
export function reportFailure(thrown: unknown): void {
  const { code, message, remedy, fault, stack, waitedMs } = asBridgeError(thrown);
  const paint = coloursFor(process.stderr);
  if (isTyped('--json')) {
    const waited = waitedMs === undefined ? {} : { waitedSeconds: Math.round(waitedMs / 1000) };
    printJson({ error: { code, message, next: remedy ?? null, ...waited } });
  } else {
    process.stderr.write(`${paint.red('error:')} ${message}\n`);
    if (remedy !== undefined) process.stderr.write(`${paint.dim('next:')}  ${remedy}\n`);
  }
  // Only our own mistakes need the place where they happened.
  if (fault === 'bridge' && stack !== undefined) process.stderr.write(`${paint.dim(stack)}\n`);
  process.exitCode = USAGE_ERRORS.includes(code) ? USAGE_EXIT_CODE : 1;
}
