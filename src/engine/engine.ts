// The view of a container engine that the rest of the bridge has: an interface and plain values. podman and docker differ only
// in records (dialects.ts); the OCI runtime under them (runc, crun, runsc) is a setting, not an engine.

import type { Readable, Writable } from 'node:stream';
import type { Observer } from '../base/log/events.js';
import type { ENGINE_VARIABLES, SettingValues } from '../settings/environment/variables.js';
import type { PullTraces } from './images/pull-traces.js';

export type EngineName = keyof typeof ENGINE_VARIABLES;

/** A runtime's name or path, and flags of its own that the engine is to hand on. */
export type OciRuntime = { readonly name: string; readonly flags: readonly string[] };

/** Facts about a connection besides what the engine answers. */
export type EngineConnection = {
  /** MCP_BRIDGE_ENGINE_URL; undefined leaves it to the engine's own client, its contexts and its variables. */
  readonly url: string | undefined;
  /** Platform that the bridge itself runs on. */
  readonly platform: NodeJS.Platform;
};

/**
 * How ids in a container relate to those of the machine that it runs on: `rootless` (the engine runs as a user),
 * `userns-mapped` (as root, and no id maps to root), `rootful` (they are the same, which is unsafe on a host), `no-root` (they are the same, and
 * none may be root's).
 */
export type IdMapping = 'rootless' | 'userns-mapped' | 'rootful' | 'no-root';
/** Where containers run, and on this machine how their ids map: `vm` is a machine of this computer, `remote` another one. */
export type EngineMode = IdMapping | 'vm' | 'remote';

/** A file or folder of the host, mounted read-only. Only an `executable` one may hold programs. */
export type Mount = { readonly source: string; readonly target: string; readonly executable: boolean };
/**
 * A folder of the user's, which this machine had as `identity` when it was looked at: not its programs, nor devices, nor file
 * systems that are mounted below it.
 */
export type DataMount = {
  readonly source: string;
  readonly target: string;
  readonly isWritable: boolean;
  /** Equal for the same folder; of one that is copied, for the same content. */
  readonly identity: string;
  /** Name of the volume that has a copy of it, for an engine that does not see the folders of this machine. */
  readonly volume: string | undefined;
};
/** Carrier of a container's traffic (network-modes.ts). `default`: what docker, or a machine's podman, gives any container. */
export type NetworkMode = 'slirp4netns' | 'pasta' | 'default';
/** Why an engine elsewhere does not answer, in its client's words; `isSilent` where nobody said that it is gone. */
export type Unreachable = { readonly why: string; readonly isSilent: boolean };

/** A volume on disk, shared by all containers that name it; one that is not `isKept` goes with the bridge that made it. */
export type Volume = { readonly name: string; readonly target: string; readonly isKept: boolean };

/** Every wall of one sandbox. No optional fields: who reads a value of this type sees every wall. */
export type SandboxSpec = {
  readonly image: string;
  readonly command: readonly string[];
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The carrier of the traffic where the operator has opened the network for a language. */
  readonly network: 'none' | NetworkMode;
  readonly rootfs: 'read-only';
  readonly capabilities: 'none';
  readonly newPrivileges: 'never';
  readonly namespaces: 'own';
  /** Path on this machine of a seccomp profile in the engines' JSON; a podman that runs elsewhere takes the image's. */
  readonly seccompFile: string;
  /** Name of an AppArmor profile; undefined leaves it to the engine. */
  readonly apparmor?: string | undefined;
  readonly user: string;
  readonly workdir: string;
  readonly mounts: readonly Mount[];
  readonly data: readonly DataMount[];
  /**
   * The user of this machine that the container's user is, so that what it writes is theirs, with the group of their files where
   * that is not root's; undefined for nobody.
   */
  readonly owner: { readonly uid: number; readonly gid: number | undefined } | undefined;
  /** Writable and in memory; only one that is `executable` may hold programs. */
  readonly tmpfs: ReadonlyArray<{
    readonly target: string;
    readonly sizeMb: number;
    readonly executable: boolean;
  }>;
  readonly volumes: readonly Volume[];
  readonly shmMb: number;
  readonly masked: readonly string[];
  /** Files of the kernel in whose place a file of ours is read. */
  readonly replaced: readonly Omit<Mount, 'executable'>[];
  readonly env: Readonly<Record<string, string>>;
  readonly hostEnv: 'none';
  readonly hostsFile: 'none';
  readonly timezone: string;
  readonly umask: string;
  readonly sysctls: Readonly<Record<string, string>>;
  readonly hostname: string;
  readonly memoryBytes: number;
  readonly pids: number;
  readonly cpus: number | undefined;
  readonly ulimits: ReadonlyArray<{
    readonly name: 'nofile' | 'nproc' | 'core' | 'fsize' | 'memlock' | 'data' | 'cpu' | 'sigpending';
    readonly limit: number;
  }>;
  /** The engine itself ends the container after this long, even when the bridge is gone (podman; docker has no such switch). */
  readonly deadManSeconds: number;
};

