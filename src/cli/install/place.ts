// The machine on which commands change hosts' files: environment, home and state directory, read once.

import { hostFacts } from '../../config/host-facts.js';
import { parseSettings } from '../../config/settings.js';
import type { ChangePlace } from './changes.js';

/** Throws E_SETTINGS. */
export function changePlace(): ChangePlace {
  const host = hostFacts();
  const { env } = process;
  return { env, host, stateDir: parseSettings(env, host).settings.stateDir };
}
