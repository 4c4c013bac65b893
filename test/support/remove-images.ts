// Removes what a test has built. podman looks up an image's containers and then removes them: one that ends in between, as
// containers of ours do behind everybody's back, fails the whole command (seen with podman 4.3: 2 of 12 tries).

import { execFileSync } from 'node:child_process';
import { eventually } from './time.js';

/** Throws where one of `names` is still there after ten seconds. */
export async function removeImages(...names: readonly string[]): Promise<void> {
  if (!(await eventually(() => tryToRemove(names)))) throw new Error(`left: ${names.join(', ')}`);
}

function tryToRemove(names: readonly string[]): boolean {
  try {
    execFileSync('podman', ['rmi', '--force', '--ignore', ...names], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
