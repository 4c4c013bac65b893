// Which images of our recipes are there, for tests that need one: asked of podman once, when a test file loads.

import { execFileSync } from 'node:child_process';
import { VERSION } from '../../src/base/version.js';
import { localImageName, readRecipe } from '../../src/engine/recipe.js';

/** The full name of a profile's image. */
export const imageOf = (profile: string): string => localImageName(readRecipe(profile), VERSION);

export function isBuilt(profile: string): boolean {
  try {
    execFileSync('podman', ['image', 'exists', imageOf(profile)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
