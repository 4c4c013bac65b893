// Labels in which an image of ours says of which recipe it was made, of which release of Debian, and what its Python can
// import. Written when it is built, read of an image on disk: an image outlives the recipe that it was made by.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { createHash } from '../../base/crypto.js';
import { jsonIn } from '../../base/json/records.js';
import { PACKAGE_NAME } from '../../base/version.js';
import type { EngineImages } from '../engine.js';
import { RECIPE_DIR, readOwnName } from './image-name.js';
import { modulesOf, type Recipe, recipeOf } from './recipe.js';

/** The prefix of our labels, which is ours alone. */
const LABEL = `${PACKAGE_NAME}.`;

/** The whole name of one of our labels. */
export const labelName = (name: 'modules'): string => `${LABEL}${name}`;

const labels = z.record(z.string(), z.string()).nullable();

/** A digest, other for every other content of an image that the recipe decides: 12 hexadecimal digits. */
export function recipeDigest(recipe: Recipe, suite: string): string {
  const { packages, standIns, removePackages, removePaths, env, command, unpacked } = recipe;
  const hooks = recipe.hooks.map((hook) => readFileSync(join(RECIPE_DIR, hook), 'utf8'));
  const text = JSON.stringify([
    suite,
    packages,
    standIns,
    removePackages,
    removePaths,
    hooks,
    env,
    command,
    unpacked,
  ]);
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** Each as `name=value`. */
export const labelsFor = (recipe: Recipe, suite: string, version: string): readonly string[] => [
  `${LABEL}image=${recipe.profile}-${version}`,
  `${LABEL}suite=${suite}`,
  `${LABEL}recipe=${recipeDigest(recipe, suite)}`,
  `${LABEL}modules=${modulesOf(recipe).join(',')}`,
];

/** Undefined for an image that is not here, and for one that is not ours. */
export async function readLabels(images: Pick<EngineImages, 'labels'>, image: string, signal: AbortSignal) {
  const text = await images.labels(image, signal);
  return text === undefined ? undefined : parseLabels(text);
}

/** Reads labels from JSON, as engines print it. */
export function parseLabels(text: string) {
  const parsed = labels.safeParse(jsonIn(text));
  const found = parsed.success ? (parsed.data ?? {}) : {};
  if (found[`${LABEL}image`] === undefined) return undefined;
  const modules = found[`${LABEL}modules`];
  return {
    /** The release of Debian that it was made of; undefined for images from before this label. */
    suite: found[`${LABEL}suite`],
    /** See recipeDigest. */
    recipe: found[`${LABEL}recipe`],
    /** Modules that its Python imports beyond the standard library; undefined for images from before this label. */
    modules: modules?.split(',').filter((name) => /^\w+$/.test(name)),
  };
}

/** Half a sentence about an image of ours that today's recipe would make otherwise; undefined where it would not. */
export function ageOf(image: string, labelled: ReturnType<typeof parseLabels>): string | undefined {
  const name = readOwnName(image);
  const recipe = name === undefined ? undefined : recipeOf(name);
  if (name === undefined || recipe === undefined) return undefined;
  const suite = name.suite ?? recipe.suite;
  if (labelled?.recipe === recipeDigest(recipe, suite)) return undefined;
  // An image without the label is from before it, and may be of any release.
  if (labelled?.suite === undefined || labelled.suite === suite) return 'made by an older recipe';
  return `made from Debian ${labelled.suite}; the recipe now takes Debian ${suite}`;
}

/** Reads the labels of an image on disk for `ageOf`. Asks the engine of our own images only. */
export async function imageAge(
  images: Pick<EngineImages, 'labels'>,
  image: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (readOwnName(image) === undefined) return undefined;
  return ageOf(image, await readLabels(images, image, signal));
}
