// `run SCRIPT.py`: the agent's tool from a shell. What the code prints goes where it would have gone, files go in and
// out by option, progress goes to stderr, and the exit code is the code's own.

import { basename } from 'node:path';
import { madeVisibleJson } from '../base/unseen.js';
import { stringify } from '../protocol/json-text.js';
import { payloadOf } from '../render/payload.js';
import { pictureLines } from '../render/pictures.js';
import type { Outcome } from '../run/outcome/outcome.js';
import { COMMAND_LINE } from '../server/caller.js';
import { Progress } from '../server/progress.js';
import { runPython } from '../server/tools/run-python.js';
import { withBridge } from './command-bridge.js';
import { interruptSignal } from './interrupt.js';
import { sayDim } from './output.js';
import { prepare } from './prepare.js';
import { readInput, readStdin } from './read-input.js';
import { exitCodeOf, showError, takeOut } from './run-end.js';

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
  const source =
    script === '-' ? await readStdin() : readInput(script, 'Name a Python file, or - for stdin.');
  const files = options.file.map((path) => ({
    name: basename(path),
    base64: readInput(path).toString('base64'),
  }));
  const { servers, timeout } = options;
  const args = { code: source.toString(), servers, files, ...(timeout === undefined ? {} : { timeout }) };
  const signal = interruptSignal();
  await withBridge(prepared, async (bridge) => {
    using signs = new Progress(({ message }) => sayDim(message));
    const context = { bridge, caller: COMMAND_LINE, progress: signs, onOutput: () => {} };
    const outcome = await runPython(bridge.settings).call(args, context, signal);
    if (options.json) process.stdout.write(`${madeVisibleJson(stringify(payloadOf(outcome, true)))}\n`);
    else show(outcome);
    const isComplete = takeOut(outcome.left, options.out);
    process.exitCode = exitCodeOf(outcome) || (isComplete ? 0 : 1);
  });
}

function show(outcome: Outcome): void {
  const { stdout, stderr, result, pictures, error, status } = outcome;
  process.stdout.write(stdout.text);
  // Code may leave its last line open; the value stands on a line of its own.
  const gap = stdout.text === '' || stdout.text.endsWith('\n') ? '' : '\n';
  process.stderr.write(stderr.text);
  if (result !== undefined && result.repr !== '') process.stdout.write(`${gap}${result.repr}\n`);
  // A terminal shows no pictures; that there are some is worth a line.
  for (const line of pictureLines(pictures, stdout.text)) sayDim(line);
  if (error !== undefined) showError(status, error);
}
