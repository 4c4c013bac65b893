// `image rm` and `image prune`: images that bridges have built here, taken away again. An image of anybody else is left alone.

import { messageOf } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { didYouMean } from '../../base/text/closest.js';
import { VERSION } from '../../base/version.js';
import { chooseEngine } from '../../engine/detect.js';
import type { EngineImages } from '../../engine/engine.js';
import { imageAge } from '../../engine/images/image-labels.js';
import { isOwnImage, readOwnName } from '../../engine/images/image-name.js';
import { engineSelectionOf } from '../../sandbox/launch/launch-set-up.js';
import { planFor } from '../../settings/environment/plan.js';
import type { Settings } from '../../settings/environment/settings.js';
import { languages } from '../../settings/languages/records.js';
import { prepare } from '../serving/prepare.js';
import { agrees, terminalPrompts } from '../setup/dialogue.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { megabytes, printJson, usageError, visibleText } from '../terminal/output.js';

type OldImage = { readonly image: string; readonly sizeBytes: number; readonly why: string };
export type RemovedImage = {
  readonly image: string;
  readonly removed: boolean;
  /** Why it is still there; null if it is gone. */
  readonly problem: string | null;
};

/** Removes the images that are named, each by its profile or by the name that `image list` shows. */
export async function imageRemove(
  names: readonly string[],
  { json }: { readonly json?: true },
): Promise<void> {
  const { images, signal } = await openImages();
  const there = await ownImages(images, signal);
  const wanted = [...new Set(names.map((name) => imageNamed(name, there, images)))];
  const removed = await removeEach(wanted, images, signal);
  if (json) return printJson({ images: removed });
  process.stdout.write(removed.map(removedLine).join(''));
}

/** Removes images of other versions and of older recipes that no setting names; says which, and asks. */
export async function imagePrune(options: RemovalOptions): Promise<void> {
  const { settings, images, signal } = await openImages();
  const old = await oldImages(settings, images, signal);
  const isDone = old.length === 0 || options.dryRun === true;
  if (!options.json) process.stdout.write(oldText(old));
  if (
    !isDone &&
    !(await confirmRemoval(`Remove ${old.length === 1 ? 'it' : `these ${old.length}`}?`, options))
  )
    return;
  const removed = isDone
    ? []
    : await removeEach(
        old.map(({ image }) => image),
        images,
        signal,
      );
  if (options.json) return printJson({ old, images: removed });
  process.stdout.write(removed.map(removedLine).join(''));
}

async function openImages(): Promise<{
  readonly settings: Settings;
  readonly images: EngineImages;
  readonly signal: AbortSignal;
}> {
  const { settings } = prepare('warn', 'ends');
  const signal = interruptSignal();
  const { images } = await chooseEngine(engineSelectionOf(settings), signal);
  return { settings, images, signal };
}

/** Names of all images of ours that are there, of any version. */
export async function ownImages(images: EngineImages, signal: AbortSignal): Promise<readonly string[]> {
  return [...new Set((await images.names(signal)).map((name) => name.trim()))].filter(isOwnImage);
}

/** Removes one after the other; the exit code is 1 if one of them stays. */
export async function removeEach(
  names: readonly string[],
  images: EngineImages,
  signal: AbortSignal,
): Promise<readonly RemovedImage[]> {
  const removed: RemovedImage[] = [];
  for (const image of names) {
    try {
      await images.remove(image, signal);
      removed.push({ image, removed: true, problem: null });
    } catch (thrown) {
      process.exitCode = 1;
      removed.push({ image, removed: false, problem: messageOf(thrown) });
    }
  }
  return removed;
}

export const removedLine = ({ image, problem }: RemovedImage): string =>
  problem === null ? `${image}: removed\n` : `${image}: stays: ${visibleText(problem)}\n`;

function imageNamed(name: string, there: readonly string[], images: EngineImages): string {
  const profileOf = (image: string) => readOwnName(image)?.profile;
  // A profile has one image for each version; the present version's is meant.
  const found =
    there.find((image) => image === name) ??
    there.find((image) => profileOf(image) === name && image.includes(`:${VERSION}`)) ??
    there.find((image) => profileOf(image) === name);
  if (found !== undefined) return found;
  const known = [...there, ...there.flatMap((image) => profileOf(image) ?? [])];
  throw usageError(
    `'${visibleText(name)}' is no image that was built here.${didYouMean(name, known)}`,
    `\`${ownCommand('image', 'list')}\` shows those. To remove another image: \`${images.removalOf(name)}\`.`,
  );
}

/** Images of ours that nothing here would start from. */
export async function oldImages(
  settings: Settings,
  images: EngineImages,
  signal: AbortSignal,
): Promise<readonly OldImage[]> {
  const named = namedImages(settings);
  const found: OldImage[] = [];
  for (const image of await ownImages(images, signal)) {
    const own = readOwnName(image);
    if (own === undefined || named.has(image)) continue;
    const [, tag = ''] = image.slice(image.lastIndexOf('/')).split(':');
    // The plain image of a profile is used until it is built anew, however old its recipe is.
    if (tag === VERSION) continue;
    const isOfThisVersion = tag.startsWith(`${VERSION}-`);
    const why = isOfThisVersion ? await imageAge(images, image, signal) : 'made by another version';
    const facts = why === undefined ? undefined : await images.inspect(image, signal);
    if (why !== undefined && facts !== undefined) found.push({ image, sizeBytes: facts.sizeBytes, why });
  }
  return found;
}

/** Images that settings name. Those of profiles are of this version, and go by their age. */
const namedImages = (settings: Settings): ReadonlySet<string> =>
  new Set([
    settings.image,
    settings.executeImage,
    ...languages.map((language) => planFor(language, settings).image),
  ]);

function oldText(old: readonly OldImage[]): string {
  if (old.length === 0) return 'No old image is here.\n';
  const lines = old.map(({ image, sizeBytes, why }) => `  ${image}  ${megabytes(sizeBytes)}, ${why}\n`);
  return `Old images that nothing here uses:\n${lines.join('')}`;
}

// The question before something is removed, and what stands for its answer where nobody can be asked.

export type RemovalOptions = {
  /** Remove without asking. */
  readonly yes?: true;
  /** Only say what would be removed. */
  readonly dryRun?: true;
  readonly json?: true;
};

/** True with --yes; asks on a terminal. Throws E_ARGUMENTS if nobody can be asked, E_CANCELLED at Ctrl-C. */
export async function confirmRemoval(question: string, { yes, json }: RemovalOptions): Promise<boolean> {
  if (yes) return true;
  const isInteractive = !json && process.stdin.isTTY === true && process.stdout.isTTY === true;
  if (!isInteractive)
    throw usageError(
      'Nothing was removed: it asks first, and there is no terminal to ask at.',
      'Add --yes to remove it, or --dry-run to see the list only.',
    );
  const asked = { options: {}, isInteractive, clear: () => {}, prompts: terminalPrompts };
  return await agrees(asked, question, false);
}
