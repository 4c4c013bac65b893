// What the operator has decided about a language: its image, its limits, whether it has a network. A variable that was
// set comes before isolator's file, that before the language's own record, that before our defaults.

import type { Settings } from '../settings.js';
import type { VariableName } from '../variables.js';
import { isPython, type Language } from './language.js';
import { languages } from './records.js';
import { DEFAULT_WORKDIR } from './workdir.js';

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
  /** Absolute, in the sandbox. */
  readonly workdir: string;
};

/** The languages that agents may use, in the records' order. */
export const offeredLanguages = ({ languages: offered }: Pick<Settings, 'languages'>): readonly Language[] =>
  languages.filter(({ name }) => offered.includes(name));

/** Names of those for which the operator has opened the network. */
export const networkedLanguages = (settings: Settings, among = languages): readonly string[] =>
  among.filter((language) => planFor(language, settings).network !== 'none').map(({ name }) => name);

export function planFor(language: Language, settings: Settings): LanguagePlan {
  const { explicitlySet, isolator } = settings;
  const { limits } = language;
  const first = <T>(name: VariableName, set: T, ...others: ReadonlyArray<T | undefined>): T =>
    explicitlySet.has(name) ? set : (others.find((value) => value !== undefined) ?? set);
  const timeoutSeconds = first(
    'MCP_BRIDGE_TIMEOUT',
    settings.timeoutSeconds,
    isolator?.timeoutSeconds,
    limits.timeoutSeconds,
  );
  return {
    language,
    ...imageFor(language, settings),
    memoryBytes: first('MCP_BRIDGE_MEMORY', settings.memoryBytes, isolator?.memoryBytes, limits.memoryBytes),
    pids: first('MCP_BRIDGE_PIDS', settings.pids, isolator?.pids, limits.pids),
    cpus: first('MCP_BRIDGE_CPUS', settings.cpus, isolator?.cpus),
    timeoutSeconds: Math.min(timeoutSeconds, settings.maxTimeoutSeconds),
    network: networkFor(language, settings),
    workdir: isolator?.workdir ?? DEFAULT_WORKDIR,
  };
}

function imageFor(
  language: Language,
  { explicitlySet, image, languageImages, isolator }: Settings,
): Pick<LanguagePlan, 'image' | 'imageSource'> {
  const { name, profile } = language;
  const named =
    languageImages.get(name) ??
    (isPython(language) && explicitlySet.has('MCP_BRIDGE_IMAGE') ? image : undefined);
  if (named !== undefined) return { image: named, imageSource: 'operator' };
  const isolators = isolator?.images.get(name);
  if (isolators !== undefined) return { image: isolators, imageSource: 'isolator' };
  return { image: isPython(language) ? image : profile, imageSource: 'default' };
}

function networkFor({ name }: Language, { explicitlySet, networkLanguages, isolator }: Settings): Network {
  if (explicitlySet.has('MCP_BRIDGE_NETWORK')) return networkLanguages.includes(name) ? 'outbound' : 'none';
  return isolator?.network ?? 'none';
}
