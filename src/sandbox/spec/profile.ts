// The profile of sandboxes that can stand in for one another: an image, limits, and what the language of their program asks
// for. The walls are the same for all of them (spec.ts). run_python's own kind is such a profile.

import { MB_BYTES } from '../../base/text/sizes.js';
import type { Volume } from '../../engine/engine.js';
import {
  type ImageSource,
  type LanguagePlan,
  type Network,
  networkedLanguages,
  offeredLanguages,
  planFor,
} from '../../settings/environment/plan.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { DataFolder } from '../../settings/files/data-folders.js';
import {
  DEFAULT_WORKDIR,
  isPython,
  type Language,
  type Place,
  type Waits,
} from '../../settings/languages/records.js';
import { WORK } from './promises.js';

export type SandboxProfile = {
  /** A reference, or the name of a profile. */
  readonly image: string;
  readonly imageSource: ImageSource;
  /** The recipe that stands in for an image that is not to be had. */
  readonly profile: string;
  readonly memoryBytes: number;
  readonly pids: number;
  readonly cpus: number | undefined;
  readonly network: Network;
  /** Absolute; a place in memory, as those in `places`. */
  readonly workdir: string;
  /** Whether its programs are Python, which then has to be the image's own. */
  readonly isPython: boolean;
  /** Besides those that every sandbox has. */
  readonly places: readonly Place[];
  /** Folders of this machine; those that code of one principal sees need not be those of another's. */
  readonly data: readonly DataFolder[];
  /** On disk; none where nothing outlives a sandbox. */
  readonly volumes: readonly Volume[];
  /** The OCI runtime this kind insists on; undefined means the launcher's default. */
  readonly ociRuntime: string | undefined;
  /** Commands that are run while it waits, and Python modules that are loaded. */
  readonly ahead: ReadonlyArray<readonly string[]>;
  readonly preimport: readonly string[];
  /** The interpreter that waits with it, once its language was used. */
  readonly waits?: Waits | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** How long a sandbox may live that serves the calls of a session; absent for one that serves a run. */
  readonly lifeSeconds?: number;
};

/** Share of a sandbox's memory given to Node's heap. The rest is for files, buffers and the harness. */
const HEAP_SHARE = 0.75;

/** The kind of sandbox that `run_python` uses. */
export const pythonProfile = ({
  explicitlySet,
  image,
  memoryBytes,
  pids,
  cpus,
  preimport,
}: Settings): SandboxProfile => ({
  image,
  imageSource: explicitlySet.has('MCP_BRIDGE_IMAGE') ? 'operator' : 'default',
  profile: 'base',
  memoryBytes,
  pids,
  cpus,
  network: 'none',
  workdir: DEFAULT_WORKDIR,
  isPython: true,
  places: [],
  data: [],
  volumes: [],
  ociRuntime: undefined,
  ahead: [],
  preimport,
  env: {},
});

/** Variable of the container that lists the folders, as JSON with `path` and `writable` of each. */
const DATA_VARIABLE = 'MCP_DATA_FOLDERS';

/** Has sandboxes of `kind` see these folders. */
export const withData = (kind: SandboxProfile, data: readonly DataFolder[]): SandboxProfile =>
  data.length === 0
    ? kind
    : {
        ...kind,
        data,
        env: {
          ...kind.env,
          [DATA_VARIABLE]: JSON.stringify(
            data.map(({ target, isWritable }) => ({ path: target, writable: isWritable })),
          ),
        },
      };

/** The kind of a session: the same walls, and a clock of its own. */
export const sessionKind = (settings: Settings): SandboxProfile => ({
  ...pythonProfile(settings),
  lifeSeconds: settings.sessions.lifeSeconds,
});

/** The kind of sandbox that `execute` uses. All commands of a bridge have the volume `work`. */
export const commandProfile = (settings: Settings, work: string): SandboxProfile => ({
  ...pythonProfile(settings),
  image: settings.executeImage,
  imageSource: settings.explicitlySet.has('MCP_BRIDGE_EXECUTE_IMAGE') ? 'operator' : 'default',
  profile: 'code-exec',
  network: settings.executeNetwork ? 'outbound' : 'none',
  isPython: false,
  volumes: [{ name: work, target: WORK, isKept: settings.executeWork !== undefined }],
  ociRuntime: settings.executeOciRuntime,
  preimport: [],
  env: { HOME: WORK },
});

/** Everything that the operator has opened the network for: languages, and commands in containers. */
export function namesWithNetwork(settings: Settings): readonly string[] {
  const { tools, executeServer, executeNetwork } = settings;
  const isCommand = tools.includes('execute') && executeServer === undefined && executeNetwork;
  return [...networkedLanguages(settings), ...(isCommand ? ['commands'] : [])];
}

/** The kind of sandbox that a language uses; equal to pythonProfile() for Python without settings of its own. */
export const kindOf = (
  { language, image, imageSource, memoryBytes, pids, cpus, network, workdir }: LanguagePlan,
  { preimport }: Settings,
): SandboxProfile => ({
  image,
  imageSource,
  profile: language.profile,
  memoryBytes,
  pids,
  cpus,
  network,
  workdir,
  isPython: isPython(language),
  places: language.places,
  data: [],
  volumes: [],
  ociRuntime: undefined,
  ahead: language.ahead,
  preimport: isPython(language) ? preimport : [],
  waits: language.waits,
  env: envOf(language, memoryBytes, network),
});

function envOf(
  { env, envOffline }: Language,
  memoryBytes: number,
  network: Network,
): Readonly<Record<string, string>> {
  const heapMb = String(Math.floor((memoryBytes * HEAP_SHARE) / MB_BYTES));
  const all = network === 'none' ? { ...env, ...envOffline } : env;
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, value.replace('{heapMb}', heapMb)]),
  );
}

/** The kind of the sandbox that waits before the first call: the one that the agent is most likely to need. */
export function kindAhead(settings: Settings): SandboxProfile {
  const [first] = offeredLanguages(settings);
  if (first === undefined || settings.tools.includes('run_python')) return pythonProfile(settings);
  return kindOf(planFor(first, settings), settings);
}

/** Key that is equal for kinds whose sandboxes can stand in for one another. */
export const keyOf = (kind: SandboxProfile): string => JSON.stringify(kind);
