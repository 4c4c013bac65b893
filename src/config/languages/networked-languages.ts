// Which languages the operator has opened the network for, for what is said of it.

import type { Settings } from '../settings.js';
import { planFor } from './plan.js';
import { languages } from './records.js';

export const networkedLanguages = (settings: Settings): readonly string[] =>
  languages.filter((language) => planFor(language, settings).network !== 'none').map(({ name }) => name);
