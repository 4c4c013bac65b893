// The machine on which commands change hosts' files: environment, home and state directory, read once.

import { hostFacts } from '../../config/host-facts.js';
import { stateOpenToOthers } from '../../config/own-state.js';
import { settingsError } from '../../config/setting-problems.js';
import { parseSettings } from '../../config/settings.js';
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
