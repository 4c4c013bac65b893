// Tests of an image profile that nobody need have built: skipped where it is not there, with the reason in their name, where
// a report shows it.

import { execFileSync } from 'node:child_process';
import { describe } from 'vitest';
import { VERSION } from '../../src/base/version.js';
import { localImageName, readRecipe } from '../../src/engine/recipe.js';

export function suiteWithImage(profile: string, name: string, tests: () => void): void {
  const image = localImageName(readRecipe(profile), VERSION);
  if (isBuilt(image)) describe(name, tests);
  else
    describe.skip(
      `${name} (skipped: no ${image}; \`mcp-sandbox-bridge image build ${profile}\` makes it)`,
      tests,
    );
}

function isBuilt(image: string): boolean {
  try {
    execFileSync('podman', ['image', 'exists', image], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
