// Things that a run has left, for a person: pictures and files go into the folder that the person names, or are kept for a
// while, each told with its place. Their names were chosen by hostile code.

import { relative } from 'node:path/posix';
import { messageOf } from '../../base/errors.js';
import { duration } from '../../run/answer/files.js';
import { RESULTS_FOLDER, uniqueName } from '../../run/artifacts/file-names.js';
import { KeptFiles } from '../../run/artifacts/kept-files.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import type { Prepared } from '../serving/prepare.js';
import { sayDim, sayNote, visibleText } from '../terminal/output.js';
import { writeOut } from '../terminal/write-out.js';

/** Writes all of it into `folder`; false where something is missing. */
function writeLeft(outcome: Outcome, folder: string): boolean {
  const problems = thingsIn(outcome).flatMap(({ name, content }) => writeOut(folder, name, content) ?? []);
  for (const problem of problems) sayDim(problem);
  const behind = sayLeftBehind(outcome);
  return problems.length + behind === 0;
}

/** Keeps what is not kept already, and says where everything is. */
export async function keepLeft(outcome: Outcome, kept: KeptFiles): Promise<void> {
  const things = thingsIn(outcome);
  const unkept = things.filter(({ path }) => path === undefined);
  const { places, trouble } = await keep(unkept, kept);
  for (const { name, content, path = places.get(name) } of things)
    sayDim(`${visibleText(name)} (${content.length} bytes): ${path ?? `not kept, ${trouble}`}`);
  sayLeftBehind(outcome);
}

/** Where a command that ends keeps what its user wants: its own bridge keeps nothing. */
export function keptByUser({ settings, keepSeconds }: Prepared): KeptFiles {
  return new KeptFiles({ stateDir: settings.stateDir, keepSeconds, quotaBytes: settings.keepBytes });
}

/** Writes what a run has left into `folder`, or keeps it, for a shell. False where something that was asked for is missing. */
export async function takeOut(
  outcome: Outcome,
  folder: string | undefined,
  prepared: Prepared,
): Promise<boolean> {
  if (folder !== undefined) return writeLeft(outcome, folder);
  using kept = keptByUser(prepared);
  await keepLeft(outcome, kept);
  if (thingsIn(outcome).length === 0) return true;
  const forHowLong = kept.isOn ? `Kept for ${duration(kept.keepSeconds)}; ` : '';
  sayNote(`${forHowLong}--out FOLDER writes such files where you want them.`);
  return true;
}

function thingsIn({ pictures, left }: Outcome): readonly {
  readonly name: string;
  readonly mimeType: string;
  readonly content: Buffer;
  /** Where its bridge has kept it. */
  readonly path: string | undefined;
}[] {
  const files = left?.files ?? [];
  // Files are written without the folder for results in front.
  const names = new Set(files.map(({ name }) => relative(RESULTS_FOLDER, name)));
  return [
    ...pictures.shown.map(({ number, kind, data }) => ({
      name: uniqueName(`picture-${number}.${kind}`, names),
      mimeType: `image/${kind}`,
      content: Buffer.from(data, 'base64'),
      path: undefined,
    })),
    // Short texts are not kept by a bridge, since they stand in an agent's answer.
    ...files.map(({ name, mimeType, content, kept }) => ({ name, mimeType, content, path: kept?.path })),
  ];
}

/** How many were left behind. */
function sayLeftBehind({ left }: Outcome): number {
  if (left === undefined) return 0;
  const { skipped, skippedMore } = left;
  for (const { name, reason } of skipped) sayDim(`${visibleText(name)} was not saved: it ${reason}`);
  if (skippedMore > 0) sayDim(`${skippedMore} more were not saved`);
  return skipped.length + skippedMore;
}

/** `trouble`: why something has no place, in words. */
async function keep(
  things: ReturnType<typeof thingsIn>,
  kept: KeptFiles,
): Promise<{ readonly places: ReadonlyMap<string, string>; readonly trouble: string }> {
  const places = new Map<string, string>();
  const failed = (trouble: string) => ({ places: new Map<string, string>(), trouble });
  if (!kept.isOn) return failed('since nothing is kept here (MCP_BRIDGE_KEEP_SECONDS, MCP_BRIDGE_KEEP_MB)');
  if (things.length > 0) {
    const run = kept.open('command line');
    try {
      for (const { name, mimeType, content } of things) {
        const { path } = await run.put(name, mimeType, content);
        if (path !== undefined) places.set(name, path);
      }
      await run.seal();
    } catch (thrown) {
      await run.discard().catch(() => {});
      return failed(`since ${messageOf(thrown)}`);
    }
  }
  return { places, trouble: 'for an unknown reason' };
}
