// `run SCRIPT.py`: the agent's tool from a shell. What the code prints goes where it would have gone, files go in and
// out by option, progress goes to stderr, and the exit code is the code's own.

import { basename } from 'node:path';
import { madeVisibleJson } from '../base/unseen.js';
import { stringify } from '../protocol/json-text.js';
import { payloadOf } from '../render/payload.js';
import { pictureLines } from '../render/pictures.js';
import { sessionLine } from '../render/pieces.js';
import type { Outcome } from '../run/outcome/outcome.js';
import { COMMAND_LINE } from '../server/caller.js';
import { Progress } from '../server/progress.js';
import { runPython } from '../server/tools/run-python.js';
import { withBridge } from './command-bridge.js';
import { usageError } from './failure.js';
import { interruptSignal } from './interrupt.js';
import { sayDim } from './output.js';
import { prepare } from './prepare.js';
import { readInput, readStdin } from './read-input.js';
import { exitCodeOf, showError, takeOut } from './run-end.js';
import type { SessionCallWatcher } from './session-call.js';

export type RunCommandOptions = {
  readonly servers: readonly string[];
  readonly timeout?: number;
  /** Paths; each arrives under its last part. */
  readonly file: readonly string[];
  readonly out?: string;
  /** The session that it is a call of; it outlives this command. */
  readonly session?: string;
  /** Refused where there is no such session yet. */
  readonly requireSession?: true;
  readonly json?: true;
};

export async function run(script: string, options: RunCommandOptions): Promise<void> {
  const { session, requireSession } = options;
  if (requireSession && session === undefined)
    throw usageError('--require-session is given without --session.', 'Add --session NAME, or leave it out.');
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
  if (session !== undefined) {
    const asked = { ...args, session, ...(requireSession ? { require_session: true } : {}) };
    return await runInSession(asked, options, signal);
  }
  await withBridge(prepared, async (bridge) => {
    using signs = new Progress(({ message }) => sayDim(message));
    const context = { bridge, caller: COMMAND_LINE, progress: signs, onOutput: () => {} };
    const outcome = await runPython(bridge.settings).call(args, context, signal);
    finish(outcome, options);
  });
}

/** The same in the shared bridge, whose answer may come in parts. */
async function runInSession(args: object, options: RunCommandOptions, signal: AbortSignal): Promise<void> {
  const { callInSession } = await import('./session-call.js');
  const before = { stdout: '', stderr: '' };
  const onPart: SessionCallWatcher['onPart'] = ({ stdout, stderr }) => {
    before.stdout += stdout.text;
    before.stderr += stderr.text;
    if (options.json) return;
    process.stdout.write(stdout.text);
    process.stderr.write(stderr.text);
  };
  const outcome = await callInSession({ ...args }, { onProgress: sayDim, onPart }, signal);
  if (outcome.session !== undefined && !options.json) sayDim(`session ${sessionLine(outcome.session)}`);
  finish(outcome, options, before);
}

/** `before`: what it has printed that is no part of `outcome`. */
function finish(outcome: Outcome, options: RunCommandOptions, before = { stdout: '', stderr: '' }): void {
  const { stdout, stderr } = outcome;
  const whole = {
    ...outcome,
    stdout: { ...stdout, text: before.stdout + stdout.text },
    stderr: { ...stderr, text: before.stderr + stderr.text },
  };
  if (options.json) process.stdout.write(`${madeVisibleJson(stringify(payloadOf(whole, true)))}\n`);
  else show(outcome, whole.stdout.text);
  const isComplete = takeOut(outcome.left, options.out);
  process.exitCode = exitCodeOf(outcome) || (isComplete ? 0 : 1);
}

/** `printed`: all of its output. */
function show(outcome: Outcome, printed: string): void {
  const { stdout, stderr, result, pictures, error, status } = outcome;
  process.stdout.write(stdout.text);
  // Code may leave its last line open; the value stands on a line of its own.
  const gap = printed === '' || printed.endsWith('\n') ? '' : '\n';
  process.stderr.write(stderr.text);
  if (result !== undefined && result.repr !== '') process.stdout.write(`${gap}${result.repr}\n`);
  // A terminal shows no pictures; that there are some is worth a line.
  for (const line of pictureLines(pictures, printed)) sayDim(line);
  if (error !== undefined) showError(status, error);
}
