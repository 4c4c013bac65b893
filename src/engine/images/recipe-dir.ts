// Where the recipes of our images lie, and what they say of themselves. Quick, because the command line's help asks;
// recipe.ts is what reads and checks one whole.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../base/version.js';

/** The directory of recipes and their scripts. */
export const RECIPE_DIR = join(PACKAGE_ROOT, 'sandbox-runtime', 'images');

/** The profiles that can be built. */
export function profiles(): string[] {
  return readdirSync(RECIPE_DIR)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .sort();
}

/** A recipe as it is written. */
export const rawRecipe = (profile: string): unknown =>
  JSON.parse(readFileSync(join(RECIPE_DIR, `${profile}.json`), 'utf8'));

/** Each profile with what its recipe says that it holds. */
export const describedProfiles = (): ReadonlyArray<readonly [profile: string, description: string]> =>
  profiles().map((profile) => [profile, (rawRecipe(profile) as { description: string }).description]);
