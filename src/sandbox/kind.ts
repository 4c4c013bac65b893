// What sandboxes that can stand in for one another have in common: an image, limits, and what the language of their
// program asks for. The walls are the same for all of them (spec.ts). run_python's own kind is one of them.

import type { Place } from '../config/languages/language.js';
import type { ImageSource, LanguagePlan, Network } from '../config/languages/plan.js';
import type { Settings } from '../config/settings.js';

export type SandboxKind = {
  /** A reference, or the name of a profile. */
  readonly image: string;
  readonly imageSource: ImageSource;
  /** The recipe that stands in for an image that is not to be had. */
  readonly profile: string;
  readonly memoryBytes: number;
  readonly pids: number;
  readonly cpus: number | undefined;
  readonly network: Network;
  /** Besides those that every sandbox has. */
  readonly places: readonly Place[];
  /** Commands that are run while it waits, and Python modules that are loaded. */
  readonly ahead: ReadonlyArray<readonly string[]>;
  readonly preimport: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/** Of the sandboxes of `run_python`. */
export const pythonKind = ({
  image,
  imageIsDefault,
  memoryBytes,
  pids,
  cpus,
  preimport,
}: Settings): SandboxKind => ({
  image,
  imageSource: imageIsDefault ? 'default' : 'operator',
  profile: 'base',
  memoryBytes,
  pids,
  cpus,
  network: 'none',
  places: [],
  ahead: [],
  preimport,
  env: {},
});

/** Of the sandboxes of a language: equal to pythonKind() for Python that nobody has decided anything else about. */
export const kindOf = (
  { language, image, imageSource, memoryBytes, pids, cpus, network }: LanguagePlan,
  { preimport }: Settings,
): SandboxKind => ({
  image,
  imageSource,
  profile: language.profile,
  memoryBytes,
  pids,
  cpus,
  network,
  places: language.places,
  ahead: language.ahead,
  preimport: language.tools === 'python' ? preimport : [],
  env: network === 'none' ? { ...language.env, ...language.envOffline } : language.env,
});

/** The same for kinds whose sandboxes can stand in for one another. */
export const keyOf = (kind: SandboxKind): string => JSON.stringify(kind);
