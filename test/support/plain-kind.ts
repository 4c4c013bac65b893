// Settings on a host of which nothing is special, and the kind of run_python's sandboxes with the default ones, for tests
// of what is made of them.

import type { Environment } from '../../src/base/process/environment.js';
import { pythonProfile, type SandboxProfile } from '../../src/sandbox/spec/profile.js';
import { parseSettings, type Settings } from '../../src/settings/environment/settings.js';

/** As a user has set them who has no files that matter. */
export const settingsOf = (env: Environment, home = '/home/u'): Settings =>
  parseSettings(env, { home, platform: 'linux', cores: 2, cwd: '/', uid: 1000, exists: () => false })
    .settings;

export const PLAIN_KIND: SandboxProfile = pythonProfile(settingsOf({}));
