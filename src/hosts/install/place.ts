// The machine on which commands change hosts' files: environment, home and state directory, read once.

import { stateOpenToOthers } from '../../settings/environment/setting-paths.js';
import { settingsError } from '../../settings/environment/setting-problems.js';
import { parseSettings } from '../../settings/environment/settings.js';
import { hostFacts } from '../../settings/files/host-facts.js';
import type { ChangePlace } from './changes.js';

/** Throws E_SETTINGS. */
export function changePlace(): ChangePlace {
  const host = hostFacts();
  const { env } = process;
  const { settings } = parseSettings(env, host);
  const problems = stateOpenToOthers(settings, host);
  if (problems.length > 0) throw settingsError(problems);
  return { env, host, stateDir: settings.stateDir };
}
