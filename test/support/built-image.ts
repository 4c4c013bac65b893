// Which images of our recipes are there, for tests that need one which nobody need have built: asked of podman when a
// test file loads. What is skipped says so in its name, where a report shows it.

import { execFileSync } from 'node:child_process';
import { describe } from 'vitest';
import { VERSION } from '../../src/base/version.js';
import { localImageName, readRecipe } from '../../src/engine/images/recipe.js';

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

/** `tests` where the profile's image is there. */
export function suiteWithImage(profile: string, name: string, tests: () => void): void {
  if (isBuilt(profile)) describe(name, tests);
  else
    describe.skip(
      `${name} (skipped: no ${imageOf(profile)}; \`mcp-sandbox-bridge image build ${profile}\` makes it)`,
      tests,
    );
}