/** How a client ended that had to stay or did not launch; of one that launched and left, neither is known. */
export type ContainerExit = {
  readonly code: number | undefined;
  readonly signal: string | undefined;
};

/** One container of ours, from the moment its launch was asked for. */
export interface Container extends AsyncDisposable {
  readonly name: string;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects. */
  readonly exited: Promise<ContainerExit>;
  /** False when its first process is known to be gone, which `exited` tells only a while later. Synchronous. */
  readonly isRunning: boolean;
  /** Host pid of its first process; undefined before it is known, once it is gone, and where it means nothing here. */
  readonly pid: number | undefined;
  /** Synchronous and safe to call at any time, also from an exit hook; the container is gone soon after. */
  kill(): void;
}

/** Facts that the engine reports of itself, in our words. */
export type EngineFacts = {
  readonly version: string;
  readonly mode: EngineMode;
  /** How ids are mapped on the machine where containers run; equals `mode` when that machine is this one. */
  readonly ids: IdMapping;
  /** Processor architecture of that machine, in the engine's spelling: amd64 or x86_64, arm64 or aarch64. */
  readonly architecture: string;
  /** Limits that the engine says it can enforce; whether it does is only seen on this machine. */
  readonly limits: { readonly memory: boolean; readonly pids: boolean; readonly cpu: boolean };
  readonly storageDriver: string;
  readonly storageRoot: string;
  /** Where podman keeps the state of containers that run. */
  readonly runRoot?: string;
  readonly defaultOciRuntime: string;
  readonly cgroups: string;
};

export type EngineStatus =
  | ({ readonly state: 'ready' } & EngineFacts)
  | {
      readonly state: 'missing' | 'stopped' | 'broken';
      readonly reason: string;
      readonly remedy: string;
      /** How many milliseconds the answer of an engine that hangs was waited for. */
      readonly waitedMs?: number | undefined;
    };

/**
 * Facts about an engine as it is set up that decide what is tried, believed or said where it does not know of them. The rest of
 * the bridge asks for these and never which engine it is, or where.
 */
export type EngineTraits = {
  /** The kernel that stands in for the host's below its containers, such as gVisor; undefined where there is none. */
  readonly ownKernel: string | undefined;
  /** Whether containers can read what lies in a folder that is private to the engine's user. */
  readonly opensPrivateFolders: boolean;
  /**
   * How a container's user becomes a user of the machine: any id by the `map` of ids; the user 1, by a `shift` of the map as a
   * whole; or by the `id`, which is the same there. Undefined where that cannot be had.
   */
  readonly ownerBy: 'map' | 'shift' | 'id' | undefined;
  /** Whether all paths are masked that a spec asks for. */
  readonly masksAll: boolean;
  /** The seccomp filter of containers where it is the engine's and not one of ours (MCP_BRIDGE_SECCOMP); else undefined. */
  readonly ownFilter: string | undefined;
  /** Whether the engine itself ends a container by a clock of its own. */
  readonly hasClock: boolean;
  /** Whether a container with a network reaches services on this computer's own localhost. */
  readonly reachesLocalhost: boolean;
  /** Advice where containers start without a network and not with one; undefined where no obstacle is known. */
  readonly networkAdvice: string | undefined;
};

