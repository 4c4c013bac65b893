// The seccomp profile as a file that the engine reads. Its rules are generated from the engine's default and a list of
// what we take out of it, with reasons: scripts/seccomp/changes.mjs.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../base/version.js';
import type { SeccompProfile } from '../config/variables.js';
import { installFiles } from './installed-files.js';

/** Path of the profile, below the state directory. Throws E_STATE where that cannot be written. */
export function prepareSeccomp(stateDir: string, profile: SeccompProfile): string {
  const name = `${profile}.json`;
  const text = readFileSync(join(PACKAGE_ROOT, 'sandbox-runtime', 'seccomp', name), 'utf8');
  return join(installFiles(stateDir, 'seccomp', new Map([[name, text]])), name);
}
