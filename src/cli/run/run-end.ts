// How a run ends for a shell: what went wrong, and the exit code.

import type { Outcome } from '../../run/outcome/outcome.js';
import { USAGE_EXIT_CODE } from '../terminal/failure.js';
import { coloursFor } from '../terminal/output.js';

/** As `timeout(1)` ends. */
const TIMEOUT_EXIT_CODE = 124;

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
