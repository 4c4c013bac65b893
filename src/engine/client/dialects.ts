// Flags and words that podman and docker spell differently, here and elsewhere, as records. A difference that is not here does
// not exist; no record runs anything.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type {
  ContainerFacts,
  Engine,
  EngineConnection,
  EngineFacts,
  EngineMode,
  EngineTraits,
  IdMapping,
  Mount,
  NetworkMode,
  OciRuntime,
  SandboxSpec,
} from '../engine.js';
import { CONTAINERFILE } from '../images/derived-image.js';
import { DOCKER_NETWORKS, PODMAN_NETWORKS, podmanNetworkMode } from '../machine/network-modes.js';
import { isGvisor } from '../machine/oci-runtime.js';
import { type CliName, dockerMode, isElsewhere, podmanMode } from '../machine/place.js';

/** Facts that a launch needs besides the spec. */
export type LaunchFacts = {
  readonly ids: IdMapping;
  readonly ociRuntime: OciRuntime | undefined;
  readonly cidFile: string;
  readonly pidFile: string;
};

/** Limit for the answer to infoArgs, which takes a tenth of a second. */
export const INFO_TIMEOUT_MS = 15_000;

export type EngineDialect = {
  readonly name: CliName;
  readonly infoArgs: readonly string[];
  /** Prints the version of the OCI runtime where containers run, in its own words; undefined where the engine keeps it. */
  readonly runtimeVersionArgs: readonly string[] | undefined;
  /** Prints the address that the client itself would use; undefined where infoArgs tell whether it is another machine's. */
  readonly endpointArgs: readonly string[] | undefined;
  /** Parses the output of infoArgs, and that of endpointArgs; throws where it is not what this engine prints. */
  readonly parseInfo: (
    text: string,
    connection: EngineConnection,
    endpoint: string | undefined,
  ) => EngineFacts;
  readonly globalFlags: (ociRuntime: OciRuntime | undefined) => string[];
  /** Whether the client hands flags on to an OCI runtime; else runtimes and flags are in the service's own configuration. */
  readonly handsOnFlags: boolean;
  /** Whether the client names an OCI runtime at all. */
  readonly namesRuntime: boolean;
  /** Whether the client itself fetches an image and writes it here. */
  readonly pullsItself: boolean;
  /** Builds the image from a folder with a Containerfile; no network, no registry, no layers that outlive it. */
  readonly buildArgs: (image: string, contextDir: string) => string[];
  /** Flags that make the container run under the seccomp profile, and under no other one. */
  readonly seccompFlags: (seccompFile: string) => string[];
  /** Labels by which the engine finds the seccomp profile of that path in an image; none where its client sends the profile. */
  readonly profileLabels: (seccompFile: string) => Readonly<Record<string, string>>;
  readonly runFlags: (facts: LaunchFacts, spec: SandboxSpec) => string[];
  readonly networkFlags: (network: SandboxSpec['network']) => readonly string[];
  /** The mode that can carry a container's traffic, by the output of infoArgs; undefined where none can. */
  readonly networkMode: (info: string, mode: EngineMode) => NetworkMode | undefined;
  /** A writable /dev/shm of `sizeMb`; `tmpfsOptions` say the same of a tmpfs, size included. */
  readonly shmFlag: (tmpfsOptions: string, sizeMb: number) => string;
  /** Format of the facts about a container, and how their text is read. */
  readonly factsFormat: string;
  readonly parseFacts: (text: string) => ContainerFacts;
  readonly removeArgs: (ids: readonly string[]) => string[];
  /** One line per container: id, a tab, and the value of each of `labels`, tab-separated. */
  readonly listArgs: (filterLabel: string, labels: readonly string[]) => string[];
  readonly launch: Engine['launch'];
  readonly traits: Pick<EngineTraits, 'masksAll' | 'hasClock'>;
  readonly ownerBy: (ids: IdMapping, ociRuntime: OciRuntime | undefined) => EngineTraits['ownerBy'];
  /**
   * Options of a bind mount, by what it holds, and of a volume; `z` lets SELinux hosts read what is ours, `U` gives a volume to
   * the container's user.
   */
  readonly mountOptions: { readonly data: string; readonly programs: string; readonly volume: string };
  /** Options of a bind mount of the user's own files, whose labels are left as they are. */
  readonly dataOptions: string;
  /** Options of `--mount`, for a bind mount whose source has a colon. The source must have no comma, quote or line break. */
  readonly mountWithColon: (mount: Mount) => string;
  /** Fails, and says that it is there, where it is (podman), or is content (docker). */
  readonly makeVolumeArgs: (name: string, labels: readonly string[]) => string[];
  /** Arguments as listArgs, for volumes, by their names. */
  readonly listVolumesArgs: (filterLabel: string, labels: readonly string[]) => string[];
  /** Whether the client process that we start writes the host pid of the container's first process to pidFile. */
  readonly writesPidFile: boolean;
};

