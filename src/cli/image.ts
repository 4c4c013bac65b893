// `image build` and `image list`: images that need no registry, and which of the local ones a sandbox would use.

import { ownCommand } from '../base/own-command.js';
import { VERSION } from '../base/version.js';
import { chooseEngine } from '../engine/detect.js';
import { buildImage } from '../engine/image.js';
import { listImages } from '../engine/image-choice.js';
import { BASE_PROFILE, foreignArchitecture, readRecipe } from '../engine/recipe.js';
import { pythonKind } from '../sandbox/kind.js';
import { wishesOf } from '../sandbox/launch-pad.js';
import { columns } from './columns.js';
import { interruptSignal } from './interrupt.js';
import { coloursFor, megabytes, printJson, seconds } from './output.js';
import { prepare } from './prepare.js';

/** One after the other, each reported when it is there; a profile that does not exist ends it before the first. */
export async function imageBuild(
  wanted: readonly string[],
  { suite }: { readonly suite?: string },
): Promise<void> {
  const profiles = [...new Set(wanted.length === 0 ? [BASE_PROFILE] : wanted)];
  for (const profile of profiles) readRecipe(profile);
  const { settings } = prepare('warn', 'ends');
  const signal = interruptSignal();
  const { client, status } = await chooseEngine(wishesOf(settings), signal);
  const architecture = foreignArchitecture(status.architecture);
  const paint = coloursFor(process.stderr);
  const onProgress = (line: string) => process.stderr.write(`${paint.dim(line)}\n`);
  for (const profile of profiles) {
    const built = await buildImage(
      { client, architecture, profile, suite, version: VERSION, onProgress },
      signal,
    );
    process.stdout.write(
      `${built.image}  ${megabytes(built.sizeBytes)}, built in ${seconds(built.durationMs)}\n`,
    );
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
