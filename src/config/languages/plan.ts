// What the operator has decided about a language: its image, its limits, whether it has a network. The environment comes
// before isolator's file, that before the language's own record.

import type { Settings } from '../settings.js';
import type { Language } from './language.js';

/** `outbound` is opened by the operator only, and for one language at a time. */
export type Network = 'none' | 'outbound';

/** Who named an image; only one that `operator` named is never replaced by our own. */
export type ImageSource = 'operator' | 'isolator' | 'default';

export type LanguagePlan = {
  readonly language: Language;
  /** A reference, or the name of a profile. */
  readonly image: string;
  readonly imageSource: ImageSource;
  readonly memoryBytes: number;
  readonly pids: number;
  readonly cpus: number | undefined;
  readonly timeoutSeconds: number;
  readonly network: Network;
};

export function planFor(language: Language, settings: Settings): LanguagePlan {
  const { limits } = language;
  const isPython = language.tools === 'python';
  return {
    language,
    image: isPython ? settings.image : language.profile,
    imageSource: isPython && settings.said.has('MCP_BRIDGE_IMAGE') ? 'operator' : 'default',
    memoryBytes: limits.memoryBytes ?? settings.memoryBytes,
    pids: limits.pids ?? settings.pids,
    cpus: settings.cpus,
    timeoutSeconds: Math.min(limits.timeoutSeconds ?? settings.timeoutSeconds, settings.maxTimeoutSeconds),
    network: 'none',
  };
}