const ID_COUNT = 65_536;
/**
 * Where container id 0 begins outside. Under a root podman above what useradd hands out and below 2^31, with no need
 * of an entry in /etc/subuid. Rootless at 1, since 0 of the user's own namespace is the user: so that neither root nor
 * the user has an id inside. (`--userns=nomap` does the same, but podman 4.3 then leaves group 0 in the process.)
 */
const FIRST_ID = {
  'userns-mapped': 1_879_048_192,
  rootless: 1,
  rootful: undefined,
  'no-root': undefined,
} as const;

/** The group of this machine that is the group of root inside; undefined where that is not for the bridge to say. */
export const rootGroupOf = (mode: EngineMode): number | undefined =>
  mode === 'userns-mapped' ? FIRST_ID[mode] : undefined;

/** Rootless it could then reach nothing in the user's home, and has a namespace of its own for what runs the guest. */
const hasNoMap = (ids: IdMapping, ociRuntime: OciRuntime | undefined): boolean =>
  ids === 'rootless' && ociRuntime !== undefined && isGvisor(ociRuntime.name);

function idMap({ ids, ociRuntime }: LaunchFacts, { user, owner }: SandboxSpec): string[] {
  const first = FIRST_ID[ids];
  if (first === undefined || hasNoMap(ids, ociRuntime)) return [];
  const [uid, gid] = user.split(':').map(Number);
  const rangesOf = ids === 'rootless' ? withOwner : shifted;
  return [
    ...rangesOf(first, uid, owner?.uid).map((range) => `--uidmap=${range}`),
    ...rangesOf(first, gid, owner?.gid).map((range) => `--gidmap=${range}`),
  ];
}

/** All ids from `first` on, but for `inside`: the user who has started a rootless podman, who is 0 in its namespace. */
function withOwner(first: number, inside = 0, owner: number | undefined): string[] {
  if (owner === undefined) return [`0:${first}:${ID_COUNT}`];
  const above = inside + 1;
  return [
    `0:${first}:${inside}`,
    `${inside}:0:1`,
    ...(above < ID_COUNT ? [`${above}:${first + above}:${ID_COUNT - above}`] : []),
  ];
}

/** One range in any case: podman as root mounts the layers of an image by the map, and the kernel takes no other there. */
const shifted = (first: number, inside = 0, owner: number | undefined): string[] => [
  `0:${owner === undefined ? first : owner - inside}:${ID_COUNT}`,
];

// Policies of one value as what podman needs to be told; a second value would not compile without its words.
const PODMAN_NAMESPACES = { own: ['--pid=private', '--uts=private', '--cgroupns=private'] } as const;
// A configuration of the engine's may name proxies for every container; a variable that is said is left as it is.
const NO_PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [
  `--env=${name}=`,
  `--env=${name.toLowerCase()}=`,
]);
/** docker, and a podman that runs elsewhere, whose client knows neither flag. */
const PROXIES_EMPTIED = { none: NO_PROXIES } as const;
const PODMAN_HOST_ENV = { none: ['--http-proxy=false', '--env-host=false'] } as const;
const PODMAN_HOSTS_FILE = { none: ['--no-hosts'] } as const;

const makeVolumeArgs = (name: string, labels: readonly string[]): string[] => [
  'volume',
  'create',
  ...labels.map((label) => `--label=${label}`),
  name,
];
const listVolumes = (filterLabel: string): string[] => ['volume', 'ls', `--filter=label=${filterLabel}`];

/** The figures are in HISTORY.md. */
const LAUNCH = {
  podman: {
    launch: 'detached',
    reason: 'direct pipes to the container, so a tool call takes half the time',
  },
  podmanElsewhere: {
    launch: 'attached',
    reason: 'podman runs on another machine, so its client stays and copies the data',
  },
  docker: {
    launch: 'attached',
    reason: 'docker has no direct pipes, so its client stays and copies the data',
  },
} as const;

