// `run SCRIPT.py`: the agent's tool from a shell. What the code prints goes where it would have gone, files go in and
// out by option, progress goes to stderr, and the exit code is the code's own.

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { BridgeError, messageOf } from '../base/errors.js';
import { stringify } from '../protocol/json-text.js';
import { payloadOf } from '../render/payload.js';
import { pictureLines } from '../render/pictures.js';
import type { Left, Outcome } from '../run/outcome.js';
import { Bridge } from '../server/bridge.js';
import { Progress } from '../server/progress.js';
import { runPython } from '../server/tools/run-python.js';
import { audited } from './audited.js';
import { USAGE_EXIT_CODE } from './failure.js';
import { interruptSignal } from './interrupt.js';
import { coloursFor } from './output.js';
import { prepare, withProgress } from './prepare.js';
import { writeOut } from './write-out.js';

/** As `timeout(1)` ends. */
const TIMEOUT_EXIT_CODE = 124;

export type RunCommandOptions = {
  readonly servers: readonly string[];
  readonly timeout?: number;
  /** Paths; each arrives under its last part. */
  readonly file: readonly string[];
  readonly out?: string;
  readonly json?: true;
};

export async function run(script: string, options: RunCommandOptions): Promise<void> {
  const prepared = prepare('warn', 'ends');
  const { settings, discovery, redactor } = prepared;
  const code = script === '-' ? await text(process.stdin) : readFile(script, NAME_A_SCRIPT).toString();
  const files = options.file.map(readInput);
  const progress = (message: string) => {
    process.stderr.write(`${coloursFor(process.stderr).dim(message)}\n`);
  };
  const signal = interruptSignal();
  await using audit = audited(prepared);
  await using bridge = new Bridge({
    settings,
    discovery,
    observer: withProgress(audit.observer, progress),
    redactor,
  });
  const { servers, timeout } = options;
  const args = { code, servers, files, ...(timeout === undefined ? {} : { timeout }) };
  using signs = new Progress(({ message }) => progress(message));
  const outcome = await runPython(settings).call(
    args,
    { bridge, progress: signs, onOutput: () => {} },
    signal,
  );
  if (options.json) process.stdout.write(`${stringify(payloadOf(outcome))}\n`);
  else show(outcome);
  const isComplete = takeOut(outcome.left, options.out);
  process.exitCode = exitCodeOf(outcome) || (isComplete ? 0 : 1);
}

const NAME_A_SCRIPT = 'Name a Python file, or - for stdin.';

function readFile(path: string, remedy: string): Buffer {
  try {
    return readFileSync(path);
  } catch (thrown) {
    throw new BridgeError('E_ARGUMENTS', `${path} cannot be read: ${messageOf(thrown)}`, {
      fault: 'operator',
      remedy,
    });
  }
}

const readInput = (path: string) => ({
  name: basename(path),
  base64: readFile(path, 'Name a file that you may read.').toString('base64'),
});

/** Writes what the code left into the folder, or says that nobody wanted it; false where something is missing. */
function takeOut(left: Left | undefined, folder: string | undefined): boolean {
  if (left === undefined) return true;
  const { files, skipped, skippedMore } = left;
  const say = (line: string) => process.stderr.write(`${coloursFor(process.stderr).dim(line)}\n`);
  for (const { name, reason } of skipped) say(`${name} was left behind: it ${reason}`);
  if (skippedMore > 0) say(`${skippedMore} more were left behind`);
  if (folder === undefined) {
    if (files.length > 0)
      say(`left in the sandbox: ${files.map(({ name }) => name).join(', ')} (--out takes them)`);
    return true;
  }
  const problems = files.flatMap(({ name, content }) => writeOut(folder, name, content) ?? []);
  for (const problem of problems) say(problem);
  return skipped.length + problems.length === 0;
}

function show({ stdout, stderr, result, pictures, error, status }: Outcome): void {
  const paint = coloursFor(process.stderr);
  process.stdout.write(stdout.text);
  // Code may leave its last line open; the value stands on a line of its own.
  const gap = stdout.text === '' || stdout.text.endsWith('\n') ? '' : '\n';
  process.stderr.write(stderr.text);
  if (result !== undefined && result.repr !== '') process.stdout.write(`${gap}${result.repr}\n`);
  // A terminal shows no pictures; that there are some is worth a line.
  for (const line of pictureLines(pictures, stdout.text)) process.stderr.write(`${paint.dim(line)}\n`);
  if (error === undefined) return;
  const lines =
    error.traceback.length > 0 && status !== 'timeout'
      ? error.traceback
      : [error.message, ...error.traceback];
  process.stderr.write(`${paint.red(`${status}:`)} ${lines.join('\n')}\n`);
  if (error.remedy !== undefined) process.stderr.write(`${paint.dim('next:')} ${error.remedy}\n`);
}

function exitCodeOf({ status, exitCode }: Outcome): number {
  switch (status) {
    case 'success':
      return exitCode ?? 0;
    case 'error':
      return exitCode || 1;
    case 'timeout':
      return TIMEOUT_EXIT_CODE;
    case 'validation_error':
      return USAGE_EXIT_CODE;
    case 'cancelled':
      return 1;
  }
}
