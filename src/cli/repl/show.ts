// What a call of `repl` shows: its output as it comes, then its value as Python shows it, what it left, and what went wrong.

import { messageOf } from '../../base/errors.js';
import type { OutputStream } from '../../base/streams.js';
import { harmless } from '../../base/text.js';
import { pictureLines } from '../../render/pictures.js';
import type { KeptFiles } from '../../run/artifacts/kept-files.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { coloursFor, sayDim, visible } from '../output.js';
import { showError } from '../run-end.js';

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
async function showLeft({ pictures, left, stdout, stderr }: Outcome, kept: KeptFiles): Promise<void> {
  const files = left?.files ?? [];
  const unkept = [
    ...pictures.shown.map(({ number, kind, data }) => ({
      name: `picture-${number}.${kind}`,
      mimeType: `image/${kind}`,
      content: Buffer.from(data, 'base64'),
    })),
    // Short texts stand in an agent's answer instead.
    ...files.filter((file) => file.kept === undefined),
  ];
  const places = new Map(files.map((file) => [file.name, file.kept?.path]));
  const trouble = await keep(unkept, kept, places);
  const sizes = new Map([...unkept, ...files].map(({ name, content }) => [name, content.length]));
  for (const [name, bytes] of sizes)
    sayDim(`${visible(name)} (${bytes} bytes): ${places.get(name) ?? `not kept, ${trouble}`}`);
  if (left?.result?.path !== undefined) sayDim(`the whole value: ${left.result.path}`);
  for (const { whole, dropped } of [stdout, stderr])
    if (dropped > 0 && whole?.path !== undefined) sayDim(`the whole output: ${whole.path}`);
  for (const { name, reason } of left?.skipped ?? [])
    sayDim(`${visible(name)} was left behind: it ${reason}`);
}

/** Why something has no place, in words. */
async function keep(
  files: readonly { readonly name: string; readonly mimeType: string; readonly content: Buffer }[],
  kept: KeptFiles,
  places: Map<string, string | undefined>,
): Promise<string> {
  if (!kept.isOn) return 'since nothing is kept here (MCP_BRIDGE_KEEP_SECONDS, MCP_BRIDGE_KEEP_MB)';
  if (files.length === 0) return 'for an unknown reason';
  const run = kept.open('repl');
  try {
    const put = [];
    for (const { name, mimeType, content } of files) put.push(await run.put(name, mimeType, content));
    await run.seal();
    for (const { name, path } of put) places.set(name, path);
    return 'for an unknown reason';
  } catch (thrown) {
    return `since ${messageOf(thrown)}`;
  }
}
