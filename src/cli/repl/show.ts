// What a call of `repl` shows: its output as it comes, then its value as Python shows it, what it left, and what went wrong.

import type { OutputStream } from '../../base/process/streams.js';
import { harmless } from '../../base/text/text.js';
import { pictureLines } from '../../run/answer/pictures.js';
import type { KeptFiles } from '../../run/artifacts/kept-files.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { keepLeft } from '../run/left.js';
import { showError } from '../run/run-end.js';
import { coloursFor, sayDim } from '../terminal/output.js';

/** The output of one call; its last line may be open when something else is to be said. */
export class LiveOutput {
  #open: OutputStream | undefined;

  readonly add = (stream: OutputStream, text: string): void => {
    const shown = harmless(text);
    process[stream].write(shown);
    this.#open = shown.endsWith('\n') ? undefined : stream;
  };

  endLine(): void {
    if (this.#open !== undefined) process[this.#open].write('\n');
    this.#open = undefined;
  }
}

/** Everything but its output. */
export async function showOutcome(outcome: Outcome, kept: KeptFiles): Promise<void> {
  const { result, error, status, note, session } = outcome;
  if (session !== undefined && session.says.length > 0) sayDim(`[session: ${session.says.join('; ')}]`);
  if (result !== undefined && result.repr !== '') process.stdout.write(`${result.repr}\n`);
  for (const line of pictureLines({ shown: [], leftOut: outcome.pictures.leftOut }, '')) sayDim(line);
  await showLeft(outcome, kept);
  if (note !== undefined) sayDim(note);
  if (error === undefined) return;
  const { traceback } = error;
  if (error.isByCode && traceback.length > 0)
    process.stderr.write(`${coloursFor(process.stderr).red(traceback.join('\n'))}\n`);
  else showError(status, error);
}

/** Pictures and files, each with its place on this machine. */
async function showLeft(outcome: Outcome, kept: KeptFiles): Promise<void> {
  const { left, stdout, stderr } = outcome;
  await keepLeft(outcome, kept);
  if (left?.result?.path !== undefined) sayDim(`the whole value: ${left.result.path}`);
  for (const { whole, dropped } of [stdout, stderr])
    if (dropped > 0 && whole?.path !== undefined) sayDim(`the whole output: ${whole.path}`);
}