const PODMAN_GLOBAL = ['--log-level=error'];

/** Flags for both clients of podman, between which `pidFile` and `environment` are those that differ. */
const podmanRunFlags = (
  facts: LaunchFacts,
  spec: SandboxSpec,
  { pidFile, environment }: Readonly<Record<'pidFile' | 'environment', readonly string[]>>,
): string[] => [
  // conmon ends the container even when every process of ours is gone.
  `--timeout=${spec.deadManSeconds}`,
  ...pidFile,
  // Else podman adds writable tmpfs on /run and /var/tmp, half of RAM each and without noexec.
  '--read-only-tmpfs=false',
  ...PODMAN_NAMESPACES[spec.namespaces],
  ...environment,
  ...PODMAN_HOSTS_FILE[spec.hostsFile],
  `--umask=${spec.umask}`,
  // Not by TZ: a zone in the engine's configuration is mounted over the image's UTC, and no other flag undoes that.
  `--tz=${spec.timezone}`,
  ...spec.masked.map((path) => `--security-opt=mask=${path}`),
  ...idMap(facts, spec),
];

const podmanInfo = z.looseObject({
  host: z.looseObject({
    cgroupVersion: z.string(),
    arch: z.string().optional(),
    cgroupControllers: z.array(z.string()).nullish(),
    hostname: z.string().optional(),
    distribution: z.looseObject({ variant: z.string().optional() }).optional(),
    ociRuntime: z.looseObject({ name: z.string() }),
    security: z.looseObject({ rootless: z.boolean() }),
    serviceIsRemote: z.boolean().optional(),
  }),
  store: z.looseObject({
    graphDriverName: z.string(),
    graphRoot: z.string(),
    runRoot: z.string().optional(),
  }),
  version: z.looseObject({ Version: z.string() }),
});

/** Each line is `inside:outside:count`. */
const podmanMap = z.looseObject({ UidMap: z.array(z.string()) });

