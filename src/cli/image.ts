// `image build` and `image list`: images that need no registry, and which of the local ones a sandbox would use.

import { ownCommand } from '../base/own-command.js';
import { VERSION } from '../base/version.js';
import { chooseEngine } from '../engine/detect.js';
import { type BuiltImage, buildImage } from '../engine/image.js';
import { listImages } from '../engine/image-choice.js';
import { BASE_PROFILE, foreignArchitecture, readRecipe } from '../engine/recipe.js';
import { pythonKind } from '../sandbox/kind.js';
import { wishesOf } from '../sandbox/launch-pad.js';
import { BuildProgress, NO_PROGRESS } from './build-progress.js';
import { columns } from './columns.js';
import { interruptSignal } from './interrupt.js';
import { coloursFor, megabytes, printJson, seconds } from './output.js';
import { prepare } from './prepare.js';

/** One after the other, each reported when it is there; a profile that does not exist ends it before the first. */
export async function imageBuild(
  wanted: readonly string[],
  { suite, json }: { readonly suite?: string; readonly json?: true },
): Promise<void> {
  const profiles = [...new Set(wanted.length === 0 ? [BASE_PROFILE] : wanted)];
  for (const profile of profiles) readRecipe(profile);
  const { settings } = prepare('warn', 'ends');
  const signal = interruptSignal();
  const { client, status } = await chooseEngine(wishesOf(settings), signal);
  const architecture = foreignArchitecture(status.architecture);
  const images: BuiltImage[] = [];
  for (const profile of profiles) {
    using progress = json ? NO_PROGRESS : new BuildProgress(process.stderr);
    const { onProgress, onBytes } = progress;
    const built = await buildImage(
      { client, architecture, profile, suite, version: VERSION, onProgress, onBytes },
      signal,
    );
    progress[Symbol.dispose]();
    images.push(built);
    if (json) continue;
    process.stdout.write(
      `${built.image}  ${megabytes(built.sizeBytes)}, built in ${seconds(built.durationMs)}\n`,
    );
  }
  if (json) {
    printJson({
      images: images.map(({ durationMs, ...image }) => ({ ...image, durationMs: Math.round(durationMs) })),
    });
  }
}

export async function imageList({ json }: { readonly json?: true }): Promise<void> {
  const { settings } = prepare('warn', 'ends');
  const signal = interruptSignal();
  const { client } = await chooseEngine(wishesOf(settings), signal);
  const images = await listImages(pythonKind(settings), client, signal);
  if (json) {
    printJson({ images });
    return;
  }
  const paint = coloursFor(process.stdout);
  if (images.length === 0) {
    process.stdout.write(`There is no image yet. Run \`${ownCommand('image', 'build')}\`.\n`);
    return;
  }
  process.stdout.write(
    columns(
      images.map(({ image, id, sizeBytes, chosen }) => [
        chosen ? paint.green('used') : '',
        image,
        megabytes(sizeBytes),
        paint.dim(id.replace(/^sha256:/, '').slice(0, 12)),
      ]),
    ),
  );
}
