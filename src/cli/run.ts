// `run FILE.py`: the agent's tool from a shell. What the code prints goes where it would have gone, progress goes to
// stderr, and the exit code is the code's own.

import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { BridgeError, messageOf } from '../base/errors.js';
import { stringify } from '../protocol/json-text.js';
import { payloadOf } from '../render/payload.js';
import { pictureLines } from '../render/pictures.js';
import type { Outcome } from '../run/outcome.js';
import { Bridge } from '../server/bridge.js';
import { runPython } from '../server/tools/run-python.js';
import { USAGE_EXIT_CODE } from './failure.js';
import { interruptSignal } from './interrupt.js';
import { coloursFor } from './output.js';
import { prepare, withProgress } from './prepare.js';

/** As `timeout(1)` ends. */
const TIMEOUT_EXIT_CODE = 124;

export type RunCommandOptions = {
  readonly servers: readonly string[];
  readonly timeout?: number;
  readonly json?: true;
};

export async function run(file: string, options: RunCommandOptions): Promise<void> {
  const { settings, discovery, observer, redactor } = prepare('warn', 'ends');
  const code = file === '-' ? await text(process.stdin) : readCode(file);
  const progress = (message: string) => {
    process.stderr.write(`${coloursFor(process.stderr).dim(message)}\n`);
  };
  const signal = interruptSignal();
  await using bridge = new Bridge({
    settings,
    discovery,
    observer: withProgress(observer, progress),
    redactor,
  });
  const { servers, timeout } = options;
  const args = { code, servers, ...(timeout === undefined ? {} : { timeout }) };
  const outcome = await runPython(settings).call(args, { bridge, progress }, signal);
  if (options.json) process.stdout.write(`${stringify(payloadOf(outcome))}\n`);
  else show(outcome);
  process.exitCode = exitCodeOf(outcome);
}

function readCode(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new BridgeError('E_ARGUMENTS', `${file} cannot be read: ${messageOf(thrown)}`, {
      fault: 'operator',
      remedy: 'Name a Python file, or - for stdin.',
    });
  }
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
