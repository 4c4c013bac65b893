// How a command that cannot go on says so: what happened and the next step on stderr, and an exit code.

import { asBridgeError, BridgeError } from '../../base/errors.js';
import { coloursFor } from './output.js';

/** Exit code where the user's request makes no sense: a wrong option, setting or argument. */
export const USAGE_EXIT_CODE = 2;

const USAGE_ERRORS = ['E_SETTINGS', 'E_ARGUMENTS'];

/** Words of the command line that cannot be meant, and what to write instead. */
export const usageError = (message: string, remedy: string): BridgeError =>
  new BridgeError('E_ARGUMENTS', message, { fault: 'operator', remedy });

/** A failure for machines: what `--json` prints where there is nothing else to print. */
export function errorJson(thrown: unknown): Record<string, string | number> {
  const { code, message, remedy, waitedMs } = asBridgeError(thrown);
  return {
    kind: code,
    message,
    ...(remedy === undefined ? {} : { remedy }),
    ...(waitedMs === undefined ? {} : { waitedSeconds: Math.round(waitedMs / 1000) }),
  };
}

/** Prints to stderr and sets the exit code: 2 for what the user wrote, else 1. */
export function reportFailure(thrown: unknown): void {
  const { code, message, remedy, fault, stack } = asBridgeError(thrown);
  const paint = coloursFor(process.stderr);
  process.stderr.write(`${paint.red('error:')} ${message}\n`);
  if (remedy !== undefined) process.stderr.write(`${paint.dim('next:')}  ${remedy}\n`);
  // Only our own mistakes need the place where they happened.
  if (fault === 'bridge' && stack !== undefined) process.stderr.write(`${paint.dim(stack)}\n`);
  process.exitCode = USAGE_ERRORS.includes(code) ? USAGE_EXIT_CODE : 1;
}
