// Our own image, built where the default one cannot be pulled. Only for an image that nobody has named: whoever names one
// means that one.

import type { Observer } from '../../base/log/events.js';
import { VERSION } from '../../base/version.js';
import type { Engine } from '../engine.js';
import { localImageName, readRecipe } from './recipe.js';

/** What cannot be had, and why. */
export type Unavailable = { readonly image: string; readonly why: string };

/**
 * The image of `profile`, once it is built and the engine finds it. Throws E_IMAGE_BUILD, or what the build needs and this
 * machine has not; undefined where this engine cannot be built for.
 */
export async function buildInstead(
  profile: string,
  unavailable: Unavailable,
  engine: Engine,
  observer: Observer,
  signal: AbortSignal,
): Promise<{ readonly image: string; readonly id: string } | undefined> {
  if (engine.build === undefined) return undefined;
  const image = localImageName(readRecipe(profile), VERSION);
  const { image: instead, why } = unavailable;
  observer({ type: 'image.building', image, instead, why });
  await engine.build(profile, (message) => observer({ type: 'image.progress', image, message }), signal);
  const id = await engine.imageId(image, signal);
  if (id === undefined) return undefined;
  observer({ type: 'image.built', image, instead, why });
  return { image, id };
}