/** Facts that an engine reports of a container of ours, where nothing else can be had: its processes are another machine's. */
export type ContainerFacts = {
  readonly isRunning: boolean;
  /** After which the engine ends it; undefined where it has no such clock. */
  readonly timeoutSeconds: number | undefined;
  readonly logDriver: string;
  /** Ranges of the engine's own ids that the container's are; undefined where the engine keeps them to itself. */
  readonly ids: ReadonlyArray<{ readonly first: number; readonly count: number }> | undefined;
  /** Its walls as the engine has them in its books; absent where the engine may not change what it was asked for. */
  readonly walls?: readonly ToldWall[];
};

/** A wall of a container in an engine's own words, and whether it is the one that was asked for. */
export type ToldWall = {
  readonly control: string;
  readonly requested: string;
  readonly observed: string;
  readonly holds: boolean;
  /** Whether a sandbox without it is none. */
  readonly isRequired: boolean;
};

/** An image of one of our recipes that is to be made with no registry. */
export type BuildWish = {
  readonly profile: string;
  /** Debian release; undefined takes the recipe's. trixie has Python 3.13, bookworm 3.11, bullseye 3.9. */
  readonly suite?: string | undefined;
  /** Debian packages to add to those of the recipe. */
  readonly added?: readonly string[] | undefined;
  /** Python packages to add from an index; undefined asks none. */
  readonly pip?: PipWish | undefined;
  readonly onProgress: (line: string) => void;
  /** How many bytes lie on disk for the image so far, every now and then. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
};

export type PipWish = {
  /** As `parseRequirements` gives them. */
  readonly requirements: readonly string[];
  /** Folder of the lock files. */
  readonly lockDir: string;
  /** Certificates in PEM form that pip trusts; undefined takes Debian's. */
  readonly certificatesFile: string | undefined;
  /** OCI runtimes to try for the throw-away containers, best first. */
  readonly ociRuntimes: readonly OciRuntime[];
};

export type BuiltImage = {
  readonly image: string;
  readonly id: string;
  readonly sizeBytes: number;
  readonly durationMs: number;
  /** Python packages from an index. */
  readonly pip?: {
    readonly packages: ReadonlyArray<{ readonly name: string; readonly version: string }>;
    /** Versions of packages that were asked for and that the image had already, by name. */
    readonly present: Readonly<Record<string, string>>;
    readonly lockFile: string;
  };
};

/** The images that an engine has where it runs; all that can be asked before any container is started. */
export interface EngineImages {
  readonly name: EngineName;
  /** Id of a local image, or undefined. Throws E_ENGINE_BROKEN where the engine cannot say. */
  imageId(image: string, signal: AbortSignal): Promise<string | undefined>;
  /** Id and size of a local image, or undefined. */
  inspect(
    image: string,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly sizeBytes: number } | undefined>;
  /** Labels of a local image as JSON, which nobody has checked; undefined where there is no such image. */
  labels(image: string, signal: AbortSignal): Promise<string | undefined>;
  /** References of all local images. */
  names(signal: AbortSignal): Promise<readonly string[]>;
  /** Pulls from a registry; throws E_IMAGE_MISSING with the engine's words. */
  pull(
    image: string,
    onProgress: (line: string) => void,
    signal: AbortSignal,
    traces?: PullTraces,
  ): Promise<void>;
  /** Makes an image of a recipe of ours; absent where that is not done. Throws E_IMAGE_BUILD. */
  build?(wish: BuildWish, signal: AbortSignal): Promise<BuiltImage>;
  /** Removes a local image that no container uses. Throws E_ENGINE_BROKEN with the engine's words. */
  remove(image: string, signal: AbortSignal): Promise<void>;
  /** The command by which a person removes a local image again. */
  removalOf(image: string): string;
}

