// How a run ends for a shell: what the code left, what went wrong, and the exit code.

import type { Left } from '../run/artifacts/artifacts.js';
import type { Outcome } from '../run/outcome/outcome.js';
import { USAGE_EXIT_CODE } from './failure.js';
import { coloursFor, sayDim } from './output.js';
import { writeOut } from './write-out.js';

/** As `timeout(1)` ends. */
const TIMEOUT_EXIT_CODE = 124;

/** Writes what the code left into the folder, or says that nobody wanted it; false where something is missing. */
export function takeOut(left: Left | undefined, folder: string | undefined): boolean {
  if (left === undefined) return true;
  const { files, skipped, skippedMore } = left;
  for (const { name, reason } of skipped) sayDim(`${name} was left behind: it ${reason}`);
  if (skippedMore > 0) sayDim(`${skippedMore} more were left behind`);
  if (folder === undefined) {
    if (files.length > 0)
      sayDim(`left in the sandbox: ${files.map(({ name }) => name).join(', ')} (--out takes them)`);
    return true;
  }
  const problems = files.flatMap(({ name, content }) => writeOut(folder, name, content) ?? []);
  for (const problem of problems) sayDim(problem);
  return skipped.length + problems.length === 0;
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
