// What an image that we build holds, as data: one JSON file per profile in sandbox-runtime/images, with the scripts
// that it names beside it. Only read here; image.ts makes the image.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { didYouMean } from '../base/closest.js';
import { BridgeError } from '../base/errors.js';
import { PACKAGE_NAME, PACKAGE_ROOT } from '../base/version.js';

/** The directory of recipes and their scripts. */
export const RECIPE_DIR = join(PACKAGE_ROOT, 'sandbox-runtime', 'images');
export const BASE_PROFILE = 'base';

const recipeFile = z.strictObject({
  profile: z.string(),
  /** The image's name under our namespace. */
  name: z.string(),
  description: z.string(),
  /** Debian release to take the packages from, unless the caller names another. */
  suite: z.string(),
  packages: z.array(z.string()).min(1),
  removePackages: z.array(z.string()),
  /** Relative to the image's root; shell patterns. */
  removePaths: z.array(z.string().regex(/^[^/]/, 'must be relative')),
  /** Scripts beside the recipe, run in this order with the image's root as their argument. */
  hooks: z.array(z.string().regex(/^[\w-]+\.sh$/)),
  env: z.record(z.string(), z.string()),
  command: z.array(z.string()),
});

export type Recipe = Readonly<z.infer<typeof recipeFile>>;

/** The profiles that can be built. */
export function profiles(): string[] {
  return readdirSync(RECIPE_DIR)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .sort();
}

/** Throws E_ARGUMENTS for a profile that does not exist. */
export function readRecipe(profile: string): Recipe {
  const known = profiles();
  if (!known.includes(profile)) {
    throw new BridgeError(
      'E_ARGUMENTS',
      `There is no image profile '${profile}'.${didYouMean(profile, known)}`,
      { fault: 'operator', remedy: `Profiles: ${known.join(', ')}.` },
    );
  }
  return recipeFile.parse(JSON.parse(readFileSync(join(RECIPE_DIR, `${profile}.json`), 'utf8')));
}

/** Reference of the image that `buildImage` makes; a suite other than the recipe's own shows in the tag. */
export function localImageName(recipe: Recipe, version: string, suite: string = recipe.suite): string {
  return `localhost/${PACKAGE_NAME}/${recipe.name}:${version}${suite === recipe.suite ? '' : `-${suite}`}`;
}