/** An image with files of ours on top of another one. */
export type Derivation = {
  /** Reference of the image that is built upon; it has to be there. */
  readonly base: string;
  /** Names its content; letters and digits. */
  readonly key: string;
  /** Folders of this machine, each by its absolute path in the image. */
  readonly folders: Readonly<Record<string, string>>;
  /** Path of the seccomp profile that containers from the image run under. */
  readonly seccompFile: string;
};

/** Images with files of ours on top of others, for containers that cannot mount what lies on this machine. */
export interface DerivedImages {
  /** Name of the image, which is made where it is not there. Throws E_IMAGE_BUILD. */
  make(derivation: Derivation, signal: AbortSignal): Promise<string>;
  /** A start failed: what was made may be gone. */
  forget(): void;
  /** Removes the image of `key`, which nobody will start from again. Never rejects. */
  remove(key: string): Promise<void>;
}

/** An engine as `sandbox/` needs it. What only some engines have may be undefined, and then is not needed with the others. */
export interface Engine extends AsyncDisposable {
  readonly name: EngineName;
  readonly traits: EngineTraits;
  readonly images: EngineImages;
  /** Volumes live apart from containers. */
  readonly volumes: {
    /** Makes it where it is not there. Throws E_ENGINE_BROKEN. */
    make(volume: Volume, signal: AbortSignal): Promise<void>;
    /**
     * Makes the volume of `mount` with what its folder holds, where it is not there; `image` is one that the engine has. Throws
     * E_DATA with the engine's words.
     */
    copy(mount: DataMount, image: string, signal: AbortSignal): Promise<void>;
    /** Removes volumes with their content, and containers that still have them. Trouble is told, not thrown. */
    remove(names: readonly string[]): Promise<void>;
  };
  /** Undefined where containers mount the files of this machine. */
  readonly derived: DerivedImages | undefined;
  /** How containers are launched, and why so; doctor says it. */
  readonly launch: { readonly launch: 'detached' | 'attached'; readonly reason: string };
  /**
   * Has ready what containers like `spec` can be started from, and tells why they cannot; undefined where they can. Absent where
   * each is started by itself. Never rejects.
   */
  readonly prepare?: ((spec: SandboxSpec) => Promise<string | undefined>) | undefined;
  /**
   * Takes note that the container of this very `spec` did not start. True where it was started from what had been made ready,
   * which is given up, so that another try goes another way.
   */
  readonly giveUp?: ((spec: SandboxSpec) => boolean) | undefined;
  /** Meanings of lines that an engine writes itself on a container's stream for stderr. */
  readonly says: {
    /** Warnings of every start, of which others tell. */
    readonly isExpected: (line: string) => boolean;
    /** Nobody answers at the engine's address, or the way there is closed. */
    readonly isUnreachable: (words: string) => boolean;
  };
  /**
   * Asks why the engine does not answer, or has itself ended a container, where one is named and it can tell; undefined where all that
   * ends a container is seen on this machine. Never rejects.
   */
  readonly whyUnreachable: ((container?: string) => Promise<Unreachable | undefined>) | undefined;
  /**
   * Asks for the facts of the container `name`; none where there is no such container. Undefined where the processes of this
   * machine say more.
   */
  readonly factsOf: ((name: string, signal: AbortSignal) => Promise<ContainerFacts | undefined>) | undefined;
  /** The carrier of the traffic of containers that have a network. Throws E_NETWORK where nothing can carry it. */
  networkMode(signal: AbortSignal): Promise<NetworkMode>;
  /** How many of the host's tasks a container may have whose guest may have `pids` processes. */
  hostTasks(pids: number): number;
  /** Words of the OCI runtime about its version; undefined where it cannot be asked. */
  runtimeVersion(signal: AbortSignal): Promise<string | undefined>;
  /** Changes whenever an image does, as far as that is seen without asking anybody; empty where it is not. */
  imageStamp(): string;
  /**
   * Launches; failures to launch show as an early exit of the container. Who starts it kills it. What the engine itself keeps
   * for later starts ends when it is disposed of.
   */
  start(spec: SandboxSpec): Container;
  /**
   * Host pid of the first process of the container `name`; undefined where it is another machine's. A pid is only believed when
   * the process of that number here runs `command`.
   */
  pidOf(name: string, command: string, signal: AbortSignal): Promise<number | undefined>;
  /** Ends the container `name`, which its own bridge then removes; with what the engine says where it cannot. */
  kill(name: string, signal: AbortSignal): Promise<string | undefined>;
  /** Removes containers whose owner is dead; returns how many. */
  sweep(signal: AbortSignal): Promise<number>;
}