const podman: EngineDialect = {
  name: 'podman',
  infoArgs: ['info', '--format', 'json'],
  runtimeVersionArgs: ['info', '--format', '{{.Host.OCIRuntime.Version}}'],
  endpointArgs: undefined,
  parseInfo: (text, connection) => {
    const { host, store, version } = podmanInfo.parse(JSON.parse(text));
    const ids = host.security.rootless ? 'rootless' : 'userns-mapped';
    const said = {
      isRemote: host.serviceIsRemote === true,
      hostname: host.hostname ?? '',
      variant: host.distribution?.variant ?? '',
    };
    const controllers = host.cgroupControllers ?? [];
    return {
      version: version.Version,
      mode: podmanMode(ids, said, connection),
      ids,
      architecture: host.arch ?? '',
      limits: {
        memory: controllers.includes('memory'),
        pids: controllers.includes('pids'),
        cpu: controllers.includes('cpu'),
      },
      storageDriver: store.graphDriverName,
      storageRoot: store.graphRoot,
      ...(store.runRoot === undefined ? {} : { runRoot: store.runRoot }),
      defaultOciRuntime: host.ociRuntime.name,
      cgroups: host.cgroupVersion,
    };
  },
  globalFlags: (ociRuntime) => [
    ...PODMAN_GLOBAL,
    ...(ociRuntime === undefined
      ? []
      : [`--runtime=${ociRuntime.name}`, ...ociRuntime.flags.map((flag) => `--runtime-flag=${flag}`)]),
  ],
  handsOnFlags: true,
  namesRuntime: true,
  pullsItself: true,
  buildArgs: (image, contextDir) => [
    'build',
    ...['--network=none', '--pull=never', '--layers=false', '--quiet', `--tag=${image}`],
    `--file=${join(contextDir, CONTAINERFILE)}`,
    contextDir,
  ],
  seccompFlags: (seccompFile) => [`--security-opt=seccomp=${seccompFile}`],
  profileLabels: () => ({}),
  runFlags: (facts, spec) =>
    podmanRunFlags(facts, spec, {
      pidFile: [`--pidfile=${facts.pidFile}`],
      environment: PODMAN_HOST_ENV[spec.hostEnv],
    }),
  networkFlags: (network) => PODMAN_NETWORKS[network],
  networkMode: podmanNetworkMode,
  // With --read-only-tmpfs=false podman 5 makes its own one read-only too, and then multiprocessing has no locks.
  shmFlag: (tmpfsOptions) => `--tmpfs=/dev/shm:${tmpfsOptions}`,
  factsFormat:
    '{{.State.Running}} {{.HostConfig.LogConfig.Type}} {{.Config.Timeout}} {{json .HostConfig.IDMappings}}',
  parseFacts: (text) => {
    const [running, logDriver = '', seconds, ...map] = text.trim().split(' ');
    const { UidMap } = podmanMap.parse(JSON.parse(map.join(' ')));
    return {
      isRunning: running === 'true',
      logDriver,
      timeoutSeconds: Number(seconds) || undefined,
      ids: UidMap.map((line) => line.split(':').map(Number)).map(([, first = 0, count = 0]) => ({
        first,
        count,
      })),
    };
  },
  removeArgs: (ids) => ['rm', '--force', '--ignore', '--time=0', '--volumes', ...ids],
  listArgs: (filterLabel, labels) => [
    'ps',
    '--all',
    `--filter=label=${filterLabel}`,
    `--format={{.ID}}${labels.map((label) => `\t{{index .Labels "${label}"}}`).join('')}`,
  ],
  launch: LAUNCH.podman,
  traits: { masksAll: true, hasClock: true },
  mountOptions: {
    data: 'ro,nosuid,nodev,noexec,z',
    programs: 'ro,nosuid,nodev,z',
    volume: 'rw,nosuid,nodev,U,z',
  },
  // Not recursive, and deaf to what is mounted later on.
  dataOptions: 'bind,rprivate,nosuid,nodev,noexec',
  ownerBy: (ids, ociRuntime) =>
    hasNoMap(ids, ociRuntime) ? undefined : ids === 'rootless' ? 'map' : 'shift',
  mountWithColon: ({ source, target, executable }) =>
    `type=bind,src=${source},dst=${target},ro,nosuid,nodev,${executable ? 'exec' : 'noexec'},relabel=shared`,
  makeVolumeArgs,
  listVolumesArgs: (filterLabel, labels) => [
    ...listVolumes(filterLabel),
    `--format={{.Name}}${labels.map((label) => `\t{{index .Labels "${label}"}}`).join('')}`,
  ],
  writesPidFile: true,
};

/** The client of a podman's service, which takes less, and of which the service's own configuration decides more. */
const podmanElsewhere: EngineDialect = {
  ...podman,
  // The service decides which OCI runtime it uses: its client knows no such flags.
  globalFlags: () => PODMAN_GLOBAL,
  handsOnFlags: false,
  namesRuntime: false,
  pullsItself: false,
  // The service would open the file where it runs; the label of our derived image has the profile's text.
  seccompFlags: () => ['--seccomp-policy=image'],
  profileLabels: (seccompFile) => ({
    'io.containers.seccomp.profile': JSON.stringify(JSON.parse(readFileSync(seccompFile, 'utf8'))),
  }),
  runFlags: (facts, spec) =>
    podmanRunFlags(facts, spec, { pidFile: [], environment: PROXIES_EMPTIED[spec.hostEnv] }),
  networkMode: () => 'default',
  launch: LAUNCH.podmanElsewhere,
  // The pids of another machine mean nothing here, and the client knows no such flag.
  writesPidFile: false,
};

const dockerInfo = z.looseObject({
  ServerVersion: z.string(),
  Driver: z.string(),
  DockerRootDir: z.string(),
  DefaultRuntime: z.string(),
  CgroupVersion: z.string().optional(),
  OperatingSystem: z.string(),
  SecurityOptions: z.array(z.string()).nullable(),
  Name: z.string().optional(),
  Architecture: z.string().optional(),
  MemoryLimit: z.boolean().optional(),
  PidsLimit: z.boolean().optional(),
  CpuCfsQuota: z.boolean().optional(),
});

