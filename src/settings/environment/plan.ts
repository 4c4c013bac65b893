// The operator's decisions about a language: its image, its limits, whether it has a network. A variable that was set comes
// first, then an import from another program's file, then the language's own record, then our defaults.

import { DEFAULT_WORKDIR, isPython, type Language, languages } from '../languages/records.js';
import type { Settings } from './settings.js';
import type { VariableName } from './variables.js';

/** `outbound` is opened by the operator only, and for one language at a time. */
export type Network = 'none' | 'outbound';

/** Who named an image; only one that `operator` named is never replaced by our own. `importedFrom` is for a sentence. */
export type ImageSource = 'operator' | 'default' | { readonly importedFrom: string };

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
  const { explicitlySet, imported } = settings;
  const { limits } = language;
  const first = <T>(name: VariableName, set: T, ...others: ReadonlyArray<T | undefined>): T =>
    explicitlySet.has(name) ? set : (others.find((value) => value !== undefined) ?? set);
  const timeoutSeconds = first(
    'MCP_BRIDGE_TIMEOUT',
    settings.timeoutSeconds,
    imported?.timeoutSeconds,
    limits.timeoutSeconds,
  );
  return {
    language,
    ...imageFor(language, settings),
    memoryBytes: first('MCP_BRIDGE_MEMORY', settings.memoryBytes, imported?.memoryBytes, limits.memoryBytes),
    pids: first('MCP_BRIDGE_PIDS', settings.pids, imported?.pids, limits.pids),
    cpus: first('MCP_BRIDGE_CPUS', settings.cpus, imported?.cpus),
    timeoutSeconds: Math.min(timeoutSeconds, settings.maxTimeoutSeconds),
    network: networkFor(language, settings),
    workdir: imported?.workdir ?? DEFAULT_WORKDIR,
  };
}

function imageFor(
  language: Language,
  { explicitlySet, image, languageImages, imported }: Settings,
): Pick<LanguagePlan, 'image' | 'imageSource'> {
  const { name, profile } = language;
  const named =
    languageImages.get(name) ??
    (isPython(language) && explicitlySet.has('MCP_BRIDGE_IMAGE') ? image : undefined);
  if (named !== undefined) return { image: named, imageSource: 'operator' };
  const other = imported?.images.get(name);
  if (imported !== undefined && other !== undefined)
    return { image: other, imageSource: { importedFrom: imported.source } };
  return { image: isPython(language) ? image : profile, imageSource: 'default' };
}

function networkFor({ name }: Language, { explicitlySet, networkLanguages, imported }: Settings): Network {
  if (explicitlySet.has('MCP_BRIDGE_NETWORK')) return networkLanguages.includes(name) ? 'outbound' : 'none';
  return imported?.network ?? 'none';
}