/** Keeps the machine running until disposed. While it rests, it does so only until the machine has been idle for long. */
export type MachineLease = Disposable & { rest(): void; resume(): void };

/** The virtual machine in which an engine runs on this computer, where it is the bridge's to start. */
export interface EngineMachine extends AsyncDisposable {
  /**
   * Resolves when the machine runs, with a lease that keeps it running until disposed. Aborting one caller does not
   * abort the start that others wait for. Throws E_ENGINE_* or E_STATE.
   */
  use(signal: AbortSignal): Promise<MachineLease>;
  /** Has it looked at anew, and started where its user has stopped it: what a lease holds may be gone. Throws as use() does. */
  lookAgain(signal: AbortSignal): Promise<void>;
}

export type MachineOptions = {
  readonly binary: string;
  /** Idle time after which a machine that we started is stopped. */
  readonly idleMs: number;
  /** Ends what only waits: everything whose lease rests. */
  readonly letGo: () => void;
  readonly onProgress: (line: string) => void;
};

/** All that an engine is opened with, as it was chosen. */
export type EngineOptions = {
  /** The program that is asked, by its name or path. */
  readonly binary: string;
  readonly ociRuntime: OciRuntime | undefined;
  readonly facts: Pick<EngineFacts, 'mode' | 'ids' | 'architecture' | 'storageDriver' | 'storageRoot'>;
  /** MCP_BRIDGE_ENGINE_URL. */
  readonly url: string | undefined;
  /** Unique to this bridge process; the value of its containers' label. */
  readonly instance: string;
  readonly stateDir: string;
  readonly observer: Observer;
  /** MCP_BRIDGE_LAUNCH; undefined where so few containers are started that it does not matter. */
  readonly launch?: SettingValues['launch'] | undefined;
  /** How many sandboxes the bridge keeps ready (MCP_BRIDGE_WARM); undefined as of `launch`. */
  readonly ready?: number | undefined;
  /** Whether the operator accepts that code reaches a network which the engine was told to keep it from. */
  readonly acceptsOpenNetwork: boolean;
};

/** All that there is of one engine: how it is found, asked and opened. The list of them is in engines.ts. */
export type EngineDriver = {
  readonly name: EngineName;
  /** Names of its programs; undefined for the engine whose program may have any other name. */
  readonly programs: RegExp | undefined;
  /** Asks the engine of a program for its status, at its own address or at that of `connection`; never throws. */
  readonly probe: (
    binary: string,
    connection: EngineConnection,
    signal: AbortSignal,
  ) => Promise<EngineStatus>;
  /** The engine's images, as far as they need no OCI runtime and nobody who owns them. */
  readonly images: (
    options: Pick<EngineOptions, 'binary' | 'url'> & {
      readonly facts: Pick<EngineFacts, 'mode' | 'architecture'>;
    },
  ) => EngineImages;
  /** OCI runtimes to try, best first. Throws E_OCI_RUNTIME where the one that is wished for cannot be had. */
  readonly runtimes: (facts: EngineFacts, wish: string | undefined) => readonly OciRuntime[];
  /** Advice where the engine starts no container, and does not fail either. */
  readonly hangRemedy: (facts: EngineFacts) => string;
  /** Advice where no container starts and no other OCI runtime would help; absent where one may. */
  readonly startRemedy?: string;
  readonly open: (options: EngineOptions) => Engine;
  /** Absent where no machine of this computer is ever needed; undefined where none is needed here. */
  readonly machine?: (connection: EngineConnection, options: MachineOptions) => EngineMachine | undefined;
};