const docker: EngineDialect = {
  name: 'docker',
  infoArgs: ['info', '--format', '{{json .}}'],
  runtimeVersionArgs: undefined,
  endpointArgs: ['context', 'inspect', '--format', '{{.Endpoints.docker.Host}}'],
  parseInfo: (text, connection, endpoint) => {
    const info = dockerInfo.parse(JSON.parse(text));
    const options = (info.SecurityOptions ?? []).map((option) => option.split(',')[0]);
    const ids = options.includes('name=rootless')
      ? 'rootless'
      : options.includes('name=userns')
        ? 'userns-mapped'
        : 'rootful';
    const said = { operatingSystem: info.OperatingSystem, name: info.Name ?? '' };
    return {
      version: info.ServerVersion,
      mode: dockerMode(ids, said, endpoint, connection),
      ids,
      architecture: info.Architecture ?? '',
      limits: {
        memory: info.MemoryLimit === true,
        pids: info.PidsLimit === true,
        cpu: info.CpuCfsQuota === true,
      },
      storageDriver: info.Driver,
      storageRoot: info.DockerRootDir,
      defaultOciRuntime: info.DefaultRuntime,
      cgroups: `v${info.CgroupVersion ?? '1'}`,
    };
  },
  globalFlags: () => [],
  handsOnFlags: false,
  namesRuntime: true,
  pullsItself: false,
  buildArgs: (image, contextDir) => [
    'build',
    ...['--network=none', '--quiet', `--tag=${image}`],
    `--file=${join(contextDir, CONTAINERFILE)}`,
    contextDir,
  ],
  // docker's client reads the file and sends the text, wherever the daemon is.
  seccompFlags: (seccompFile) => [`--security-opt=seccomp=${seccompFile}`],
  profileLabels: () => ({}),
  // docker has no dead-man's switch (the harness ends when its stdin does), no masks beyond its own, no umask and no
  // way to do without /etc/hosts, which then names the container and nothing else.
  runFlags: ({ ociRuntime }, spec) => [
    ...(ociRuntime === undefined ? [] : [`--runtime=${ociRuntime.name}`]),
    `--env=TZ=${spec.timezone}`,
    ...PROXIES_EMPTIED[spec.hostEnv],
  ],
  networkFlags: (network) => DOCKER_NETWORKS[network === 'none' ? 'none' : 'outbound'],
  networkMode: () => 'default',
  shmFlag: (_tmpfsOptions, sizeMb) => `--shm-size=${sizeMb}m`,
  factsFormat: '{{.State.Running}} {{.HostConfig.LogConfig.Type}}',
  parseFacts: (text) => {
    const [running, logDriver = ''] = text.trim().split(' ');
    return { isRunning: running === 'true', logDriver, timeoutSeconds: undefined, ids: undefined };
  },
  removeArgs: (ids) => ['rm', '--force', '--volumes', ...ids],
  listArgs: (filterLabel, labels) => [
    'ps',
    '--all',
    `--filter=label=${filterLabel}`,
    `--format={{.ID}}${labels.map((label) => `\t{{.Label "${label}"}}`).join('')}`,
  ],
  launch: LAUNCH.docker,
  traits: { masksAll: false, hasClock: false },
  // docker takes no further options of a bind mount: no-new-privileges and no capabilities stand in for them. An empty
  // volume takes the owner of the image's folder in its place.
  mountOptions: { data: 'ro,z', programs: 'ro,z', volume: 'rw,z' },
  // docker takes the flags of a mount from nobody, and what lies below it is looked for ahead (data-folders.ts).
  dataOptions: 'rprivate',
  ownerBy: (ids) => (ids === 'rootful' ? 'id' : undefined),
  // docker's `--mount` has no option for SELinux, so a path with a colon is of no use on a host that enforces SELinux.
  mountWithColon: ({ source, target }) => `type=bind,src=${source},dst=${target},readonly`,
  makeVolumeArgs,
  listVolumesArgs: (filterLabel, labels) => [
    ...listVolumes(filterLabel),
    `--format={{.Name}}${labels.map((label) => `\t{{.Label "${label}"}}`).join('')}`,
  ],
  writesPidFile: false,
};

const dialects = {
  podman: { here: podman, elsewhere: podmanElsewhere },
  // docker's client tells a daemon the same wherever the daemon is.
  docker: { here: docker, elsewhere: docker },
} as const;

/** The dialect of a client, where its containers run as `mode` says. */
export const dialectOf = (client: CliName, mode: EngineMode): EngineDialect =>
  dialects[client][isElsewhere(mode) ? 'elsewhere' : 'here'];
